import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock } from '../support/manual-clock.ts'
import { listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import { forEachService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

/** Returns false for statements of background work and for the time of the peer's last access. */
function isOfTheCallback(sql: string): boolean {
  return !sql.startsWith('/* receiving */') && !sql.startsWith('UPDATE trust SET last_accessed')
}

forEachService((start) => {
  describe('the cost of a callback', () => {
    const items = (count: number): string[] => Array.from({ length: count }, (_, index) => `item ${index}`)

    /** Returns the statements of each callback in `sent`, which arrive after the callbacks in `held`. */
    async function costs(held: readonly unknown[], sent: readonly unknown[]): Promise<number[]> {
      const service = await start()
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      let sequence = 0
      for (const data of held) assert.equal((await peer.diff(++sequence, data)).status, 204)
      const counts: number[] = []
      for (const data of sent) {
        service.reset()
        assert.equal((await peer.diff(++sequence, data)).status, 204)
        counts.push(service.statements.filter(isOfTheCallback).length)
      }
      return counts
    }

    it('does not grow with its data or with the stored copy (R-SUB-09)', async () => {
      const values = (count: number): object => Object.fromEntries(items(count).map((name) => [name, { name }]))
      const list = (count: number): object => ({ list: 'notes', operation: 'extend', items: items(count) })
      const append = { notes: { list: 'notes', operation: 'append', item: 'x' } }
      const update = { notes: { list: 'notes', operation: 'update', index: 0, item: 'y', old_item: 'item 0' } }
      const insert = { notes: { list: 'notes', operation: 'insert', index: 0, item: 'z' } }
      const sent = [values(1), values(300), append, update, insert, { notes: '' }]
      const little = await costs([{ notes: list(1) }], sent)
      const much = await costs([{ notes: list(500) }, values(300)], sent)
      assert.deepEqual(little, much)
      assert.deepEqual(little, [11, 11, 11, 12, 11, 11])
    })

    it('in the middle of a long list includes only the items that it brings, not the items after them (SUB-11, R-SUB-09)', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      const all = items(1000)
      await peer.diff(1, { notes: { list: 'notes', operation: 'extend', items: all } })
      const before = clock.now()
      const changes = [
        { operation: 'insert', index: 1, item: 'new' },
        { operation: 'delete', index: 500, old_item: 'item 499' },
        { operation: 'update', index: 0, item: 'first', old_item: 'item 0' },
        { operation: 'append', item: 'last' },
      ]
      clock.pass(1000)
      for (const [index, change] of changes.entries()) {
        await peer.diff(index + 2, { notes: { list: 'notes', ...change } })
      }
      all.splice(1, 0, 'new')
      all.splice(500, 1)
      all[0] = 'first'
      all.push('last')
      assert.deepEqual(await peer.copy(), { notes: all })
      const { store } = await service.app.running()
      const written = await store.read((q) =>
        q.all<{ name: string }>(
          'SELECT name FROM attribute WHERE bucket = $1 AND timestamp > $2',
          `remote:${peer.peerId}`,
          before,
        ),
      )
      // The written rows are the head and the three new items.
      assert.equal(written.length, 4)
      const shown = await actor.request('GET', `/devtest/attributes/remote:${peer.peerId}`)
      const attributes = (await shown.json()) as Record<string, { data: unknown }>
      assert.deepEqual(
        all.map((_, index) => attributes[`list:notes:${index}`]?.data),
        all,
      )
      assert.equal(Object.keys(attributes).length, all.length + 1)
      const { length, runs } = (attributes['list:notes:meta']?.data ?? {}) as { length?: number; runs?: unknown }
      assert.deepEqual([length, runs], [1001, undefined])
      const one = await actor.request('GET', `/devtest/attributes/remote:${peer.peerId}/list:notes:1`)
      assert.equal(((await one.json()) as { data: unknown }).data, 'new')
    })

    it('does not grow with the callbacks that waited for it (R-SUB-09)', async () => {
      const counts: number[] = []
      for (const waited of [1, 40]) {
        const service = await start()
        const actor = await service.createActor()
        const peer = await listenTo(service, actor)
        for (let sequence = 2; sequence < 2 + waited; sequence++) {
          const item = { list: 'notes', operation: 'append', item: sequence, length: sequence }
          assert.equal((await peer.diff(sequence, { notes: item })).status, 204)
        }
        service.reset()
        const first = { list: 'notes', operation: 'append', item: 1, length: 1 }
        assert.equal((await peer.diff(1, { notes: first })).status, 204)
        counts.push(service.statements.filter(isOfTheCallback).length)
        assert.deepEqual(await peer.copy(), { notes: Array.from({ length: waited + 1 }, (_, index) => index + 1) })
      }
      assert.deepEqual(counts, [13, 13])
    })

    it('for a list includes only the changed rows (SUB-11)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      await peer.diff(1, { notes: { list: 'notes', operation: 'extend', items: items(200) } })
      const { store } = await service.app.running()
      const times = async (): Promise<ReadonlyMap<string, number>> => {
        const rows = await store.read((q) =>
          q.all<{ name: string; timestamp: number }>(
            'SELECT name, timestamp FROM attribute WHERE bucket = $1',
            `remote:${peer.peerId}`,
          ),
        )
        return new Map(rows.map(({ name, timestamp }) => [name, timestamp]))
      }
      await store.write((tx) => tx.run('UPDATE attribute SET timestamp = 0 WHERE actor_id = $1', actor.id))
      await peer.diff(2, { notes: { list: 'notes', operation: 'append', item: 'last' } })
      await peer.diff(3, { notes: { list: 'notes', operation: 'update', index: 7, item: 'new', old_item: 'item 7' } })
      const written = [...(await times())].flatMap(([name, time]) => (time === 0 ? [] : [name]))
      assert.deepEqual(written.sort(), ['list:notes:200', 'list:notes:7', 'list:notes:meta'])
    })
  })

  describe('a callback while the store fails', () => {
    /** Sends one callback repeatedly while the store fails at each of its statements in turn. */
    async function atEachStatement(
      prepare: readonly (readonly [sequence: number, data: unknown])[],
      [sequence, data, more]: readonly [sequence: number, data: unknown, more?: Record<string, unknown>],
      before: unknown,
      after: unknown,
    ): Promise<void> {
      let store: FaultyStore | undefined
      const peers = new ScriptedPeers()
      const heard: number[] = []
      // The stopped clock prevents background work, so only the callbacks run.
      const clock = new ManualClock()
      const service = await start({
        now: clock.now,
        timers: clock.timers,
        wrapStore: (inner) => (store = faulty(inner)),
        peerClient: peers,
        declare: (app) => app.subscriptionData('*', (received) => void heard.push(received.sequence)),
      })
      assert.ok(store !== undefined)
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'whole', notes: [1, 2] }, sequence)
      for (const [number, prepared] of prepare) assert.equal((await peer.diff(number, prepared)).status, 204)
      await (await service.app.running()).parts.contacts.settled()
      heard.length = 0
      const [last, waiting] = [await peer.sequence(), await peer.waiting()]
      assert.deepEqual(await peer.copy(), before)
      let failures = 0
      for (let at = 1; ; at++) {
        store.plan({ at, error: () => new Error('A planned fault') })
        const answer = await peer.diff(sequence, data, more)
        store.plan()
        if (answer.status === 204) break
        failures++
        assert.equal(answer.status, 500)
        assert.deepEqual(
          [await peer.copy(), await peer.sequence(), await peer.waiting(), heard],
          [before, last, waiting, []],
        )
      }
      assert.ok(failures > 5, String(failures))
      assert.deepEqual(await peer.copy(), after)
    }

    it('is not acknowledged and changes nothing when it is a diff (SUB-04)', () =>
      atEachStatement(
        [[1, { mood: 'sunny' }]],
        [2, { mood: 'rainy', notes: { list: 'notes', operation: 'append', item: 1 } }],
        { mood: 'sunny' },
        { mood: 'rainy', notes: [1] },
      ))

    it('is not acknowledged and changes nothing when later callbacks wait for it (SUB-04)', () =>
      atEachStatement(
        [
          [1, { mood: 'a' }],
          [3, { mood: 'c' }],
          [4, { size: 4 }],
        ],
        [2, { mood: 'b' }],
        { mood: 'a' },
        { mood: 'c', size: 4 },
      ))

    it('is not acknowledged and changes nothing when it must wait for an earlier one (SUB-04)', () =>
      atEachStatement([[1, { mood: 'a' }]], [3, { mood: 'c' }], { mood: 'a' }, { mood: 'a' }))

    it('is not acknowledged and changes nothing when its granularity is low (SUB-04)', () =>
      atEachStatement([[1, { mood: 'a' }]], [2, { mood: 'b' }, { granularity: 'low' }], { mood: 'a' }, { mood: 'b' }))

    it('is not acknowledged and changes nothing when it is a resync (SUB-04)', () =>
      atEachStatement(
        [[1, { mood: 'a', old: 1 }]],
        [5, undefined, { type: 'resync' }],
        { mood: 'a', old: 1 },
        { mood: 'whole', notes: [1, 2] },
      ))
  })
})
