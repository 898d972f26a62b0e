import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonText } from '../../src/json/json.ts'
import { deleteActor } from '../../src/actor/actor-store.ts'
import { clear, createList, deleteList, extend, ListScan, readMetadata } from '../../src/list/list.ts'
import { RemovedLists } from '../../src/list/removed-lists.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Store } from '../../src/store/store.ts'
import { onShards } from '../support/citus.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { bound, forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const notes = { actorId: 'a1', list: 'notes', format: null }
const at = Date.UTC(2026, 0, 1)
const numbers = (count: number): JsonText[] => Array.from({ length: count }, (_, n) => String(n) as JsonText)

async function addActor(store: Store): Promise<void> {
  await store.write((tx) =>
    tx.run(`INSERT INTO actor (id, creator, passphrase, created_at) VALUES ('a1', 'someone', 'sealed', 0)`),
  )
}

async function fill(store: Store, count: number, list = notes): Promise<void> {
  await store.writeActor('a1', async (tx) => {
    await createList(tx, list, {}, at)
    await extend(tx, list, numbers(count), at)
  })
}

async function contents(store: Store): Promise<string[] | null> {
  const scan = new ListScan(notes)
  const found: string[] = []
  for (;;) {
    const page = await scan.next(store)
    if (page === null) return null
    found.push(...page.rows.map(({ value }) => value))
    if (page.isLast) return found
  }
}

/** Returns the number of rows of items, nodes and removed lists. */
async function rowsOf(store: Store): Promise<number[]> {
  return Promise.all(
    ['list_item', 'list_node', 'removed_list'].map(
      async (table) => (await store.read((q) => q.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)))?.n ?? 0,
    ),
  )
}

const log: string[] = []
const removedLists = (store: Store): RemovedLists =>
  new RemovedLists({ store, timers: stoppedTimers, log: createLog('warn', { write: (line) => void log.push(line) }) })

/** Deletes all rows of removed lists, and returns the largest number of rows that one statement deleted. */
async function deleteRemoved(store: Store): Promise<number> {
  let most = 0
  const counted: Store = {
    ...bound(store),
    write: (work, how) =>
      store.write(
        (tx) =>
          work({
            origin: tx.origin,
            isSharded: tx.isSharded,
            all: (sql, ...params) => tx.all(sql, ...params),
            get: (sql, ...params) => tx.get(sql, ...params),
            run: async (sql, ...params) => {
              const rows = await tx.run(sql, ...params)
              most = Math.max(most, rows)
              return rows
            },
          }),
        how,
      ),
  }
  const removed = removedLists(counted)
  removed.wake()
  await until(async () => (await rowsOf(store))[2] === 0)
  await removed.stop()
  return most
}

