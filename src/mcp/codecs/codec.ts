/** Encodes results and failures for one revision. */
import type { McpFailure } from '../protocol/failure.ts'
import type { MessageParams } from '../protocol/message.ts'
import type { McpResult } from '../protocol/result.ts'
import type { Revision } from '../protocol/revisions.ts'

export interface EncodedFailure {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: object
}

export interface Codec {
  readonly revision: Revision
  result(method: string, result: McpResult): MessageParams
  /** An error with the HTTP status of its response, or a result where the revision has no such error. */
  failure(method: string, failure: McpFailure): EncodedFailure | { readonly result: MessageParams }
}
