/** Converts messages of both eras to the same request type. */
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

/** The request for a modern message. Null when its log level does not exist. */
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
    // This revision has no sessions, but handlers see the id that the client sent.
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

/** The client as a modern request describes it. Null when the log level does not exist. */
function clientIn(meta: MessageParams): McpClient | null {
  const { [metaKeys.logLevel]: level, [metaKeys.capabilities]: declared } = meta
  if (level !== undefined && !isLogLevel(level)) return null
  return {
    info: readClientInfo(meta[metaKeys.clientInfo]),
    capabilities: isRecord(declared) ? declared : {},
    logLevel: level ?? null,
  }
}
