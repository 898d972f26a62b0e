/** Types for sessions and clients of the revisions with a handshake. */
import type { ClientInfo, LogLevel } from '../../app/mcp-declarations.ts'
import type { SecretHash } from '../../secret/hash.ts'
import type { MessageParams } from '../protocol/message.ts'
import type { LegacyRevision } from '../protocol/revisions.ts'

/** The client as it described itself, in this request or when its session began. */
export interface McpClient {
  readonly info: ClientInfo | null
  readonly capabilities: MessageParams
  /** Null when the client wants no log messages. */
  readonly logLevel: LogLevel | null
}

export interface SessionOwner {
  readonly actorId: string
  readonly peerId: string
  readonly clientId: string
}

export interface Session extends SessionOwner, McpClient {
  readonly hash: SecretHash
  readonly revision: LegacyRevision
  readonly subscriptions: readonly string[]
}
