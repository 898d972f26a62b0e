import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { describe, it } from 'node:test'
import {
  foundation,
  importsOf,
  joins,
  mayImport,
  roomOf,
  type SourceFile,
  violationsIn,
} from '../support/directions.ts'

const src = join(import.meta.dirname, '..', '..', 'src')

describe('the rooms of src', () => {
  it('import each other only in the directions of the design and without a cycle', async () => {
    const files: SourceFile[] = []
    for await (const path of glob('**/*.ts', { cwd: src })) {
      files.push({ path: path.replaceAll(sep, '/'), text: await readFile(join(src, path), 'utf8') })
    }
    assert.ok(files.length > 20)
    assert.deepEqual(violationsIn(files), [])
  })

  it('have one order in which each room imports only rooms before it', () => {
    const above = new Set(foundation)
    for (const [room, imports] of Object.entries(mayImport)) {
      assert.deepEqual(
        imports.filter((name) => !above.has(name)),
        [],
        room,
      )
      above.add(room)
    }
  })

  it('import at most eight rooms besides the foundation, except the rooms that join others', () => {
    const wide = Object.entries(mayImport).filter(([, imports]) => imports.length > 8)
    assert.deepEqual(wide.map(([room]) => room).sort(), Object.keys(joins).sort())
  })

  it('have at most 25 files in one folder', async () => {
    const files = new Map<string, number>()
    for await (const path of glob('**/*.ts', { cwd: src })) {
      const folder = dirname(path)
      files.set(folder, (files.get(folder) ?? 0) + 1)
    }
    assert.deepEqual(
      [...files].filter(([, count]) => count > 25),
      [],
    )
  })

  it('are the folders that docs/architecture.md names', async () => {
    const text = await readFile(join(src, '..', 'docs', 'architecture.md'), 'utf8')
    const table = text.slice(text.indexOf('| Room |'), text.indexOf('**Directions.**'))
    const named = new Set([...table.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name.replace(/\.ts$/, '')))
    const rooms = new Set<string>()
    for await (const path of glob('**/*.ts', { cwd: src })) rooms.add(roomOf(path.replaceAll(sep, '/')))
    const missing = [...rooms].filter((room) => room !== 'entry' && room !== 'store port' && !named.has(room))
    assert.deepEqual(
      missing.filter((room) => !room.startsWith('http/routes/') && !room.startsWith('store/')).sort(),
      [],
    )
  })
})

