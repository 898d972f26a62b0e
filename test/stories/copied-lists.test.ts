import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RemoteListHandle } from '../../src/handles.ts'
import { listenTo, type Listening } from '../support/scripted-peer.ts'
import { forEachService, type TestService } from '../support/service.ts'

interface Copied {
  readonly service: TestService
  readonly peer: Listening
  /** The next callback. */
  readonly receive: (change: object) => Promise<void>
  readonly list: (name: string) => Promise<RemoteListHandle>
}

forEachService((start) => {
  async function copied(items: readonly unknown[]): Promise<Copied> {
    const service = await start()
    const actor = await service.createActor()
    const peer = await listenTo(service, actor)
    let sequence = 0
    const receive = async (change: object): Promise<void> => {
      const answer = await peer.diff(++sequence, { jobs: { list: 'jobs', ...change } })
      assert.equal(answer.status, 204)
    }
    await receive({ operation: 'extend', items })
    const list = async (name: string): Promise<RemoteListHandle> => {
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== undefined)
      return handle.remote(peer.peerId).list(name)
    }
    return { service, peer, receive, list }
  }

  const jobs = [
    { text: 'milk', due: 3, done: false },
    { text: 'bread', due: 1, done: true },
    { text: 'tea', due: 2, done: false },
    'a note',
    { text: 'salt', due: 2, done: false },
  ]
  const textsOf = (found: readonly { item: unknown }[]): unknown[] =>
    found.map(({ item }) => (item as { text?: string }).text)

  describe('a list of a copy', () => {
    it('gives its length and its items by position, from either end', async () => {
      const { list } = await copied(jobs)
      const copy = await list('jobs')
      assert.equal(copy.name, 'jobs')
      assert.deepEqual([await copy.exists(), await copy.length()], [true, 5])
      assert.deepEqual(await copy.get(1), { text: 'bread', due: 1, done: true })
      assert.equal(await copy.get(-2), 'a note')
      assert.deepEqual(await copy.get(-1), { text: 'salt', due: 2, done: false })
      assert.deepEqual([await copy.get(5), await copy.get(-6)], [undefined, undefined])
      assert.deepEqual(await copy.items(3), ['a note', { text: 'salt', due: 2, done: false }])
      assert.deepEqual(await copy.items(-2, -1), ['a note'])
      assert.deepEqual(await copy.items(), jobs)
      assert.deepEqual(await copy.items(2, 2), [])
    })

    it('is empty when the copy does not contain it, or contains a value of this name', async () => {
      const { peer, list } = await copied(jobs)
      assert.equal((await peer.diff(2, { mood: 'calm' })).status, 204)
      for (const name of ['none', 'mood', 'jobs:0']) {
        const copy = await list(name)
        assert.deepEqual([await copy.exists(), await copy.length(), await copy.get(0)], [false, 0, undefined])
        assert.deepEqual([await copy.items(), await copy.count({ due: 2 })], [[], 0])
        assert.deepEqual(await copy.query({ sort: 'due' }), { items: [], next: null })
        for await (const page of copy.pages()) assert.fail(JSON.stringify(page))
      }
    })

    it('keeps the order of the peer after changes in the middle', async () => {
      const { receive, list } = await copied(['b', 'd', 'e'])
      await receive({ operation: 'insert', index: 1, item: 'c' })
      await receive({ operation: 'insert', index: 0, item: 'a' })
      await receive({ operation: 'delete', index: 4, old_item: 'e' })
      await receive({ operation: 'append', item: 'f' })
      const copy = await list('jobs')
      assert.deepEqual(await copy.items(), ['a', 'b', 'c', 'd', 'f'])
      for (const [from, to, expected] of [
        [0, 1, ['a']],
        [1, 3, ['b', 'c']],
        [2, 5, ['c', 'd', 'f']],
        [4, 9, ['f']],
      ] as const)
        assert.deepEqual(await copy.items(from, to), expected)
    })

    it('is read page by page', async () => {
      const { list } = await copied(jobs)
      const copy = await list('jobs')
      const sizes: number[] = []
      for await (const page of copy.pages(2)) sizes.push(page.length)
      assert.deepEqual(sizes, [2, 2, 1])
      const seen: unknown[] = []
      for await (const { index, item } of copy) seen.push([index, item])
      assert.deepEqual(seen, [...jobs.entries()])
    })
  })

  describe('a query of a copied list', () => {
    it('selects and sorts by fields, page by page', async () => {
      const { list } = await copied(jobs)
      const copy = await list('jobs')
      assert.deepEqual(textsOf((await copy.query({ where: { done: false } })).items), ['milk', 'tea', 'salt'])
      assert.deepEqual(textsOf((await copy.query({ where: { due: 2, text: 'salt' } })).items), ['salt'])
      const first = await copy.query({ where: { done: false }, sort: '-due', limit: 2 })
      assert.deepEqual(textsOf(first.items), ['milk', 'salt'])
      const second = await copy.query({ where: { done: false }, sort: '-due', limit: 2, after: first.next })
      assert.deepEqual([textsOf(second.items), second.next], [['tea'], null])
    })

    it('without a condition takes a range of the list', async () => {
      const { list } = await copied(jobs)
      const copy = await list('jobs')
      const first = await copy.query({ limit: 3 })
      assert.deepEqual(textsOf(first.items), ['milk', 'bread', 'tea'])
      const second = await copy.query({ limit: 3, after: first.next })
      assert.deepEqual(second, { items: [{ item: 'a note' }, { item: jobs[4] }], next: null })
      assert.equal((await copy.query({ limit: 5 })).next, null)
    })

    it('counts', async () => {
      const { list } = await copied(jobs)
      const copy = await list('jobs')
      assert.deepEqual(
        [
          await copy.count(),
          await copy.count({ done: false }),
          await copy.count({ due: 2 }),
          await copy.count({ x: 1 }),
        ],
        [5, 3, 2, 0],
      )
    })

    it('is refused for a bad limit, cursor or condition', async () => {
      const { list } = await copied(jobs)
      const copy = await list('jobs')
      await assert.rejects(copy.query({ limit: 0 }), { code: 'bad_request' })
      await assert.rejects(copy.query({ limit: 1001 }), { code: 'bad_request' })
      await assert.rejects(copy.query({ after: 'x' }), { code: 'bad_request' })
      await assert.rejects(copy.count({ text: 'x'.repeat(2000) }), { code: 'bad_request' })
    })

    it('searches 10,000 items, and no longer list', async () => {
      const numbers = Array.from({ length: 10_000 }, (_, n) => ({ n, even: n % 2 === 0 }))
      const { receive, list } = await copied(numbers)
      const copy = await list('jobs')
      assert.equal(await copy.count({ even: true }), 5000)
      const last = await copy.query({ where: { even: true }, sort: '-n', limit: 1 })
      assert.deepEqual(last.items, [{ item: { n: 9998, even: true } }])
      await receive({ operation: 'append', item: { n: 10_000, even: true } })
      const refusal = {
        code: 'index_required',
        message:
          'Cannot query the copy of the list "jobs" of 10001 items: a copy has no index. Query the list of the peer',
      }
      await assert.rejects(copy.count({ even: true }), refusal)
      await assert.rejects(copy.query({ sort: 'n' }), refusal)
      assert.equal(await copy.count(), 10_001)
      assert.deepEqual((await copy.query({ limit: 1 })).items, [{ item: { n: 0, even: true } }])
      let seen = 0
      for await (const { index, item } of copy) {
        assert.equal((item as { n: number }).n, index)
        seen += 1
      }
      assert.equal(seen, 10_001)
    })
  })
})
