import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { coverageLines, coverageOf, rowsIn, unknownRows } from '../support/coverage.ts'
import { runTestFiles, type RunTotals } from '../support/test-run.ts'
import { until } from '../support/until.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-runner-'))
})
after(() => rm(folder, { recursive: true }))

async function run(
  sources: Record<string, string>,
  limitSeconds = 60,
  isAlone?: (file: string) => boolean,
): Promise<RunTotals & { printed: string }> {
  const files: string[] = []
  for (const [name, source] of Object.entries(sources)) {
    const file = join(folder, `${name}.test.ts`)
    await writeFile(file, `import { before, describe, it } from 'node:test'\n${source}`)
    files.push(file)
  }
  const lines: string[] = []
  const totals = await runTestFiles(files, {
    concurrency: 2,
    limitSeconds,
    print: (line) => lines.push(line),
    everyArea: false,
    nameOf: (file) => basename(file),
    ...(isAlone === undefined ? {} : { isAlone }),
  })
  return { ...totals, printed: lines.join('\n') }
}

const pass = `it('passes', () => {})`

describe('a test run', () => {
  it('counts the tests of all files and ends with the totals on a line of their own', async () => {
    const { passed, failed, printed } = await run({
      first: `describe('a group', () => { it('one', () => {}); it('two', async () => {}) })`,
      second: pass,
    })
    assert.deepEqual([passed, failed], [3, 0])
    assert.equal(printed.split('\n').at(-1), '3 passed, 0 failed')
  })

  it('runs files alone after the others', async () => {
    const files = { 'alone-1': pass, first: pass, 'alone-2': pass, second: pass }
    const { printed } = await run(files, 60, (file) => basename(file).startsWith('alone'))
    const order = [...printed.matchAll(/^✔ ([\w-]+)/gm)].map(([, name]) => name)
    assert.deepEqual(order.slice(2), ['alone-1', 'alone-2'])
    assert.deepEqual(new Set(order), new Set(Object.keys(files)))
  })

  it('shows a failure with its groups, its reason and the output of the file', async () => {
    const { passed, failed, printed } = await run({
      failing: `describe('a group', () => { it('breaks', () => { console.log('seen'); throw new Error('broken') }) })\n${pass}`,
    })
    assert.deepEqual([passed, failed], [1, 1])
    assert.match(printed, /✖ a group › breaks\n\s+Error: broken/)
    assert.match(printed, /What the file wrote:\n\s+seen/)
  })

  const failures: [what: string, source: string, reason: RegExp][] = [
    ['a skipped test', `${pass}; it.skip('later', () => {})`, /✖ later\n\s+It is skipped/],
    ['a skipped group', `${pass}; describe.skip('later', () => { it('x', () => {}) })`, /✖ later\n\s+It is skipped/],
    ['a test that skips itself', `${pass}; it('later', (t) => t.skip('why'))`, /✖ later\n\s+It is skipped/],
    ['a test marked as todo', `${pass}; it.todo('later')`, /✖ later\n\s+It is marked as still to do/],
    ['a file without a test', `describe('nothing', () => {})`, /It holds no test\./],
    ['a file that does not load', `${pass}; throw new Error('not loaded')`, /not loaded/],
    ['a file that does not parse', `${pass}; const = 1`, /ended \(code 7\) before its tests did/],
    [
      'a test that ends the process',
      `${pass}; it('leaves', () => process.exit(0))`,
      /ended \(code 0\) before its tests did/,
    ],
    ['an exit code without a failure', `${pass}; process.on('exit', () => { process.exitCode = 3 })`, /with code 3/],
    ['an unhandled rejection', `it('passes', () => { void Promise.reject(new Error('lost')) })`, /lost/],
    [
      'an unhandled rejection after an earlier wait',
      `it('passes', async () => { await null; void Promise.resolve().then(() => { throw new Error('lost') }) })`,
      /lost/,
    ],
    [
      'an error of a callback that a test left behind',
      `it('passes', async () => { await null; setImmediate(() => setImmediate(() => { throw new Error('lost') })) })`,
      /lost/,
    ],
  ]
  for (const [what, source, reason] of failures) {
    it(`fails for ${what}`, async () => {
      const { failed, printed } = await run({ failing: source })
      assert.ok(failed > 0)
      assert.match(printed, reason)
    })
  }

  it('fails every test of a group whose hook fails', async () => {
    const { passed, failed, printed } = await run({
      hook: `describe('a group', () => { before(() => { throw new Error('unprepared') }); it('one', () => {}) })`,
    })
    assert.equal(passed, 0)
    assert.ok(failed > 0)
    assert.match(printed, /unprepared/)
  })

  it('does not follow the promises of a test, which costs up to half of its time', async () => {
    const source = `import { executionAsyncId } from 'node:async_hooks'
      it('has no id', async () => { await null; if (executionAsyncId() !== 0) throw new Error('followed') })`
    const { passed, failed } = await run({ source })
    assert.deepEqual([passed, failed], [1, 0])
  })

  it('fails without any file', async () => {
    const { passed, failed, printed } = await run({})
    assert.deepEqual([passed, failed], [0, 1])
    assert.match(printed, /✖ No test ran\.\n/)
    assert.match(printed, /\n\n0 passed, 1 failed$/)
  })

  it('fails for a row that the catalogue does not have', async () => {
    const { passed, failed, printed } = await run({ slip: `it('LST-99 keeps something', () => {})` })
    assert.deepEqual([passed, failed], [1, 1])
    assert.match(printed, /✖ LST-99 is in a title, and the catalogue has no such row/)
  })
})

