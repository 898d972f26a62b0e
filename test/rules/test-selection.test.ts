/** Which tests a run chooses: those on PostgreSQL, those that a change affects, and their order. */
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { affectedTests } from '../support/changed-files.ts'
import { chooseCoveringSet, skippedOutside, uncoveredStatements } from '../support/covering-set.ts'
import { executionsOf } from '../support/execution-records.ts'
import { longestFirst, sampleOf } from '../support/file-order.ts'
import { readExecutions, readRecorded } from '../support/recorded.ts'
import type { StatementRecord } from '../support/statement-records.ts'
import { shapeOf } from '../support/statement-shape.ts'
import type { FileResult } from '../support/test-file.ts'
import { overLimit, runTestFiles } from '../support/test-run.ts'

const root = dirname(dirname(import.meta.dirname))
const story = 'test/stories/lists-http.test.ts'
const record = (test: string, shape: string, given: Partial<StatementRecord> = {}): StatementRecord => ({
  file: story,
  dialect: test.includes('PostgreSQL') ? 'postgres' : 'sqlite',
  caller: 'creator',
  test,
  shape,
  ...given,
})

describe('the shape of a statement', () => {
  for (const [sql, shape] of [
    ['SELECT name FROM property\n  WHERE actor_id = $1', 'SELECT name FROM property WHERE actor_id = $'],
    ['SELECT a FROM t WHERE a IN ($1, $2, $3)', 'SELECT a FROM t WHERE a IN ($, …)'],
    ['SELECT a FROM t WHERE a IN ($4)', 'SELECT a FROM t WHERE a IN ($)'],
    ['INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4), ($5, $6)', 'INSERT INTO t (a, b) VALUES ($, …), …'],
  ] as const)
    it(`leaves out how many values it has: ${sql.replaceAll(/\s+/g, ' ')}`, () => assert.equal(shapeOf(sql), shape))
})

describe('the tests on PostgreSQL', () => {
  const set = {
    [story]: [
      'on PostgreSQL > creating > works',
      'on PostgreSQL > reading (ACL-01) > works (R-PROP-03, CHOICE-09)',
      'on sharded PostgreSQL > deleting',
    ],
  }
  const runs = (file: string, isFull: boolean, name: string): boolean => !skippedOutside(set, file, isFull).test(name)

  for (const [what, file, isFull, name, expected] of [
    ['a test of the set', story, false, 'on PostgreSQL creating works', true],
    ['the group around a test of the set', story, false, 'on PostgreSQL creating', true],
    ['the group of the store', story, false, 'on PostgreSQL', true],
    ['another test of a group', story, false, 'on PostgreSQL creating fails', false],
    ['a test whose name only begins like one of the set', story, false, 'on PostgreSQL creating works twice', false],
    ['a test of the set with an id', story, false, 'on PostgreSQL creating works (R-PROP-03)', true],
    ['a test of the set with other ids', story, false, 'on PostgreSQL reading (ACL-02, ACL-03) works (LST-04)', true],
    ['a test of the set without its ids', story, false, 'on PostgreSQL reading works', true],
    ['a test with words in parentheses', story, false, 'on PostgreSQL creating works (twice)', false],
    ['another group', story, false, 'on PostgreSQL deleting', false],
    ['a test on SQLite', story, false, 'on SQLite deleting', true],
    ['another test in a full run', story, true, 'on PostgreSQL creating fails', true],
    ['a test of a file about delivery', 'test/stories/webhooks.test.ts', false, 'on PostgreSQL sends', true],
    ['a test of a contract', 'test/contracts/list.test.ts', false, 'on PostgreSQL appends', true],
    ['a test of a story without a test in the set', 'test/stories/x.test.ts', false, 'on PostgreSQL works', false],
    ['a test of the set as a sharded database', story, false, 'on sharded PostgreSQL deleting', true],
    ['another test as a sharded database, also in a full run', story, true, 'on sharded PostgreSQL x', false],
    ['a test of a fault as a sharded database', 'test/faults/x.test.ts', true, 'on sharded PostgreSQL x', false],
  ] as const)
    it(`${expected ? 'include' : 'leave out'} ${what}`, () => assert.equal(runs(file, isFull, name), expected))
})

