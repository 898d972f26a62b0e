/** From a message of either era to the one shape of a request. */
import { type McpAccess, type McpRequest, readClientInfo } from './call/call.ts'
import { isLogLevel } from './call/channel.ts'
import { isRecord, type MessageParams } from './protocol/message.ts'
import { metaKeys, metaOf } from './protocol/meta.ts'
import { type LegacyRevision, modernRevision } from './protocol/revisions.ts'
import type { ProtocolHeaders } from './protocol-version.ts'
import type { McpClient, Session } from './sessions/session.ts'

export interface McpHeaders extends ProtocolHeaders {
  /** `Mcp-Session-Id`. */
  readonly session: string | undefined
  readonly field: (name: string) => string | undefined
}

interface Call {
  readonly method: string
  readonly params: MessageParams
}

/** Null for a log level that does not exist. */
export function modernRequest({ method, params }: Call, headers: McpHeaders, access: McpAccess): McpRequest | null {
  const client = clientIn(metaOf(params))
  if (client === null) return null
  return {
    access,
    revision: modernRevision,
    method,
    params,
    client,
    session: null,
    // Without meaning in this revision, but handlers see what the client sent.
    sessionId: headers.session ?? null,
    header: headers.field,
  }
}

export function legacyRequest(
  { method, params }: Call,
  revision: LegacyRevision,
  session: Session | null,
  headers: McpHeaders,
  access: McpAccess,
): McpRequest {
  return {
    access,
    revision,
    method,
    params,
    client: session ?? { info: access.remembered, capabilities: {}, logLevel: null },
    session,
    sessionId: headers.session ?? null,
    header: headers.field,
  }
}

/** What a modern request says of its client. */
function clientIn(meta: MessageParams): McpClient | null {
  const { [metaKeys.logLevel]: level, [metaKeys.capabilities]: declared } = meta
  if (level !== undefined && !isLogLevel(level)) return null
  return {
    info: readClientInfo(meta[metaKeys.clientInfo]),
    capabilities: isRecord(declared) ? declared : {},
    logLevel: level ?? null,
  }
}
