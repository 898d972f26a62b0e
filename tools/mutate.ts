/**
 * `npm run mutate`: puts one small fault after the other into a copy of the rooms that decide who may do what, and runs
 * the tests of the room until one fails. What no test notices is printed.
 *
 * A first run without mutants tells which test file comes to which place; a mutant is shown to those that come to its
 * place. Only the halves of tests that run on SQLite count. Ends with 1 when a room has less than 80 % of its mutants
 * noticed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { quickFolder } from '../test/support/postgres.ts'
import { seeded } from '../test/support/random.ts'
import { commandOptions } from './command-options.ts'
import { inOrder, isReached, type RunRange } from './mutant-tests.ts'
import { applied, type Mutant, mutantsOf } from './mutants.ts'

/** The tests of each room. */
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
}

const aim = 0.8
const leastLimitSeconds = 15
/** For a test file without any mutant. */
const plainLimitSeconds = 300

const { values: flags } = commandOptions({
  command: 'npm run mutate',
  about: 'Puts one small fault after the other into the rooms that decide, and names those that no test notices.',
  options: {
    room: {
      kind: 'texts',
      about: `A room, may be repeated; all of them unless given: ${Object.keys(testsOf).join(', ')}.`,
    },
    sample: { kind: 'integer', least: 1, about: 'How many mutants of each room, drawn by the seed; all unless given.' },
    seed: { kind: 'integer', least: 0, default: 1, about: 'Where the drawing begins.' },
    at: { kind: 'text', about: 'One place: token/judge-refresh.ts:48.' },
    lanes: { kind: 'integer', least: 1, default: 2, about: 'How many mutants side by side.' },
    limit: {
      kind: 'number',
      default: 3,
      about:
        'How many times longer than without a mutant a test file may take, 15 s at least; longer counts as noticed.',
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
  /** Below `src`. */
  readonly file: string
  readonly mutant: Mutant
  readonly source: string
}

/** What a test file does without any mutant. */
interface Plain {
  readonly test: string
  readonly seconds: number
  /** What each of its processes ran of the files below `src`; null where it starts services that tell nothing of it. */
  readonly ranges: ReadonlyMap<string, readonly (readonly RunRange[])[]> | null
}

/** Why a test file is taken to have noticed, in words; null when it did not. */
type Outcome = { readonly by: 'failure' | 'time'; readonly what: string } | null

/** In memory where that can be: databases are what most tests wait for. */
const folder = mkdtempSync(join(quickFolder(), 'troupe-mutate-'))
const running = new Set<ChildProcess>()
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
process.once('exit', () => {
  for (const child of running) endGroup(child)
  rmSync(folder, { recursive: true, force: true })
})
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
process.exitCode = isMet ? 0 : 1

async function measure(room: string): Promise<boolean> {
  const names = testsOf[room]
  if (names === undefined) throw new Error(`No tests are named for the room ${room}`)
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

/** Each once, in one of the lanes. */
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
  const told = mkdtempSync(join(folder, 'ran-'))
  const began = performance.now()
  const outcome = await run(test, lane, plainLimitSeconds, told)
  const seconds = (performance.now() - began) / 1000
  if (outcome !== null) throw new Error(`Without any mutant there is ${outcome.what}`)
  const text = readFileSync(join(lane, test), 'utf8')
  // Such services are killed, and know too little of their parent to tell it what they ran.
  const startsServices = /service-process|service-pair|store-process|support\/program|node:child_process/.test(text)
  const ranges = startsServices ? null : rangesIn(told, `${pathToFileURL(join(lane, 'src')).href}/`)
  rmSync(told, { recursive: true })
  return { test, seconds, ranges }
}

function rangesIn(told: string, base: string): NonNullable<Plain['ranges']> {
  const found = new Map<string, RunRange[][]>()
  for (const name of readdirSync(told)) {
    const { result } = JSON.parse(readFileSync(join(told, name), 'utf8')) as {
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

/** Asked again when it takes too long: the machine may have been busy. */
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

/** Until a test fails. @param told Where to tell what was run; nobody asks unless given. */
function run(test: string, lane: string, limitSeconds: number, told?: string): Promise<Outcome> {
  const child = spawn(
    process.execPath,
    [
      '--conditions=troupe-source',
      '--no-warnings',
      '--test-skip-pattern=on (?:one )?PostgreSQL',
      `--test-reporter=${pathToFileURL(join(lane, 'tools/first-failure.ts')).href}`,
      test,
    ],
    {
      cwd: lane,
      stdio: ['ignore', 'pipe', 'ignore'],
      // A group of its own, so that what a test starts ends with it.
      detached: true,
      env: { ...process.env, TMPDIR: join(lane, 'tmp'), ...(told === undefined ? {} : { NODE_V8_COVERAGE: told }) },
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
    // Nobody of it is left.
  }
}

function shown(source: string, { at, length, text, kind }: Mutant): string {
  const flat = (part: string): string => part.replaceAll(/\s+/g, ' ').slice(0, 100)
  return `${kind}: ${flat(source.slice(at, at + length))} -> ${flat(text) || '(nothing)'}`
}
