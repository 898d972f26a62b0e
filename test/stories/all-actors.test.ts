/** `app.actors.all()`: every actor once, in pages. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import type { AllActors } from '../../src/actor/all-actors.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { bound } from '../support/stores.ts'

async function create(service: TestService, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) await service.app.actors.create({ id, creator: `${id}@example.com` })
}

async function idsOf(service: TestService, which?: AllActors): Promise<string[]> {
  return Array.fromAsync(service.app.actors.all(which), ({ id }) => id)
}

forEachService((start) => {
  describe('app.actors.all()', () => {
    it('yields handles of all actors, the oldest first, whatever the page size', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now })
      assert.deepEqual(await idsOf(service), [])
      // Two actors of one moment are ordered by their ids.
      for (const ids of [['c'], ['b', 'a'], ['e'], ['d']]) {
        clock.pass(1000)
        await create(service, ...ids)
      }
      for (const pageSize of [undefined, 1, 2, 3, 5, 1000])
        assert.deepEqual(await idsOf(service, { pageSize }), ['c', 'a', 'b', 'e', 'd'])
      const creators = await Array.fromAsync(service.app.actors.all(), async (actor) => {
        await actor.set('seen', true)
        return [actor.creator, await actor.get('seen')]
      })
      assert.deepEqual(creators[0], ['c@example.com', true])
    })

    it('leaves out actors that were created at createdAfter or before', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now })
      await create(service, 'old')
      const between = new Date(clock.now())
      clock.pass(1)
      await create(service, 'new')
      assert.deepEqual(await idsOf(service, { createdAfter: between }), ['new'])
      assert.deepEqual(await idsOf(service, { createdAfter: new Date(0) }), ['old', 'new'])
      assert.deepEqual(await idsOf(service, { createdAfter: new Date(clock.now()) }), [])
    })

    it('yields each actor once while actors are created and deleted', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now })
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) {
        clock.pass(1)
        await create(service, id)
      }
      const seen: string[] = []
      for await (const { id } of service.app.actors.all({ pageSize: 2 })) {
        seen.push(id)
        clock.pass(1)
        await create(service, `new-${id}`)
        if (id === 'b') for (const gone of ['a', 'b', 'c']) await service.app.actors.delete(gone)
      }
      assert.deepEqual(seen, ['a', 'b', 'd', 'e', 'f'])
    })

    it('leaves out the actors of the service itself', async () => {
      const service = await start()
      const registered = await service.request('/oauth/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: 'App', redirect_uris: ['https://app.example.com/back'] }),
      })
      assert.equal(registered.status, 201)
      await create(service, 'ada')
      assert.deepEqual(await idsOf(service), ['ada'])
    })

    it('reads a page only when the loop needs it, with one statement', async () => {
      let pages = 0
      const service = await start({
        wrapStore: (store) => ({
          ...bound(store),
          read: (work) =>
            store.read((q) =>
              work({
                isSharded: q.isSharded,
                get: (sql, ...params) => q.get(sql, ...params),
                all: (sql, ...params) => {
                  if (sql.includes('FROM actor')) pages += 1
                  return q.all(sql, ...params)
                },
              }),
            ),
        }),
      })
      await create(service, 'a', 'b', 'c', 'd')
      for await (const { id } of service.app.actors.all({ pageSize: 2 })) if (id !== '') break
      assert.equal(pages, 1)
    })

    it('refuses a page size and a date that are not valid', async () => {
      const service = await start()
      for (const pageSize of [0, -1, 1.5, 1001, Number.NaN])
        await assert.rejects(idsOf(service, { pageSize }), {
          code: 'bad_request',
          message: /./,
          name: ServiceError.name,
        })
      await assert.rejects(idsOf(service, { createdAfter: new Date('never') }), { code: 'bad_request' })
    })
  })
})
