import assert from 'node:assert/strict'
import { before, beforeEach, describe, it } from 'node:test'
import type { ActorHandle, ListHandle } from '../../src/app/actor-handle.ts'
import { ServiceError } from '../../src/errors.ts'
import { runInContext } from '../../src/observe/context.ts'
import { parseOrigin } from '../../src/origin.ts'
import type { Store } from '../../src/store/store.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { outcomeOf, untilWatched } from '../support/stored.ts'
import { bound, type FaultyStore, faulty } from '../support/stores.ts'

/** More than fit into one transaction. */
const many = Array.from({ length: 40 }, (_, n) => n)
const few = many.slice(0, 5)

/** Runs the work as the request with this id would. */
function asRequest<T>(requestId: string, work: () => T): T {
  return runInContext({ requestId, actorId: null, peerId: null }, work)
}

/** The id of the request that appends this item. */
function requestOf(item: unknown): string {
  return `request-${String(item)}`
}

/** The position, or the error. */
function valueOf(outcome: PromiseSettledResult<number>): unknown {
  return outcome.status === 'fulfilled' ? outcome.value : outcome.reason
}

forEachService((start) => {
  describe('appends that wait at the same time', () => {
    let service: TestService
    let store: FaultyStore
    /** Called when the store has committed a change of an actor. */
    let committed = (): void => {}
    /** Called before the store begins a change of an actor, which waits for it. */
    let entering = async (_actorId: string): Promise<void> => {}
    before(async () => {
      const wrapStore = (inner: Store): Store => {
        const watched: Store = {
          ...bound(inner),
          writeActor: async (actorId, work, origin) => {
            await entering(actorId)
            const result = await inner.writeActor(actorId, work, origin)
            committed()
            return result
          },
        }
        return (store = faulty(watched))
      }
      service = await start({ wrapStore, declare: (app) => void app.list('indexed', { item: {}, indexes: ['n'] }) })
    })

    let actor: TestActor
    let handle: ActorHandle
    let list: ListHandle
    beforeEach(async () => {
      store.plan()
      committed = () => {}
      entering = async () => {}
      actor = await service.createActor()
      const found = await service.app.actors.get(actor.id)
      assert.ok(found !== undefined)
      handle = found
      list = handle.list('log')
      await list.append('first')
      service.reset()
    })

    /** Appends the numbers at the same time, each as a request with its own id. */
    function appendAll(items: readonly number[], to = list): Promise<PromiseSettledResult<number>[]> {
      return Promise.allSettled(items.map((n) => asRequest(requestOf(n), () => to.append(n))))
    }

    function headsWritten(): number {
      return service.statements.filter((sql) => sql.startsWith('UPDATE property SET value')).length
    }

    async function origins(table: 'list_item' | 'delivery' | 'recent_change'): Promise<unknown[]> {
      const running = await service.app.running()
      const order = { list_item: 'item', delivery: 'sequence', recent_change: 'number' }[table]
      const rows = await running.store.read((q) =>
        q.all<{ origin: string }>(`SELECT origin FROM ${table} WHERE actor_id = $1 ORDER BY ${order}`, actor.id),
      )
      return rows.map(({ origin }) => parseOrigin(origin)?.request ?? null)
    }

    it('get the positions in their order, and store the list once for 32 of them (R-LIST-02)', async () => {
      const positions = await appendAll(many)
      assert.deepEqual(
        positions,
        many.map((n) => ({ status: 'fulfilled', value: n + 1 })),
      )
      assert.deepEqual(await list.items(), ['first', ...many])
      assert.equal(headsWritten(), 2)
    })

    it('keep their order when the transaction of the first waits longer than the others (R-LIST-02)', async () => {
      const other = await service.app.actors.create()
      const held = Promise.withResolvers<void>()
      entering = async (actorId) => {
        if (actorId !== actor.id) return
        entering = async () => {}
        await held.promise
      }
      const positions = appendAll(many)
      for (const n of few) await other.actor.set('a', n)
      held.resolve()
      assert.deepEqual(
        (await positions).map(valueOf),
        many.map((n) => n + 1),
      )
      assert.deepEqual(await list.items(), ['first', ...many])
    })

    it('keep the origin of each item, and the list has the origin of the last', async () => {
      await appendAll(few)
      assert.equal(headsWritten(), 1)
      assert.deepEqual(await origins('list_item'), [null, ...few.map(requestOf)])
      const running = await service.app.running()
      const head = await running.store.read((q) =>
        q.get<{ origin: string }>('SELECT origin FROM property WHERE actor_id = $1', actor.id),
      )
      assert.equal(parseOrigin(head?.origin ?? '')?.request, 'request-4')
    })

    it('are found by an index', async () => {
      await Promise.all(few.map((n) => handle.list('indexed').append({ n })))
      assert.equal(await handle.list('indexed').count({ n: 3 }), 1)
    })

    it('create the list together when it is missing', async () => {
      const positions = await appendAll(few, handle.list('new'))
      assert.deepEqual(positions.map(valueOf), [0, 1, 2, 3, 4])
    })

    it('are reported one by one, each with its caller', async () => {
      await appendAll(few)
      assert.deepEqual(
        service.changes.map(({ blob, by }) => [(JSON.parse(blob) as { index: number }).index, by.kind]),
        few.map((n) => [n + 1, 'application']),
      )
    })

    it('are diffs of their own for a subscriber, each with its request (R-LIST-06, R-SUB-12)', async () => {
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({ target: 'properties', granularity: 'high' })
      for (const round of [1, 2]) {
        const positions = await appendAll(few)
        assert.deepEqual(new Set(positions.map(valueOf)), new Set(many.slice(5 * round - 4, 5 * round + 1)))
        const polled = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        const { data } = (await polled.json()) as { data: { sequence: number; data: { log: { index: number } } }[] }
        assert.deepEqual(
          data.map(({ sequence, data: { log } }) => [sequence, log.index]),
          many.slice(1, 5 * round + 1).map((n) => [n, n]),
        )
      }
      const items = await list.items()
      assert.deepEqual(await origins('delivery'), items.slice(1).map(requestOf))
    })

    it('are announced to a page of the owner, each with its request (R-LIVE-01)', async () => {
      const { parts } = await service.app.running()
      const ending = new AbortController()
      const changes = parts.live.watch(actor.id, ending.signal)
      const first = changes.next()
      await untilWatched(service, actor)
      await appendAll(few)
      await first
      ending.abort()
      await changes.return(undefined)
      assert.deepEqual(new Set(await origins('recent_change')), new Set(few.map(requestOf)))
    })

    it('each fail with their own error when the list does not exist', async () => {
      const answers = await Promise.all(
        few.map((n) => actor.request('POST', '/properties/none/items', { action: 'add', item_value: n })),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        few.map(() => 404),
      )
    })

    it('are stored one by one after a statement failed, and only once', async () => {
      store.plan({ matching: /^INSERT INTO list_item .* rows/s })
      const positions = await appendAll(few)
      assert.equal(store.failed, 1)
      const items = await list.items()
      assert.deepEqual(new Set(items.slice(1)), new Set(few))
      assert.deepEqual(
        positions.map(valueOf),
        few.map((n) => items.indexOf(n)),
      )
      assert.deepEqual(await origins('list_item'), [null, ...items.slice(1).map(requestOf)])
    })

    it('are not repeated when the outcome of their commit is unknown', async () => {
      committed = () => {
        committed = () => {}
        throw new ServiceError('store_unavailable', 'The connection broke during the commit')
      }
      const outcomes = await Promise.all(few.map((n) => outcomeOf(list.append(n))))
      assert.deepEqual(
        outcomes,
        few.map(() => 'store_unavailable'),
      )
      assert.deepEqual(await list.items(), ['first', ...few])
    })
  })
})
