/** One revision's way to say results and failures. */
import type { McpFailure } from '../protocol/failure.ts'
import type { Params } from '../protocol/message.ts'
import type { Result } from '../protocol/result.ts'
import type { Revision } from '../protocol/revisions.ts'

export interface EncodedFailure {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: object
}

export interface Codec {
  readonly revision: Revision
  result(method: string, result: Result): Params
  /** A result where the revision has no error for it; else an error with the status of its answer. */
  failure(method: string, failure: McpFailure): EncodedFailure | { readonly result: Params }
}
