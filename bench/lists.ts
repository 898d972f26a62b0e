/** Compares list operations at 100 and at 100,000 items, in alternating slices on one server with one connection. */
import { type BenchActor, createActor, requestText, send } from './client.ts'
import { compare, type Slices } from './compare.ts'
import { type Loader, startServer } from './process.ts'
import { type Line, micros, rate } from './report.ts'
import { indexedLists, type Subject } from './subject.ts'

const small = 100
const large = 100_000
const item = JSON.stringify({ text: 'Buy milk and bread on the way home', tags: ['home', 'shopping'], done: false })

export async function measureLists(store: string, subject: Subject, loader: Loader, slices: Slices): Promise<Line[]> {
  const server = await startServer('troupe', subject)
  try {
    const actor = await createActor(server.port, 'lists@example.com')
    await fill(server.port, actor, 'small', small)
    await fill(server.port, actor, 'large', large)
    for (const [at, list] of indexedLists.entries()) await fill(server.port, actor, list, at === 0 ? small : large)
    const lines: Line[] = []
    for (const { what, cycle } of operations) {
      const [few, many] = await compare(
        loader,
        [server, server],
        (which) =>
          (which === 0 ? cycle('small', small) : cycle('large', large)).map(([method, path, body]) =>
            requestText(actor, method, path, body),
          ),
        { ...slices, connections: 1 },
      )
      if (few === undefined || many === undefined) continue
      const ratio = few.rate / many.rate
      lines.push({
        store,
        what: `list: ${what}`,
        measured: `${rate(many.rate)}, ${micros(many.cpu)} CPU at 100,000`,
        bound: `${rate(few.rate)}, ${micros(few.cpu)} CPU at 100`,
        ratio,
        aim: '≤ 2',
        met: ratio <= 2,
      })
    }
    return lines
  } finally {
    await server.stop()
  }
}

type Request = readonly [method: string, path: string, body?: string]

/** Cycles of requests that leave the length of the list unchanged. */
const operations: readonly { readonly what: string; readonly cycle: (list: string, length: number) => Request[] }[] = [
  {
    what: 'append, then delete the last',
    cycle: (list, length) => [
      ['POST', `/properties/${list}`, item],
      ['DELETE', `/properties/${list}/${length}`],
    ],
  },
  { what: 'read the middle item', cycle: (list, length) => [['GET', `/properties/${list}/${length / 2}`]] },
  { what: 'update the middle item', cycle: (list, length) => [['PUT', `/properties/${list}/${length / 2}`, item]] },
  {
    what: 'delete the first, then append (a queue)',
    cycle: (list) => [
      ['DELETE', `/properties/${list}/0`],
      ['POST', `/properties/${list}`, item],
    ],
  },
  {
    what: 'a page of 50 by an indexed `where`',
    cycle: (list) => [['GET', `/properties/indexed_${list}/items?where[done]=false&limit=50`]],
  },
  {
    what: 'a page of 50 by an indexed `where`, sorted by another index',
    cycle: (list) => [['GET', `/properties/indexed_${list}/items?where[done]=false&sort=-due&limit=50`]],
  },
  {
    what: 'append to a list with two indexes, then delete the last',
    cycle: (list, length) => [
      ['POST', `/properties/indexed_${list}`, item],
      ['DELETE', `/properties/indexed_${list}/${length}`],
    ],
  },
  {
    what: 'bulk update of 10 items',
    cycle: (list, length) => [
      [
        'POST',
        '/properties',
        JSON.stringify({
          [list]: {
            items: Array.from({ length: 10 }, (_, at) => ({ index: Math.floor((at * length) / 10), text: 'changed' })),
          },
        }),
      ],
    ],
  },
]

async function fill(port: number, actor: BenchActor, list: string, length: number): Promise<void> {
  await send(port, actor, 'POST', '/properties', JSON.stringify({ [list]: { _type: 'list' } }))
  const value = JSON.parse(item) as object
  for (let from = 0; from < length; from += 5000) {
    const items = Array.from({ length: Math.min(5000, length - from) }, (_, at) => ({ index: from + at, ...value }))
    await send(port, actor, 'POST', '/properties', JSON.stringify({ [list]: { items } }))
  }
}