describe('the choice of the tests on PostgreSQL', () => {
  const ran = (name: string, ms: number): FileResult['passed'][number] => ({
    path: name.split(' > '),
    place: '',
    passed: true,
    ms,
  })
  const results = (...passed: FileResult['passed']): FileResult[] => [
    { file: story, passed, failed: [], output: '', seconds: 1, processorSeconds: 1 },
  ]
  const choose = (records: StatementRecord[], ...passed: FileResult['passed']): unknown =>
    chooseCoveringSet(records, results(...passed), (file) => file)
  const [first, second, both] = ['on PostgreSQL > first', 'on PostgreSQL > second', 'on PostgreSQL > both']

  it('takes one test that executes what two others execute', () => {
    const records = [record(first, 'A'), record(second, 'B'), record(both, 'A'), record(both, 'B')]
    assert.deepEqual(choose(records, ran(first, 30), ran(second, 30), ran(both, 40)), { [story]: [both] })
  })

  it('takes two quick tests instead of a slow one', () => {
    const records = [record(first, 'A'), record(second, 'B'), record(both, 'A'), record(both, 'B')]
    assert.deepEqual(choose(records, ran(first, 30), ran(second, 30), ran(both, 4000)), { [story]: [first, second] })
  })

  it('takes a test for each kind of caller of a statement', () => {
    const records = [record(first, 'A'), record(second, 'A', { caller: 'peer' })]
    assert.deepEqual(choose(records, ran(first, 1), ran(second, 1)), { [story]: [first, second] })
  })

  it('takes no test for a statement that a file executes which runs whole', () => {
    const records = [record(first, 'A'), record(both, 'A', { file: 'test/contracts/list.test.ts' })]
    assert.deepEqual(choose(records, ran(first, 1)), {})
  })

  it('takes no test that failed', () => {
    assert.deepEqual(choose([record(first, 'A')]), {})
  })

  it('takes the tests as a sharded database by their statements alone', () => {
    const sharded = ['on sharded PostgreSQL > first', 'on sharded PostgreSQL > second'] as const
    const records = [record(sharded[0], 'A'), record(sharded[1], 'A', { caller: 'peer' })]
    assert.deepEqual(choose(records, ran(sharded[0], 1), ran(sharded[1], 2)), { [story]: [sharded[0]] })
  })
})

describe('the choice of the tests of one file', () => {
  const other = 'test/stories/other.test.ts'
  const chosen = (...records: StatementRecord[]): unknown => {
    const passed = [...new Set(records.map(({ test }) => test))].map((test) => ({
      path: test.split(' > '),
      place: '',
      passed: true,
      ms: 1,
    }))
    const results = [story, other].map((file) => ({
      file,
      passed,
      failed: [],
      output: '',
      seconds: 1,
      processorSeconds: 1,
    }))
    return chooseCoveringSet(
      records,
      results,
      (file) => file,
      (file) => file === story,
    )
  }
  const [own, foreign] = ['on PostgreSQL > own', 'on PostgreSQL > foreign']

  it('takes a test for a statement that no other file executes', () => {
    assert.deepEqual(chosen(record(own, 'A'), record(foreign, 'B', { file: other })), { [story]: [own] })
  })

  it('takes no test for a statement that a test of another file executes', () => {
    assert.deepEqual(chosen(record(own, 'A'), record(foreign, 'A', { file: other })), {})
  })

  it('takes a test whose caller differs from that of another file', () => {
    assert.deepEqual(chosen(record(own, 'A'), record(foreign, 'A', { file: other, caller: 'peer' })), {
      [story]: [own],
    })
  })

  it('takes no test as a sharded database for a statement that another file executes so', () => {
    const sharded = ['on sharded PostgreSQL > own', 'on sharded PostgreSQL > foreign'] as const
    assert.deepEqual(chosen(record(sharded[0], 'A'), record(sharded[1], 'A', { file: other })), {})
    assert.deepEqual(chosen(record(sharded[0], 'A'), record(foreign, 'A', { file: other })), { [story]: [sharded[0]] })
  })
})

