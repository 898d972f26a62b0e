import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { loadingArguments } from '../support/joined-files.ts'
import { ownProcess, processOf } from '../support/own-process.ts'
import { recordStatements } from '../support/statement-records.ts'
import type { FileResult } from '../support/test-file.ts'
import { type RunOptions, runTestFiles, type RunTotals } from '../support/test-run.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-shared-'))
})
after(() => rm(folder, { recursive: true }))

interface Run extends RunTotals {
  readonly printed: string
  readonly result: (name: string) => FileResult
}

/** Runs files with these names and texts in their order. They share a process when nothing else is given. */
async function run(sources: Record<string, string>, options: Partial<RunOptions> = {}): Promise<Run> {
  const files: string[] = []
  for (const [name, source] of Object.entries(sources)) {
    const file = join(folder, `${name}.test.ts`)
    await writeFile(file, `import { after, afterEach, before, beforeEach, describe, it } from 'node:test'\n${source}`)
    files.push(file)
  }
  const lines: string[] = []
  const nameOf = (file: string): string => basename(file, '.test.ts')
  const totals = await runTestFiles(files, {
    concurrency: 1,
    limitSeconds: 60,
    print: (line) => lines.push(line),
    everyArea: false,
    nameOf,
    processOf: () => 'all',
    ...options,
  })
  const result = (name: string): FileResult => {
    const found = totals.results.find(({ file }) => nameOf(file) === name)
    assert.ok(found, name)
    return found
  }
  return { ...totals, printed: lines.join('\n'), result }
}

const pass = `it('passes', () => {})`
const printPid = `it('prints', () => { console.log('pid', process.pid) })`
/** Prints the process, and fails so that the run prints the output of the file. */
const showPid = `it('shows', () => { console.log('pid', process.pid); throw new Error('shown') })`
const pathsOf = (tests: readonly { readonly path: readonly string[] }[]): string[] =>
  tests.map(({ path }) => path.join(' › '))
const reasonsOf = ({ failed }: FileResult): string[] =>
  failed.map(({ path, why }) => `${path.join(' › ')}: ${why.split('\n').slice(0, 1).join('')}`)

