/** Work that no response waits for: its statements and log lines belong to no request. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { forEachService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

describe('background work', () => {
  forEachService((start) => {
    it('does not count the statements of a polling worker as statements of a request', async () => {
      const clock = new ManualClock()
      let store: FaultyStore | undefined
      const service = await start({
        timers: clock.timers,
        now: clock.now,
        wrapStore: (inner) => (store = faulty(inner)),
      })
      assert.ok(store !== undefined)
      const actor = await service.createActor()
      await until(() => service.backgroundStatements.length >= 3)
      service.reset()
      store.plan({ at: 1 })
      const isLook = (sql: string): boolean => sql.includes('MIN(due_at)')
      await passUntil(clock, [service], () => service.backgroundStatements.some(isLook), 1000)
      assert.deepEqual([store.seen, store.failed, service.statements], [0, 0, []])
      assert.equal((await actor.request('GET', '/properties')).status, 503)
      assert.equal(store.failed, 1)
    })

    it('writes a worker’s log lines without the id of the request that woke the worker', async () => {
      let store: FaultyStore | undefined
      const service = await start({ wrapStore: (inner) => (store = faulty(inner)) })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/properties', { notes: { _type: 'list' } })).status, 201)
      store?.plan({ matching: /SELECT list FROM removed_list/ })
      assert.equal((await actor.request('DELETE', '/properties/notes')).status, 204)
      const message = 'Cannot delete rows of a removed list; the service will retry'
      await until(() => service.log.some((line) => line.includes(message)))
      const line = service.log.find((each) => each.includes(message)) ?? '{}'
      assert.equal((JSON.parse(line) as { context: unknown }).context, '[-:-:-]')
    })
  })
})
