/**
 * The stories that run on PostgreSQL too. All tests of stories run on SQLite. On PostgreSQL, a run without `--full` runs
 * those that together execute each statement for each kind of caller, and as a sharded database, those that together execute
 * each statement. `npm test -- --cover` chooses them again.
 */
import type { StatementRecord } from './statement-records.ts'
import type { FileResult } from './test-file.ts'

/** By the name of a test file: the full names of tests, with ` > ` between groups. */
export type CoveringSet = Readonly<Record<string, readonly string[]>>

/** Stories about concurrency, transactions and delivery run on both stores: a store decides their result. */
const alwaysWhole =
  /^test\/stories\/(?:transactions|shared-|list-turns|subscriptions|receiving|webhooks|trust-notifications|remote-copies)/

function isSelected(file: string): boolean {
  return file.startsWith('test/stories/') && !alwaysWhole.test(file)
}

/** The ids of proven rows end a title. They change, and the test stays the same. */
const ids = / \([A-Z][A-Z0-9, -]*\)$/
const anyIds = '(?: \\([A-Z][A-Z0-9, -]*\\))?'

/**
 * Returns the tests of a file that do not run.
 *
 * @param isFull Whether all tests run on PostgreSQL. As a sharded database, the set decides in any case.
 */
export function skippedOutside(set: CoveringSet, file: string, isFull: boolean): RegExp {
  const isWhole = isFull || !isSelected(file)
  // The groups around a test must run too.
  const kept = (set[file] ?? []).flatMap((name) => {
    const groups = name.split(' > ').map((title) => RegExp.escape(title.replace(ids, '')) + anyIds)
    return groups.map((_, index) => groups.slice(0, index + 1).join(' '))
  })
  const skipped = isWhole ? 'on sharded PostgreSQL' : 'on (?:sharded )?PostgreSQL'
  return new RegExp(`^(?!(?:${[...new Set(kept)].join('|')})$)(?:.* )?${skipped} .`)
}

/** A test that the set may contain. */
interface Candidate {
  readonly file: string
  readonly name: string
  /** The statements that the test executes and no chosen test executes. */
  readonly gain: Set<string>
  readonly ms: number
}

/**
 * Chooses the tests, by the records of a run of all tests. `file` of the records and `nameOf` are names of test files.
 *
 * @param isOpen Whether tests of a file are chosen. The recorded tests of other files run in any case.
 */
export function chooseCoveringSet(
  records: readonly StatementRecord[],
  results: readonly FileResult[],
  nameOf: (file: string) => string,
  isOpen: (file: string) => boolean = () => true,
): CoveringSet {
  const msOf = new Map(
    results.flatMap(({ file, passed }) =>
      passed.map((test) => [`${nameOf(file)} ${test.path.join(' > ')}`, test.ms] as const),
    ),
  )
  const onPostgres = records.filter(({ dialect, test }) => dialect === 'postgres' && !isSharded(test))
  const sharded = records.filter(({ test }) => isSharded(test))
  const chosen = [
    ...choose(onPostgres, (file) => isSelected(file) && isOpen(file), msOf, pairOf),
    ...choose(sharded, isOpen, msOf, ({ shape }) => shape),
  ]
  const byFile = Object.entries(Object.groupBy(chosen, ({ file }) => file))
  return Object.fromEntries(byFile.map(([file, tests = []]) => [file, tests.map(({ name }) => name).toSorted()]))
}

/** Chooses repeatedly the test that adds the most for its time to what the files execute that are not open. */
function choose(
  records: readonly StatementRecord[],
  isOpen: (file: string) => boolean,
  msOf: ReadonlyMap<string, number>,
  gainOf: (record: StatementRecord) => string,
): readonly Candidate[] {
  const certain = new Set(records.filter(({ file }) => !isOpen(file)).map(gainOf))
  const candidates = new Map<string, Candidate>()
  for (const record of records) {
    if (!isOpen(record.file) || certain.has(gainOf(record))) continue
    const key = `${record.file} ${record.test}`
    const ms = msOf.get(key)
    // The statement of a test that failed, or of a hook, is not certain to be executed.
    if (ms === undefined) continue
    const candidate = candidates.get(key) ?? { file: record.file, name: record.test, gain: new Set<string>(), ms }
    candidate.gain.add(gainOf(record))
    candidates.set(key, candidate)
  }
  const waiting = new Set(candidates.values())
  const chosen: Candidate[] = []
  for (;;) {
    let best: Candidate | undefined
    for (const candidate of waiting) {
      if (candidate.gain.size === 0) waiting.delete(candidate)
      else if (best === undefined || worthOf(candidate) > worthOf(best)) best = candidate
    }
    if (best === undefined) break
    waiting.delete(best)
    chosen.push(best)
    for (const { gain } of waiting) for (const one of best.gain) gain.delete(one)
  }
  return chosen
}

/** A test needs some milliseconds besides its own for its database. */
function worthOf({ gain, ms }: Candidate): number {
  return gain.size / (ms + 20)
}

function isSharded(test: string): boolean {
  return /\bon sharded PostgreSQL\b/.test(test)
}

/** Returns the statements that tests of both stores executed on SQLite, and no test on PostgreSQL. */
export function uncoveredStatements(records: readonly StatementRecord[]): string[] {
  const onPostgres = new Set(
    records.filter(({ dialect, test }) => dialect === 'postgres' && !isSharded(test)).map(({ shape }) => shape),
  )
  const onBoth = records.filter(({ dialect, test }) => dialect === 'sqlite' && test.includes('on SQLite'))
  return [...new Set(onBoth.map(({ shape }) => shape))].filter((shape) => !onPostgres.has(shape)).toSorted()
}

/** A kind of caller and a statement. */
function pairOf({ caller, shape }: StatementRecord): string {
  return `${caller}: ${shape}`
}
