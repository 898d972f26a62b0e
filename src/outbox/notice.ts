/** Messages to peers other than diffs: durable, retried, and sent in order for each peer. */
import type { Sealed } from '../secret/sealed.ts'
import type { Transaction } from '../store/store.ts'

export type NoticeKind =
  | 'approval'
  /** A new secret that was offered to the peer, with an unknown outcome (trust/handshake/renewal.ts). */
  | 'renewal'
  | 'trust_deleted'
  /** The withdrawal of a trust request that may still arrive. */
  | 'withdrawal'
  | 'permission'
  | 'unsubscribe'
  | 'revoke'
  | 'acknowledge'

export interface Notice {
  readonly kind: NoticeKind
  readonly actorId: string
  readonly peerId: string
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  /** The peer's root URL. `url` must be below it. */
  readonly baseuri: string
  /** Sealed with the binding of the trust. */
  readonly secret: Sealed
  /** A JSON string. Null: no body. */
  readonly body: string | null
  /** Unix milliseconds. Default: now. Later notices to the same peer wait for this one. */
  readonly dueAt?: number
}

/** A notice to a URL below the peer's root. `path` has the segments without URL encoding. */
export function noticeTo(
  { actorId, peerId, baseuri, secret }: Pick<Notice, 'actorId' | 'peerId' | 'baseuri' | 'secret'>,
  kind: NoticeKind,
  method: Notice['method'],
  path: readonly string[],
  body: object | null = null,
): Notice {
  const url = [baseuri, ...path.map(encodeURIComponent)].join('/')
  return { kind, actorId, peerId, method, url, baseuri, secret, body: body === null ? null : JSON.stringify(body) }
}

/** Adds a notice in the transaction of the change that it reports. Delivery starts after the commit and survives a crash. */
export type EnqueueNotice = (tx: Transaction, notice: Notice) => Promise<void>
