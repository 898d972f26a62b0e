/** Inserts of several rows, of which the statement leaves out some. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Actor } from '../../src/actor/actor.ts'
import { findActor, insertActors } from '../../src/actor/actor-store.ts'
import { putValues } from '../../src/property/property-store.ts'
import { known } from '../../src/json/json.ts'
import type { Sealed } from '../../src/secret/sealed.ts'
import { forEachStore } from '../support/stores.ts'

function actorWith(id: string): Actor {
  return {
    id,
    creator: `${id}@example.com`,
    passphrase: 'sealed' as Sealed,
    trusteeRoot: null,
    createdAt: 1,
    guardedUntil: 0,
    kind: 'person',
  }
}

forEachStore((_dialect, open) => {
  describe('actors that are inserted together', () => {
    it('are reported as stored only when no id is taken', async () => {
      const store = await open()
      assert.equal(await store.write((tx) => insertActors(tx, [actorWith('a'), actorWith('b')])), true)
      await assert.rejects(
        store.write(async (tx) => {
          assert.equal(await insertActors(tx, [actorWith('c'), { ...actorWith('b'), createdAt: 2 }]), false)
          throw new Error('roll back')
        }),
        /roll back/,
      )
      assert.equal(await store.read((q) => findActor(q, 'c')), null)
    })
  })

  describe('values that are stored together', () => {
    it('are reported as stored only when no list has one of the names', async () => {
      const store = await open()
      await store.write((tx) => insertActors(tx, [actorWith('a')]))
      const put = (names: readonly string[]): Promise<boolean> =>
        store.writeActor('a', (tx) =>
          putValues(
            tx,
            'a',
            names.map((name) => ({ name, value: known('1'), version: 0 })),
          ),
        )
      await store.writeActor('a', (tx) =>
        tx.run(
          `INSERT INTO property (actor_id, name, kind, value, checksum, version) VALUES ('a', 'taken', 'list', '{}', 0, 0)`,
        ),
      )
      assert.equal(await put(['one', 'two']), true)
      assert.equal(await put(['one', 'taken', 'three']), false)
      assert.equal(await put(['taken']), false)
    })
  })
})