describe('the removal of a list', () => {
  forEachStore((dialect, open) => {
    it(`deletes the rows ${onShards() ? 'later' : 'at once'} when the actor has up to 2048 items`, async () => {
      const store = await open()
      await addActor(store)
      await fill(store, 2048)
      await store.writeActor('a1', (tx) => deleteList(tx, notes))
      assert.deepEqual(await rowsOf(store), onShards() ? [2048, 17, 1] : [0, 0, 0])
    })

    for (const [what, remove] of [
      ['deleting the list', (store: Store) => store.writeActor('a1', (tx) => deleteList(tx, notes))],
      ['deleting its actor', (store: Store) => store.write((tx) => deleteActor(tx, 'a1', { now: at, tables: [] }))],
      ['clearing the list', (store: Store) => store.writeActor('a1', (tx) => clear(tx, notes, at))],
    ] as const) {
      it(`defers the deletion of more items to batches, after ${what}`, async () => {
        const store = await open()
        await addActor(store)
        await fill(store, 3000)
        await remove(store)
        assert.deepEqual(await contents(store), what === 'clearing the list' ? [] : null)
        assert.deepEqual(await rowsOf(store), [3000, 25, 1])
        assert.equal(await deleteRemoved(store), 500)
        assert.deepEqual(await rowsOf(store), [0, 0, 0])
      })
    }

    it('allows a new list of the same name to be filled, read, cleared and removed before the old rows are deleted', async () => {
      const store = await open()
      await addActor(store)
      await fill(store, 3000)
      await store.writeActor('a1', (tx) => deleteList(tx, notes))
      await fill(store, 5)
      assert.deepEqual(await contents(store), ['0', '1', '2', '3', '4'])
      await store.writeActor('a1', (tx) => clear(tx, notes, at))
      assert.deepEqual(await contents(store), [])
      await fill(store, 2500)
      assert.equal((await contents(store))?.length, 2500)
      await store.writeActor('a1', (tx) => clear(tx, notes, at))
      await fill(store, 7)
      await deleteRemoved(store)
      assert.deepEqual(await contents(store), ['0', '1', '2', '3', '4', '5', '6'])
      assert.deepEqual(await rowsOf(store), [7, 2, 0])
      await fill(store, 1)
      assert.equal((await store.read((q) => readMetadata(q, notes)))?.length, 8)
      await store.writeActor('a1', (tx) => deleteList(tx, notes))
      assert.deepEqual(await rowsOf(store), onShards() ? [8, 2, 1] : [0, 0, 0])
    })

    // SQLite has one writer, so no other process holds a row. The locks of a shard are on its server.
    if (dialect === 'postgres' && !onShards())
      it('waits for rows that another process is deleting before the actor is imported again', async () => {
        const store = await open()
        await addActor(store)
        await fill(store, 3000)
        await store.write((tx) => deleteActor(tx, 'a1', { now: at, tables: [] }))
        const [held, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const other = store.write(async (tx) => {
          await tx.get('SELECT list FROM removed_list FOR UPDATE')
          held.resolve()
          await end.promise
        })
        await held.promise
        const removed = removedLists(store)
        let isDone = false
        const deletion = removed.deleteRowsOf('a1').finally(() => (isDone = true))
        const waits = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1`
        await until(async () => isDone || (await store.read((q) => q.get(waits))) !== undefined)
        end.resolve()
        await Promise.all([other, deletion])
        await removed.stop()
        assert.deepEqual(await rowsOf(store), [0, 0, 0])
      })

    it('works for a damaged list of any length', async () => {
      const store = await open()
      await addActor(store)
      await fill(store, 2500)
      await store.write((tx) => tx.run(`UPDATE property SET value = 'oops'`))
      await store.writeActor('a1', (tx) => deleteList(tx, notes))
      await deleteRemoved(store)
      assert.deepEqual(await rowsOf(store), [0, 0, 0])
    })

    it('leaves the other lists of the actor unchanged', async () => {
      const store = await open()
      await addActor(store)
      await fill(store, 2500, { actorId: 'a1', list: 'long', format: null })
      await fill(store, 10)
      await store.writeActor('a1', (tx) => deleteList(tx, { actorId: 'a1', list: 'long', format: null }))
      await deleteRemoved(store)
      assert.deepEqual(await contents(store), ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
      assert.deepEqual(await rowsOf(store), [10, 2, 0])
    })

    it('continues after a failure where it stopped', async () => {
      const store = await open()
      await addActor(store)
      await fill(store, 3000)
      await store.writeActor('a1', (tx) => deleteList(tx, notes))
      let batches = 0
      const failing: Store = {
        ...bound(store),
        write: (work, how) => {
          batches += 1
          return batches === 3 ? Promise.reject(new Error('A planned fault')) : store.write(work, how)
        },
      }
      const removed = removedLists(failing)
      log.length = 0
      removed.wake()
      await until(() => log.length > 0)
      await removed.stop()
      assert.match(log[0] ?? '', /Cannot delete rows of a removed list/)
      assert.deepEqual(await rowsOf(store), [2000, 25, 1])
      await deleteRemoved(store)
      assert.deepEqual(await rowsOf(store), [0, 0, 0])
    })
  })
})
