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
  processesOf?: (files: readonly string[]) => string[][],
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
    ...(processesOf === undefined ? {} : { processesOf }),
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
    const { passed, failed, printed } = await run({ slip: `it('LST-14 keeps something', () => {})` })
    assert.deepEqual([passed, failed], [1, 1])
    assert.match(printed, /✖ LST-14 is in a title, and the catalogue has no such row/)
  })
})

/** Runs the files in one process, and returns the mark of each file and the counts in its line. */
async function together(
  sources: Record<string, string>,
  limitSeconds = 60,
): Promise<{ lines: string[]; printed: string; totals: readonly [passed: number, failed: number] }> {
  const { passed, failed, printed } = await run(sources, limitSeconds, undefined, (files) => [[...files]])
  const lines = [...printed.matchAll(/^([✔✖] [\w-]+)\.test\.ts {2}(\d+ passed, \d+ failed)/gm)]
  return { lines: lines.map(([, file, counts]) => `${file}: ${counts}`), printed, totals: [passed, failed] }
}

describe('test files that share a process', () => {
  it('run one after the other, with the results of each', async () => {
    const first = `describe('a group', () => { it('one', () => {}); it('two', () => {}) })`
    const { lines, totals } = await together({
      first,
      second: pass,
      third: `it('breaks', () => { throw new Error('broken') })`,
    })
    assert.deepEqual(lines, [
      '✔ first: 2 passed, 0 failed',
      '✔ second: 1 passed, 0 failed',
      '✖ third: 0 passed, 1 failed',
    ])
    assert.deepEqual(totals, [3, 1])
  })

  it('have hooks of their own', async () => {
    const hooked = `import { after, afterEach, beforeEach } from 'node:test'
      let state = 'new'
      beforeEach(() => { state = 'ready' }); afterEach(() => { state = 'used' }); after(() => { if (state !== 'used') throw new Error(state) })
      it('is ready', () => { if (state !== 'ready') throw new Error(state) })`
    const other = `it('has no hooks', (t) => { if (t.fullName !== ${JSON.stringify(join(folder, 'other.test.ts'))} + ' > has no hooks') throw new Error(t.fullName) })`
    const { lines } = await together({ hooked, other, again: hooked })
    assert.deepEqual(lines, [
      '✔ hooked: 1 passed, 0 failed',
      '✔ other: 1 passed, 0 failed',
      '✔ again: 1 passed, 0 failed',
    ])
  })

  const troubles: [what: string, source: string, reason: RegExp, counts: string | RegExp][] = [
    [
      'ends the process',
      `${pass}; it('leaves', () => process.exit(0))`,
      /ended \(code 0\) before its tests did/,
      /^✖ bad: [01] passed, 1 failed$/,
    ],
    [
      'crashes the process',
      `${pass}; it('dies', () => process.kill(process.pid, 'SIGKILL'))`,
      /ended \(code null\) before its tests did/,
      /^✖ bad: [01] passed, 1 failed$/,
    ],
    [
      'ends the process when it is loaded',
      `${pass}; process.exit(3)`,
      /ended \(code 3\) before its tests did/,
      '0 passed, 1 failed',
    ],
    [
      'does not load',
      `${pass}; throw new Error('not loaded')`,
      /the file as a whole\n\s+Error: not loaded/,
      '0 passed, 2 failed',
    ],
    ['does not parse', `${pass}; const = 1`, /the file as a whole\n\s+/, '0 passed, 1 failed'],
    ['holds no test', `describe('nothing', () => {})`, /It holds no test\./, '0 passed, 1 failed'],
    ['waits at its top level', `await null; ${pass}`, /the file as a whole\n.*await/, '0 passed, 1 failed'],
    [
      'has a hook that fails',
      `before(() => { throw new Error('unprepared') }); ${pass}`,
      /unprepared/,
      '0 passed, 2 failed',
    ],
    ['skips a test', `${pass}; it.skip('later', () => {})`, /✖ later\n\s+It is skipped/, '1 passed, 1 failed'],
    [
      'sets an environment variable',
      `it('passes', () => { process.env.LEFT = '1' })`,
      /It changed: environment variable LEFT/,
      '1 passed, 1 failed',
    ],
    [
      'deletes an environment variable',
      `it('passes', () => { delete process.env.PATH })`,
      /It changed: environment variable PATH/,
      '1 passed, 1 failed',
    ],
    ['sets a global', `it('passes', () => { globalThis.left = 1 })`, /It changed: global left/, '1 passed, 1 failed'],
    [
      'replaces a global',
      `it('passes', () => { globalThis.fetch = () => {} })`,
      /It changed: global fetch/,
      '1 passed, 1 failed',
    ],
    [
      'changes its folder',
      `it('passes', () => { process.chdir('/') })`,
      /It changed: working directory/,
      '1 passed, 1 failed',
    ],
    [
      'listens to a signal',
      `it('passes', () => { process.on('SIGTERM', () => {}) })`,
      /It changed: listeners of SIGTERM/,
      '1 passed, 1 failed',
    ],
    [
      'leaves a rejection',
      `it('passes', () => { void Promise.reject(new Error('lost')) })`,
      /An error: Error: lost/,
      '1 passed, 1 failed',
    ],
    [
      'leaves an error of a callback',
      `it('passes', async () => { await null; setImmediate(() => setImmediate(() => { throw new Error('lost') })) })`,
      /An error: Error: lost/,
      '1 passed, 1 failed',
    ],
  ]
  for (const [what, source, reason, counts] of troubles) {
    it(`run although one of them ${what}, which alone fails`, async () => {
      const { lines, printed } = await together({ first: pass, bad: source, last: pass })
      const [first, bad = '', last] = lines
      assert.deepEqual([first, last, lines.length], ['✔ first: 1 passed, 0 failed', '✔ last: 1 passed, 0 failed', 3])
      // A process that is killed loses what its reporter has not written.
      if (typeof counts === 'string') assert.equal(bad, `✖ bad: ${counts}`)
      else assert.match(bad, counts)
      assert.match(printed, reason)
    })
  }
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

  it('names what a file of a shared process left open, and runs the others', async () => {
    const { lines, printed } = await together(
      { 'open-timer': `it('passes', () => { setInterval(() => {}, 1000) })`, next: pass },
      40,
    )
    assert.match(printed, /It keeps the process alive: Timeout/)
    assert.deepEqual(lines[0], '✖ open-timer: 1 passed, 1 failed')
  })

  it('kills a hanging file of a shared process, and runs the others', async () => {
    const { lines, printed } = await together(
      { 'first-2': pass, waiting: `it('waits', () => new Promise(() => {}))`, 'last-2': pass },
      15,
    )
    assert.deepEqual(lines, [
      '✔ first-2: 1 passed, 0 failed',
      '✖ waiting: 0 passed, 1 failed',
      '✔ last-2: 1 passed, 0 failed',
    ])
    assert.match(printed, /It was killed after 15 s in which no test began or ended: running was .*"waits"/)
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
      'LST: 2 of 13 rows proven / 0 failing  (list properties)',
    ])
    for (const missing of [0, 1]) {
      const some = all.filter((_, index) => index !== missing)
      assert.deepEqual(coverageLines(coverageOf(some, proofs), false), [
        `LST: ${missing} of 13 rows proven / 0 failing  (list properties)`,
      ])
    }
  })

  it('counts the ids of groups for their tests', () => {
    assert.deepEqual(coverageLines(coverageOf([passed('a list (LST-02)', 'keeps all')], proofs), false), [
      'LST: 1 of 13 rows proven / 0 failing  (list properties)',
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

  it('lists every area in a full run: 349 rows of threats and faults, 222 of the specification', () => {
    const coverage = coverageOf([])
    assert.equal(coverageLines(coverage, true).length, 51)
    const rows = (specification: boolean): number =>
      coverage.reduce((sum, { area }) => sum + (area.id.startsWith('R-') === specification ? area.rows : 0), 0)
    assert.equal(rows(false), 349)
    assert.equal(rows(true), 222)
  })

  it('detects ids beyond the last row of an area', () => {
    assert.deepEqual(unknownRows([passed('RATE-08'), passed('RATE-09'), passed('RATE-00')]), ['RATE-09', 'RATE-00'])
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
