/** The codec of 2026-07-28. */
import { present } from '../../json/present.ts'
import type { McpFailureKind, McpFailure } from '../protocol/failure.ts'
import { metaKeys } from '../protocol/meta.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import type { McpResult } from '../protocol/result.ts'
import { modernRevision } from '../protocol/revisions.ts'
import type { Codec } from './codec.ts'

/** A code outside the ranges that JSON-RPC and the protocol reserve ("Error Codes"). */
const notPermittedCode = 403

const failures: Readonly<Record<McpFailureKind, readonly [status: number, code: number]>> = {
  unknown_method: [404, -32601],
  invalid_params: [200, -32602],
  unknown_tool: [200, -32602],
  unknown_prompt: [200, -32602],
  unknown_resource: [200, -32602],
  not_permitted: [200, notPermittedCode],
  missing_capability: [400, -32021],
  // Unused in this revision: `input_required` carries the question.
  url_elicitation: [200, -32603],
  headers_differ: [400, -32020],
  failed: [200, -32603],
  internal: [200, -32603],
}

/** The error of a failed task. */
export function modernError({ kind, message }: McpFailure): { code: number; message: string } {
  return { code: failures[kind][1], message }
}

export function modernCodec(server: { readonly name: string; readonly version: string }): Codec {
  return {
    revision: modernRevision,
    result: (_method, result) => withServer(encode(result), server),
    failure(_method, { kind, message, data }) {
      const [status, code] = failures[kind]
      return present({ status, code, message, data })
    },
  }
}

function encode(result: McpResult): MessageParams {
  switch (result.kind) {
    case 'complete':
      return {
        resultType: 'complete',
        ...result.body,
        ...(result.ttlMs === undefined ? {} : { ttlMs: result.ttlMs, cacheScope: 'private' }),
      }
    case 'input_required':
      return {
        resultType: 'input_required',
        inputRequests: result.inputRequests,
        requestState: result.requestState,
      }
    case 'task':
      return { resultType: 'task', ...result.body }
    default:
      return result satisfies never
  }
}

function withServer(body: MessageParams, server: object): MessageParams {
  const meta = isRecord(body['_meta']) ? body['_meta'] : {}
  return { ...body, _meta: { ...meta, [metaKeys.serverInfo]: server } }
}
