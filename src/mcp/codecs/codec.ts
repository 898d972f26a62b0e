/** Encodes results and failures for one revision. */
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
  /** An error with the HTTP status of its response, or a result where the revision has no such error. */
  failure(method: string, failure: McpFailure): EncodedFailure | { readonly result: Params }
}
