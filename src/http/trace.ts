/** What becomes known of a request on its way, beside what the log says of it. */
import type { RequestContext } from '../observe/context.ts'

export interface Trace extends RequestContext {
  /** Whose buckets it takes from; null when its address is not known. Looked at only where it matters. */
  readonly source: () => string | null
  /** What its answer tells of rate limits. */
  limitHeaders: Readonly<Record<string, string>> | null
}

/** Computes once. */
export function lazily<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: compute() }).value
}
