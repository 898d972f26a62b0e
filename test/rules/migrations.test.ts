/** The scripts of the schema never change, and new ones keep to forms that every part of the service understands. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { migrationChecksum, readMigrations } from '../../src/store/migrate.ts'
import { readSchema, withoutForeignKeys } from '../../src/store/schema-text.ts'

/** Scripts that databases have run. Never change a row: add one (CONTRIBUTING.md, "Change the schema"). */
const frozen = [
  ['0001-initial', 'df841ead9e1d0a60e2328fb8269109c671e80980ab4e96e64a45c6f29b59803a'],
  ['0002-mail', '127c44d68b5a816a01c4102aabc84f77f9816ccd44c550cdf94c1345e21cb2ea'],
  ['0003-mail-choice', 'b90f925e85e588f8d384bccfa0ec955cd53530035cac0c9448437f649de168fd'],
  ['0004-mail-note', '8023d56f88141db816c94b419256e7487eb6420b5422ffe39257bacfdb754a6f'],
  ['0005-kind', 'e3b4ecdacdc430da17521fd9747bf9287f08c9265310e56d686403d9badb4687'],
  ['0006-feature-migration', 'e52335e24decd0c8e05259bfb009c6144b0086b8fd0b29e5f914f0da2e3f3090'],
]

const forms = [
  /^CREATE TABLE [a-z_]+ \(\n/,
  /^CREATE (?:UNIQUE )?INDEX [a-z_]+ ON [a-z_]+ \(/,
  /^ALTER TABLE [a-z_]+ (?:ADD COLUMN [a-z_]+ (?:BIGINT|TEXT|TEXT_KEY)\b|DROP COLUMN [a-z_]+$)/,
  /^(?:DROP TABLE|DROP INDEX) [a-z_]+$/,
  /^(?:INSERT INTO|UPDATE|DELETE FROM) [a-z_]+\s/,
]

/** The statements of a script that no other part of the service could follow. */
function strangeIn(sql: string): string[] {
  return sql
    .replaceAll(/--[^\n]*/g, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '' && !forms.some((form) => form.test(statement)))
}

describe('the migrations', () => {
  const migrations = readMigrations()

  it('are the frozen ones, numbered from 1 without a gap', () => {
    assert.deepEqual(
      migrations.map((migration) => [
        `${String(migration.number).padStart(4, '0')}-${migration.name}`,
        migrationChecksum(migration),
      ]),
      frozen,
    )
    assert.deepEqual(
      migrations.map(({ number }) => number),
      migrations.map((_, index) => index + 1),
    )
  })

  for (const { name, sql } of migrations.slice(1)) {
    it(`contain only statements that backups and sharded databases follow: ${name}`, () => {
      assert.deepEqual(strangeIn(sql), [])
    })
  }

  for (const statement of [
    'ALTER TABLE trust RENAME COLUMN peer_id TO peer',
    'ALTER TABLE trust RENAME TO friend',
    'ALTER TABLE trust ALTER COLUMN baseuri DROP NOT NULL',
    'ALTER TABLE trust ADD CONSTRAINT c CHECK (1 = 1)',
    'ALTER TABLE trust ADD baseuri TEXT',
    'ALTER TABLE trust DROP COLUMN baseuri CASCADE',
    'CREATE TRIGGER t AFTER INSERT ON trust BEGIN SELECT 1',
    'CREATE TABLE friend AS SELECT 1',
    'CREATE VIEW friend AS SELECT 1',
    'PRAGMA foreign_keys = OFF',
  ]) {
    it(`may not contain ${statement}`, () => {
      assert.deepEqual(strangeIn(`${statement};`), [statement])
    })
  }
})

describe('the tables of several scripts', () => {
  const script = (number: number, sql: string) => ({ number, name: 'test', sql })
  const created = `CREATE TABLE box (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  id BIGINT NOT NULL,
  old TEXT NOT NULL,
  PRIMARY KEY (actor_id, id),
  FOREIGN KEY (actor_id, id) REFERENCES shelf (actor_id, id) ON DELETE CASCADE
) STRICT;
CREATE TABLE shelf (
  id BIGINT NOT NULL PRIMARY KEY
) STRICT;
`

  it('have the columns that scripts add, and lack the columns and tables that scripts drop', () => {
    const tables = readSchema([
      script(1, created),
      script(
        2,
        `-- ALTER TABLE box ADD COLUMN never TEXT;
ALTER TABLE box ADD COLUMN color TEXT NOT NULL DEFAULT '';
ALTER TABLE box ADD COLUMN lid TEXT_KEY
  REFERENCES lid (id);
ALTER TABLE box DROP COLUMN old;
DROP TABLE shelf;`,
      ),
    ])
    assert.deepEqual(
      tables.map(({ name, columns, primaryKey }) => ({ name, columns, primaryKey })),
      [{ name: 'box', columns: ['actor_id', 'id', 'color', 'lid'], primaryKey: ['actor_id', 'id'] }],
    )
    assert.deepEqual(
      tables[0]?.foreignKeys.map(({ columns, table }) => ({ columns, table })),
      [
        { columns: ['actor_id'], table: 'actor' },
        { columns: ['lid'], table: 'lid' },
        { columns: ['actor_id', 'id'], table: 'shelf' },
      ],
    )
  })

  it('have no foreign keys in the text for a sharded database, and are otherwise the same', () => {
    assert.equal(
      withoutForeignKeys(`${created}ALTER TABLE box ADD COLUMN lid TEXT REFERENCES lid (id);`),
      `CREATE TABLE box (
  actor_id TEXT_KEY NOT NULL,
  id BIGINT NOT NULL,
  old TEXT NOT NULL,
  PRIMARY KEY (actor_id, id)
) STRICT;
CREATE TABLE shelf (
  id BIGINT NOT NULL PRIMARY KEY
) STRICT;
ALTER TABLE box ADD COLUMN lid TEXT;`,
    )
    const initial = readMigrations().slice(0, 1)
    const without = readSchema(initial.map((one) => ({ ...one, sql: withoutForeignKeys(one.sql) })))
    const bare = readSchema(initial).map((table) => ({ ...table, foreignKeys: [] }))
    assert.deepEqual(without, bare)
  })
})
