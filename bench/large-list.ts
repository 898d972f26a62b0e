/**
 * Measures each access to a list of 5,256,000 items: the longest pause of the event loop, and the memory beyond idle.
 * The bound of the pause applies to the thread's own processor time, because other processes make the pause longer.
 */
import type { BenchActor } from './client.ts'
import { type LargeListServer, startLargeListServer } from './process.ts'
import { duration, type Line } from './report.ts'
import type { Order, Strain } from './server-large-list.ts'
import type { Subject } from './subject.ts'

const maxCpuMs = 50
const maxMegabytes = 64
const usualRequests = 3000

interface SendOptions {
  readonly body?: string
  readonly accept?: string
}

type Work = Extract<Order, { kind: 'work' }>['what']

const requests: readonly (readonly [what: string, method: string, path: string, options?: SendOptions])[] = [
  ['GET all properties', 'GET', '/properties'],
  ['GET ?metadata=true', 'GET', '/properties?metadata=true'],
  ['GET ?format=full', 'GET', '/properties?format=full'],
  ['GET the list', 'GET', '/properties/long'],
  ['HEAD of the list', 'HEAD', '/properties/long'],
  ['GET the list, a 20th as long, through a hook', 'GET', '/properties/hooked'],
  ['GET its items', 'GET', '/properties/long/items'],
  ['GET 1000 items in the middle', 'GET', '/properties/long/items?start=2628000&limit=1000'],
  ['GET a page of 50 by an indexed `where`', 'GET', '/properties/long/items?where[n]=2628000&limit=50'],
  ['GET a page of 50 by an indexed sort', 'GET', '/properties/long/items?sort=-n&limit=50'],
  ['GET its items as lines of JSON', 'GET', '/properties/long/items', { accept: 'application/x-ndjson' }],
  ['GET its metadata', 'GET', '/properties/long/metadata'],
  ['append an item', 'POST', '/properties/long', { body: '{"n":-3}' }],
  ['delete the first item', 'DELETE', '/properties/long/0'],
]
const works: readonly Work[] = [
  'length',
  'query in a transaction',
  'find the last item',
  'iterate over all items',
  'removeWhere without a match',
]
/** Deletions in this order; the last one deletes everything that remains. */
const removals: readonly (readonly [what: string, method: string, path: string])[] = [
  ['DELETE the list, with the deletion of its rows', 'DELETE', '/properties/long'],
  ['DELETE the actor', 'DELETE', ''],
]

export async function measureLargeList(store: string, subject: Subject, items: number): Promise<Line[]> {
  const filling = await startLargeListServer(subject)
  const actor = await filling.obey<BenchActor>({ kind: 'fill', items })
  await filling.stop()
  const lines: Line[] = []
  /** Measures in a separate process, so that no measurement profits from memory that another one allocated. */
  const measure = async (what: string, work: (server: LargeListServer) => Promise<unknown>): Promise<void> => {
    const server = await startLargeListServer(subject)
    try {
      // Warm-up: the first requests of a process always grow its heap, so idle means a service after some use.
      for (let at = 0; at < usualRequests; at += 1) await send(server.port, actor, 'GET', '/properties/color')
      await server.obey({ kind: 'begin' })
      const started = performance.now()
      await work(server)
      const seconds = (performance.now() - started) / 1000
      lines.push(
        lineOf(store, `${items.toLocaleString('en')} items: ${what}`, seconds, await server.obey({ kind: 'end' })),
      )
      process.stderr.write(`${lines.at(-1)?.what}: ${lines.at(-1)?.measured}\n`)
    } finally {
      await server.stop()
    }
  }
  for (const [what, method, path, options] of requests)
    await measure(what, ({ port }) => send(port, actor, method, path, options))
  for (const what of works) await measure(what, (server) => server.obey({ kind: 'work', actorId: actor.id, what }))
  for (const [what, method, path] of removals) {
    await measure(what, async (server) => {
      await send(server.port, actor, method, path)
      await server.obey({ kind: 'settle' })
    })
  }
  return lines
}

function lineOf(store: string, what: string, seconds: number, { delayMs, cpuMs, megabytes }: Strain): Line {
  return {
    store,
    what,
    measured: `${delayMs.toFixed(0)} ms (${cpuMs.toFixed(0)} ms CPU), ${megabytes.toFixed(0)} MiB, in ${duration(seconds)}`,
    bound: `${maxCpuMs} ms CPU, ${maxMegabytes} MiB`,
    ratio: null,
    aim: '≤',
    met: cpuMs <= maxCpuMs && megabytes <= maxMegabytes,
  }
}

/** Reads the response to its end and discards it. */
async function send(
  port: number,
  { id, authorization }: BenchActor,
  method: string,
  path: string,
  { body, accept = 'application/json' }: SendOptions = {},
): Promise<void> {
  const headers = { authorization, accept, 'content-type': 'application/json' }
  const answer = await fetch(`http://127.0.0.1:${port}/${id}${path}`, { method, headers, body: body ?? null })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`)
  if (answer.body !== null) for await (const _chunk of answer.body);
}
