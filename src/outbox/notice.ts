/** Messages to peers that are no diffs: kept until they arrived, sent in order for each peer. */
import type { Sealed } from '../secret/sealed.ts'
import type { Transaction } from '../store/store.ts'

export type NoticeKind =
  | 'approval'
  /** A secret that was offered to the peer, and of which nobody may know whether it was taken (trust/renewal.ts). */
  | 'renewal'
  | 'trust_deleted'
  /** The end of a request for a relationship that may still be on its way. */
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
  /** The peer's root, below which `url` has to lie. */
  readonly baseuri: string
  /** As the trust keeps it (its binding is the trust's). */
  readonly secret: Sealed
  /** JSON text, or null without a body. */
  readonly body: string | null
  /** Unix milliseconds. Default: now. Later notices to the same peer wait for this one. */
  readonly dueAt?: number
}

/** To an address below the peer's root; its segments are encoded here. */
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

/** Adds a notice in the transaction of what it tells about. Delivery starts after the commit and survives a crash. */
export type EnqueueNotice = (tx: Transaction, notice: Notice) => Promise<void>
