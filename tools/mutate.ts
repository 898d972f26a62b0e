/**
 * `npm run mutate`: puts mutants, one at a time, into a copy of the modules that authorize requests, and runs the module's
 * tests until one fails. It prints the mutants that no test noticed.
 *
 * A first run without mutants records which test file executes which place. Only test files that execute the place of a
 * mutant run against it, on one store. Exits with 1 when the tests of a module notice less than 80 % of its mutants.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { quickFolder, startPostgres } from '../test/support/postgres.ts'
import { seeded } from '../test/support/random.ts'
import { commandOptions } from './command-options.ts'
import { inOrder, isReached, type RunRange } from './mutant-tests.ts'
import { applied, type Mutant, mutantsOf } from './mutants.ts'

/** The tests of each module. */
const testsOf: Readonly<Record<string, readonly string[]>> = {
  auth: [
    'rules/credentials',
    'rules/last-use',
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
    'stories/activity',
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
    'stories/metrics',
    'faults/token-kinds',
    'faults/hijacking',
    'faults/tokens',
  ],
  'authorization-server': [
    'rules/redirect-uri',
    'rules/oauth-error',
    'rules/registration',
    'rules/authorization-request',
    'rules/token-request',
    'stories/authorization-server',
    'faults/registration',
    'faults/authorize',
    'faults/token-kinds',
    'faults/hijacking',
    'stories/mcp',
    'stories/mcp-clients',
    'stories/client-manager',
    'stories/metrics',
    'faults/client-documents',
    'faults/system-actor',
    'faults/client-tokens',
    'faults/client-grants',
    'faults/mcp',
  ],
  store: [
    'rules/store',
    'rules/checksum',
    'rules/transaction-turns',
    'rules/server-clock',
    'rules/stale-read',
    'rules/shards',
    'contracts/store',
    'contracts/by-key',
    'contracts/memory-store',
    'contracts/together',
    'contracts/database-schema',
    'contracts/pooler',
    'contracts/scale',
    'stories/transactions',
    'stories/shared-values',
    'faults/store-sqlite',
    'faults/store-postgres',
    'faults/read-replicas',
  ],
  list: [
    'rules/order-tree',
    'rules/list-pieces',
    'contracts/list',
    'contracts/removed-lists',
    'stories/lists-http',
    'stories/list-queries',
    'stories/list-turns',
    'stories/long-lists',
    'stories/copied-lists',
    'stories/shared-appends',
  ],
  publication: [
    'rules/delivery-policy',
    'rules/fitting',
    'rules/batches',
    'contracts/delivery',
    'contracts/publisher',
    'contracts/due-search',
    'stories/subscriptions',
    'stories/shared-creations',
    'faults/delivery',
    'faults/circuit',
  ],
  replica: [
    'rules/processor',
    'contracts/receiver',
    'stories/receiving',
    'stories/receiving-callbacks',
    'stories/remote-copies',
    'faults/receiving',
  ],
}

const aim = 0.8
const leastLimitSeconds = 15
/** Timeout of a test file without a mutant. */
const plainLimitSeconds = 300

