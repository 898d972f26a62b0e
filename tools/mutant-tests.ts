/** Selects the tests that run against a mutant, and their order. */
import type { Mutant } from './mutants.ts'

/** Execution count of a part of a source, from V8 coverage. Offsets are in characters; the end is excluded. */
export interface RunRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/**
 * Whether a process executed the place of the mutant. The innermost range around a place has its execution count.
 *
 * @param ranges Ranges of all functions of the file, in V8's order.
 */
export function isReached(ranges: readonly RunRange[], { at, kind }: Pick<Mutant, 'at' | 'kind'>): boolean {
  // V8's range for the right operand begins with the operator itself, which the left operand reaches too.
  const place = kind === 'connective' || kind === 'default' ? at - 1 : at
  let innermost: RunRange | undefined
  for (const range of ranges) {
    if (place < range.startOffset || place >= range.endOffset) continue
    if (innermost === undefined || lengthOf(range) <= lengthOf(innermost)) innermost = range
  }
  return (innermost?.count ?? 0) > 0
}

function lengthOf({ startOffset, endOffset }: RunRange): number {
  return endOffset - startOffset
}

/** Statistics of a test file for the mutants of one source file. */
export interface Experience {
  readonly test: string
  readonly seconds: number
  /** Number of the source's mutants that the test ran against. */
  readonly shown: number
  /** Number of these mutants that the test noticed. */
  readonly noticed: number
}

/** Sorts tests by the expected time until they notice a mutant, shortest first. */
export function inOrder(known: readonly Experience[]): readonly string[] {
  const secondsToNotice = ({ seconds, shown, noticed }: Experience): number => (seconds * (shown + 2)) / (noticed + 1)
  return known
    .toSorted((one, other) => secondsToNotice(one) - secondsToNotice(other) || one.test.localeCompare(other.test))
    .map(({ test }) => test)
}
