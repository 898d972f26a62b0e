/**
 * `npm run mutate`: puts one small fault after the other into a copy of the rooms that decide who may do what, and runs
 * the tests of the room until one fails. What no test notices is printed.
 *
 *   --room     one room; all of them unless given, may be repeated
 *   --sample   so many mutants of each room, drawn by the seed; all of them unless given
 *   --seed     1 unless given
 *   --at       one place: `token/judge-refresh.ts:48`
 *   --limit    seconds for one test file; 90 unless given. Longer is as good as failed
 *
 * Only the halves of tests that run on SQLite count. Ends with 1 when a room has less than 80 % of its mutants noticed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { seeded } from '../test/support/random.ts'
import { applied, type Mutant, mutantsOf } from './mutants.ts'

/** The tests of each room, those that tell soonest first. */
const testsOf: Readonly<Record<string, readonly string[]>> = {
  auth: [
    'rules/credentials',
    'stories/auth',
    'contracts/rate-limit',
    'stories/sessions',
    'faults/token-kinds',
    'faults/rate-limits',
  ],
  permission: [
    'rules/permission',
    'rules/relationship-rules',
    'stories/permissions',
    'stories/trust',
    'stories/mcp',
    'stories/subscriptions',
    'stories/receiving-callbacks',
    'stories/pages-trust',
    'stories/live-changes',
    'faults/peer-trust',
    'faults/invariants',
  ],
  token: [
    'rules/tokens',
    'contracts/tokens',
    'contracts/one-time',
    'stories/sessions',
    'stories/authorization-server',
    'stories/live-changes',
    'faults/token-kinds',
    'faults/tokens',
  ],
  'authorization-server': [
    'rules/redirect-uri',
    'rules/oauth-error',
    'stories/authorization-server',
    'faults/registration',
    'faults/authorize',
    'faults/token-kinds',
    'faults/hijacking',
    'stories/mcp',
    'stories/mcp-clients',
    'stories/client-manager',
    'faults/client-documents',
    'faults/system-actor',
    'faults/client-tokens',
    'faults/mcp',
  ],
}

const aim = 0.8

const { values: flags } = parseArgs({
  options: {
    room: { type: 'string', multiple: true },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    at: { type: 'string' },
    limit: { type: 'string', default: '90' },
  },
})
const root = dirname(import.meta.dirname)
const copied = [
  'src',
  'test',
  'tools',
  'bench',
  'bin',
  'docs',
  'examples',
  'package.json',
  'tsconfig.json',
  'README.md',
]

interface Placed {
  /** Below `src`. */
  readonly file: string
  readonly mutant: Mutant
  readonly source: string
}

const folder = mkdtempSync(join(tmpdir(), 'troupe-mutate-'))
let running: ChildProcess | undefined
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
process.once('exit', () => {
  if (running !== undefined) endGroup(running)
  rmSync(folder, { recursive: true, force: true })
})
for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true })
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')

const rooms = flags.at === undefined ? (flags.room ?? Object.keys(testsOf)) : [flags.at.split('/')[0] ?? '']
let isMet = true
for (const room of rooms) isMet = (await measure(room)) && isMet
process.exitCode = isMet ? 0 : 1

async function measure(room: string): Promise<boolean> {
  const names = testsOf[room]
  if (names === undefined) throw new Error(`No tests are named for the room ${room}`)
  const tests = names.map((name) => join('test', `${name}.test.ts`))
  for (const test of tests) if (await fails(test)) throw new Error(`${test} fails without any mutant`)
  const all = await mutantsIn(room)
  const chosen = flags.sample === undefined ? all : drawn(all, Number(flags.sample), Number(flags.seed))
  console.log(`${room}: ${chosen.length} of ${all.length} mutants`)
  let noticed = 0
  for (const { file, mutant, source } of chosen) {
    const path = join(folder, 'src', file)
    writeFileSync(path, applied(source, mutant))
    const by = await firstThatFails(tests)
    writeFileSync(path, source)
    if (by === null) console.log(`  survived ${file}:${mutant.line}:${mutant.column} ${shown(source, mutant)}`)
    else noticed += 1
  }
  const score = chosen.length === 0 ? 1 : noticed / chosen.length
  console.log(`${room}: ${noticed} of ${chosen.length} noticed, ${Math.round(score * 100)} %`)
  return score >= aim
}

async function mutantsIn(room: string): Promise<readonly Placed[]> {
  const found: Placed[] = []
  for await (const name of glob(`${room}/**/*.ts`, { cwd: join(root, 'src') })) {
    const file = name.replaceAll('\\', '/')
    const source = readFileSync(join(folder, 'src', file), 'utf8')
    for (const mutant of mutantsOf(source)) {
      const isMeant = flags.at === undefined || `${file}:${mutant.line}` === flags.at
      if (isMeant && isTypeScript(applied(source, mutant))) found.push({ file, mutant, source })
    }
  }
  return found.toSorted((one, other) => one.file.localeCompare(other.file) || one.mutant.at - other.mutant.at)
}

function isTypeScript(text: string): boolean {
  try {
    stripTypeScriptTypes(text)
    return true
  } catch {
    return false
  }
}

function drawn<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  const random = seeded(seed)
  return all
    .map((each) => ({ each, rank: random.next() }))
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, count)
    .map(({ each }) => each)
}

async function firstThatFails(tests: readonly string[]): Promise<string | null> {
  for (const test of tests) if (await fails(test)) return test
  return null
}

/** Also when it takes too long. */
function fails(test: string): Promise<boolean> {
  const child = spawn(
    process.execPath,
    ['--conditions=troupe-source', '--no-warnings', '--test-skip-pattern=on PostgreSQL', test],
    // A group of its own, so that what a test starts ends with it.
    { cwd: folder, stdio: 'ignore', detached: true },
  )
  running = child
  const limit = setTimeout(() => endGroup(child), Number(flags.limit) * 1000)
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(limit)
      endGroup(child)
      running = undefined
      resolve(code !== 0)
    })
  })
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody of it is left.
  }
}

function shown(source: string, { at, length, text, kind }: Mutant): string {
  const flat = (part: string): string => part.replaceAll(/\s+/g, ' ').slice(0, 100)
  return `${kind}: ${flat(source.slice(at, at + length))} -> ${flat(text) || '(nothing)'}`
}