describe('test files that share a process', () => {
  it('run one after the other in it, each with its own results and output', async () => {
    const { passed, failed, result } = await run({
      one: `${pass}; describe('a group', () => { it('is one', () => {}) }); ${printPid}`,
      two: `console.error('loaded'); describe('a group', () => { it('is two', () => {}); ${printPid} })`,
      three: showPid,
    })
    assert.deepEqual([passed, failed], [5, 1])
    assert.deepEqual(pathsOf(result('one').passed), ['passes', 'a group › is one', 'prints'])
    assert.deepEqual(pathsOf(result('two').passed), ['a group › is two', 'a group › prints'])
    assert.deepEqual(pathsOf(result('three').failed), ['shows'])
    const [, pid] = /^pid (\d+)\n$/.exec(result('one').output) ?? []
    assert.equal(result('two').output, `pid ${pid}\nloaded\n`)
    assert.equal(result('three').output, `pid ${pid}\n`)
  })

  it('have processes by their kinds, and none together when the kind is null', async () => {
    const kinds: Record<string, string | null> = { a: 'x', b: 'y', c: 'x', d: 'y', e: null, f: null }
    const names = Object.keys(kinds)
    const { result } = await run(Object.fromEntries(names.map((name) => [name, printPid])), {
      processOf: (file) => kinds[basename(file, '.test.ts')] ?? null,
    })
    const [a, b, c, d, e, f] = names.map((name) => result(name).output)
    assert.equal(a, c)
    assert.equal(b, d)
    assert.equal(new Set([a, b, e, f]).size, 4)
  })

  it('share a process with files before them only, never beside them', async () => {
    // Real time: the files must run at the same time.
    const wait = `it('waits', async () => { await new Promise((resolve) => setTimeout(resolve, 500)) })`
    const { result } = await run({ a: `${printPid}; ${wait}`, b: `${printPid}; ${wait}` }, { concurrency: 2 })
    assert.notEqual(result('a').output, result('b').output)
  })

  it('have hooks for their own tests alone', async () => {
    const hooks = `
      const seen = []
      before(() => seen.push('before')); beforeEach(() => seen.push('each'))
      it('first', () => {}); describe('a group', () => { it('second', () => {}) })
      after(() => { console.log(seen.join(' ')) })`
    const { failed, result } = await run({ one: hooks, two: pass, three: hooks })
    assert.equal(failed, 0)
    assert.equal(result('one').output, 'before each each\n')
    assert.equal(result('two').output, '')
    assert.equal(result('three').output, 'before each each\n')
  })

  it('skip the tests of their own patterns', async () => {
    const tests = `it('runs', () => {}); describe('on A', () => { it('x', () => {}) }); describe('on B', () => { it('x', () => {}) })`
    const patterns: Record<string, RegExp> = { one: /^(?:.* )?on A ./, two: /^on B x$/ }
    const { passed, failed, result } = await run(
      { one: tests, two: tests, three: tests },
      { skipOf: (file) => patterns[basename(file, '.test.ts')] },
    )
    assert.deepEqual([passed, failed], [7, 0])
    assert.deepEqual(pathsOf(result('one').passed), ['runs', 'on B › x'])
    assert.deepEqual(pathsOf(result('two').passed), ['runs', 'on A › x'])
    assert.deepEqual(pathsOf(result('three').passed), ['runs', 'on A › x', 'on B › x'])
  })

  it('have their own processor time, with the processes that they start', async () => {
    // Real time: the run shows processor time. A call to the system takes more of it than it shows.
    const busy = `while (process.cpuUsage().user < 800_000) for (let step = 0; step < 1e7; step += 1);`
    const { result } = await run({
      warm: pass,
      busy: `it('works', () => { ${busy} })`,
      parent: `import { execFileSync } from 'node:child_process'
        it('starts one', () => { execFileSync(process.execPath, ['-e', ${JSON.stringify(busy)}]) })`,
      quick: pass,
    })
    assert.ok(result('quick').processorSeconds < 0.4)
    for (const name of ['busy', 'parent']) assert.ok(result(name).processorSeconds > 0.6, name)
  })

  it('end with their process when its parent was killed', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const file = join(folder, 'orphan.test.ts')
    await writeFile(
      file,
      `import { once } from 'node:events'
      import { connect } from 'node:net'
      import { it } from 'node:test'
      it('waits', () => once(connect(${(server.address() as AddressInfo).port}, '127.0.0.1'), 'close'))`,
    )
    const one = JSON.stringify({ file, name: 'orphan' })
    const script = `import { SharedProcess } from ${JSON.stringify(join(import.meta.dirname, '../support/shared-files.ts'))}
      await new SharedProcess([${one}]).run(${one}, { limitSeconds: 60 })`
    const parent = spawn(process.execPath, [...loadingArguments(), '--input-type=module', '--eval', script])
    const [socket] = (await once(server, 'connection')) as [Socket]
    // Windows and Linux report the end of the process differently.
    socket.on('error', () => {}).resume()
    const ended = once(socket, 'close')
    parent.kill('SIGKILL')
    await ended
    server.close()
  })

  it('record their statements with their names, also those of hooks', async () => {
    const execute = (shape: string): string =>
      `channel('troupe:statement').publish({ dialect: 'sqlite', sql: 'SELECT ${shape}', caller: 'owner' })`
    const records = recordStatements('named')
    try {
      await run({
        one: `import { channel } from 'node:diagnostics_channel'
          describe('on SQLite', () => { it('reads', () => { ${execute('a')} }) })`,
        two: `import { channel } from 'node:diagnostics_channel'
          before(() => { ${execute('b')} }); it('reads', () => { ${execute('a')} })`,
      })
      assert.deepEqual(
        records.read().map(({ file, test, shape }) => [basename(file), test, shape]),
        [
          ['one.test.ts', 'on SQLite > reads', 'SELECT a'],
          ['two.test.ts', '', 'SELECT b'],
          ['two.test.ts', 'reads', 'SELECT a'],
        ],
      )
    } finally {
      records.remove()
    }
  })
})