describe('the check of import directions', () => {
  const importing = (path: string, ...specifiers: string[]): SourceFile => ({
    path,
    text: specifiers.map((specifier) => `import type { Thing } from '${specifier}'\n`).join(''),
  })

  it('accepts the imports of the design', () => {
    const files = [
      importing(
        'service/all-routes.ts',
        '../http/routes/actor/actor.ts',
        '../errors.ts',
        '../pages/shared/page-set.ts',
      ),
      importing('actor/actor.ts', '../store/store.ts', '../json/json.ts', 'node:crypto', '../secret/sealed.ts'),
      importing('open-store.ts', './store/sqlite/sqlite-store.ts', './store/store.ts'),
      importing('store/sqlite/sqlite-store.ts', '../store.ts', '../portable.ts', 'node:sqlite', './connection.ts'),
      importing('store/postgres/postgres-store.ts', '../store.ts', 'pg'),
      importing('service.ts', './http/edge/node.ts', './open-runtime.ts', './actor/actor.ts'),
      importing('index.ts', './service.ts', './app/app.ts', './errors.ts'),
      importing('cli/serve.ts', '../service.ts', '../config/env.ts', '../open-store.ts'),
      { path: 'config/env.ts', text: 'export const port = process.env.PORT' },
    ]
    assert.deepEqual(violationsIn(files), [])
  })

  const refused: [what: string, file: SourceFile, violation: string][] = [
    [
      'a domain room that imports the edge',
      importing('property/list-reader.ts', '../http/edge/response.ts'),
      'property/list-reader.ts imports http/edge/response.ts: property may not know http/edge',
    ],
    [
      'a domain room that imports more of the store than its port',
      importing('property/list-reader.ts', '../store/portable.ts'),
      'property/list-reader.ts imports store/portable.ts: property may not know store',
    ],
    [
      'a domain room that names a concrete store',
      importing('property/list-reader.ts', '../store/sqlite/connection.ts'),
      'property/list-reader.ts names a concrete store, store/sqlite/connection.ts',
    ],
    [
      'a command that names a concrete store',
      importing('cli/keys.ts', '../store/postgres/pool.ts'),
      'cli/keys.ts names a concrete store, store/postgres/pool.ts',
    ],
    [
      'one driver that knows the other',
      importing('store/sqlite/reader.ts', '../postgres/pool.ts'),
      'store/sqlite/reader.ts names a concrete store, store/postgres/pool.ts',
    ],
    [
      'a group of routes that imports a room it does not name',
      importing('http/routes/actor/actor.ts', '../../../subscription/view.ts'),
      'http/routes/actor/actor.ts imports subscription/view.ts: http/routes/actor may not know subscription',
    ],
    [
      'the store that knows the domain',
      importing('store/store.ts', '../actor/actor.ts'),
      'store/store.ts imports actor/actor.ts: store port may not know actor',
    ],
    [
      'pages that import the route table',
      importing('pages/home/routes.ts', '../../service/all-routes.ts'),
      'pages/home/routes.ts imports service/all-routes.ts: pages may not know service',
    ],
    [
      'the edge that knows the dispatch',
      importing('http/edge/node.ts', '../dispatch/dispatch.ts'),
      'http/edge/node.ts imports http/dispatch/dispatch.ts: http/edge may not know http/dispatch',
    ],
    [
      'the dispatch that knows the routes',
      importing('http/dispatch/dispatch.ts', '../../service/all-routes.ts'),
      'http/dispatch/dispatch.ts imports service/all-routes.ts: http/dispatch may not know service',
    ],
    [
      'a page that knows the routes of the API',
      importing('pages/home/routes.ts', '../../http/routes/actor/actor.ts'),
      'pages/home/routes.ts imports http/routes/actor/actor.ts: pages may not know http/routes/actor',
    ],
    [
      'a route of the API that knows a page',
      importing('http/routes/actor/actor.ts', '../../../pages/shared/page.ts'),
      'http/routes/actor/actor.ts imports pages/shared/page.ts: http/routes/actor may not know pages',
    ],
    [
      'the catalogue of errors when it imports anything',
      importing('errors.ts', './json/json.ts'),
      'errors.ts imports json/json.ts: errors may not know json',
    ],
    [
      'a command that imports the exports for applications',
      importing('cli/serve.ts', '../index.ts'),
      'cli/serve.ts imports index.ts, which is for applications only',
    ],
    [
      'a domain room that imports the service',
      importing('actor/actor.ts', '../service.ts'),
      'actor/actor.ts imports service.ts: actor may not know service',
    ],
    [
      'an import from outside src',
      importing('actor/actor.ts', '../../test/support/stores.ts'),
      'actor/actor.ts imports ../test/support/stores.ts, outside src',
    ],
    [
      'a database package outside its driver',
      importing('open-store.ts', 'pg'),
      'open-store.ts imports pg, which only store/postgres and actingweb-import may',
    ],
    [
      'a room without a line in the table',
      importing('helpers/text.ts'),
      'helpers/text.ts is in a room that the table of directions does not name: helpers',
    ],
    [
      'a second reader of the environment',
      { path: 'http/edge/node.ts', text: 'const port = process.env.PORT' },
      'http/edge/node.ts reads the environment, which only config/env.ts may',
    ],
    [
      'the environment read by another spelling',
      { path: 'http/edge/node.ts', text: `const port = process['env'].PORT` },
      'http/edge/node.ts reads the environment, which only config/env.ts may',
    ],
    [
      'the environment read by an import',
      { path: 'http/edge/node.ts', text: `import { env } from 'node:process'` },
      'http/edge/node.ts reads the environment, which only config/env.ts may',
    ],
    [
      'an import that is written as a call',
      { path: 'property/list-reader.ts', text: `const { answer } = await import('../http/edge/response.ts')` },
      'property/list-reader.ts imports http/edge/response.ts: property may not know http/edge',
    ],
  ]
  for (const [what, file, violation] of refused) {
    it(`rejects ${what}`, () => assert.deepEqual(violationsIn([file]), [violation]))
  }

  it('rejects a cycle, also of type imports, and a file that imports itself', () => {
    const files = [
      importing('actor/a.ts', './b.ts'),
      importing('actor/b.ts', './c.ts'),
      importing('actor/c.ts', './a.ts'),
      importing('json/self.ts', './self.ts'),
    ]
    assert.deepEqual(violationsIn(files), [
      'a cycle: actor/a.ts → actor/b.ts → actor/c.ts → actor/a.ts',
      'a cycle: json/self.ts → json/self.ts',
    ])
  })

  it('does not report a cycle for a file that is reached by two paths', () => {
    const files = [
      importing('actor/a.ts', './b.ts', './c.ts'),
      importing('actor/b.ts', './d.ts'),
      importing('actor/c.ts', './d.ts'),
      importing('actor/d.ts'),
    ]
    assert.deepEqual(violationsIn(files), [])
  })

  it('finds imports in every syntax', () => {
    const text = [
      `import a from './a.ts'`,
      `import type { B } from "./b.ts"`,
      `import {\n  c,\n  type D,\n} from './c.ts'`,
      `import './e.ts'`,
      `export { f } from './f.ts'`,
      `export * from './g.ts'`,
      `const h = await import('./h.ts')`,
      `let i: import('./i.ts').I`,
      `const text = "from './no.ts'"`,
      `export const words = ['./no.ts']`,
    ].join('\n')
    assert.deepEqual(importsOf(text), ['./a.ts', './b.ts', './c.ts', './e.ts', './f.ts', './g.ts', './h.ts', './i.ts'])
  })
})
