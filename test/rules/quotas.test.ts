import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Quotas } from '../../src/quota/quota.ts'
import { effectOf } from '../../src/quota/quota-store.ts'
import { builtInTables } from '../../src/features/features.ts'
import { english } from '../../src/pages/languages/english.ts'
import { german } from '../../src/pages/languages/german.ts'
import { quotasWith } from '../../src/quotas.ts'
import { isUncounted, readLiterals } from '../support/statement-judge.ts'

const quotas = new Quotas(() => 0)
quotas.declare(quotasWith(builtInTables), [])

/** The statements that a quota counts, without a parameter that names their actor. */
const unnamed = (statements: readonly string[]): string[] =>
  statements.filter((sql) => {
    const effect = effectOf(sql, quotas)
    return effect !== null && effect.actorAt < 0
  })

describe('the quotas', () => {
  it('have names for people in each language', () => {
    const ids = quotas.declared.map(({ name }) => name).toSorted()
    assert.ok(ids.includes('members'))
    for (const messages of [english.messages(english.noun), german.messages(german.noun)])
      assert.deepEqual(Object.keys(messages.quotas.names).toSorted(), ids)
  })
})

describe('the statements that quotas count', () => {
  it('name their actor by a parameter, all in the sources', () => {
    const statements = readLiterals(join(import.meta.dirname, '../..'))
    // The columns of a constant are not in the text. Any test that executes such a statement proves its actor.
    const counted = statements.filter((sql) => effectOf(sql, quotas) !== null && !/^INSERT INTO \w+ \(\$\{/.test(sql))
    assert.ok(counted.length > 15, `${counted.length}`)
    assert.deepEqual(unnamed(counted), [])
  })

  it('are found in the statements that a run executes, in any form', () => {
    const unseen = [
      'WITH made AS (SELECT 1) INSERT INTO property (actor_id, name) SELECT $, $ FROM made',
      'INSERT OR REPLACE INTO list_item (actor_id, item, value) VALUES ($, …)',
      'REPLACE INTO attribute (actor_id, name, data) VALUES ($, …)',
      'MERGE INTO trust USING made ON true WHEN NOT MATCHED THEN INSERT VALUES ($)',
      'WITH made AS (SELECT 1) UPDATE property SET value = $ FROM made WHERE actor_id = $',
      'UPDATE ONLY list_item SET value = $ WHERE actor_id = $',
    ]
    assert.deepEqual(unseen.filter(isUncounted), unseen)
    const seen = [
      '/* import */ INSERT INTO property (actor_id, name, kind, value) VALUES ($, …)',
      'UPDATE property SET value = $ WHERE actor_id = $ AND name = $',
      // One row stays one row.
      'UPDATE trust SET approved = $ WHERE actor_id = $',
      'UPDATE actor SET used_bytes = used_bytes WHERE id = $',
      'SELECT value FROM property WHERE actor_id = $ FOR UPDATE',
      'DELETE FROM list_item WHERE actor_id = $',
      'INSERT INTO history (actor_id) VALUES ($)',
    ]
    assert.deepEqual(seen.filter(isUncounted), [])
  })

  it('are found when their actor has no parameter', () => {
    const found = [
      `INSERT INTO property (actor_id, name, kind, value) SELECT r.actor, r.name, 'value', r.value FROM rows($1, actor TEXT) AS r`,
      `INSERT INTO attribute (bucket, name, data) VALUES ($1, $2, $3)`,
      'UPDATE property SET value = $1 WHERE name = $2',
      'UPDATE list_item SET value = r.value FROM rows($1, actor TEXT, value TEXT) AS r WHERE actor_id = r.actor',
    ]
    assert.deepEqual(unnamed(found), found)
    const named = [
      `INSERT INTO property (name, actor_id, kind, value) VALUES ($2, $1, 'value', $3)`,
      'UPDATE property SET value = $1 WHERE actor_id = $2',
      'DELETE FROM property WHERE name = $1',
      'INSERT INTO history (actor_id) SELECT 1',
    ]
    assert.deepEqual(unnamed(named), [])
  })
})
