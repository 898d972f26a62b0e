/** What becomes known of a request on its way, beside what the log says of it. */
import type { Caller } from '../../caller.ts'
import type { RequestContext } from '../../observe/context.ts'
import type { Route } from './route.ts'

export interface Trace extends RequestContext {
  /** Whose buckets it takes from; null when its address is not known. Looked at only where it matters. */
  readonly source: () => string | null
  /** What its answer tells of rate limits. */
  limitHeaders: Readonly<Record<string, string>> | null
  route: Route | null
  /** Who it proved to be from; null while nobody asked, or when it proved nothing. */
  caller: Caller | null
  /** True when it showed a credential, good or not. */
  hasCredential: boolean
  /** Not answered, but shown the way to sign in. */
  isSentToSignIn: boolean
}

/** Computes once. */
export function lazily<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined
  return () => (known ??= { value: compute() }).value
}
