import assert from 'node:assert/strict'
import { before, beforeEach, describe, it } from 'node:test'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { ServiceError } from '../../src/errors.ts'
import { runInContext } from '../../src/observe/context.ts'
import { parseOrigin } from '../../src/origin.ts'
import type { Store } from '../../src/store/store.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { everythingStored, outcomeOf, untilWatched } from '../support/stored.ts'
import { bound, type FaultyStore, faulty } from '../support/stores.ts'

/** More than fit into one transaction. */
const many = Array.from({ length: 40 }, (_, n) => n)
const few = many.slice(0, 5)

/** Runs the work as the request with this id would. */
function asRequest<T>(requestId: string, work: () => T): T {
  return runInContext({ requestId, actorId: null, peerId: null }, work)
}

/** The id of the request that sets this value. */
function requestOf(n: number): string {
  return `request-${n}`
}

forEachService((start) => {
  describe('values of one actor that are set at the same time', () => {
    let service: TestService
    let store: FaultyStore
    /** Called when the store has committed a change of an actor. */
    let committed = (): void => {}
    before(async () => {
      const wrapStore = (inner: Store): Store => {
        const watched: Store = {
          ...bound(inner),
          writeActor: async (actorId, work, origin) => {
            const result = await inner.writeActor(actorId, work, origin)
            committed()
            return result
          },
        }
        return (store = faulty(watched))
      }
      service = await start({ wrapStore, indexedProperties: ['code'] })
    })

    let actor: TestActor
    let handle: ActorHandle
    beforeEach(async () => {
      store.plan()
      committed = () => {}
      actor = await service.createActor()
      const found = await service.app.actors.get(actor.id)
      assert.ok(found !== undefined)
      handle = found
      service.reset()
    })

    /** Sets a value for each number at the same time, each as a request with its own id. */
    function setAll(numbers: readonly number[], nameOf: (n: number) => string): Promise<unknown[]> {
      return Promise.all(numbers.map((n) => outcomeOf(asRequest(requestOf(n), () => handle.set(nameOf(n), n)))))
    }

    function valuesWritten(): number {
      return service.statements.filter((sql) => sql.startsWith('INSERT INTO property ')).length
    }

    async function originOf(name: string): Promise<string | undefined> {
      const running = await service.app.running()
      const row = await running.store.read((q) =>
        q.get<{ origin: string }>('SELECT origin FROM property WHERE actor_id = $1 AND name = $2', actor.id, name),
      )
      return parseOrigin(row?.origin ?? '')?.request
    }

    async function origins(table: 'delivery' | 'recent_change'): Promise<unknown[]> {
      const running = await service.app.running()
      const order = { delivery: 'sequence', recent_change: 'number' }[table]
      const rows = await running.store.read((q) =>
        q.all<{ origin: string }>(`SELECT origin FROM ${table} WHERE actor_id = $1 ORDER BY ${order}`, actor.id),
      )
      return rows.map(({ origin }) => parseOrigin(origin)?.request)
    }

    it('are stored once for 32 of one name, and the last one stays (R-PROP-09)', async () => {
      assert.deepEqual(
        await setAll(many, () => 'a'),
        many.map(() => 'done'),
      )
      assert.equal(await handle.get('a'), 39)
      assert.equal(valuesWritten(), 2)
    })

    it('are stored once for 32 of different names', async () => {
      await setAll(many, (n) => `v${n}`)
      assert.equal(valuesWritten(), 2)
      for (const n of many) assert.equal(await handle.get(`v${n}`), n)
    })

    it('have the origin of the last one of their name', async () => {
      await setAll(few, (n) => (n % 2 === 0 ? 'even' : 'odd'))
      assert.equal(valuesWritten(), 1)
      assert.deepEqual([await originOf('even'), await originOf('odd')], ['request-4', 'request-3'])
      await setAll(few, () => 'one')
      assert.equal(await originOf('one'), 'request-4')
    })

    it('are reported one by one, each with its caller', async () => {
      await setAll(few, () => 'a')
      assert.deepEqual(
        service.changes.map(({ subtarget, blob, by }) => [subtarget, blob, by.kind]),
        few.map((n) => ['a', String(n), 'application']),
      )
    })

    it('are diffs of their own for a subscriber, each with its request (R-SUB-12)', async () => {
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({ target: 'properties', granularity: 'high' })
      for (const round of [1, 2]) {
        await setAll(few, (n) => `${round}-${n}`)
        const polled = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        const { data } = (await polled.json()) as { data: { sequence: number; data: object }[] }
        assert.deepEqual(
          data.map(({ sequence }) => sequence),
          many.slice(1, 5 * round + 1),
        )
        const changed = data.slice(-5).map(({ data: diff }) => diff)
        assert.deepEqual(new Set(changed.map((diff) => JSON.stringify(diff))), diffsOf(round))
        const requests = changed.map((diff) => requestOf(Number(Object.values(diff)[0])))
        assert.deepEqual((await origins('delivery')).slice(-5), requests)
      }
    })

    it('are announced to a page of the owner, each with its request (R-LIVE-01)', async () => {
      const { parts } = await service.app.running()
      const ending = new AbortController()
      const changes = parts.live.watch(actor.id, ending.signal)
      const first = changes.next()
      await untilWatched(service, actor)
      await setAll(few, (n) => `v${n}`)
      await first
      ending.abort()
      await changes.return(undefined)
      assert.deepEqual(new Set(await origins('recent_change')), new Set(few.map(requestOf)))
    })

    it('are stored without the one whose name belongs to a list (R-PROP-04)', async () => {
      await handle.list('v2').append('item')
      const outcomes = await setAll(few, (n) => `v${n}`)
      assert.deepEqual(outcomes, ['done', 'done', 'conflict', 'done', 'done'])
      assert.deepEqual(await handle.list('v2').items(), ['item'])
      for (const n of [0, 1, 3, 4]) assert.equal(await handle.get(`v${n}`), n)
    })

    it('each fail when their only name belongs to a list (R-PROP-04)', async () => {
      await handle.list('a').append('item')
      assert.deepEqual(
        await setAll(few, () => 'a'),
        few.map(() => 'conflict'),
      )
      assert.deepEqual(await handle.list('a').items(), ['item'])
    })

    it('find the actor by the one that is indexed (R-PROP-05)', async () => {
      await setAll(few, (n) => ['a', 'code', 'b', 'c', 'd'][n] ?? '')
      assert.deepEqual(
        (await everythingStored(service)).property_lookup.filter(({ actor_id }) => actor_id === actor.id),
        [{ name: 'code', value: '1', actor_id: actor.id }],
      )
    })

    it('leave the value as it is when the condition of another one is not met', async () => {
      await handle.set('a', 'first')
      const outdated = asRequest('request-5', () =>
        actor.request('PUT', '/properties/a', 'second', { 'if-match': '"outdated"' }),
      )
      const [answer] = await Promise.all([outdated, ...few.map((n) => handle.set(`v${n}`, n))])
      assert.equal(answer.status, 412)
      assert.equal(await handle.get('a'), 'first')
    })

    it('are stored one by one after a statement failed, and only once', async () => {
      store.plan({ matching: /^INSERT INTO property .* rows/s })
      assert.deepEqual(
        await setAll(few, (n) => `v${n}`),
        few.map(() => 'done'),
      )
      assert.equal(store.failed, 1)
      assert.equal(service.changes.length, 5)
      for (const n of few) {
        assert.equal(await handle.get(`v${n}`), n)
        assert.equal(await originOf(`v${n}`), requestOf(n))
      }
    })

    it('are not repeated when the outcome of their commit is unknown', async () => {
      committed = () => {
        committed = () => {}
        throw new ServiceError('store_unavailable', 'The connection broke during the commit')
      }
      assert.deepEqual(
        await setAll(few, () => 'a'),
        few.map(() => 'store_unavailable'),
      )
      assert.equal(valuesWritten(), 1)
      assert.equal(await handle.get('a'), 4)
    })
  })
})

/** The diffs of a round, as JSON. */
function diffsOf(round: number): Set<string> {
  return new Set(few.map((n) => `{"${round}-${n}":${n}}`))
}
