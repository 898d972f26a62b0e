/** Replies to the client, before they become HTTP responses. */
import type { Codec } from '../codecs/codec.ts'
import type { McpFailure } from './failure.ts'
import type { Id } from './message.ts'

export type Reply =
  | {
      readonly kind: 'json'
      readonly status: number
      readonly body: object
      readonly headers?: Readonly<Record<string, string>>
    }
  /** An accepted message, without a response body. */
  | { readonly kind: 'empty'; readonly status: 202 }
  /** A text/event-stream with one event for each message. */
  | { readonly kind: 'stream'; readonly messages: AsyncGenerator<object>; readonly close: () => void }

export function rpcResult(id: Id, result: object): object {
  return { jsonrpc: '2.0', id, result }
}

export function rpcError(
  id: Id | undefined,
  { code, message, data }: { code: number; message: string; data?: object },
): object {
  return {
    jsonrpc: '2.0',
    id,
    error: { code, message, data },
  }
}

export const accepted: Reply = { kind: 'empty', status: 202 }

export function json(status: number, body: object): Reply & { kind: 'json' } {
  return { kind: 'json', status, body }
}

/** A failure as the revision expresses it: an error, or a result with `isError`. */
export function failed(codec: Codec, method: string, id: Id, failure: McpFailure): Reply & { kind: 'json' } {
  const encoded = codec.failure(method, failure)
  return 'result' in encoded ? json(200, rpcResult(id, encoded.result)) : json(encoded.status, rpcError(id, encoded))
}
