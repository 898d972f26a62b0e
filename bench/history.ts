/** Measures what the history costs each change, beside the same service without it. */
import { createActor, requestText, send } from './client.ts'
import { compare, pairedRatio, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { type Line, micros, millis, rate } from './report.ts'
import type { Subject } from './subject.ts'

/** @param database Creates an empty database. */
export async function measureHistory(
  store: string,
  database: () => Promise<Subject>,
  loader: Loader,
  slices: Slices,
): Promise<Line[]> {
  const servers = [
    await startServer('troupe', await database()),
    await startServer('troupe', { ...(await database()), historyDays: 0 }),
  ] as const
  try {
    const actors = await Promise.all(servers.map(({ port }) => createActor(port, 'history@example.com')))
    const puts = (which: number): string[] =>
      Array.from({ length: 97 }, (_, at) =>
        requestText(
          actors[which] ?? null,
          'PUT',
          `/properties/value${at % 7}`,
          JSON.stringify({ at, note: 'x'.repeat(130) }),
        ),
      )
    const appends = (which: number): string[] => [
      requestText(actors[which] ?? null, 'POST', '/properties/todo', '"milk"'),
    ]
    for (const [at, actor] of actors.entries())
      await send(servers[at]?.port ?? 0, actor, 'POST', '/properties', JSON.stringify({ todo: { _type: 'list' } }))
    const lines: Line[] = []
    for (const [what, requests] of [
      ['PUT a property, with the history', puts],
      ['append to a list, with the history', appends],
    ] as const) {
      const [kept, free] = await compare(loader, servers, requests, slices)
      if (kept === undefined || free === undefined) continue
      lines.push({
        store,
        what,
        measured: `${rate(kept.rate)}, ${micros(kept.cpu)} CPU, p99 ${millis(kept.p99)}`,
        bound: `${rate(free.rate)}, ${micros(free.cpu)} CPU without`,
        ratio: pairedRatio(kept, free, 'cpu'),
        aim: '',
        met: null,
      })
    }
    return lines
  } finally {
    for (const server of servers) await server.stop()
  }
}
