/** Who touched an actor, as the access ledger keeps it: never a value, a query or a credential. */

export type CallerKind = 'peer' | 'client' | 'trustee' | 'anonymous'

/**
 * `asked`: the call waits for the owner's approval and did not run. `approved` and `denied` are decisions of the owner
 * about such a call, recorded with its caller.
 */
export type AuditDecision = 'allowed' | 'asked' | 'approved' | 'denied' | 'refused'

/** What happened, as the place that answered tells it. */
export interface Act {
  readonly actorId: string
  readonly callerKind: CallerKind
  /** The peer's or client's id; of somebody unknown the address it came from, as far as that is known. */
  readonly caller: string
  readonly through: 'http' | 'callback' | 'mcp'
  /** The method of HTTP or of MCP. */
  readonly method: string
  /** Below the actor, without a query. */
  readonly path: string
  readonly decision: AuditDecision
  /** Why, in the words of the verdict. */
  readonly reason: string
  readonly status: number
  readonly requestId: string
  /** It changed nothing: the same within a minute is counted, not repeated. */
  readonly isRead?: boolean
}

/** A line of the ledger. */
export interface AuditLogEntry extends Act {
  readonly id: string
  /** Unix milliseconds, of the first time. */
  readonly at: number
  /**
   * How often the same happened within a minute: readings, refusals, visits of strangers and what waits for the owner are counted, not repeated, and so
   * is what somebody does again and again, from the hundredth time on.
   */
  readonly times: number
}

/** One place in the ledger of an actor, for paging. */
export interface Place {
  readonly at: number
  readonly id: string
}

export function cursorOf({ at, id }: Place): string {
  return Buffer.from(`${at}.${id}`).toString('base64url')
}

/** Null for what `cursorOf` never made. */
export function parseCursor(text: string): Place | null {
  const [, at, id] = /^(\d{1,16})\.([\w-]{1,64})$/.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  return at === undefined || id === undefined ? null : { at: Number(at), id }
}
