import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { unopenedSecrets } from '../../src/secret/key-check.ts'
import { generateKey, parseKeyRing, type KeyRing } from '../../src/secret/key-ring.ts'
import { resealAll } from '../../src/secret/reseal.ts'
import { actorPassphrase, bindingOf } from '../../src/secret/sealed-columns.ts'
import { open as openSealed, seal, type Sealed } from '../../src/secret/sealed.ts'
import type { Param, Store } from '../../src/store/store.ts'
import { faulty, forEachStore } from '../support/stores.ts'

const [oldEntry, newEntry] = [generateKey(), generateKey()]
const oldRing = parseKeyRing(oldEntry)
const bothRing = parseKeyRing(`${newEntry},${oldEntry}`)
const newRing = parseKeyRing(newEntry)

const place = (actorId: string): readonly string[] => bindingOf(actorPassphrase, actorId)

async function insert(store: Store, ring: KeyRing, ids: readonly string[]): Promise<void> {
  await store.write(async (tx) => {
    for (const id of ids) {
      const sealed = seal(ring, `passphrase of ${id}`, place(id))
      await tx.run(`INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, 'someone', $2, 0)`, id, sealed)
    }
  })
}

async function sealedById(store: Store): Promise<Map<string, Sealed>> {
  const rows = await store.read((q) => q.all<{ id: string; passphrase: Sealed }>('SELECT id, passphrase FROM actor'))
  return new Map(rows.map((row) => [row.id, row.passphrase]))
}

/** More than two pages of ids, which are not inserted in their own order. */
const many = Array.from({ length: 450 }, (_, index) => `actor${(index * 7919) % 1000}`)

describe('encrypting all secrets again', () => {
  forEachStore((dialect, open) => {
    it('leaves every secret readable with the new key alone (SEC-03)', async () => {
      const store = await open()
      await insert(store, oldRing, many)
      assert.deepEqual(await resealAll(store, bothRing, []), { resealed: 450 })
      const stored = await sealedById(store)
      assert.equal(stored.size, 450)
      for (const [id, sealed] of stored) assert.equal(openSealed(newRing, sealed, place(id)), `passphrase of ${id}`)
    })

    it('changes no secret of the current key, and may be repeated (SEC-03)', async () => {
      const store = await open()
      await insert(store, newRing, ['new'])
      await insert(store, oldRing, ['old'])
      const before = await sealedById(store)
      assert.deepEqual(await resealAll(store, bothRing, []), { resealed: 1 })
      const after = await sealedById(store)
      assert.equal(after.get('new'), before.get('new'))
      assert.notEqual(after.get('old'), before.get('old'))
      assert.deepEqual(await resealAll(store, bothRing, []), { resealed: 0 })
      assert.deepEqual(await sealedById(store), after)
    })

    it('leaves erased values out, also a whole page of them (SEC-03)', async () => {
      const store = await open()
      await insert(store, oldRing, many)
      await store.write((tx) => tx.run("UPDATE actor SET passphrase = '' WHERE id < 'actor8'"))
      assert.deepEqual(await resealAll(store, bothRing, []), { resealed: 102 })
      assert.deepEqual(await Array.fromAsync(unopenedSecrets(store, newRing, [])), [])
    })

    it('changes nothing in an empty store (SEC-03)', async () => {
      assert.deepEqual(await resealAll(await open(), bothRing, []), { resealed: 0 })
    })

    it('names the first value that no key opens, leaves it unchanged, and encrypts every other value again (SEC-03)', async () => {
      const store = await open()
      const lost = parseKeyRing(generateKey())
      // The unreadable values are on the first page and on the last page, among readable ones.
      await insert(store, oldRing, many)
      await insert(store, lost, ['actor', 'lost'])
      const before = await sealedById(store)
      await assert.rejects(resealAll(store, bothRing, []), (error) => {
        assert.ok(error instanceof ServiceError)
        assert.equal(error.code, 'server_error')
        assert.equal(
          error.detail.reason,
          `Cannot open the secret of ["actor","actor.passphrase"]: key "${lost.currentId}" is not in the key ring, and 1 more secret does not open; every other secret is encrypted with key ${bothRing.currentId} now`,
        )
        return true
      })
      const after = await sealedById(store)
      for (const id of ['actor', 'lost']) assert.equal(after.get(id), before.get(id))
      for (const id of many) {
        assert.equal(openSealed(newRing, after.get(id) ?? assert.fail(), place(id)), `passphrase of ${id}`)
      }
    })

    it('reports that no key opens one value, and that every other value opens (SEC-03)', async () => {
      const store = await open()
      const lost = parseKeyRing(generateKey())
      await insert(store, lost, ['lost'])
      await assert.rejects(resealAll(store, bothRing, []), (error) => {
        assert.ok(error instanceof ServiceError)
        assert.equal(
          error.detail.reason,
          `Cannot open the secret of ["lost","actor.passphrase"]: key "${lost.currentId}" is not in the key ring; every other secret is encrypted with key ${bothRing.currentId} now`,
        )
        return true
      })
    })

    it('loses no secret when the store fails halfway, and a second run completes the work (SEC-03)', async () => {
      const store = await open()
      await insert(store, oldRing, many)
      const failing = faulty(store, { at: 300 })
      await assert.rejects(resealAll(failing, bothRing, []), { code: 'store_unavailable' })
      for (const [id, sealed] of await sealedById(store)) {
        assert.equal(openSealed(bothRing, sealed, place(id)), `passphrase of ${id}`)
      }
      // The first page of 200 was committed. The second page, in which the store failed, was rolled back.
      assert.deepEqual(await resealAll(store, bothRing, []), { resealed: 250 })
    })

    it('keeps a secret that was replaced while its page was encrypted (SEC-03)', async () => {
      const store = await open()
      await insert(store, oldRing, ['a'])
      const replacement = seal(bothRing, 'replaced', place('a'))
      if (dialect === 'sqlite') {
        // SQLite runs one writer at a time, so the replacement commits before or after the page, never in between.
        const change = `UPDATE actor SET passphrase = $1 WHERE id = 'a'`
        await Promise.all([resealAll(store, bothRing, []), store.write((tx) => tx.run(change, replacement))])
      } else {
        await resealAll(replacingAfterRead(store, replacement), bothRing, [])
      }
      assert.equal(openSealed(newRing, (await sealedById(store)).get('a') ?? assert.fail(), place('a')), 'replaced')
    })
  })
})

/** Wraps the store as if another process replaced the secret of actor `a` right after the page was read. */
function replacingAfterRead(store: Store, replacement: Sealed): Store {
  return {
    ...store,
    dialect: store.dialect,
    write: (work) =>
      store.write((tx) =>
        work({
          origin: tx.origin,
          isSharded: tx.isSharded,
          get: (sql, ...params) => tx.get(sql, ...params),
          run: (sql, ...params) => tx.run(sql, ...params),
          all: async <R extends object>(sql: string, ...params: Param[]): Promise<R[]> => {
            const rows = await tx.all<R>(sql, ...params)
            await store.write((other) => other.run(`UPDATE actor SET passphrase = $1 WHERE id = 'a'`, replacement))
            return rows
          },
        }),
      ),
  }
}