/** These files wait for real time, so that they run side by side. */
describe('a test run with a limit', { concurrency: true }, () => {
  it('kills a hanging file with its child processes, and names the running test', async () => {
    const pidFile = join(folder, 'pid')
    const { failed, printed } = await run(
      {
        hanging: `
          import { spawn } from 'node:child_process'
          import { writeFileSync } from 'node:fs'
          it('hangs', async () => {
            const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
            writeFileSync(${JSON.stringify(pidFile)}, String(child.pid))
            await new Promise((resolve) => child.on('exit', resolve))
          })`,
      },
      15,
    )
    assert.equal(failed, 1)
    assert.match(printed, /It was killed after 15 s in which no test began or ended: running was "hangs"/)
    const pid = Number(await readFile(pidFile, 'utf8'))
    await waitUntilGone(pid)
  })

  it('kills a file with a test whose promise never settles', async () => {
    const { passed, failed, printed } = await run({ pending: `${pass}; it('waits', () => new Promise(() => {}))` }, 15)
    assert.deepEqual([passed, failed], [1, 1])
    assert.match(printed, /It was killed after 15 s in which no test began or ended: running was "waits"/)
  })

  it('allows a file to run longer than the limit while its tests end', async () => {
    // Real time: the limit of a file is real time.
    const slow = `await new Promise((resolve) => setTimeout(resolve, 4_000))`
    const { passed, failed } = await run(
      { slow: ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `it('${name}', async () => { ${slow} })`).join(';') },
      20,
    )
    assert.deepEqual([passed, failed], [6, 0])
  })

  it('kills a file whose process continues after its tests ended', async () => {
    const { passed, failed, printed } = await run({ open: `${pass}; setInterval(() => {}, 1000)` }, 15)
    assert.deepEqual([passed, failed], [1, 1])
    assert.match(printed, /its tests had ended, but something kept the process alive/)
  })
})

describe('coverage of the catalogue', () => {
  const passed = (...path: string[]): { path: string[]; passed: boolean } => ({ path, passed: true })
  const failed = (...path: string[]): { path: string[]; passed: boolean } => ({ path, passed: false })

  it('finds exactly the ids of rows', () => {
    assert.deepEqual(rowsIn('LST-04, R-PROP-03 and SEC-02: one text'), ['LST-04', 'R-PROP-03', 'SEC-02'])
    assert.deepEqual(rowsIn('R-MCP-01'), ['R-MCP-01'])
    assert.deepEqual(rowsIn('SHA-256, UTF-16, RFC-67, HTTP-1, LST-041, XLST-04, lst-04'), [])
  })

  const proofs = new Map(
    Object.entries({
      'LST-01': ['keeps all', 'a group › returns …'],
      'LST-02': ['keeps all'],
      'LST-03': [],
      'DEL-01': ['deletes'],
      'DEL-02': ['deletes'],
    }).map(([row, titles]) => [row, titles.map((title) => ({ file: 'test/a.test.ts', title }))]),
  )

  it('counts a row when each test that proves it passed, in one of its cases at least', () => {
    const all = [
      passed('a group', 'keeps all (LST-01, LST-02)'),
      passed('a group', 'returns 3 (LST-01)'),
      passed('b', 'also (LST-01, LST-03)'),
    ]
    assert.deepEqual(coverageLines(coverageOf(all, proofs), false), [
      'LST: 2 of 15 rows proven / 0 failing  (list properties)',
    ])
    for (const missing of [0, 1]) {
      const some = all.filter((_, index) => index !== missing)
      assert.deepEqual(coverageLines(coverageOf(some, proofs), false), [
        `LST: ${missing} of 15 rows proven / 0 failing  (list properties)`,
      ])
    }
  })

  it('counts the ids of groups for their tests', () => {
    assert.deepEqual(coverageLines(coverageOf([passed('a list (LST-02)', 'keeps all')], proofs), false), [
      'LST: 1 of 15 rows proven / 0 failing  (list properties)',
    ])
  })

  it('counts a row as failing when any of its tests fails, in any order', () => {
    const outcomes = [
      passed('deletes (DEL-01)'),
      failed('DEL-01 b'),
      failed('DEL-02 a'),
      passed('deletes (DEL-02)'),
      passed('DEL-03'),
    ]
    assert.deepEqual(coverageLines(coverageOf(outcomes, proofs), false), [
      'DEL: 0 of 8 rows proven / 2 failing  (actor creation, lookup and deletion)',
    ])
  })

  it('lists every area in a full run: 439 rows of threats and faults, 231 of the specification', () => {
    const coverage = coverageOf([])
    assert.equal(coverageLines(coverage, true).length, 52)
    const rows = (specification: boolean): number =>
      coverage.reduce((sum, { area }) => sum + (area.id.startsWith('R-') === specification ? area.rows : 0), 0)
    assert.equal(rows(false), 439)
    assert.equal(rows(true), 231)
  })

  it('detects ids beyond the last row of an area', () => {
    assert.deepEqual(unknownRows([passed('RATE-09'), passed('RATE-10'), passed('RATE-00')]), ['RATE-10', 'RATE-00'])
  })
})

/** A killed process stays visible until the system has collected it. */
function waitUntilGone(pid: number): Promise<void> {
  return until(async () => {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
    return state?.split(' ')[2] === 'Z'
  })
}
