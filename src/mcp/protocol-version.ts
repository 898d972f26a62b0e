/**
 * Determines the era of a message, and checks a modern message before its method runs. `_meta` and the header decide, and
 * of the methods only `initialize`. Clients remember the era of a server, and one misleading reply makes them switch.
 */
import { quoted } from '../errors.ts'
import { isHandshake, mcpMethodOf } from './methods.ts'
import { decodeHeaderValue } from './protocol/header-value.ts'
import { isRecord, type Message, type MessageParams } from './protocol/message.ts'
import { metaKeys, metaOf } from './protocol/meta.ts'
import {
  asLegacy,
  assumedLegacy,
  type LegacyRevision,
  modernRevision,
  supportedRevisions,
} from './protocol/revisions.ts'

/** The header fields of the protocol. Undefined when absent. */
export interface ProtocolHeaders {
  readonly version: string | undefined
  readonly method: string | undefined
  readonly name: string | undefined
  /** True when the request repeats a field that may occur once. */
  readonly repeated: boolean
}

export type Era =
  | { readonly era: 'modern' }
  /** Null when the header names no revision. */
  | { readonly era: 'legacy'; readonly revision: LegacyRevision | null }
  | { readonly era: 'refused'; readonly refusal: Refusal }

/** The response to a message that is rejected before its method runs. */
export interface Refusal {
  readonly status: 400 | 404
  readonly code: number
  readonly message: string
  readonly data?: object
}

export function eraOf(message: Message, headers: ProtocolHeaders): Era {
  if (headers.repeated) return refused(-32600, 'MCP-Protocol-Version is given twice')
  if (message.kind !== 'response' && metaKeys.version in metaOf(message.params)) return { era: 'modern' }
  const { version } = headers
  if (message.kind !== 'response' && isHandshake(message.method)) return { era: 'legacy', revision: null }
  if (version === undefined) return { era: 'legacy', revision: null }
  if (version === modernRevision) return { era: 'modern' }
  const revision = asLegacy(version)
  if (revision !== null) return { era: 'legacy', revision }
  // No `data` and a code outside the modern range: a client of both eras then treats the server as a legacy one.
  return refused(
    -32600,
    `MCP-Protocol-Version ${quoted(version)} is not supported; supported are ${supportedRevisions.join(', ')}`,
  )
}

/** The revision of a legacy message: from the header, else from the session, else the last revision without the header. */
export function legacyRevisionOf(said: LegacyRevision | null, agreed: LegacyRevision | null): LegacyRevision {
  return said ?? agreed ?? assumedLegacy
}

/** The checks of a modern request, in the order of the specification. Null when the request passes. */
export function judgeModern(message: Message & { kind: 'request' }, headers: ProtocolHeaders): Refusal | null {
  const meta = metaOf(message.params)
  const version = meta[metaKeys.version]
  if (typeof version !== 'string') return refusal(-32602, `"_meta" must name "${metaKeys.version}"`)
  if (!isRecord(meta[metaKeys.capabilities])) return refusal(-32602, `"_meta" must hold "${metaKeys.capabilities}"`)
  if (headers.version === undefined || headers.version.trim() !== version) {
    return refusal(-32020, 'The header MCP-Protocol-Version and "_meta" must name the same version')
  }
  if (headers.method === undefined || headers.method.trim() !== message.method) {
    return refusal(-32020, 'The header Mcp-Method must match the method in the body')
  }
  const named = nameOf(message)
  if (named !== undefined && !isSameName(headers.name, named)) {
    return refusal(-32020, `The header Mcp-Name must match the name in the body`)
  }
  if (version !== modernRevision) {
    return {
      ...refusal(-32022, 'Version not supported'),
      data: { supported: supportedRevisions, requested: version },
    }
  }
  return null
}

/** The value that `Mcp-Name` mirrors. Undefined for methods without it; null when the body lacks it (rejected later). */
function nameOf({ method, params }: { method: string; params: MessageParams }): string | null | undefined {
  const target = mcpMethodOf(method, modernRevision)?.target
  return target === undefined ? undefined : textOf(params[target])
}

function isSameName(header: string | undefined, named: string | null): boolean {
  if (named === null) return true
  return header !== undefined && decodeHeaderValue(header) === named
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function refused(code: number, message: string): Era {
  return { era: 'refused', refusal: refusal(code, message) }
}

function refusal(code: number, message: string): Refusal {
  return { status: 400, code, message }
}
