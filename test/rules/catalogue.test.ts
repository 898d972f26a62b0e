/** Each row of the requirements and faults names the tests that prove it, and each id in a title names a row. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { proofsOf, rowIds, specPage } from '../support/catalogue.ts'
import { broadRows, faultsOfProofs, lostIds } from '../support/proofs.ts'
import { titlesOf } from '../support/test-titles.ts'

const root = dirname(dirname(import.meta.dirname))

const paths = (await Array.fromAsync(glob('test/**/*.test.ts', { cwd: root }))).map((path) =>
  path.replaceAll('\\', '/'),
)
const files = new Map(paths.map((path) => [path, titlesOf(path, readFileSync(join(root, path), 'utf8'))]))
/** `npm test` does not run the tests on a cluster, so they prove no row. */
const proving = new Map([...files].filter(([path]) => !path.startsWith('test/cluster/')))

const pages = ['requirements', 'faults'].map(specPage)

/** Rows that more than 25 tests carry, each with the reason not to split it. */
const broad: ReadonlyMap<string, string> = new Map()

/** The ids with a reason in the section of rows without a test. */
function reasonedRows(page: string): string[] {
  const section = page.split(/^## /m).find((one) => one.startsWith('Rows without a test\n')) ?? ''
  return [...section.matchAll(/^- (\S+): \S/gm)].flatMap(([, id]) => id ?? [])
}

describe('a row of the requirements and faults', () => {
  it('names tests that prove it, which exist and carry its id, unless its page gives a reason', () => {
    const rows = new Map(pages.flatMap((page) => [...proofsOf(page)]))
    assert.deepEqual([...rows.keys()], pages.flatMap(rowIds))
    assert.deepEqual(faultsOfProofs(rows, proving, pages.flatMap(reasonedRows)), [])
  })

  it('is carried by at most 25 tests, unless a reason is given here', () => {
    assert.deepEqual(broadRows(files, broad), [])
  })
})

describe('an id in the title of a test', () => {
  it('names a row of docs/spec', () => {
    const known = new Set(['requirements', 'faults', 'choices', 'wire'].flatMap((page) => rowIds(specPage(page))))
    assert.deepEqual(lostIds(files, known), [])
  })
})

describe('the check of proofs', () => {
  const source = `
    const cases = { 'a wrong key (LST-03)': 1, 'no key': 2 }
    describe('a list', () => {
      it('keeps its items (LST-01, R-LIST-01)', () => {})
      for (const [what, status] of Object.entries(cases)) it(\`answers \${status} to \${what}, always\`, () => {})
      it(\`holds \${1} (LST-02)\`, () => {})
    })
    describe('a queue (LST-04)', () => {
      it.only('keeps its items (LST-01)', () => {})
      run('it', 'is not a test (LST-05)')
    })`
  const read = new Map([['test/a.test.ts', titlesOf('test/a.test.ts', source)]])
  const row = (id: string, ...titles: string[]): string => {
    const proofs = titles.map((title) => `\`a\`: ${title}`)
    return `| <a id="${id.toLowerCase()}"></a>${id} | Text | ${proofs.join('<br>') || '[none](#rows-without-a-test)'} |`
  }
  const faultsOf = (...rows: string[]): string[] => faultsOfProofs(proofsOf(rows.join('\n')), read, [])

  it('reads titles, placeholders and groups, and the ids of cases', () => {
    assert.deepEqual(read.get('test/a.test.ts'), {
      tests: [
        { path: ['a list', 'keeps its items (LST-01, R-LIST-01)'] },
        { path: ['a list', 'answers … to …, always'] },
        { path: ['a list', 'holds … (LST-02)'] },
        { path: ['a queue (LST-04)', 'keeps its items (LST-01)'] },
      ],
      cases: ['a wrong key (LST-03)', 'is not a test (LST-05)'],
    })
  })

  it('accepts a title, a placeholder, a case, and a group before a title that a file has twice', () => {
    const rows = [
      row('R-LIST-01', 'keeps its items'),
      row('LST-01', 'a list › keeps its items', 'a queue › keeps its items'),
      row('LST-02', 'holds …'),
      row('LST-03', 'answers … to a wrong key, always'),
      row('LST-04', 'keeps its items'),
    ]
    assert.deepEqual(faultsOf(...rows), [])
    const escaped = '| <a id="x"></a>X-01 | A \\| B | `rules/a`: reads `\\<a>` \\[1\\] |'
    assert.deepEqual(proofsOf(escaped).get('X-01'), [{ file: 'test/rules/a.test.ts', title: 'reads `<a>` [1]' }])
  })

  it('refuses a row without a proof, and a test that does not exist, does not carry the id or is one of several', () => {
    assert.deepEqual(faultsOf(row('LST-01')), ['LST-01 names no test that proves it'])
    assert.deepEqual(faultsOf('| <a id="lst-02"></a>LST-02 | Text | holds … |'), [
      'LST-02 names “holds …” in “”, which is not a test file of npm test',
    ])
    const missing = ['keeps items', 'answers … to no key, always', 'is not a test']
    assert.deepEqual(
      faultsOf(row('LST-03', ...missing)),
      missing.map((title) => `LST-03 names “${title}” in “test/a.test.ts”, which does not exist`),
    )
    assert.deepEqual(faultsOf(row('LST-05', 'holds …')), [
      'LST-05 names “holds …” in “test/a.test.ts”, which does not carry LST-05',
    ])
    assert.deepEqual(faultsOf(row('LST-01', 'keeps its items')), [
      'LST-01 names “keeps its items” in “test/a.test.ts”, which is the title of several tests: write its group and › before it',
    ])
    assert.deepEqual(faultsOfProofs(proofsOf(row('LST-02', 'holds …')), new Map(), []), [
      'LST-02 names “holds …” in “test/a.test.ts”, which is not a test file of npm test',
    ])
  })

  it('refuses a reason beside a proof, and a reason for a row that does not exist', () => {
    const rows = proofsOf([row('LST-01'), row('LST-02', 'holds …')].join('\n'))
    assert.deepEqual(faultsOfProofs(rows, read, ['LST-01']), [])
    assert.deepEqual(faultsOfProofs(rows, read, ['LST-01', 'LST-02', 'LST-03']), [
      'LST-02 names a test, and its page gives a reason for none',
      'LST-03 has a reason, and does not exist',
    ])
  })

  it('refuses a row with 26 tests, a needless reason, and an id without a row', () => {
    const many = (count: number) =>
      new Map([['b', titlesOf('b.ts', `it('x (LST-01, LST-02)', () => {})\n`.repeat(count))]])
    assert.deepEqual(broadRows(many(25), new Map()), [])
    assert.deepEqual(broadRows(many(26), new Map([['LST-02', 'a table']])), ['LST-01 has 26 tests: split it'])
    assert.deepEqual(broadRows(many(25), new Map([['LST-02', 'a table']])), [
      'LST-02 has at most 25 tests, and needs no reason',
    ])
    assert.deepEqual(lostIds(many(1), new Set(['LST-01'])), ['LST-02 in a title of b'])
  })
})
