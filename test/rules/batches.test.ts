import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { Batches } from '../../src/publication/batches.ts'

describe('a batch', () => {
  it('contains all items of one turn of the event loop and gives each its own result', async () => {
    const seen: (readonly number[])[] = []
    const batches = new Batches<number, number>(10, async (items) => {
      seen.push(items)
      return items.map((item) => item * 10)
    })
    assert.deepEqual(await Promise.all([3, 1, 2].map((item) => batches.ask(item))), [30, 10, 20])
    assert.deepEqual(seen, [[3, 1, 2]])
  })

  it('leaves the items that arrive while it runs to the next batch, in their order', async () => {
    const seen: (readonly string[])[] = []
    const gate = Promise.withResolvers<void>()
    const later: Promise<string>[] = []
    const batches = new Batches<string, string>(10, async (items) => {
      seen.push(items)
      if (items[0] === 'a') {
        later.push(batches.ask('b'), batches.ask('c'))
        await gate.promise
      }
      return items
    })
    const first = batches.ask('a')
    while (later.length === 0) await new Promise(setImmediate)
    gate.resolve()
    assert.deepEqual(await Promise.all([first, ...later]), ['a', 'b', 'c'])
    assert.deepEqual(seen, [['a'], ['b', 'c']])
  })

  it('never exceeds the maximum size', async () => {
    const sizes: number[] = []
    const batches = new Batches<number, number>(2, async (items) => {
      sizes.push(items.length)
      return items
    })
    await Promise.all([1, 2, 3, 4, 5].map((item) => batches.ask(item)))
    assert.deepEqual(sizes, [2, 2, 1])
  })

  it('rejects only the items that also fail alone, and answers the others', async () => {
    const seen: (readonly number[])[] = []
    const batches = new Batches<number, number>(3, async (items) => {
      seen.push(items)
      if (items.includes(1)) throw new Error('one is bad')
      return items.map((item) => item * 10)
    })
    const ends = await Promise.allSettled([1, 2, 3, 4].map((item) => batches.ask(item)))
    assert.deepEqual(
      ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason))),
      ['Error: one is bad', 20, 30, 40],
    )
    assert.deepEqual(seen, [[1, 2, 3], [1], [2], [3], [4]])
    assert.equal(await batches.ask(5), 50)
  })

  for (const code of ['store_unavailable', 'unavailable', 'shutting_down'] as const) {
    it(`rejects every item of a batch that fails with ${code}, without trying each alone`, async () => {
      let calls = 0
      const batches = new Batches<number, number>(3, async (items) => {
        calls++
        if (items.includes(1)) throw new ServiceError(code)
        return items
      })
      const ends = await Promise.allSettled([1, 2, 3, 4].map((item) => batches.ask(item)))
      assert.deepEqual(
        ends.map(({ status }) => status),
        ['rejected', 'rejected', 'rejected', 'fulfilled'],
      )
      assert.equal(calls, 2)
    })
  }
})
