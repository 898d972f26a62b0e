/**
 * No access to a long list blocks the event loop: a counter measures the processor time of each turn of the loop. The part
 * `large-list` of the benchmarks measures the same with 5,256,000 items.
 */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { ActorHandle, ListHandle } from '../../src/app/actor-handle.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

/** More than a query reads without an index, and more than 100 pages. */
const length = 30_000
/** The most processor time of a turn. Waiting, and other processes, do not count. */
const maxCpuMs = 50

interface Turns {
  readonly count: number
  readonly maxCpuMs: number
}

/** Runs the work, and measures every turn of the event loop until its end. */
async function turnsOf(work: () => Promise<unknown>): Promise<Turns> {
  let count = 0
  let most = 0
  let isOver = false
  let before = process.threadCpuUsage()
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const turn = (): void => {
    const { user, system } = process.threadCpuUsage(before)
    count += 1
    most = Math.max(most, (user + system) / 1000)
    before = process.threadCpuUsage()
    if (isOver) end()
    else setImmediate(turn)
  }
  setImmediate(turn)
  try {
    await work()
  } finally {
    isOver = true
    await ended
  }
  return { count, maxCpuMs: most }
}

async function inShortTurns(work: () => Promise<unknown>): Promise<Turns> {
  const turns = await turnsOf(work)
  assert.ok(turns.maxCpuMs <= maxCpuMs, `a turn of the event loop took ${turns.maxCpuMs.toFixed(0)} ms`)
  return turns
}

forEachService((start) => {
  describe(`the event loop beside a list of ${length} items`, () => {
    let service: TestService
    let actor: TestActor
    let handle: ActorHandle
    let long: ListHandle
    before(async () => {
      service = await start({
        declare: (app) => {
          app.list('long', { item: { type: 'object' }, indexes: ['n', 'even'] })
          app.list('removed', { item: { type: 'object' }, indexes: ['n'] })
        },
      })
      actor = await service.createActor()
      const found = await service.app.actors.get(actor.id)
      assert.ok(found !== undefined)
      handle = found
      long = handle.list('long')
      for (const name of ['long', 'removed']) {
        for (let from = 0; from < length; from += 1000)
          await handle
            .list(name)
            .extend(Array.from({ length: 1000 }, (_, at) => ({ n: from + at, even: at % 2 === 0 })))
      }
    })

    /** Reads the answer to its end, without keeping it, and returns its bytes. */
    async function read(method: string, path: string, body?: unknown, accept = 'application/json'): Promise<number> {
      const answer = await actor.request(method, `/properties/${path}`, body, { accept })
      assert.ok(answer.ok, `${method} ${path}: ${answer.status}`)
      let bytes = 0
      const chunks: AsyncIterable<Uint8Array> | null = answer.body
      if (chunks !== null) for await (const chunk of chunks) bytes += chunk.length
      return bytes
    }

    const lines = 'application/x-ndjson'
    const reads: readonly (readonly [what: string, path: string, accept: string, leastBytes: number])[] = [
      ['a plain GET', 'long', 'application/json', 700_000],
      ['GET of the items', 'long/items', 'application/json', 700_000],
      ['a stream of lines', 'long/items', lines, 700_000],
      ['a stream of matching lines', 'long/items?where[even]=true&sort=-n', lines, 300_000],
      ['a page by an indexed condition', 'long/items?where[even]=true&limit=50', 'application/json', 1000],
      ['a page by an indexed condition and a sort', 'long/items?where[even]=false&sort=-n', 'application/json', 20_000],
    ]
    for (const [what, path, accept, leastBytes] of reads) {
      it(`is not blocked by ${what}`, async () => {
        let bytes = 0
        const { count } = await inShortTurns(async () => {
          bytes = await read('GET', path, undefined, accept)
        })
        assert.ok(bytes >= leastBytes, `${bytes} bytes`)
        // Each turn writes at most a page of a query, which has 1000 items of at most 40 bytes.
        assert.ok(count >= bytes / 40_000, `${count} turns for ${bytes} bytes`)
      })
    }

    const works: readonly (readonly [what: string, work: () => Promise<unknown>])[] = [
      ['a count by an index', async () => assert.equal(await long.count({ even: true }), length / 2)],
      ['an append', () => read('POST', 'long', { n: -1, even: false })],
      ['a deletion of the first item', () => read('DELETE', 'long/0')],
      ['a change of an item in the middle', () => read('PUT', 'long/15000', { n: -2, even: false })],
      [
        'a query in a transaction',
        () =>
          handle.transaction(async (tx) => {
            await tx.list('long').update(10_000, { n: -3, even: true })
            await tx.list('long').append({ n: -4, even: true })
            const { items } = await tx.list('long').query({ where: { even: true }, sort: 'n', limit: 2 })
            assert.deepEqual(
              items.map(({ item }) => item),
              [
                { n: -4, even: true },
                { n: -3, even: true },
              ],
            )
          }),
      ],
      [
        'the deletion of a list, with its rows',
        async () => {
          assert.equal(await read('DELETE', 'removed'), 0)
          const { parts } = await service.app.running()
          await parts.removedLists.settled()
        },
      ],
    ]
    for (const [what, work] of works) {
      it(`is not blocked by ${what}`, async () => {
        await inShortTurns(work)
      })
    }
  })
})

it('a turn of the event loop that computes for 60 ms is refused', async () => {
  const compute = async (): Promise<void> => {
    const start = process.threadCpuUsage()
    let used = 0
    while (used < 60_000) {
      const { user, system } = process.threadCpuUsage(start)
      used = user + system
    }
  }
  await assert.rejects(inShortTurns(compute), /a turn of the event loop took \d+ ms/)
})
