/** Files in which `npm test -- --cover` keeps what it learned about the tests, for the runs after it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CoveringSet } from './covering-set.ts'
import type { Executions } from './execution-records.ts'
import type { Durations } from './file-order.ts'

const testFolder = dirname(import.meta.dirname)

/** The records of the repository, by name. */
export interface Recorded {
  readonly 'covering-set': CoveringSet
  readonly durations: Durations
  readonly executions: Executions
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
