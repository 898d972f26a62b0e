/** The scripts of the schema never change, and new ones keep to forms that every part of the service understands. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { migrationChecksum, readMigrations } from '../../src/store/migrate.ts'
import { compile } from '../../src/store/portable.ts'
import { readSchema, statementsIn, withoutForeignKeys } from '../../src/store/schema-text.ts'

/** Scripts that databases have run. Never change a row: add one (CONTRIBUTING.md, "Change the schema"). */
const frozen = [
  ['0001-initial', 'df841ead9e1d0a60e2328fb8269109c671e80980ab4e96e64a45c6f29b59803a'],
  ['0002-mail', '127c44d68b5a816a01c4102aabc84f77f9816ccd44c550cdf94c1345e21cb2ea'],
  ['0003-mail-choice', 'b90f925e85e588f8d384bccfa0ec955cd53530035cac0c9448437f649de168fd'],
  ['0004-mail-note', '8023d56f88141db816c94b419256e7487eb6420b5422ffe39257bacfdb754a6f'],
  ['0005-kind', 'e3b4ecdacdc430da17521fd9747bf9287f08c9265310e56d686403d9badb4687'],
  ['0006-feature-migration', 'e52335e24decd0c8e05259bfb009c6144b0086b8fd0b29e5f914f0da2e3f3090'],
  ['0007-process', 'a95e43c5ceb699a393ae661928479759135c0c106bb2c2c7c00d35dd6fa1ca17'],
  ['0008-group-member', '19dceab51a8a4ece61443bd6258cd8048b7e0e04973c917f4feadf95127a14ac'],
  ['0009-basic-use', '569c9cb8bb47f92881da103054e6fcff787c081b4cbc7a71fb7a4a12cdfee02d'],
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

describe('the tables of a script in any layout', () => {
  const words =
    `CREATE TABLE tags ( actor_id TEXT_KEY NOT NULL REFERENCES actor ( id ) ON DELETE CASCADE , tag_id TEXT_KEY
    NOT NULL , label TEXT NOT NULL DEFAULT 'a,(b;--''c' , size BIGINT CHECK ( size IN ( 1 , 2 ) ) , shelf TEXT_KEY , PRIMARY KEY (
    actor_id , tag_id ) , CONSTRAINT on_shelf FOREIGN KEY ( actor_id , shelf ) REFERENCES shelf ( actor_id , id ) ON DELETE
    CASCADE ) STRICT ; ALTER TABLE tags ADD COLUMN color TEXT NOT NULL DEFAULT '' ; ALTER TABLE tags DROP COLUMN size ;
    CREATE UNIQUE INDEX tags_by_label ON tags ( actor_id , label )`.split(/\s+/)
  const kept = new Set(['TEXT', 'TEXT_KEY', 'BIGINT', 'STRICT'])
  const space = fc.constantFrom(' ', '\n', '\t', '\n      ', '\r\n\t')
  const comment = fc.constantFrom(` -- it's a (comment, of one line;\n`, ` /* it's a (comment; */ `)
  /** A script with these gaps behind its words, which are written in lower case where `isLower` is true. */
  const layouts = (gap: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    fc.tuple(fc.infiniteStream(gap), fc.infiniteStream(fc.boolean()), fc.boolean()).map(([gaps, cases, isDense]) =>
      words
        .map((word, n) => {
          const isLower = cases.next().value === true && !kept.has(word) && !word.startsWith("'")
          const isPunctuation = /^[(),;]$/.test(word) || /^[(),;]$/.test(words[n + 1] ?? ';')
          // Only white space may come before STRICT, which is translated.
          const between = words[n + 1] === 'STRICT' ? ' ' : isDense && isPunctuation ? '' : String(gaps.next().value)
          return (isLower ? word.toLowerCase() : word) + between
        })
        .join(''),
    )
  const script = (sql: string) => [{ number: 1, name: 'test', sql }]
  const tags = {
    name: 'tags',
    columns: ['actor_id', 'tag_id', 'label', 'shelf', 'color'],
    unknown: [],
    primaryKey: ['actor_id', 'tag_id'],
    uniqueIndexes: [['actor_id', 'label']],
  }
  const foreignKeys = [
    { columns: ['actor_id'], table: 'actor', references: ['id'] },
    { columns: ['actor_id', 'shelf'], table: 'shelf', references: ['actor_id', 'id'] },
  ]

  it('are the same', () => {
    fc.assert(
      fc.property(layouts(fc.oneof(space, comment)), (sql) => {
        const read = readSchema(script(sql)).map(({ foreignKeys: keys, ...table }) => ({
          ...table,
          foreignKeys: keys.map(({ action, ...key }) => ({ ...key, action: action.toUpperCase() })),
        }))
        assert.deepEqual(read, [
          { ...tags, foreignKeys: foreignKeys.map((key) => ({ ...key, action: 'ON DELETE CASCADE' })) },
        ])
        assert.equal(statementsIn(sql, 'sqlite').length, 4)
      }),
    )
  })

  it('are those that SQLite makes of it', () => {
    fc.assert(
      // Comments stay in the text of a table, where SQLite does not find the place for a further column.
      fc.property(layouts(space), (sql) => {
        const database = new DatabaseSync(':memory:')
        database.exec(compile(sql, 'sqlite').text)
        const columns = database.prepare('SELECT name FROM pragma_table_info(?) ORDER BY cid').all('tags')
        const key = database.prepare('SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk').all('tags')
        database.close()
        assert.deepEqual(
          [columns, key].map((rows) => rows.map(({ name }) => name)),
          [tags.columns, tags.primaryKey],
        )
      }),
    )
  })

  it('have no foreign keys in the text for a sharded database', () => {
    fc.assert(
      fc.property(layouts(space), (sql) => {
        assert.deepEqual(readSchema(script(withoutForeignKeys(sql))), [{ ...tags, foreignKeys: [] }])
      }),
    )
  })

  for (const [definition, name] of [
    ['"id" TEXT NOT NULL', 'a name in quotes'],
    ['id text_key NOT NULL', 'a type in lower case'],
    ['id BLOB', 'another type'],
    ['id', 'no type'],
    ['LIKE actor', 'the columns of another table'],
  ] as const)
    it(`report a column with ${name}`, () => {
      const [table] = readSchema(script(`CREATE TABLE tags (actor_id TEXT_KEY NOT NULL PRIMARY KEY, ${definition})`))
      assert.deepEqual(table?.unknown, [definition])
    })
})
