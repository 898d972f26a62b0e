import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ServiceError } from '../../src/errors.ts'
import { openStore, openStoreInMemory } from '../../src/open-store.ts'
import { StoreStartError } from '../../src/store/start-error.ts'
import type { Queries, Store, Transaction } from '../../src/store/store.ts'

async function open(t: TestContext, options: Parameters<typeof openStoreInMemory>[0] = {}): Promise<Store> {
  const store = await openStoreInMemory(options)
  t.after(() => store.close())
  return store
}

const addActor = (tx: Transaction, id: string): Promise<number> =>
  tx.run('INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, $2, $3, $4)', id, 'owner', 'secret', 1)

const actorIds = async (q: Queries): Promise<string[]> =>
  (await q.all<{ id: string }>('SELECT id FROM actor ORDER BY id')).map(({ id }) => id)

const failsWith = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

describe('the store in memory', () => {
  it('keeps a write, and begins empty again when it is opened again', async (t) => {
    const store = await open(t)
    assert.equal(await store.write((tx) => addActor(tx, 'a')), 1)
    assert.deepEqual(await store.read(actorIds), ['a'])
    assert.deepEqual(await (await open(t)).read(actorIds), [])
  })

  it('rolls back a write whose function throws, and continues with the next one', async (t) => {
    const store = await open(t)
    const failed = store.write(async (tx) => {
      await addActor(tx, 'a')
      throw new Error('broken')
    })
    await assert.rejects(failed, { message: 'broken' })
    await store.write((tx) => addActor(tx, 'b'))
    assert.deepEqual(await store.read(actorIds), ['b'])
  })

  it('rolls back a write in which a statement failed, even when the function caught the error', async (t) => {
    const store = await open(t)
    const failed = store.write(async (tx) => {
      await addActor(tx, 'a')
      await addActor(tx, 'a').catch(() => {})
    })
    await assert.rejects(failed, failsWith('conflict'))
    assert.deepEqual(await store.read(actorIds), [])
  })

  it('runs writes one after another, in their order', async (t) => {
    const store = await open(t)
    const order: string[] = []
    const write = (name: string): Promise<void> =>
      store.write(async (tx) => {
        order.push(`${name} begins`)
        await turn()
        await addActor(tx, name)
        order.push(`${name} ends`)
      })
    await Promise.all([write('a'), write('b')])
    assert.deepEqual(order, ['a begins', 'a ends', 'b begins', 'b ends'])
  })

  it('lets a read wait for the running write, so that it never sees a part of it', async (t) => {
    const store = await open(t)
    const begun = Promise.withResolvers<void>()
    const written = store.write(async (tx) => {
      await addActor(tx, 'a')
      begun.resolve()
      await turn()
      await addActor(tx, 'b')
    })
    await begun.promise
    assert.deepEqual(await store.read(actorIds), ['a', 'b'])
    await written
  })

  it('lets a write read through the store without waiting for itself', async (t) => {
    const store = await open(t)
    const seen = await store.write(async (tx) => {
      await addActor(tx, 'a')
      return store.read(actorIds)
    })
    assert.deepEqual(seen, ['a'])
  })

  it('lets a write wait for the open snapshots, while other reads continue', async (t) => {
    const store = await open(t)
    const begun = Promise.withResolvers<void>()
    const free = Promise.withResolvers<void>()
    const snapshot = store.snapshot(async (q) => {
      const first = await actorIds(q)
      begun.resolve()
      await free.promise
      return [first, await actorIds(q)]
    })
    await begun.promise
    const written = store.write((tx) => addActor(tx, 'a'))
    await turn()
    assert.deepEqual(await store.read(actorIds), [])
    assert.deepEqual(await store.snapshot(actorIds), [])
    free.resolve()
    assert.deepEqual(await snapshot, [[], []])
    await written
    assert.deepEqual(await store.read(actorIds), ['a'])
  })

  it('refuses a write for an actor that does not exist, and a statement that writes in a read', async (t) => {
    const store = await open(t)
    await assert.rejects(
      store.writeActor('missing', async () => {}),
      failsWith('actor_not_found'),
    )
    await assert.rejects(
      store.read((q) => q.all('DELETE FROM actor')),
      /readonly/,
    )
  })

  it('uses the given clock, and reports its statements', async (t) => {
    const statements: string[] = []
    const store = await open(t, { now: () => 42, onQuery: (sql) => void statements.push(sql) })
    statements.length = 0
    await store.read(actorIds)
    assert.deepEqual([store.now(), statements], [42, ['SELECT id FROM actor ORDER BY id']])
  })

  it('finishes the waiting writes when it closes, and refuses every later call', async () => {
    const store = await openStoreInMemory({})
    const written = store.write((tx) => addActor(tx, 'a'))
    await store.close()
    assert.equal(await written, 1)
    for (const call of [
      () => store.read(actorIds),
      () => store.snapshot(actorIds),
      () => store.write((tx) => addActor(tx, 'b')),
      () => store.ping(),
    ])
      await assert.rejects(call, failsWith('shutting_down'))
    await store.close()
  })

  it('has no URL, so that no operator can choose it', async () => {
    for (const url of ['sqlite::memory:', 'sqlite:file::memory:', 'sqlite::memory:?cache=shared'])
      await assert.rejects(openStore({ url, mustExist: true }), StoreStartError, url)
  })
})
