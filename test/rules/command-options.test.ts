import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { readOptions } from '../../tools/command-options.ts'
import { loadingArguments } from '../support/joined-files.ts'

const root = dirname(dirname(import.meta.dirname))

const sample = {
  command: 'npm run sample',
  about: 'Does something.',
  options: {
    store: { kind: 'choice', choices: ['sqlite', 'postgres'], default: 'sqlite', about: 'Where the data is kept.' },
    rounds: { kind: 'integer', least: 1, default: 100, about: 'How many rounds.' },
    minutes: { kind: 'number', about: 'How long.' },
    room: { kind: 'texts', about: 'A room.' },
    all: { kind: 'flag', about: 'Everything.' },
  },
} as const

describe('the options of a command', () => {
  it('are read by kind and have defaults', () => {
    const none = { store: 'sqlite', rounds: 100, minutes: undefined, room: undefined, all: false }
    assert.deepEqual(readOptions(sample, []), { kind: 'run', values: none, operands: [] })
    const given = ['--store', 'postgres', '--rounds=7', '--minutes', '0.5', '--room', 'a', '--room', 'b', '--all']
    assert.deepEqual(readOptions(sample, given), {
      kind: 'run',
      values: { store: 'postgres', rounds: 7, minutes: 0.5, room: ['a', 'b'], all: true },
      operands: [],
    })
  })

  it('are listed by --help, even beside a wrong option', () => {
    const text = `Does something.

Usage: npm run sample -- [options]

  --store <name>      Where the data is kept. One of sqlite, postgres. Default: sqlite.
  --rounds <count>    How many rounds. Default: 100.
  --minutes <number>  How long.
  --room <text>       A room.
  --all               Everything.
  --help              Shows this text.`
    assert.deepEqual(readOptions(sample, ['--help']), { kind: 'help', text })
    assert.deepEqual(readOptions(sample, ['--wrong', '-h']), { kind: 'help', text })
  })

  const refusals: readonly (readonly [args: readonly string[], message: string])[] = [
    [['--store', 'oracle'], 'Invalid --store "oracle": expected one of sqlite, postgres.'],
    [['--rounds', '0'], 'Invalid --rounds "0": expected a whole number, 1 or more.'],
    [['--rounds', '1.5'], 'Invalid --rounds "1.5": expected a whole number, 1 or more.'],
    [['--rounds', 'many'], 'Invalid --rounds "many": expected a whole number, 1 or more.'],
    [['--rounds', ''], 'Invalid --rounds "": expected a whole number, 1 or more.'],
    [['--minutes', '0'], 'Invalid --minutes "0": expected a number greater than 0.'],
    [['--minutes', 'Infinity'], 'Invalid --minutes "Infinity": expected a number greater than 0.'],
    [['--round', '1'], "Unknown option '--round'."],
    [['--all=1'], "Option '--all' does not take an argument."],
    [['--room'], "Option '--room <value>' argument missing."],
    [['word'], "Unexpected argument 'word'."],
  ]
  for (const [args, message] of refusals) {
    it(`are rejected with a message that names the option: ${args.join(' ')}`, () => {
      assert.deepEqual(readOptions(sample, args), { kind: 'wrong', message })
    })
  }
})

const commands: Readonly<Record<string, string>> = {
  test: 'test/run.ts',
  bench: 'bench/run.ts',
  crash: 'test/crash.ts',
  soak: 'test/soak.ts',
  heavy: 'test/heavy.ts',
  simulate: 'test/simulation/main.ts',
  conformance: 'test/conformance/main.ts',
  demo: 'examples/demo/run.ts',
  mutate: 'tools/mutate.ts',
  models: 'test/models.ts',
  docs: 'tools/docs.ts',
  check: 'tools/check.ts',
  prose: 'tools/prose.ts',
}

const run = (file: string, ...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const node = [...loadingArguments(), join(root, file), ...args]
    execFile(process.execPath, node, { cwd: root }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
  })

for (const [name, file] of Object.entries(commands)) {
  describe(`the command ${name}`, () => {
    it('prints its usage on --help and exits with 0', async () => {
      const { code, stdout, stderr } = await run(file, '--help')
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, new RegExp(`\\nUsage: npm (run )?${name}\\b`))
    })

    it('exits with 2 on an unknown option and names it', async () => {
      const { code, stdout, stderr } = await run(file, '--wrong')
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /^Unknown option '--wrong'\.\n/)
    })
  })
}

describe('the command bench', () => {
  const refusals: readonly (readonly [args: readonly string[], message: string])[] = [
    [['--pinned', '--only', 'lists'], 'Invalid --only "lists": --pinned and --base measure requests only.'],
    [['--base', root, '--only', 'scale'], 'Invalid --only "scale": --pinned and --base measure requests only.'],
    [['--base', 'docs'], 'Invalid --base "docs": expected a folder with src/troupe.ts and node_modules.'],
    [['--base', root, '--write'], 'Invalid --write: docs/benchmarks.md has no lines beside another checkout.'],
    [['--pinned', '--only', 'capacity'], 'Invalid --only "capacity": --pinned and --base measure requests only.'],
  ]
  for (const [args, message] of refusals) {
    it(`refuses the combination ${args.join(' ').replace(root, '<folder>')} and measures nothing`, async () => {
      const { code, stdout, stderr } = await run('bench/run.ts', ...args)
      assert.deepEqual([code, stdout, stderr.split('\n')[0]], [2, '', message])
    })
  }
})
