/** Entries of the audit log: accesses to an actor. They never contain a value, a query or a credential. */

export const dayMs = 86_400_000

/** `owner`: the owner changed who may reach the actor. `operator`: a person who operates the service. */
export type CallerKind = 'owner' | 'peer' | 'client' | 'trustee' | 'operator' | 'anonymous'

/**
 * `asked`: the call waits for the owner's approval and did not run. `approved` and `denied` are decisions of the owner
 * about such a call or about a request to connect, recorded with its caller.
 */
export type AuditDecision = 'allowed' | 'asked' | 'approved' | 'denied' | 'refused'

/** An access to record. */
export interface AuditEntry {
  readonly actorId: string
  readonly callerKind: CallerKind
  /** Id of the peer or client; the name of the operator; `owner`; for an anonymous caller its IP address, if known. */
  readonly caller: string
  /** `push`: this service sent the values to a subscriber. */
  readonly through: 'http' | 'callback' | 'mcp' | 'push'
  /** HTTP method or MCP method. */
  readonly method: string
  /** Path below the actor, without the query. */
  readonly path: string
  readonly decision: AuditDecision
  /** Reason of the permission decision. */
  readonly reason: string
  /** HTTP status. 0: the answer of a subscriber is unknown. */
  readonly status: number
  readonly requestId: string
  /** True when the access changed nothing; repetitions within a minute are counted in one entry. */
  readonly isRead?: boolean
  /** The device of the owner, such as `Firefox on Linux`. Default: empty. */
  readonly device?: string
}

/** Reasons of entries that no rule decided. */
export const entryReasons = { owner: 'the owner', subscription: 'its subscription' } as const

/** A stored entry of the audit log. */
export interface AuditLogEntry extends AuditEntry {
  readonly id: string
  /** Time of the first access, in Unix milliseconds. */
  readonly at: number
  /** The own name of the peer or client at that time. Empty: none. */
  readonly callerName: string
  /**
   * Number of equal accesses within a minute. Reads, refusals, accesses of anonymous callers and calls that wait for
   * approval share one entry. Other accesses share an entry after 100 entries.
   */
  readonly times: number
  /** The device of the owner. Empty for an access of another caller, and for a decision of the application. */
  readonly device: string
}

/** A position in an actor's audit log, for paging. */
export interface Place {
  readonly at: number
  readonly id: string
}

export function cursorOf({ at, id }: Place): string {
  return Buffer.from(`${at}.${id}`).toString('base64url')
}

/** Returns null for an invalid cursor. */
export function parseCursor(text: string): Place | null {
  const [, at, id] = /^(\d{1,16})\.([\w-]{1,64})$/.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  return at === undefined || id === undefined ? null : { at: Number(at), id }
}

/** Returns an entry as the API shows it, with the time in ISO 8601. */
export function entryMembers(entry: AuditLogEntry): Readonly<Record<string, string | number>> {
  return {
    at: new Date(entry.at).toISOString(),
    caller_kind: entry.callerKind,
    caller: entry.caller,
    caller_name: entry.callerName,
    through: entry.through,
    method: entry.method,
    path: entry.path,
    decision: entry.decision,
    reason: entry.reason,
    status: entry.status,
    request_id: entry.requestId,
    device: entry.device,
    times: entry.times,
  }
}