describe('a statement without a test on PostgreSQL', () => {
  it('is found', () => {
    const records = [record('on SQLite', 'A'), record('on SQLite', 'B'), record('on PostgreSQL', 'A')]
    assert.deepEqual(uncoveredStatements(records), ['B'])
  })

  it('is not reported for a test that runs on SQLite only', () => {
    assert.deepEqual(uncoveredStatements([record('', 'A')]), [])
  })

  it('is found although a test executes it as a sharded database', () => {
    const records = [record('on SQLite', 'A'), record('on sharded PostgreSQL', 'A')]
    assert.deepEqual(uncoveredStatements(records), ['A'])
  })
})

describe('the tests that a change affects', () => {
  const texts: Record<string, string> = {
    'test/rules/json.test.ts': `import { parse } from '../../src/json/json.ts'`,
    'test/rules/names.test.ts': `const files = globSync('**/*.ts', { cwd: root })`,
    'test/stories/lists.test.ts': `import { start } from '../support/service.ts'`,
    'test/stories/notes.test.ts': `import { start } from '../support/service.ts'\nconst app = 'examples/notes/app.ts'`,
    'test/support/service.ts': `import { App } from '../../src/troupe.ts'`,
    'src/troupe.ts': `import './list/list-store.ts'`,
  }
  const tests = Object.keys(texts).filter((path) => path.endsWith('.test.ts'))
  const executions = {
    'test/stories/lists.test.ts': ['src/list/list-store.ts', 'src/list/pieces.ts'],
    'test/stories/notes.test.ts': ['src/property/values.ts'],
  }
  const affected = (...changed: string[]): string[] =>
    affectedTests(changed, tests, executions, (path) => texts[path] ?? null)
  const [json = '', names = '', lists = '', notes = ''] = tests

  for (const [what, changed, expected] of [
    ['a file that a test imports', 'src/json/json.ts', [json, names]],
    ['a file that a test executes through others', 'src/list/pieces.ts', [names, lists]],
    ['a file that every service executes, by the others in its folder', 'src/list/create.ts', [names, lists]],
    ['a file that the support of tests imports', 'src/troupe.ts', [names, lists, notes]],
    ['a file of the support', 'test/support/service.ts', [names, lists, notes]],
    ['a test', 'test/stories/lists.test.ts', [names, lists]],
    ['a file that a test names', 'examples/notes/app.ts', [names, notes]],
    ['a file with the same name in another folder', 'examples/shop/app.ts', [names]],
  ] as const)
    it(`are found for ${what}`, () => assert.deepEqual(affected(changed), expected))

  it('are an empty list without a change', () => assert.deepEqual(affected(), []))
})

describe('the records of the repository', () => {
  const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'))

  it('name only test files that exist', () => {
    const named = [...Object.keys(readRecorded('covering-set')), ...Object.keys(readExecutions())]
    assert.deepEqual(
      named.filter((file) => !files.includes(file)),
      [],
    )
  })
})

describe('the files that a test executes', () => {
  it('are those that few test files execute', () => {
    const records = ['a', 'b', 'c', 'd'].map((file) => ({
      file,
      functions: ['src/troupe.ts:1', ...(file === 'a' ? ['src/list/list-store.ts:5', 'src/list/list-store.ts:9'] : [])],
    }))
    assert.deepEqual(executionsOf(records), { a: ['src/list/list-store.ts'], b: [], c: [], d: [] })
  })

  it('are compared with a sample, which is not recorded again', () => {
    const records = [
      { file: 'a', functions: ['src/troupe.ts:1', 'src/list/list-store.ts:5'] },
      { file: 'b', functions: ['src/list/list-store.ts:5'] },
      ...['c', 'd', 'e'].map((file) => ({ file, functions: ['src/troupe.ts:1'] })),
    ]
    const expected = { a: ['src/list/list-store.ts'], b: ['src/list/list-store.ts'] }
    assert.deepEqual(executionsOf(records, ['c', 'd', 'e']), expected)
  })
})

