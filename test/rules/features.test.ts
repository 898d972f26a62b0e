/** The list of features, and their order. */
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { describe, it } from 'node:test'
import { builtInFeature, type Feature } from '../../src/features/feature.ts'
import { orderedFeatures } from '../../src/features/features.ts'
import { builtInFeatures } from '../../src/features/list.ts'
import { mayImport } from '../support/directions.ts'

const src = join(import.meta.dirname, '..', '..', 'src')

const named = (name: string, ...needs: string[]): Feature =>
  builtInFeature({ name, needs, start: () => ({ parts: undefined }) })

describe('the list of features', () => {
  it('has each folder below src/features, under the name of the folder', () => {
    const entries = readdirSync(join(src, 'features'), { withFileTypes: true })
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    assert.deepEqual(builtInFeatures.map(({ name }) => name).toSorted(), folders.toSorted())
  })

  it('has an order in which each feature starts after those that it needs', () => {
    assert.equal(orderedFeatures(builtInFeatures).length, builtInFeatures.length)
  })

  it('declares each table once', () => {
    const tables = builtInFeatures.flatMap((feature) => feature.tables.map(({ name }) => name))
    assert.deepEqual(tables, [...new Set(tables)])
  })
})

/** The statements, and declared rows, of other files that name a table of a feature. */
export function namedTables(path: string, text: string, features: readonly Feature[]): string[] {
  const others = features.filter(({ name }) => !path.startsWith(`features/${name}/`))
  return others.flatMap(({ name, tables }) =>
    tables.flatMap((table) => {
      const statement = new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE)\\s+${table.name}\\b|\\btable: '${table.name}'`)
      return statement.test(text) ? [`${path} names the table ${table.name} of ${name}`] : []
    }),
  )
}

describe('a file outside a feature', () => {
  const files = globSync('**/*.ts', { cwd: src }).map((path) => path.replaceAll(sep, '/'))

  it('names no table of the feature', () => {
    assert.ok(files.length > 1000)
    const found = files.flatMap((path) => namedTables(path, readFileSync(join(src, path), 'utf8'), builtInFeatures))
    assert.deepEqual(found, [])
  })

  it('does not name webhooks, unless it is a list, a text of a language or an entry of the package', () => {
    const naming = files.filter(
      (path) => !path.startsWith('features/webhooks/') && /webhook/i.test(readFileSync(join(src, path), 'utf8')),
    )
    assert.deepEqual(naming.toSorted(), [
      'features/config.ts',
      'features/list.ts',
      'handles.ts',
      'pages/languages/english.ts',
      'pages/languages/german.ts',
    ])
  })

  it('adds members to the handle of an actor that every entry with handles loads', () => {
    const types = files.filter((path) => /^features\/\w+\/handle-types\.ts$/.test(path))
    assert.ok(types.length >= 4)
    const handles = readFileSync(join(src, 'handles.ts'), 'utf8')
    for (const path of types) assert.ok(handles.includes(`from './${path}'`), path)
    for (const entry of ['index.ts', 'feature.ts', 'testing.ts'])
      assert.match(readFileSync(join(src, entry), 'utf8'), /^import '\.\/handles\.ts'$/m, entry)
  })

  for (const text of [
    'SELECT url FROM webhook WHERE actor_id = $1',
    'DELETE FROM\n  webhook WHERE actor_id = $1',
    'INSERT INTO webhook (actor_id) VALUES ($1)',
    "{ table: 'webhook', key: 'webhook_id' }",
    'SELECT t.id FROM trust t JOIN webhook w ON w.actor_id = t.actor_id',
  ])
    it(`must not contain ${JSON.stringify(text)}`, () => {
      assert.deepEqual(namedTables('a.ts', text, builtInFeatures), ['a.ts names the table webhook of webhooks'])
      assert.deepEqual(namedTables('features/webhooks/a.ts', text, builtInFeatures), [])
    })

  for (const text of ['SELECT id FROM webhooks_before', "kinds: ['webhook']", '// Deletes from webhook senders'])
    it(`may contain ${JSON.stringify(text)}`, () => {
      assert.deepEqual(namedTables('a.ts', text, builtInFeatures), [])
    })
})

describe('the rooms of features', () => {
  it('are known only to the service, the application and the commands', () => {
    const knowing = Object.entries(mayImport).filter(
      ([room, imports]) => !room.startsWith('features') && imports.some((name) => name.startsWith('features')),
    )
    assert.deepEqual(
      knowing.map(([room]) => room),
      ['app-feature', 'service', 'troupe', 'cli'],
    )
  })

  it('know other features only by their needs', () => {
    for (const { name, needs } of builtInFeatures) {
      const known = (mayImport[`features/${name}`] ?? []).filter((room) => /^features\/(?!feature$)/.test(room))
      assert.deepEqual(
        known.filter((room) => !needs.includes(room.slice('features/'.length))),
        [],
      )
    }
  })
})

describe('the order of features', () => {
  it('puts those that others need first, and keeps the order of the list otherwise', () => {
    const list = [named('a', 'c'), named('b'), named('c', 'd'), named('d')]
    assert.deepEqual(
      orderedFeatures(list).map(({ name }) => name),
      ['d', 'c', 'a', 'b'],
    )
  })

  const refused: [what: string, list: readonly Feature[], why: string][] = [
    ['two features with one name', [named('a'), named('a')], 'Cannot use the features: two have the same name'],
    [
      'a feature whose need is not in the list',
      [named('a', 'b')],
      'Cannot use the feature a: it needs b, which is not in the list',
    ],
    ['a feature that needs itself', [named('a', 'a')], 'Cannot use the feature a: it needs itself, through a'],
    [
      'features that need each other',
      [named('a', 'b'), named('b', 'c'), named('c', 'a')],
      'Cannot use the feature a: it needs itself, through a, b, c',
    ],
  ]
  for (const [what, list, message] of refused)
    it(`refuses ${what}`, () => {
      assert.throws(() => orderedFeatures(list), { message })
    })
})
