/** The features that an application may add. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineFeature, optionKinds } from 'troupe/feature'
import type { AppFeature, FeatureDefinition } from '../../src/app-feature/definition.ts'
import { bookmarks } from '../../examples/bookmarks/bookmarks.ts'
import { App } from '../../src/troupe.ts'

type Definition = FeatureDefinition<undefined>

const type = 'urn:actingweb:example.com:test'
const start = (): { parts: undefined } => ({ parts: undefined })
const table = (name: string, key = 'actor_id, id'): string => `CREATE TABLE ${name} (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  id TEXT_KEY NOT NULL,
  PRIMARY KEY (${key})
) STRICT;`
const script = (sql: string, number = 1) => ({ number, name: 'test', sql })
const option = (env: string) => optionKinds.integer({ env, min: 0, max: 9, byDefault: 1, text: 'Test.' })
const page = (path: `/${string}`): NonNullable<Definition['page']> => ({
  path,
  label: { en: 'Test' },
  icon: 'link',
  load: () => Promise.resolve({}),
  view: () => '' as never,
})
const records = (kind: string) => ({ kind, members: [{ name: 'id', type: 'text' as const }] })

function applicationWith(...features: readonly AppFeature[]): App {
  return new App({ type, env: { TROUPE_MODE: 'development' }, features })
}

const refused: readonly [what: string, given: Partial<Definition>, message: string][] = [
  [
    'a name with capitals',
    { name: 'Tags' },
    'Cannot use the feature "Tags": its name must be 1 to 32 lower-case letters, digits and "_", and begin with a letter.',
  ],
  [
    'the name of a built-in feature',
    { name: 'files' },
    'Cannot use the feature files: its name files has the name of one of the feature files. Give it another name.',
  ],
  [
    'a variable of the service',
    { name: 'max', options: { tags: option('TROUPE_MAX_ACTOR_BYTES') } },
    'Cannot use the feature max: its variable TROUPE_MAX_ACTOR_BYTES has the name of one of the service. Give it another name.',
  ],
  [
    'a variable of a built-in feature',
    { name: 'max', options: { tags: option('TROUPE_MAX_WEBHOOKS') } },
    'Cannot use the feature max: its variable TROUPE_MAX_WEBHOOKS has the name of one of the feature webhooks. Give it another name.',
  ],
  [
    'an option of the service',
    { options: { maxDiffs: option('TROUPE_TAGS_MAX') } },
    'Cannot use the feature tags: its option maxDiffs has the name of one of the service. Give it another name.',
  ],
  [
    'a variable without its prefix',
    { options: { tags: option('TROUPE_LABELS') } },
    'Cannot use the feature tags: its variable TROUPE_LABELS must begin with TROUPE_TAGS_.',
  ],
  [
    'a page at the path of a built-in one',
    { page: page('/files') },
    'Cannot use the feature tags: its path /files has the name of one of the feature files. Give it another name.',
  ],
  [
    'a page at a path of the service',
    { page: page('/trust') },
    'Cannot use the feature tags: its path /trust has the name of one of the service. Give it another name.',
  ],
  [
    'a kind of records of a built-in feature',
    { migrations: [script(table('tags'))], tables: [{ name: 'tags', key: ['id'], records: records('webhook') }] },
    'Cannot use the feature tags: its kind of records webhook has the name of one of the feature webhooks. Give it another name.',
  ],
  [
    'a kind of records of the service',
    { migrations: [script(table('tags'))], tables: [{ name: 'tags', key: ['id'], records: records('property') }] },
    'Cannot use the feature tags: its kind of records property has the name of one of the service. Give it another name.',
  ],
  [
    'an act of a built-in feature',
    { acts: [{ spelling: 'POST /webhooks', sentence: { en: 'tagged' } }] },
    'Cannot use the feature tags: its act POST /webhooks has the name of one of the feature webhooks. Give it another name.',
  ],
  [
    'a table of the service',
    { name: 'property', migrations: [script(table('property'))], tables: [{ name: 'property', key: ['id'] }] },
    `The settings have 3 problems:
- Cannot use the feature property: its name begins that of the table property of the service. Give it another name.
- Cannot use the feature property: its migration 1 changes the table property, which is not its own.
- Cannot use the feature property: its table property has the name of one of the service. Give it another name.`,
  ],
  [
    'a table without its name',
    { migrations: [script(table('tags'))], tables: [{ name: 'label', key: ['id'] }] },
    `The settings have 3 problems:
- Cannot use the feature tags: its table label must be named tags, or begin with tags_.
- Cannot use the feature tags: its migrations create the table tags, which it does not declare.
- Cannot use the feature tags: its migrations create no table label.`,
  ],
  [
    'a table whose key does not begin with the actor',
    { migrations: [script(table('tags', 'id, actor_id'))], tables: [{ name: 'tags', key: ['id'] }] },
    'Cannot use the feature tags: its migrations create tags with the key (id, actor_id), and it declares (actor_id, id).',
  ],
  [
    'a table whose key has a column that it does not declare',
    { migrations: [script(table('tags'))], tables: [{ name: 'tags', key: [] }] },
    'Cannot use the feature tags: its migrations create tags with the key (actor_id, id), and it declares (actor_id).',
  ],
  [
    'a table whose key lacks a column that it declares',
    { migrations: [script(table('tags', 'actor_id'))], tables: [{ name: 'tags', key: ['id'] }] },
    'Cannot use the feature tags: its migrations create tags with the key (actor_id), and it declares (actor_id, id).',
  ],
  [
    'records with a column that no migration creates',
    {
      migrations: [script(table('tags'))],
      tables: [
        {
          name: 'tags',
          key: ['id'],
          records: { kind: 'tag', members: [...records('tag').members, { name: 'color', type: 'text' }] },
        },
      ],
    },
    'Cannot use the feature tags: its migrations create no column color in tags.',
  ],
  [
    'records with a column that a migration drops',
    {
      migrations: [
        script(table('tags')),
        script('alter table tags add column color TEXT; alter table tags drop column color;', 2),
      ],
      tables: [
        {
          name: 'tags',
          key: ['id'],
          records: { kind: 'tag', members: [...records('tag').members, { name: 'color', type: 'text' }] },
        },
      ],
    },
    'Cannot use the feature tags: its migrations create no column color in tags.',
  ],
  [
    'records without a column of the key',
    {
      migrations: [script(table('tags'))],
      tables: [{ name: 'tags', key: ['id'], records: { kind: 'tag', members: [] } }],
    },
    'Cannot use the feature tags: its records of tags lack the column id of the key.',
  ],
  [
    'a sealed column that no migration creates',
    { migrations: [script(table('tags'))], tables: [{ name: 'tags', key: ['id'], sealed: { note: 'notes' } }] },
    'Cannot use the feature tags: its migrations create no column note in tags.',
  ],
  [
    'a table whose rows stay when their actor is deleted',
    {
      migrations: [script(table('tags').replace(' ON DELETE CASCADE', ''))],
      tables: [{ name: 'tags', key: ['id'] }],
    },
    'Cannot use the feature tags: the column actor_id of tags must have REFERENCES actor (id) ON DELETE CASCADE.',
  ],
  [
    'a column of another type',
    {
      migrations: [script(table('tags')), script('ALTER TABLE tags ADD COLUMN image BLOB', 2)],
      tables: [{ name: 'tags', key: ['id'] }],
    },
    'Cannot use the feature tags: its table tags has a column of an unknown form: "image BLOB".',
  ],
  [
    'a column with a name in quotes',
    {
      migrations: [script(table('tags').replace('  id TEXT_KEY', '  color TEXT, "id" TEXT_KEY'))],
      tables: [{ name: 'tags', key: ['id'] }],
    },
    'Cannot use the feature tags: its table tags has a column of an unknown form: "\\"id\\" TEXT COLLATE \\"C\\" NOT NULL".',
  ],
  [
    'a migration for one database that changes a table of the service',
    { migrations: [script('/*sqlite: update property SET value = 1; */')] },
    'Cannot use the feature tags: its migration 1 changes the table property, which is not its own.',
  ],
  [
    'a migration that changes a table of another schema',
    { migrations: [script('DELETE FROM tags.property')] },
    'Cannot use the feature tags: its migration 1 has a statement of another form: "DELETE FROM tags.property".',
  ],
  [
    'a migration that changes a table of the service',
    { migrations: [script('ALTER TABLE property ADD COLUMN tag TEXT;')] },
    'Cannot use the feature tags: its migration 1 changes the table property, which is not its own.',
  ],
  [
    'a migration with a trigger',
    { migrations: [script('CREATE TRIGGER t AFTER INSERT ON tags BEGIN SELECT 1')] },
    'Cannot use the feature tags: its migration 1 has a statement of another form: "CREATE TRIGGER t AFTER INSERT ON tags BEGIN SELECT 1".',
  ],
  [
    'migrations with a gap',
    {
      migrations: [script(table('tags')), script('CREATE INDEX tags_by_id ON tags (id);', 3)],
      tables: [{ name: 'tags', key: ['id'] }],
    },
    'Cannot use the feature tags: its migrations must have the numbers 1 to 2, in this order.',
  ],
  [
    'a quota without its option',
    {
      migrations: [script(table('tags'))],
      tables: [{ name: 'tags', key: ['id'], quota: { setting: 'maxTags', unit: 'tags', remedy: 'Delete tags.' } }],
    },
    'Cannot use the feature tags: its quota names the option maxTags, which it does not have.',
  ],
  [
    'a feature that it needs and the application does not have',
    { needs: ['labels'] },
    'Cannot use the feature tags: it needs labels, which is not in the list.',
  ],
]