const { values: flags } = commandOptions({
  command: 'npm run mutate',
  about: 'Puts small faults into the modules that authorize requests, and names those that no test notices.',
  options: {
    room: {
      kind: 'texts',
      about: `A module, may be repeated. Default: all of ${Object.keys(testsOf).join(', ')}.`,
    },
    sample: { kind: 'integer', least: 1, about: 'Number of mutants of each module, drawn by the seed. Default: all.' },
    seed: { kind: 'integer', least: 0, default: 1, about: 'Seed of the drawing.' },
    at: { kind: 'text', about: 'Only the mutants of one line, such as token/judge-refresh.ts:48.' },
    lanes: { kind: 'integer', least: 1, default: 2, about: 'Number of mutants that run in parallel.' },
    limit: {
      kind: 'number',
      default: 3,
      about:
        'Timeout of a test file, as a multiple of its time without a mutant, at least 15 s. A timeout counts as noticed.',
    },
    store: {
      kind: 'choice',
      choices: ['sqlite', 'postgres'],
      default: 'sqlite',
      about: 'The store on which the tests run.',
    },
    all: { kind: 'flag', about: 'Also names the test that noticed each mutant.' },
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
  /** Path below `src`. */
  readonly file: string
  readonly mutant: Mutant
  readonly source: string
}

/** The run of a test file without a mutant. */
interface Plain {
  readonly test: string
  readonly seconds: number
  /** Coverage of files below `src` in each of its processes; null when it starts services that record no coverage. */
  readonly ranges: ReadonlyMap<string, readonly (readonly RunRange[])[]> | null
}

/** Why a test file counts as having noticed a mutant; null when it did not. */
type Outcome = { readonly by: 'failure' | 'time'; readonly what: string } | null

/** Folder of the copies, in memory if possible, because most tests wait for databases. */
const folder = mkdtempSync(join(quickFolder(), 'troupe-mutate-'))
const running = new Set<ChildProcess>()
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
process.once('exit', () => {
  for (const child of running) endGroup(child)
  rmSync(folder, { recursive: true, force: true })
})
const postgres = flags.store === 'postgres' ? await startPostgres() : null
if (postgres !== null) process.env['TROUPE_TEST_POSTGRES'] = postgres.url
const lanes = Array.from({ length: flags.lanes }, (_, index) => join(folder, `lane-${index}`))
for (const lane of lanes) {
  for (const name of copied) cpSync(join(root, name), join(lane, name), { recursive: true })
  mkdirSync(join(lane, 'tmp'))
  symlinkSync(join(root, 'node_modules'), join(lane, 'node_modules'), 'junction')
}
const [firstLane = folder] = lanes
const plains = new Map<string, Plain>()

const rooms = flags.at === undefined ? (flags.room ?? Object.keys(testsOf)) : [flags.at.split('/')[0] ?? '']
let isMet = true
for (const room of rooms) isMet = (await measure(room)) && isMet
await postgres?.remove()
process.exitCode = isMet ? 0 : 1

async function measure(room: string): Promise<boolean> {
  const names = testsOf[room]
  if (names === undefined) throw new Error(`Cannot measure ${room}: no tests are configured for this module`)
  const tests = names.map((name) => join('test', `${name}.test.ts`))
  await inLanes(
    tests.filter((test) => !plains.has(test)),
    async (test, lane) => void plains.set(test, await plainRun(test, lane)),
  )
  const all = await mutantsIn(room)
  const chosen = flags.sample === undefined ? all : drawn(all, flags.sample, flags.seed)
  console.log(`${room}: ${chosen.length} of ${all.length} mutants`)
  const experience = new Map<string, { shown: number; noticed: number }>()
  let noticed = 0
  await inLanes(chosen, async (placed, lane) => {
    const { file, mutant, source } = placed
    const reaching = tests.flatMap((test) => {
      const plain = plains.get(test)
      return plain !== undefined && reaches(plain, placed) ? [plain] : []
    })
    const path = join(lane, 'src', file)
    writeFileSync(path, applied(source, mutant))
    const found = await firstThatNotices(file, reaching, experience, lane)
    writeFileSync(path, source)
    if (found !== null) noticed += 1
    const place = `${file}:${mutant.line}:${mutant.column} ${shown(source, mutant)}`
    if (found === null) console.log(`  survived ${place}${reaching.length === 0 ? ' (never run)' : ''}`)
    else if (flags.all || found.by === 'time') console.log(`  noticed ${place}\n    by ${found.what}`)
  })
  const score = chosen.length === 0 ? 1 : noticed / chosen.length
  console.log(`${room}: ${noticed} of ${chosen.length} noticed, ${Math.round(score * 100)} %`)
  return score >= aim
}

/** Runs the work for each element once, distributed over the lanes. */
async function inLanes<T>(each: readonly T[], work: (one: T, lane: string) => Promise<void>): Promise<void> {
  const waiting = [...each]
  await Promise.all(
    lanes.map(async (lane) => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await work(one, lane)
    }),
  )
}

function reaches({ ranges }: Plain, { file, mutant }: Placed): boolean {
  return ranges === null || (ranges.get(file) ?? []).some((each) => isReached(each, mutant))
}

async function plainRun(test: string, lane: string): Promise<Plain> {
  const coverageFolder = mkdtempSync(join(folder, 'ran-'))
  const began = performance.now()
  const outcome = await run(test, lane, plainLimitSeconds, coverageFolder)
  const seconds = (performance.now() - began) / 1000
  if (outcome !== null) throw new Error(`Cannot measure: the tests fail without any mutant, by ${outcome.what}`)
  const text = readFileSync(join(lane, test), 'utf8')
  // These services are killed, so V8 cannot write their coverage.
  const startsServices = /service-process|service-pair|store-process|support\/program|node:child_process/.test(text)
  const ranges = startsServices ? null : rangesIn(coverageFolder, `${pathToFileURL(join(lane, 'src')).href}/`)
  rmSync(coverageFolder, { recursive: true })
  return { test, seconds, ranges }
}

function rangesIn(coverageFolder: string, base: string): NonNullable<Plain['ranges']> {
  const found = new Map<string, RunRange[][]>()
  for (const name of readdirSync(coverageFolder)) {
    const { result } = JSON.parse(readFileSync(join(coverageFolder, name), 'utf8')) as {
      result: { url: string; functions: { ranges: RunRange[] }[] }[]
    }
    for (const { url, functions } of result) {
      if (!url.startsWith(base)) continue
      const file = url.slice(base.length)
      const ranges = functions.flatMap((each) => each.ranges)
      found.set(file, [...(found.get(file) ?? []), ranges])
    }
  }
  return found
}

async function firstThatNotices(
  file: string,
  reaching: readonly Plain[],
  experience: Map<string, { shown: number; noticed: number }>,
  lane: string,
): Promise<Outcome> {
  const known = reaching.map(({ test, seconds }) => ({
    test,
    seconds,
    ...(experience.get(`${test} ${file}`) ?? { shown: 0, noticed: 0 }),
  }))
  const secondsOf = new Map(reaching.map(({ test, seconds }) => [test, seconds]))
  for (const test of inOrder(known)) {
    const outcome = await judged(test, secondsOf.get(test) ?? 0, lane)
    const before = experience.get(`${test} ${file}`) ?? { shown: 0, noticed: 0 }
    const noticed = before.noticed + (outcome === null ? 0 : 1)
    experience.set(`${test} ${file}`, { shown: before.shown + 1, noticed })
    if (outcome !== null) return outcome
  }
  return null
}

/** Runs a test file against a mutant. Repeats it after a timeout, because the machine may have been busy. */
async function judged(test: string, seconds: number, lane: string): Promise<Outcome> {
  const limitSeconds = Math.round(Math.max(leastLimitSeconds, flags.limit * seconds))
  const outcome = await run(test, lane, limitSeconds)
  return outcome?.by === 'time' ? run(test, lane, 2 * limitSeconds) : outcome
}

async function mutantsIn(room: string): Promise<readonly Placed[]> {
  const found: Placed[] = []
  for await (const name of glob(`${room}/**/*.ts`, { cwd: join(root, 'src') })) {
    const file = name.replaceAll('\\', '/')
    const source = readFileSync(join(firstLane, 'src', file), 'utf8')
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

/** Runs a test file until a test fails. @param coverageFolder Folder for V8 coverage. Default: no coverage. */
function run(test: string, lane: string, limitSeconds: number, coverageFolder?: string): Promise<Outcome> {
  const child = spawn(
    process.execPath,
    [
      '--conditions=troupe-source',
      '--no-warnings',
      `--test-skip-pattern=${flags.store === 'sqlite' ? 'on (?:one )?PostgreSQL' : 'on SQLite'}`,
      `--test-reporter=${pathToFileURL(join(lane, 'tools/first-failure.ts')).href}`,
      test,
    ],
    {
      cwd: lane,
      stdio: ['ignore', 'pipe', 'ignore'],
      // A separate process group, so that child processes of a test can be killed with it.
      detached: true,
      env: {
        ...process.env,
        TMPDIR: join(lane, 'tmp'),
        ...(coverageFolder === undefined ? {} : { NODE_V8_COVERAGE: coverageFolder }),
      },
    },
  )
  running.add(child)
  let outcome: Outcome = null
  const end = (why: NonNullable<Outcome>): void => {
    outcome ??= why
    endGroup(child)
  }
  const limit = setTimeout(
    () => end({ by: 'time', what: `more than ${limitSeconds} s for ${test}` }),
    limitSeconds * 1000,
  )
  let said = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text: string) => {
    said = (said + text).slice(-10_000)
    const failed = /^mutant noticed by (.*)\n/m.exec(said)
    if (failed !== null) end({ by: 'failure', what: `${test}: ${failed[1]}` })
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(limit)
      endGroup(child)
      running.delete(child)
      const ending = code === 0 ? null : ({ by: 'failure', what: `the end of ${test} with code ${code}` } as const)
      resolve(outcome ?? ending)
    })
  })
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All processes of the group have ended.
  }
}

function shown(source: string, { at, length, text, kind }: Mutant): string {
  const flat = (part: string): string => part.replaceAll(/\s+/g, ' ').slice(0, 100)
  return `${kind}: ${flat(source.slice(at, at + length))} -> ${flat(text) || '(nothing)'}`
}