describe('the list of files with a process of their own', () => {
  it('has only files that exist, each with one reason', () => {
    const files = Object.values(ownProcess).flat()
    assert.deepEqual(
      files.filter((file) => !existsSync(join(import.meta.dirname, '../..', file))),
      [],
    )
    assert.equal(new Set(files).size, files.length)
    for (const file of files) assert.equal(processOf(file), null)
  })

  it('leaves all other files to processes of two kinds, besides simulations', () => {
    assert.equal(processOf('test/rules/shared-process.test.ts'), 'rules')
    for (const file of ['stories/mail', 'faults/tokens', 'contracts/list', 'browser/walk'])
      assert.equal(processOf(`test/${file}.test.ts`), 'services')
    for (const file of ['simulation/simulation', 'conformance/mcp', 'upgrade/start'])
      assert.equal(processOf(`test/${file}.test.ts`), null)
  })
})

describe('a file that fails in a shared process', () => {
  const faults: [what: string, source: string, reasons: readonly string[]][] = [
    ['a failed test', `${pass}; it('breaks', () => { throw new Error('broken') })`, ['breaks: Error: broken']],
    [
      'a failed hook of the file',
      `before(() => { throw new Error('unprepared') }); it('x', () => {})`,
      ["x: 'test did not finish before its parent and was cancelled'", 'the file as a whole: Error: unprepared'],
    ],
    [
      'a skipped test',
      `${pass}; it.skip('later', () => {})`,
      ['later: It is skipped, and a skipped test proves nothing.'],
    ],
    ['no test', `describe('nothing', () => {})`, ['the file as a whole: It holds no test.']],
    [
      'an error at its load',
      `${pass}; throw new Error('not loaded')`,
      ["passes: 'test did not finish before its parent and was cancelled'", 'the file as a whole: Error: not loaded'],
    ],
    [
      'a test that ends the process',
      `it('leaves', () => process.exit(0))`,
      ['the file as a whole: The process ended (code 0) before its tests did.'],
    ],
    ['an exit code', `it('sets it', () => { process.exitCode = 3 })`, ['the file as a whole: Its process failed.']],
    [
      'an unhandled rejection after its tests',
      `it('passes', () => { setImmediate(() => void Promise.reject(new Error('lost'))) })`,
      ['the file as a whole: Its process failed.'],
    ],
    [
      'an error of a timer after its tests',
      // Real time: the test has ended then, and the process has not.
      `it('passes', () => { setTimeout(() => { throw new Error('lost') }, 300) })`,
      ['the file as a whole: Its process failed.'],
    ],
  ]
  const remains: [what: string, source: string, name: string][] = [
    ['a variable of the environment', `process.env['LEFT'] = '1'`, 'process.env.LEFT'],
    ['a removed variable', `delete process.env['PATH']`, 'process.env.PATH'],
    ['another folder', `process.chdir('/')`, 'process.cwd()'],
    ['a listener', `process.on('SIGUSR2', () => {})`, `process.on('SIGUSR2')`],
    ['another fetch', `globalThis.fetch = async () => {}`, 'globalThis.fetch'],
    ['another clock', `Date.now = () => 0`, 'globalThis.Date.now'],
    ['another random', `Math.random = () => 0`, 'Math.random'],
    ['a method of all arrays', `Array.prototype.last = () => {}`, 'globalThis.Array.prototype.last'],
    ['another method of Node.js', `process.getBuiltinModule('fs').readFileSync = () => ''`, 'fs.readFileSync'],
  ]
  const all = [
    ...faults,
    ...remains.map(([what, source, name]): [string, string, readonly string[]] => [
      `${what} that it leaves`,
      `it('passes', () => { ${source} })`,
      [`the file as a whole: It changed the process and did not restore: ${name}`],
    ]),
  ]
  let totals: Run
  before(async () => {
    const sources = all.flatMap(([, source], index) => [
      [`faulty-${index}`, source],
      [`next-${index}`, index % 5 === 0 ? printPid : ''],
    ])
    totals = await run(Object.fromEntries(sources.filter(([, source]) => source !== '')) as Record<string, string>)
  })
  for (const [index, [what, , reasons]] of all.entries())
    it(`fails for ${what}`, () => {
      assert.deepEqual(reasonsOf(totals.result(`faulty-${index}`)), reasons)
    })

  it('ends its process, so that the next file has another one', () => {
    const next = totals.results.filter(({ file }) => basename(file).startsWith('next-'))
    assert.deepEqual(next.map(reasonsOf), [[], [], [], []])
    assert.equal(new Set(next.map(({ output }) => output)).size, 4)
  })

  it('passes when it restores what it changed', async () => {
    const { passed, failed } = await run({
      restoring: `it('passes', (t) => {
        t.mock.method(Date, 'now', () => 0); t.mock.timers.enable({ apis: ['setTimeout'] })
        process.env['LEFT'] = '1'; delete process.env['LEFT']
        const { fetch } = globalThis; globalThis.fetch = async () => {}; globalThis.fetch = fetch
        const warn = () => {}; process.on('warning', warn); process.off('warning', warn)
      })`,
      next: pass,
    })
    assert.deepEqual([passed, failed], [2, 0])
  })

  it('fails in a process of its own too, or fails after the files before it, and the report says so', async () => {
    const { failed, printed } = await run({
      harmless: pass,
      broken: `it('breaks', () => { throw new Error('broken') })`,
      leaving: `it('passes', () => { globalThis.__left = true })`,
      dependent: `it('depends', () => { if (globalThis.__left) throw new Error('found') })`,
    })
    assert.equal(failed, 2)
    assert.match(printed, /✖ breaks\n[^✖]*It fails in a process of its own too\./)
    assert.match(printed, /✖ depends\n[^✖]*It passes in a process of its own, and failed after leaving\n/)
  })

  it('fails the run when the process fails at its end', async () => {
    const { passed, failed, printed } = await run({
      one: `${pass}; process.on('exit', () => { process.exitCode = 3 })`,
      two: pass,
    })
    assert.deepEqual([passed, failed], [2, 1])
    assert.match(printed, /✖ The process of one, two ended with code 3\./)
  })
})