/** Tables that the service has, also under the prefix of a feature, and statements on them. */
const tablesOfCore = [
  'list_index',
  'list_item',
  'setting',
  'trust',
  'property',
  'actor',
  'mail_note',
  'schema_migrations',
]
const statements = [
  (name: string) => `DROP TABLE ${name};`,
  (name: string) => `ALTER TABLE ${name} DROP COLUMN id;`,
  (name: string) => `CREATE INDEX own ON ${name} (id);`,
  (name: string) => `INSERT INTO ${name} (id) VALUES ('1');`,
  (name: string) => `UPDATE ${name} SET id = '1';`,
  (name: string) => `DELETE FROM ${name} WHERE id = '1';`,
]

describe('an application', () => {
  for (const [name, core] of [
    ['list', 'list_node'],
    ['setting', 'setting'],
    ['trust', 'trust'],
    ['schema', 'schema_migrations'],
    ['feature', 'feature_migration'],
    ['publisher', 'publisher_subscription'],
    ['mcp', 'mcp_session'],
    ['list_item', 'list_item'],
  ] as const)
    it(`may not add a feature ${name}, whose name begins that of a table of the service`, () => {
      assert.throws(() => applicationWith(defineFeature({ name, start })), {
        name: 'ConfigError',
        message: `Cannot use the feature ${name}: its name begins that of the table ${core} of the service. Give it another name.`,
      })
    })

  for (const core of tablesOfCore)
    it(`may not add a feature that changes the table ${core}, by any statement and under any name`, () => {
      const parts = core.split('_')
      for (const name of ['tags', ...parts.map((_, at) => parts.slice(0, at + 1).join('_'))])
        for (const statement of statements)
          assert.throws(
            () => applicationWith(defineFeature({ name, start, migrations: [script(statement(core))] })),
            (error: Error) =>
              error.message.includes(
                `Cannot use the feature ${name}: its migration 1 changes the table ${core}, which is not its own.`,
              ),
            `${name} ${statement(core)}`,
          )
    })

  it('may not add a feature that changes a table of another one of a longer name', () => {
    const cart = { name: 'shop_cart', start, migrations: [script(table('shop_cart_item'))] }
    const item = { name: 'shop_cart_item', key: ['id'] }
    const shop = { name: 'shop', start, migrations: [script('DROP TABLE shop_cart_item;')] }
    const application = () => applicationWith(defineFeature(shop), defineFeature({ ...cart, tables: [item] }))
    assert.throws(application, {
      message: 'Cannot use the feature shop: its migration 1 changes the table shop_cart_item, which is not its own.',
    })
    const own = { ...shop, migrations: [script(table('shop_order'))], tables: [{ name: 'shop_order', key: ['id'] }] }
    applicationWith(defineFeature(own), defineFeature({ ...cart, tables: [item] }))
  })

  for (const name of ['lists', 'tru', 'set', 'trusts', 'act', 'bookmark_list'])
    it(`may add a feature ${name}, whose name is only like that of a table of the service`, () => {
      const own = { migrations: [script(table(name))], tables: [{ name, key: ['id'] }] }
      applicationWith(defineFeature({ name, start, ...own }))
    })

  for (const [what, given, message] of refused)
    it(`may not add a feature with ${what}`, () => {
      assert.throws(() => applicationWith(defineFeature({ name: 'tags', start, ...given })), {
        name: 'ConfigError',
        message,
      })
    })

  for (const [layout, sql] of [
    ['indentation', table('tags').replaceAll(/^/gm, '      ')],
    ['one line', table('tags').replaceAll('\n', ' ')],
    ['tabs', table('tags').replaceAll(/\n */g, '\n\t\t')],
    [
      'keywords in lower case',
      table('tags').replaceAll(/\b(?!TEXT_KEY|STRICT)[A-Z]+\b/g, (word) => word.toLowerCase()),
    ],
  ] as const)
    it(`may add a table whose script has ${layout}, if its declaration fits`, () => {
      const tags = (key: string[]): AppFeature =>
        defineFeature({ name: 'tags', start, migrations: [script(sql)], tables: [{ name: 'tags', key }] })
      applicationWith(tags(['id']))
      assert.throws(() => applicationWith(tags([])), {
        message:
          'Cannot use the feature tags: its migrations create tags with the key (actor_id, id), and it declares (actor_id).',
      })
    })

  for (const [name, isFitting] of [
    ['tags', true],
    ['tags_old', true],
    ['tags_', true],
    ['tag', false],
    ['tags2', false],
    ['old_tags', false],
    ['other', false],
  ] as const)
    it(`${isFitting ? 'may' : 'may not'} add the table ${name} with the feature tags`, () => {
      const migrations = [script(table(name))]
      const add = (): App =>
        applicationWith(defineFeature({ name: 'tags', start, migrations, tables: [{ name, key: ['id'] }] }))
      if (isFitting) add()
      else
        assert.throws(add, {
          message: `The settings have 2 problems:
- Cannot use the feature tags: its migration 1 changes the table ${name}, which is not its own.
- Cannot use the feature tags: its table ${name} must be named tags, or begin with tags_.`,
        })
    })

  it('may not add two features with one name', () => {
    const twice = [defineFeature({ name: 'tags', start }), defineFeature({ name: 'tags', start })]
    assert.throws(() => applicationWith(...twice), {
      message:
        'Cannot use the feature tags: its name tags has the name of one of the feature tags. Give it another name.',
    })
  })

  it('may not add an object that defineFeature did not make', () => {
    assert.throws(() => applicationWith({ name: 'tags' }), {
      name: 'ConfigError',
      message: 'Cannot use a feature: defineFeature of troupe/feature must make every value of features.',
    })
  })

  for (const [what, path, id, owner] of [
    ['of the service', '/properties/:x', 'tags', 'the service has routes below /{actor}/properties'],
    ['of a built-in feature', '/webhooks/tags', 'tags', 'the service has routes below /{actor}/webhooks'],
    ['of a page of the service', '/www/passkeys', 'tags', 'the service has routes below /{actor}/www/passkeys'],
    ['with an id of the service', '/tags', 'listTrusts', 'the service has the route listTrusts'],
    ['of another of its features', '/bookmarks', 'tags', 'the feature bookmarks has routes below /{actor}/bookmarks'],
  ] as const)
    it(`may not add a route ${what}`, async () => {
      const tags = defineFeature({
        name: 'tags',
        start,
        routes: (route) => [
          route({
            id,
            method: 'GET',
            path,
            summary: 'Test',
            responses: { 200: 'Test' },
            handler: () => Promise.resolve({}),
          }),
        ],
      })
      const app = new App(
        { type, env: { TROUPE_MODE: 'development' }, features: [bookmarks, tags] },
        { inMemory: true },
      )
      await assert.rejects(app.start(), {
        name: 'ConfigError',
        message: `Cannot use the feature tags: ${owner} already.`,
      })
    })

  it('may not add a route with a parameter behind the actor', async () => {
    const tags = defineFeature({
      name: 'tags',
      start,
      routes: (route) => [
        route({
          id: 'tags',
          method: 'GET',
          path: '/:tag',
          summary: 'Test',
          responses: { 200: 'Test' },
          handler: () => Promise.resolve({}),
        }),
      ],
    })
    const app = new App({ type, env: { TROUPE_MODE: 'development' }, features: [tags] }, { inMemory: true })
    await assert.rejects(app.start(), {
      message: 'Cannot use the feature tags: the path /:actor/:tag must have a name behind the actor.',
    })
  })

  it('refuses a variable of a feature that it does not add', async () => {
    const settings = { type, env: { TROUPE_MODE: 'development', TROUPE_BOOKMARKS_MAX: '2' } }
    await assert.rejects(new App(settings, { inMemory: true }).start(), {
      message:
        'Unknown environment variable TROUPE_BOOKMARKS_MAX: check its spelling in docs/configuration.md, or remove it.',
    })
    const app = new App({ ...settings, features: [bookmarks] }, { inMemory: true })
    await app.start()
    await app.close()
  })
})
