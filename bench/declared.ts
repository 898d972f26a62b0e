/** Measures updates of one value by many clients, and what the schema of a declared value costs each write. */
import { createActor, requestText } from './client.ts'
import { compare, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { type Line, micros, millis, rate } from './report.ts'
import type { Subject } from './subject.ts'

const clients = 32

export async function measureDeclared(
  store: string,
  subject: Subject,
  loader: Loader,
  slices: Slices,
): Promise<Line[]> {
  const server = await startServer('troupe', subject)
  try {
    const actors = await Promise.all(
      Array.from({ length: clients }, (_, at) => createActor(server.port, `declared-${at}@example.com`)),
    )
    const [actor] = actors
    if (actor === undefined) return []
    const spend = actors.map((each) => requestText(each, 'POST', '/actions/spend', '{}'))
    const puts = (name: string): string[] =>
      Array.from({ length: 97 }, (_, at) =>
        requestText(
          actor,
          'PUT',
          `/properties/${name}`,
          JSON.stringify({ limit: 500 + at, spent: at, currency: 'EUR', tags: ['home', 'shopping'] }),
        ),
      )
    const [one, each] = await compare(loader, [server, server], (which) => (which === 0 ? spend.slice(0, 1) : spend), {
      ...slices,
      connections: clients,
    })
    const [checked, free] = await compare(
      loader,
      [server, server],
      (which) => puts(which === 0 ? 'declared' : 'free'),
      slices,
    )
    if (one === undefined || each === undefined || checked === undefined || free === undefined) return []
    const common = { store, aim: '', met: null }
    return [
      {
        ...common,
        what: `update of one value by ${clients} clients`,
        measured: `${rate(one.rate)}, ${micros(one.cpu)} CPU, p99 ${millis(one.p99)}`,
        bound: `${rate(each.rate)}, ${micros(each.cpu)} CPU of ${clients} values`,
        ratio: one.rate / each.rate,
      },
      {
        ...common,
        what: 'PUT a declared value, with the check of its schema',
        measured: `${rate(checked.rate)}, ${micros(checked.cpu)} CPU`,
        bound: `${rate(free.rate)}, ${micros(free.cpu)} CPU undeclared`,
        ratio: checked.cpu / free.cpu,
      },
    ]
  } finally {
    await server.stop()
  }
}
