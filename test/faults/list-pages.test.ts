/** Pages of lists that change while a client reads them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { seeded } from '../support/random.ts'
import { listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import { forEachService, type TestActor } from '../support/service.ts'

interface Page {
  readonly items: readonly { readonly index: number; readonly item: number }[]
  readonly count: number
  readonly after?: string
}

/** Reads by the `Link` of each page. `between` runs after each page. */
async function read(actor: TestActor, path: string, between: (seen: number[]) => Promise<void>): Promise<number[]> {
  const seen: number[] = []
  let query = '?start=0&limit=4'
  for (;;) {
    const answer = await actor.request('GET', `${path}${query}`)
    assert.equal(answer.status, 200, query)
    const { items, count, after } = (await answer.json()) as Page
    const [first] = items
    if (first !== undefined) assert.ok(first.index + items.length <= count, `${first.index} of ${count}`)
    seen.push(...items.map(({ item }) => item))
    const link = answer.headers.get('link')
    if (link === null) {
      assert.equal(after, undefined)
      return seen
    }
    assert.equal(link, `<?limit=4&after=${after}>; rel="next"`)
    query = `?limit=4&after=${after}`
    await between(seen)
  }
}

const upTo = (length: number): number[] => Array.from({ length }, (_, index) => index)

forEachService((start) => {
  describe('pages of a list', () => {
    it('skip no item when others are inserted and deleted between them, by Link (LST-15)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      const random = seeded(16)
      for (let round = 0; round < 12; round++) {
        const name = `l${round}`
        const list = handle.list(name)
        const length = 20 + random.below(20)
        await list.extend(upTo(length))
        const all = upTo(length)
        const gone = new Set<number>()
        const seen = await read(actor, `/properties/${name}/items`, async () => {
          for (let times = random.below(6); times > 0; times--) {
            const items = (await list.items()).map(Number)
            if (items.length === 0) return
            const at = random.below(items.length)
            gone.add(items[at] ?? -1)
            await list.delete(at)
            if (random.below(3) === 0) await list.insert(random.below(items.length), 1000 + random.below(1000))
          }
        })
        const kept = all.filter((item) => !gone.has(item))
        assert.deepEqual(
          seen.filter((item) => kept.includes(item)),
          kept,
          `round ${round}`,
        )
      }
    })

    it('show every item to a reader that deletes what it has read, or all before (LST-15)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      await handle.list('queue').extend(upTo(15))
      const drained = await read(actor, '/properties/queue/items', async (seen) => {
        while (seen.includes(Number((await handle.list('queue').items())[0]))) await handle.list('queue').delete(0)
      })
      assert.deepEqual(drained, upTo(15))
      await handle.list('other').extend(upTo(15))
      const middle = await read(actor, '/properties/other/items', async (seen) => {
        if (seen.length === 8) for (let times = 0; times < 4; times++) await handle.list('other').delete(4)
      })
      assert.deepEqual(middle, upTo(15))
    })

    it('skip no item for clients, handlers and readers of copies (LST-15)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ peerClient: peers })
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      await handle.list('l').extend(upTo(10))
      const first = await handle.list('l').query({ limit: 4 })
      await handle.list('l').delete(0)
      const second = await handle.list('l').query({ limit: 4, after: first.next })
      assert.deepEqual(
        second.items.map(({ item }) => item),
        [4, 5, 6, 7],
      )

      const peer = await listenTo(service, actor)
      await peer.diff(1, { todo: { _list: true, items: upTo(10) } })
      let sequence = 1
      const copied = await read(actor, `/remote/${peer.peerId}/todo/items`, async () => {
        sequence++
        const length = 11 - sequence
        await peer.diff(sequence, { todo: { list: 'todo', operation: 'delete', index: 0, length } })
      })
      assert.deepEqual(copied, upTo(10))
    })

    it('refuse an `after` that no page has returned, and one beside `start` (LST-15)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await actor.request('POST', '/properties', '{"l":{"_type":"list"}}')
      for (const query of ['after=4', 'after=W10', 'after=%00', 'start=0&after=WzQsIjMiXQ'])
        assert.equal((await actor.request('GET', `/properties/l/items?${query}`)).status, 400, query)
      for (const key of ['', 'x', '1,,2', '99999999999999999', '-1', '1'.repeat(400)]) {
        const after = Buffer.from(JSON.stringify([0, key])).toString('base64url')
        const answer = await actor.request('GET', `/properties/l/items?after=${after}`)
        assert.deepEqual(await answer.json(), { items: [], count: 0 }, key)
      }
    })
  })
})