describe('the order of the files', () => {
  it('begins with new files, then with the longest', () => {
    assert.deepEqual(longestFirst(['a', 'b', 'new', 'c'], { a: 1, b: 30, c: 2 }), ['new', 'b', 'c', 'a'])
  })
})

describe('the sample of the files', () => {
  const durations = { f: 1, e: 5, d: 5.1, c: 2, b: 90, a: 3 }

  it('has quick files only, at equal distances', () => {
    assert.deepEqual(sampleOf(durations, 2, []), ['a', 'e'])
    assert.deepEqual(sampleOf(durations, 16, []), ['a', 'c', 'e', 'f'])
  })

  it('has no file that is recorded', () => {
    assert.deepEqual(sampleOf(durations, 16, ['a', 'f']), ['c', 'e'])
  })
})

describe('the limit of processor time', () => {
  it('fails a run with a file above it, and names the file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-limit-'))
    const file = join(folder, 'busy.test.mjs')
    writeFileSync(file, `import { it } from 'node:test'\nit('works', () => {})\n`)
    const lines: string[] = []
    const { failed } = await runTestFiles([file], {
      concurrency: 1,
      limitSeconds: 60,
      print: (line) => lines.push(line),
      everyArea: false,
      nameOf: () => 'busy',
      // Every process takes longer.
      processorLimit: 0,
    })
    rmSync(folder, { recursive: true })
    assert.equal(failed, 1)
    assert.ok(lines.some((line) => /^✖ busy took \d+\.\d s of processor time, more than 0 s: /.test(line)))
  })

  it('judges a file by its time without other files, and by the tests of that run', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-limit-'))
    const file = join(folder, 'busy.test.mjs')
    const begun = JSON.stringify(join(folder, 'begun'))
    // Only the first run is busy, as beside other files, and only the second one fails.
    writeFileSync(
      file,
      `import { existsSync, writeFileSync } from 'node:fs'
      import { it } from 'node:test'
      const isSecond = existsSync(${begun})
      writeFileSync(${begun}, '')
      it('works', () => {})
      it('works once', () => {
        if (isSecond) throw new Error('failed alone')
        // Real time: the run judges the processor time of the file. A call to the system takes more of it than it shows.
        while (process.cpuUsage().user < 2_500_000) for (let step = 0; step < 1e7; step += 1);
      })\n`,
    )
    const lines: string[] = []
    const { passed, failed } = await runTestFiles([file], {
      concurrency: 1,
      limitSeconds: 60,
      print: (line) => lines.push(line),
      everyArea: false,
      nameOf: () => 'busy',
      processorLimit: 2,
    })
    rmSync(folder, { recursive: true })
    assert.deepEqual([passed, failed], [1, 1])
    assert.ok(lines.some((line) => /^busy {2}[01]\.\d s of CPU alone, \d+\.\d s beside other files$/.test(line)))
    assert.ok(lines.some((line) => line.includes('failed alone')))
  })

  it('is 30 s for a file, with the processes that it starts', () => {
    const results = [
      { file: 'short', processorSeconds: 0 },
      { file: 'allowed', processorSeconds: 30 },
      { file: 'long', processorSeconds: 30.1 },
    ]
    assert.deepEqual(
      overLimit(results, (file) => `test/${file}`, 30),
      ['test/long took 30.1 s of processor time, more than 30 s: make it cheaper or split it (CONTRIBUTING.md)'],
    )
  })
})
