import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KeyCheck, ringFits, unreadableSecrets } from '../../src/secret/key-check.ts'
import { generateKey, type KeyRing, parseKeyRing } from '../../src/secret/key-ring.ts'
import { resealAll } from '../../src/secret/reseal.ts'
import { actorPassphrase, bindingOf, trustSecret, trustToken } from '../../src/secret/sealed-columns.ts'
import { seal } from '../../src/secret/sealed.ts'
import type { Store } from '../../src/store/store.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { counting, faulty, forEachStore, unavailable } from '../support/stores.ts'

const [oldEntry, newEntry, otherEntry] = [generateKey(), generateKey(), generateKey()]
const oldRing = parseKeyRing(oldEntry)
const newRing = parseKeyRing(newEntry)
const bothRing = parseKeyRing(`${newEntry},${oldEntry}`)
const otherRing = parseKeyRing(otherEntry)
/** A key with the id of the old key and other bytes. */
const namesakeRing = parseKeyRing(`${oldRing.currentId}:${otherEntry.slice(otherEntry.indexOf(':') + 1)}`)

async function insert(store: Store, ring: KeyRing, ids: readonly string[]): Promise<void> {
  await store.write(async (tx) => {
    for (const id of ids) {
      const sealed = seal(ring, 'passphrase', bindingOf(actorPassphrase, id))
      await tx.run(`INSERT INTO actor (id, creator, passphrase, created_at) VALUES ($1, 'someone', $2, 0)`, id, sealed)
    }
  })
}

/** Inserts a peer of the actor, with secrets that the ring encrypts. */
async function insertTrust(store: Store, ring: KeyRing, actorId: string): Promise<void> {
  const sealedFor = (column: typeof trustSecret | typeof trustToken): string =>
    seal(ring, 'secret', bindingOf(column, actorId, 'peer'))
  await store.write((tx) =>
    tx.run(
      `INSERT INTO trust (actor_id, peer_id, baseuri, type, relationship, secret, secret_hash, verification_token,
         description, approved, peer_approved, verified, established_via, facts, created_at, last_accessed, last_connected_via)
       VALUES ($1, 'peer', '', '', 'friend', $2, 'hash', $3, '', 1, 1, 1, 'trust', '{}', 0, 0, 'trust')`,
      actorId,
      sealedFor(trustSecret),
      sealedFor(trustToken),
    ),
  )
}

