/** Files in which `npm test -- --cover` keeps what it learned about the tests, for the runs after it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CoveringSet } from './covering-set.ts'
import type { Executions } from './execution-records.ts'
import type { Durations } from './file-order.ts'

const testFolder = dirname(import.meta.dirname)

/** The records of the repository with a line for each test file, by name. */
export interface Recorded {
  readonly 'covering-set': CoveringSet
  readonly durations: Durations
}

/** Executions in the file: the tests, and for each file of `src` the places of its tests in this list. It has a tenth of the size. */
interface CompactExecutions {
  readonly tests: readonly string[]
  readonly sources: Readonly<Record<string, string>>
}

export function readExecutions(): Executions {
  const { tests, sources } = JSON.parse(readFileSync(pathOf('executions'), 'utf8')) as CompactExecutions
  const byTest = new Map<string, string[]>(tests.map((test) => [test, []]))
  for (const [source, places] of Object.entries(sources))
    for (const place of places.split(' ')) byTest.get(tests[Number(place)] ?? '')?.push(source)
  return Object.fromEntries(byTest)
}

export function writeExecutions(executions: Executions): void {
  const tests = Object.keys(executions).toSorted()
  const places = new Map<string, number[]>()
  for (const [place, test] of tests.entries())
    for (const source of executions[test] ?? []) places.set(source, [...(places.get(source) ?? []), place])
  const sources = Object.fromEntries(
    [...places].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([source, own]) => [source, own.join(' ')]),
  )
  writeFileSync(pathOf('executions'), `${JSON.stringify({ tests, sources }, null, 1)}\n`)
}

export function readRecorded<Name extends keyof Recorded>(name: Name): Recorded[Name] {
  return JSON.parse(readFileSync(pathOf(name), 'utf8')) as Recorded[Name]
}

export function writeRecorded<Name extends keyof Recorded>(name: Name, value: Recorded[Name]): void {
  writeFileSync(pathOf(name), textOf(value))
}

function pathOf(name: string): string {
  return join(testFolder, 'recorded', `${name}.json`)
}

const ownDurations = join(dirname(testFolder), 'node_modules', '.cache', 'test-durations.json')

/** Returns the durations of the latest runs in this checkout, and of the repository for files that did not run here. */
export function readDurations(): Durations {
  let own: Durations = {}
  try {
    own = JSON.parse(readFileSync(ownDurations, 'utf8')) as Durations
  } catch {
    // No run has ended here yet, or another one is writing.
  }
  return { ...readRecorded('durations'), ...own }
}

export function writeDurations(durations: Durations): void {
  mkdirSync(dirname(ownDurations), { recursive: true })
  writeFileSync(ownDurations, textOf(durations))
}

/** Each member is in a line of its own, so that a change of one test changes one line. */
function textOf(value: object): string {
  const sorted = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{\n${sorted.map(([name, member]) => `  ${JSON.stringify(name)}: ${JSON.stringify(member)}`).join(',\n')}\n}\n`
}
