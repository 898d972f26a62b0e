/**
 * Which era a message belongs to, and what a modern one has to satisfy before its method is looked at. Decided for each
 * message by itself, by `_meta` and header, never by the method's name (but for `initialize`), because clients remember
 * the era of a server and take one wrong sign for the other era.
 */
import { isHandshake, methodOf } from './methods.ts'
import { decodeHeaderValue } from './protocol/header-value.ts'
import { isRecord, type Message, type Params } from './protocol/message.ts'
import { metaKeys, metaOf } from './protocol/meta.ts'
import {
  asLegacy,
  assumedLegacy,
  type LegacyRevision,
  modernRevision,
  supportedRevisions,
} from './protocol/revisions.ts'

/** The header fields that count; undefined when absent. */
export interface ProtocolHeaders {
  readonly version: string | undefined
  readonly method: string | undefined
  readonly name: string | undefined
  /** A field that may stand once came twice. */
  readonly repeated: boolean
}

export type Era =
  | { readonly era: 'modern' }
  /** Null when neither the header nor a session says which. */
  | { readonly era: 'legacy'; readonly revision: LegacyRevision | null }
  | { readonly era: 'refused'; readonly refusal: Refusal }

/** An answer to the message itself, before any method: always status 400 unless it says otherwise. */
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
  // No `data` and a code outside the modern range: a client of both eras takes it for a legacy server and goes on so.
  return refused(
    -32600,
    `MCP-Protocol-Version ${JSON.stringify(version.slice(0, 64))} is not supported; supported are ${supportedRevisions.join(', ')}`,
  )
}

/** The revision that counts for a legacy message: the header, else what the session agreed on, else the oldest with a header. */
export function legacyRevisionOf(said: LegacyRevision | null, agreed: LegacyRevision | null): LegacyRevision {
  return said ?? agreed ?? assumedLegacy
}

/** The checks of a modern request in their order; null when it may go on (wire, "Modern ladder" a to c). */
export function judgeModern(message: Message & { kind: 'request' }, headers: ProtocolHeaders): Refusal | null {
  const meta = metaOf(message.params)
  const version = meta[metaKeys.version]
  if (typeof version !== 'string') return refusal(-32602, `"_meta" must name "${metaKeys.version}"`)
  if (!isRecord(meta[metaKeys.capabilities])) return refusal(-32602, `"_meta" must hold "${metaKeys.capabilities}"`)
  if (headers.version === undefined || headers.version.trim() !== version) {
    return refusal(-32020, 'The header MCP-Protocol-Version and "_meta" have to name the same version')
  }
  if (headers.method === undefined || headers.method.trim() !== message.method) {
    return refusal(-32020, 'The header Mcp-Method has to be the method of the body')
  }
  const named = nameOf(message)
  if (named !== undefined && !isSameName(headers.name, named)) {
    return refusal(-32020, `The header Mcp-Name has to be what the body names`)
  }
  if (version !== modernRevision) {
    return {
      ...refusal(-32022, 'Version not supported'),
      data: { supported: supportedRevisions, requested: version },
    }
  }
  return null
}

/** What `Mcp-Name` mirrors; undefined for methods without it, null where the body names nothing (which is refused later). */
function nameOf({ method, params }: { method: string; params: Params }): string | null | undefined {
  const target = methodOf(method, modernRevision)?.target
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
