/** The work that a world must end before it rests. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, it } from 'node:test'
import { startService } from '../support/service.ts'
import { closeDatabases, makeDatabase } from './databases.ts'
import { Ledger } from './ledger.ts'
import { ReadCache } from './read-cache.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-ledger-'))
const template = join(folder, 'template.db')
after(() => {
  closeDatabases(folder)
  rmSync(folder, { recursive: true, force: true })
})

type Values = Readonly<Record<string, string | number | null>>

/** Inserts a row, with empty texts and zeros in the other columns. */
function insert(database: DatabaseSync, table: string, row: Values): void {
  const filled: Record<string, string | number | null> = {}
  for (const { name, type } of database.prepare('SELECT * FROM pragma_table_info(?)').all(table))
    filled[String(name)] = type === 'TEXT' ? '' : 0
  Object.assign(filled, row)
  const names = Object.keys(filled)
  database
    .prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
    .run(...Object.values(filled))
}

describe('a world', () => {
  // An erasure waits behind a resync that the peer refused.
  const behind = { sequence: 5, committed: 4, repair_at: 9000, state: 'live' }
  const cases: readonly {
    what: string
    approved: number
    isKnown: boolean
    row: Values
    due: string | null
  }[] = [
    { what: 'held changes of a subscription that the peer lost', approved: 0, isKnown: false, row: behind, due: null },
    {
      what: 'held changes of a subscription that the peer has',
      approved: 0,
      isKnown: true,
      row: behind,
      due: 'a repair of the copy at p is due at 7000',
    },
    {
      what: 'changes that only wait to be sent',
      approved: 1,
      isKnown: false,
      row: behind,
      due: 'publisher_subscription to p is due at 7000',
    },
    {
      what: 'changes for a peer without a known approval that has refused none',
      approved: 0,
      isKnown: false,
      row: { ...behind, repair_at: null },
      due: 'publisher_subscription to p is due at 7000',
    },
    {
      what: 'the repair of a subscription that the peer lost',
      approved: 1,
      isKnown: false,
      row: { ...behind, committed: 5 },
      due: null,
    },
  ]
  for (const { what, approved, isKnown, row, due } of cases)
    it(`${due === null ? 'rests with' : 'must end'} ${what} (SUB-11)`, async () => {
      await startService(`sqlite:${template}`, { logLevel: 'silent' }).then((service) => service.close())
      const path = join(folder, `${cases.findIndex((one) => one.what === what)}.db`)
      makeDatabase(path, template)
      const database = new DatabaseSync(path, { enableForeignKeyConstraints: false })
      insert(database, 'trust', { actor_id: 'a', peer_id: 'p', baseuri: 'http://p.test/p', peer_approved: approved })
      insert(database, 'publisher_subscription', {
        actor_id: 'a',
        peer_id: 'p',
        subscription_id: 's',
        granularity: 'high',
        due_at: 7000,
        ...row,
      })
      database.close()
      const ledger = new Ledger(path, {
        reads: new ReadCache(),
        maxDiffs: 1000,
        queues: new Map(),
        violation: (text) => assert.fail(text),
        secrets: new Map(),
        secretsOfEvil: new Set(),
        forged: new Set(),
        isStrange: () => false,
        isSubscribed: () => isKnown,
      })
      assert.equal(ledger.due([ledger]), due)
      ledger.close()
    })
})
