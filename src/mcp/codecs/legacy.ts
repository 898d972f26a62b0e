/** The codecs of 2024-11-05 to 2025-11-25. They remove or convert members that a revision does not have. */
import type { McpFailureKind } from '../protocol/failure.ts'
import { callMethodOf } from '../methods.ts'
import { isRecord } from '../protocol/message.ts'
import { type LegacyRevision, since } from '../protocol/revisions.ts'
import type { Codec } from './codec.ts'

const codes: Readonly<Record<McpFailureKind, number>> = {
  unknown_method: -32601,
  invalid_params: -32602,
  unknown_tool: -32601,
  unknown_prompt: -32602,
  unknown_resource: -32002,
  not_permitted: -32003,
  missing_capability: -32603,
  url_elicitation: -32042,
  headers_differ: -32602,
  failed: -32603,
  internal: -32603,
}

export function legacyCodec(revision: LegacyRevision): Codec {
  return {
    revision,
    result(method, result) {
      const body = result.kind === 'complete' ? result.body : {}
      return callMethodOf(method, revision)?.downgrade?.(revision, body) ?? body
    },
    failure(method, { kind, message, data }) {
      // The revision lacks this error, but a model can read the text of a result.
      const lacksError = kind === 'missing_capability' || isUnknownElicitation(revision, kind)
      if (lacksError && callMethodOf(method, revision)?.hasErrorResult === true) {
        return { result: { content: [{ type: 'text', text: textOf(message, data) }], isError: true } }
      }
      return { status: 200, code: codes[kind], message, ...dataOf(kind, data) }
    },
  }
}

function isUnknownElicitation(revision: LegacyRevision, kind: McpFailureKind): boolean {
  return kind === 'url_elicitation' && !since(revision, '2025-11-25')
}

/** The message, followed by the URL to open when the failure has one. */
function textOf(message: string, data: object | undefined): string {
  const elicitations = isRecord(data) ? data['elicitations'] : undefined
  const first: unknown = Array.isArray(elicitations) ? elicitations[0] : undefined
  return isRecord(first) && typeof first['url'] === 'string' ? `${message}: ${first['url']}` : message
}

function dataOf(kind: McpFailureKind, data: object | undefined): { data?: object } {
  return data === undefined || kind === 'missing_capability' ? {} : { data }
}
