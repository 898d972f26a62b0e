import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { compactStore, openStore } from '../../src/open-store.ts'
import { forEachStore } from '../support/stores.ts'

forEachStore((dialect, open, database) => {
  describe('troupe compact', () => {
    it('returns the space of deleted rows to the file system, and keeps all others (QUO-10)', async () => {
      const { url } = await database()
      const store = await open({ url })
      await store.write((tx) =>
        tx.run(`INSERT INTO actor (id, creator, passphrase, created_at) VALUES ('a', 'c', 'p', 1)`),
      )
      for (let n = 0; n < 20; n += 1) {
        const rows = Array.from({ length: 100 }, (_, row) => [`n${n}-${row}`, randomBytes(2500).toString('hex')])
        await store.write((tx) =>
          tx.run(
            `INSERT INTO property (actor_id, name, kind, value) SELECT 'a', r.name, 'value', r.value
             FROM rows($1, name TEXT, value TEXT) AS r`,
            JSON.stringify(rows),
          ),
        )
      }
      await store.write((tx) => tx.run(`DELETE FROM property WHERE name <> 'n0-0'`))
      const { before, after } = await compactStore({ url, isFull: true })
      assert.ok(after < before / 2, `${before} and ${after}`)
      const { after: again } = await compactStore({ url, isFull: false })
      assert.ok(again <= after * 1.1, `${after} and ${again}`)
      const left = await store.read((q) => q.all<{ value: string }>('SELECT value FROM property'))
      assert.deepEqual(
        left.map(({ value }) => value.length),
        [5000],
      )
      await store.write((tx) => tx.run(`UPDATE property SET value = '1' WHERE name = 'n0-0'`))
    })

    it('refuses a database that does not exist', async () => {
      const { url } = await database()
      const missing = dialect === 'sqlite' ? `${url}-missing` : url.replace(/\/[^/]*$/, '/missing_database')
      await assert.rejects(compactStore({ url: missing, isFull: false }), { name: /Error$/ })
      await assert.rejects(openStore({ url: missing, mustExist: true }))
    })
  })
})
