import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { git } from '../support/working-tree.ts'

const root = dirname(dirname(import.meta.dirname))
/** Folders that are no part of the sources. */
const omitted: ReadonlySet<string> = new Set(['.git', 'node_modules', 'dist', 'data', 'coverage', '.tmp'])

describe('npm test', () => {
  let copy = ''
  let ended: { readonly status: number | null; readonly lines: readonly string[] }
  const read = (name: string): string => readFileSync(join(copy, name), 'utf8')
  const replace = (name: string, from: string, to: string): void => {
    assert.ok(read(name).includes(from), `${name} has no ${JSON.stringify(from)}`)
    writeFileSync(join(copy, name), read(name).replace(from, to))
  }

  // One run finds all defects, because each run of these tests takes several seconds.
  before(() => {
    copy = mkdtempSync(join(realpathSync(tmpdir()), 'troupe-defects-'))
    cpSync(root, copy, { recursive: true, filter: (path) => !omitted.has(relative(root, path)) })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
    replace('docs/api/troupe.api.txt', 'export interface Webhook {', 'export interface Hook {')
    replace('docs/api.md', '# API\n', '# Another API\n')
    writeFileSync(
      join(copy, 'test/rules/left-file.test.ts'),
      `import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
it('leaves a file', () => writeFileSync(join(import.meta.dirname, 'left behind.txt'), ''))
`,
    )
    git(copy, 'init', '--quiet')
    git(copy, 'add', '.')
    const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgSign=false']
    git(copy, ...author, 'commit', '--quiet', '--message', 'add files')
    const names = ['rules/api-report', 'rules/generated-pages', 'rules/left-file']
    const { status, stdout, stderr } = spawnSync('npm', ['test', '--', ...names], {
      cwd: copy,
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    })
    ended = { status, lines: `${stderr}${stdout}`.trimEnd().split('\n') }
  })
  after(() => rmSync(copy, { recursive: true }))

  const has = (line: string): void => assert.ok(ended.lines.includes(line), ended.lines.join('\n'))

  it('fails when a public type differs from the report', () => {
    has('  ✖ the report of the public declarations › fits the code; `npm run api-report` writes it again')
    assert.match(read('docs/api/troupe.api.txt'), /^export interface Hook {$/m)
  })

  it('fails when a generated document is stale', () => {
    has('  ✖ the generated pages › contain the current output of `npm run docs` in docs/api.md')
    assert.match(read('docs/api.md'), /^# Another API$/m)
  })

  it('fails when a test leaves a file in the tree', () => {
    has('✖ The run changed test/rules/left behind.txt')
  })

  it('counts each of the defects, and no other failure', () => {
    assert.match(ended.lines.at(-1) ?? '', /^\d+ passed, 3 failed$/)
    assert.equal(ended.status, 1)
  })
})
