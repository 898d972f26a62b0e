/** The databases that the tests of a file use one after the other. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { forEachStore } from '../support/stores.ts'

forEachStore((dialect, _open, _database, lend) => {
  if (dialect !== 'postgres') return

  it('are emptied although a transaction of the use before holds locks, which ends without an effect', async () => {
    const lent = await lend()
    const late = new pg.Client({ connectionString: lent.url })
    // The server ends the session.
    late.on('error', () => {})
    await late.connect()
    await late.query('BEGIN; LOCK TABLE troupe.departure IN SHARE MODE')
    lent.giveBack()
    const again = await lend()
    assert.equal(again.url, lent.url)
    await assert.rejects(late.query('COMMIT'))
    again.giveBack()
  })
})