const named = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(3, '0')}`)

async function reasonsIn(store: Store, ring: KeyRing): Promise<string[]> {
  const reasons: string[] = []
  for await (const reason of unreadableSecrets(store, ring, [])) reasons.push(reason)
  return reasons
}

forEachStore((_dialect, open) => {
  describe('a key ring', () => {
    it('fits an empty store', async () => {
      assert.equal(await ringFits(await open(), otherRing, []), true)
    })

    it('fits a store of its own keys, with two statements for any amount of data', async () => {
      const counted = counting()
      const store = await open({ onQuery: counted.onQuery })
      await insert(store, oldRing, named('actor', 300))
      counted.reset()
      assert.equal(await ringFits(store, oldRing, []), true)
      assert.equal(counted.statements.length, 2)
    })

    it('does not fit a store of other keys, even when a key has the same id', async () => {
      const store = await open()
      await insert(store, oldRing, named('actor', 40))
      assert.equal(await ringFits(store, otherRing, []), false)
      assert.equal(await ringFits(store, namesakeRing, []), false)
    })

    it('fits with one matching key among several, in any position', async () => {
      const store = await open()
      await insert(store, oldRing, ['a'])
      assert.equal(await ringFits(store, parseKeyRing(`${otherEntry},${newEntry},${oldEntry}`), []), true)
      assert.equal(await ringFits(store, parseKeyRing(`${oldEntry},${otherEntry}`), []), true)
    })

    it('fits a half-rotated store with both keys, the old key or the new key, in any order of the secrets', async () => {
      for (const [outer, inner] of [
        [oldRing, newRing],
        [newRing, oldRing],
      ] as const) {
        const store = await open()
        await insert(store, outer, [...named('a', 20), ...named('z', 20)])
        await insert(store, inner, ['middle'])
        for (const ring of [bothRing, oldRing, newRing]) assert.equal(await ringFits(store, ring, []), true)
        assert.equal(await ringFits(store, otherRing, []), false)
      }
    })

    it('fits when it opens only secrets of other columns', async () => {
      const store = await open()
      await insert(store, oldRing, ['a'])
      await insertTrust(store, newRing, 'a')
      assert.equal(await ringFits(store, newRing, []), true)
      assert.equal(await ringFits(store, oldRing, []), true)
      assert.equal(await ringFits(store, otherRing, []), false)
    })

    it('fits while a few values are damaged', async () => {
      const store = await open()
      await insert(store, oldRing, named('actor', 10))
      await store.write((tx) => tx.run(`UPDATE actor SET passphrase = 'v1.broken' WHERE id < 'actor008'`))
      assert.equal(await ringFits(store, oldRing, []), true)
      assert.equal(await ringFits(store, otherRing, []), false)
    })

    it('fits before, during and after a rotation, until the old key opens no secret', async () => {
      const store = await open()
      await insert(store, oldRing, named('actor', 250))
      const failing = faulty(store, { at: 230 })
      await assert.rejects(resealAll(failing, bothRing, []), { code: 'store_unavailable' })
      for (const ring of [bothRing, oldRing, newRing]) assert.equal(await ringFits(store, ring, []), true)
      await resealAll(store, bothRing, [])
      assert.deepEqual([await ringFits(store, newRing, []), await ringFits(store, oldRing, [])], [true, false])
    })

    it('cannot be checked while the store is unavailable', async () => {
      const store = await open()
      await insert(store, oldRing, ['a'])
      await assert.rejects(ringFits(faulty(store, { at: 1, times: 2 }), oldRing, []), unavailable(/planned/))
    })
  })

  describe('the check of a running service', () => {
    // On a sharded database, the check asks every server.
    const seconds = onShards() ? 600 : 15
    it(`reads the store once in ${seconds} seconds, and detects then that the store is another one`, async () => {
      const counted = counting()
      const store = await open({ onQuery: counted.onQuery })
      const clock = new ManualClock()
      const check = new KeyCheck(store, otherRing, [], clock.now)
      await check.require()
      await insert(store, oldRing, ['a'])
      clock.pass(seconds * 1000 - 1)
      counted.reset()
      await check.require()
      assert.deepEqual(counted.statements, [])
      clock.pass(1)
      const refusal = { code: 'unavailable', message: 'The configured keys open none of the stored secrets' }
      await assert.rejects(check.require(), refusal)
      counted.reset()
      await assert.rejects(check.require(), refusal)
      assert.deepEqual(counted.statements, [])
      await store.write((tx) => tx.run('DELETE FROM actor'))
      clock.pass(seconds * 1000)
      await check.require()
    })
  })

  describe('a search for unreadable secrets', () => {
    it('reports the secrets that the key ring does not open, in every column and page', async () => {
      const store = await open()
      await insert(store, oldRing, named('actor', 450))
      assert.deepEqual(await reasonsIn(store, oldRing), [])
      await insertTrust(store, newRing, 'actor002')
      const damaged = `UPDATE actor SET passphrase = 'nonsense' WHERE id = $1`
      for (const id of ['actor000', 'actor449']) await store.write((tx) => tx.run(damaged, id))
      assert.deepEqual(await reasonsIn(store, oldRing), [
        'Cannot open the secret of ["actor000","actor.passphrase"]: it is not a sealed value',
        'Cannot open the secret of ["actor449","actor.passphrase"]: it is not a sealed value',
        `Cannot open the secret of ["actor002","trust.secret","peer"]: key "${newRing.currentId}" is not in the key ring`,
        `Cannot open the secret of ["actor002","trust.verification_token","peer"]: key "${newRing.currentId}" is not in the key ring`,
      ])
    })
  })
})
