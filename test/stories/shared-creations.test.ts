import assert from 'node:assert/strict'
import { before, beforeEach, describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { onShards } from '../support/citus.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { everythingStored, outcomeOf } from '../support/stored.ts'
import { bound, type FaultyStore, faulty } from '../support/stores.ts'

/** More than fit into one transaction. */
const many = Array.from({ length: 40 }, (_, n) => n)
const few = many.slice(0, 5)

function creatorOf(n: number): string {
  return `someone${n}@example.com`
}

forEachService((start) => {
  describe('actors that are created at the same time', () => {
    let service: TestService
    let store: FaultyStore
    /** Called when the store has committed a change. */
    let committed = (): void => {}
    const created: string[] = []
    before(async () => {
      const wrapStore = (inner: Store): Store => {
        const watched: Store = {
          ...bound(inner),
          write: async (work, how) => {
            const result = await inner.write(work, how)
            committed()
            return result
          },
        }
        return (store = faulty(watched))
      }
      service = await start({
        wrapStore,
        declare: (app) => app.on('actor_created', ({ actor }) => void created.push(actor.id)),
      })
    })

    beforeEach(() => {
      store.plan()
      committed = () => {}
      created.length = 0
      service.reset()
    })

    /** Creates an actor for each number at the same time. */
    async function createAll(numbers: readonly number[]): Promise<{ id: string; creator: string }[]> {
      return Promise.all(
        numbers.map(async (n) => {
          const { actor } = await service.app.actors.create({ creator: creatorOf(n) })
          return { id: actor.id, creator: actor.creator }
        }),
      )
    }

    async function rowsOf(ids: ReadonlySet<string>): Promise<{ actors: string[]; creators: string[] }> {
      const { actor, creator } = await everythingStored(service)
      return {
        actors: actor.filter(({ id }) => ids.has(String(id))).map((row) => `${row['id']} ${row['creator']}`),
        creators: creator
          .filter((row) => ids.has(String(row['actor_id'])))
          .map((row) => `${row['actor_id']} ${row['name']}`),
      }
    }

    function inserts(): number {
      return service.statements.filter((sql) => sql.startsWith('INSERT INTO actor ')).length
    }

    it('are stored by one statement for 32 of them, each with its creator (R-ACT-01)', async () => {
      const made = await createAll(many)
      assert.deepEqual(
        made.map(({ creator }) => creator),
        many.map(creatorOf),
      )
      const { actors, creators } = await rowsOf(new Set(made.map(({ id }) => id)))
      const expected = made.map(({ id, creator }) => `${id} ${creator}`).toSorted()
      assert.deepEqual([actors.toSorted(), creators.toSorted()], [expected, expected])
      if (!onShards()) assert.ok(inserts() <= 3, `${inserts()} statements`)
      assert.deepEqual(created.toSorted(), made.map(({ id }) => id).toSorted())
    })

    it('each have their own passphrase', async () => {
      const made = await Promise.all(few.map((n) => service.createActor(creatorOf(n))))
      for (const actor of made) assert.equal((await actor.request('PUT', '/properties/a', '1')).status, 204)
      const [first, second] = made
      assert.ok(first !== undefined && second !== undefined)
      const authorization = second.authorization
      assert.equal((await first.request('GET', '/properties/a', undefined, { authorization })).status, 403)
    })

    it('are stored one by one after a statement failed, and only once', async () => {
      store.plan({ matching: /^INSERT INTO actor .* rows/s })
      const made = await createAll(few)
      const { actors, creators } = await rowsOf(new Set(made.map(({ id }) => id)))
      assert.deepEqual([actors.length, creators.length, created.length], [5, 5, 5])
      if (!onShards()) assert.equal(store.failed, 1)
    })

    it('are not stored when no statement succeeds', async () => {
      store.plan({ matching: /^INSERT INTO actor /, times: 100 })
      const before = await everythingStored(service)
      assert.deepEqual(
        await Promise.all(few.map((n) => outcomeOf(service.app.actors.create({ creator: creatorOf(n) })))),
        few.map(() => 'store_unavailable'),
      )
      store.plan()
      assert.deepEqual((await everythingStored(service)).actor, before.actor)
      assert.deepEqual(created, [])
    })

    it('are not repeated when the outcome of their commit is unknown', async () => {
      committed = () => {
        throw new ServiceError('store_unavailable', 'The connection broke during the commit')
      }
      const { actor: before } = await everythingStored(service)
      assert.deepEqual(
        await Promise.all(few.map((n) => outcomeOf(service.app.actors.create({ creator: creatorOf(n) })))),
        few.map(() => 'store_unavailable'),
      )
      committed = () => {}
      assert.equal((await everythingStored(service)).actor.length - before.length, 5)
      assert.deepEqual(created, [])
    })
  })
})
