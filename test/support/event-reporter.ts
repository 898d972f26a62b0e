/** A reporter of node:test that writes one JSON line per test, for the process that runs the files (test-file.ts). */
import { inspect } from 'node:util'
import { processorSeconds } from './processor-time.ts'
import type { TestEvent } from 'node:test/reporters'

export type TestRecord =
  | { readonly kind: 'begun'; readonly name: string }
  | { readonly kind: 'ended'; readonly name: string }
  | { readonly kind: 'passed'; readonly path: readonly string[]; readonly place: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly path: readonly string[]; readonly place: string; readonly why: string }
  /** A diagnostic about the file, such as an error after a test had ended. */
  | { readonly kind: 'remark'; readonly text: string }
  /** The last record. Without it, the process ended before its tests did. */
  | { readonly kind: 'finished'; readonly processorSeconds: number }

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  // Results arrive in the order of definition, and each group is announced before its tests.
  const path: string[] = []
  for await (const event of source) {
    const record = recordOf(event, path)
    if (record !== null) yield `${JSON.stringify(record)}\n`
  }
}

/** @param path The groups around the test, which the function updates. */
export function recordOf(event: TestEvent, path: string[]): TestRecord | null {
  switch (event.type) {
    case 'test:dequeue':
      return { kind: 'begun', name: event.data.name }
    case 'test:complete':
      return { kind: 'ended', name: event.data.name }
    case 'test:start':
      path.splice(event.data.nesting, Infinity, event.data.name)
      return null
    case 'test:pass':
    case 'test:fail': {
      const { nesting, name, skip, todo, details } = event.data
      const own = [...path.slice(0, nesting), name]
      const place = placeOf(event.data)
      if (isSet(skip))
        return { kind: 'failed', path: own, place, why: 'It is skipped, and a skipped test proves nothing.' }
      if (isSet(todo)) return { kind: 'failed', path: own, place, why: 'It is marked as still to do.' }
      if (event.type === 'test:fail') {
        const { error } = event.data.details
        // The failed tests of a group have their own records.
        if ('failureType' in error && error.failureType === 'subtestsFailed') return null
        return { kind: 'failed', path: own, place, why: inspect(error.cause ?? error, { colors: false }) }
      }
      return details.type === 'suite' ? null : { kind: 'passed', path: own, place, ms: details.duration_ms }
    }
    case 'test:diagnostic':
      return /^\w+ [\d.]+$/.test(event.data.message) ? null : { kind: 'remark', text: event.data.message }
    case 'test:summary':
      return { kind: 'finished', processorSeconds: processorSeconds() }
    default:
      return null
  }
}

/** The statement that declared the test. Cases of a loop, and tests on two stores, share one. */
function placeOf({ file, line, column }: { file?: string; line?: number; column?: number }): string {
  return `${file}:${line}:${column}`
}

function isSet(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false
}
