/** Which tests a mutant is shown to, and in which order. */
import type { Mutant } from './mutants.ts'

/** How often a part of a source was run, as V8 tells it: places in characters, the end not included. */
export interface RunRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/**
 * Whether a process came to the place of the mutant. The innermost range around a place says how often it was run.
 *
 * @param ranges Of the file, those of all its functions, in the order in which V8 tells them.
 */
export function isReached(ranges: readonly RunRange[], { at, kind }: Pick<Mutant, 'at' | 'kind'>): boolean {
  // The range of what stands right of `&&` and `??` begins with the sign, which says something about the left as well.
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

/** What is known of a test file and the mutants of one source. */
export interface Experience {
  readonly test: string
  readonly seconds: number
  /** Mutants of the source that were shown to it. */
  readonly shown: number
  /** As many of them it noticed. */
  readonly noticed: number
}

/** Soonest first: by the seconds that it takes for a mutant to be noticed, as far as one can tell. */
export function inOrder(known: readonly Experience[]): readonly string[] {
  const secondsToNotice = ({ seconds, shown, noticed }: Experience): number => (seconds * (shown + 2)) / (noticed + 1)
  return known
    .toSorted((one, other) => secondsToNotice(one) - secondsToNotice(other) || one.test.localeCompare(other.test))
    .map(({ test }) => test)
}