/** These files wait for real time, so that they run side by side. */
describe('a limit in a shared process', { concurrency: true }, () => {
  it('kills the file whose test hangs, and runs the others', async () => {
    const { result } = await run(
      { 'hang-first': pass, hanging: `${pass}; it('waits', () => new Promise(() => {}))`, 'hang-next': pass },
      { limitSeconds: 15 },
    )
    assert.deepEqual(reasonsOf(result('hanging')), [
      'the file as a whole: It was killed after 15 s in which no test began or ended: running was "waits".',
    ])
    assert.deepEqual(pathsOf(result('hanging').passed), ['passes'])
    assert.deepEqual(reasonsOf(result('hang-next')), [])
  })

  it('kills the file that leaves something open', async () => {
    const { result } = await run(
      { 'open-first': pass, open: `${pass}; setInterval(() => {}, 1000)`, 'open-next': pass },
      { limitSeconds: 15 },
    )
    assert.deepEqual(reasonsOf(result('open')), [
      'the file as a whole: It was killed after 15 s in which no test began or ended: its tests had ended, but something kept the process alive.',
    ])
    assert.deepEqual(reasonsOf(result('open-next')), [])
  })

  it('waits for what ends by itself', async () => {
    // Real time: a process of its own would end with the timer, too.
    const { passed, failed } = await run({ late: `${pass}; setTimeout(() => {}, 3_000)`, 'late-next': pass })
    assert.deepEqual([passed, failed], [2, 0])
  })

  it('stops the files of a stopped run', async () => {
    const stop = new AbortController()
    const running = run(
      { 'stop-first': pass, 'stop-second': `it('waits', () => new Promise(() => {}))`, 'stop-last': pass },
      { signal: stop.signal, print: (line) => line.includes('stop-first') && stop.abort() },
    )
    const { result } = await running
    for (const name of ['stop-second', 'stop-last'])
      assert.deepEqual(reasonsOf(result(name)), ['the file as a whole: The run was stopped.'])
  })
})
