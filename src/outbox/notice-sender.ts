/** Sends notices: one attempt each, and its outcome. */
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { failed, type Tracing } from '../observe/tracing.ts'
import { isUnknownTo } from '../peer/ingress.ts'
import { type FindMovedPeer, deletedThere, hasMoved, outcomeAfterMoves } from '../peer/moved-peer.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../peer/peer-client.ts'
import type { PeerTimes } from '../peer/timeouts.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { open } from '../secret/sealed.ts'
import { bindingOf, trustSecret } from '../secret/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import { type ClaimedNotice, deleteNotice, findRecipient, hasSenderLeft, postponeNotice } from './notice-store.ts'
import type { NoticeKind } from './notice.ts'
import { openNoticeSecret } from './notices.ts'
import { mayBeOfAnotherSecret, outcomeWith } from './secret-rotation.ts'
import { type DeliveryPolicy, isRefusal, judgeNotice, type DeliveryVerdict } from './policy.ts'

/** Finds out which secret a peer has after a renewal. Null: known now. Otherwise the outcome of the call. */
export type SettleRenewal = (offer: {
  readonly actorId: string
  readonly peerId: string
  readonly url: string
  readonly baseuri: string
  readonly secret: string
}) => Promise<PeerOutcome | null>

export interface NoticeSenderDeps {
  readonly store: Store
  readonly peerClient: PeerClient
  readonly keyRing: KeyRing
  readonly policy: DeliveryPolicy
  readonly times: PeerTimes
  readonly now: () => number
  readonly random: () => number
  readonly log: Log
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly isCut: () => boolean
  readonly settleRenewal: SettleRenewal
  readonly findMovedPeer: FindMovedPeer
}

/** A peer that answers these with 404 or 410 has already deleted its side. */
const endings: ReadonlySet<NoticeKind> = new Set(['trust_deleted', 'unsubscribe', 'revoke'])

export class NoticeSender {
  readonly #deps: NoticeSenderDeps

  constructor(deps: NoticeSenderDeps) {
    this.#deps = deps
  }

  /**
   * Makes one attempt. Returns true when the next notice to the peer may be sent, because this one was delivered or
   * given up.
   */
  async send(notice: ClaimedNotice, leasedUntil: number): Promise<boolean> {
    const { store, now, log, metrics, tracing, isCut } = this.#deps
    const attributes = { 'troupe.actor': notice.actorId, 'troupe.notice': notice.kind }
    const verdict = await tracing.run(
      'deliver notice',
      { kind: 'producer', attributes, isRoot: true },
      async (span) => {
        const judged = await this.#attempt(notice)
        if (judged !== null && judged.kind !== 'delivered') failed(span, judged.kind)
        return judged
      },
    )
    if (verdict === null || (isCut() && verdict.kind === 'retry')) {
      await store.write((tx) => postponeNotice(tx, notice, { leasedUntil, dueAt: now(), counts: false, reason: '' }))
      return false
    }
    metrics.delivered(`notice_${verdict.kind}`)
    if (verdict.kind === 'delivered') {
      await store.write((tx) => deleteNotice(tx, notice))
      return true
    }
    const { reason } = verdict
    log.warn({ kind: notice.kind, outcome: verdict.kind, reason }, 'Cannot deliver a notice')
    const dueAt = verdict.kind === 'retry' ? verdict.at : null
    await store.write((tx) => postponeNotice(tx, notice, { leasedUntil, dueAt, counts: true, reason }))
    return dueAt === null
  }

  async #attempt(notice: ClaimedNotice): Promise<DeliveryVerdict | null> {
    const { policy, now, random } = this.#deps
    const outcome = notice.kind === 'renewal' ? await this.#settleRenewal(notice) : await this.#deliver(notice)
    if (outcome === null) return { kind: 'delivered' }
    if (this.#deps.isCut() && outcome.kind !== 'answered') return null
    if (endings.has(notice.kind) && isUnknownTo(outcome)) return { kind: 'delivered' }
    if (notice.kind === 'withdrawal' && isRefusal(outcome)) return this.#judgeWithdrawal(notice)
    const { attempts, createdAt } = notice
    const attempted = { outcome, now: now(), attempts, uncertain: 0, failingSince: createdAt, random: random() }
    return judgeNotice(attempted, policy)
  }

  /** The peer does not know the secret. The trust request may still arrive until the handshake times out. */
  #judgeWithdrawal({ createdAt }: ClaimedNotice): DeliveryVerdict {
    const at = createdAt + this.#deps.times.handshakeMs
    if (this.#deps.now() >= at) return { kind: 'delivered' }
    return { kind: 'retry', at, reason: 'The request may still be under way' }
  }

  /**
   * The notices about an end use the secret and URL of the ended relationship. All others use the current ones. Null: the
   * notice no longer applies.
   */
  async #deliver(notice: ClaimedNotice): Promise<PeerOutcome | null> {
    const { store, keyRing } = this.#deps
    const { kind, actorId, peerId, url, baseuri } = notice
    if (kind === 'trust_deleted' || kind === 'withdrawal') {
      const outcome = await this.#call(notice, { url, bearer: { secret: this.#ownSecret(notice), baseuri } })
      return hasMoved(outcome) ? this.#followEnd(notice, outcome) : outcome
    }
    const recipient = await store.read((q) => findRecipient(q, notice))
    if (recipient === null || (kind === 'approval' && !recipient.approved)) return null
    const secret = open(keyRing, recipient.secret, bindingOf(trustSecret, actorId, peerId))
    const outcome = await this.#call(notice, {
      url: `${recipient.baseuri}${url.slice(baseuri.length)}`,
      bearer: { secret, baseuri: recipient.baseuri },
    })
    const known = { address: recipient.baseuri, actorId: peerId, publicKey: recipient.facts.move_key ?? null }
    const settled = await outcomeAfterMoves(outcome, known, this.#deps.findMovedPeer)
    return outcomeWith(store, notice, recipient.secret, settled)
  }

  /**
   * The relationship has ended, so no statement brings the new address of the peer. A home that the signed notices confirm has the
   * secret in the archive. When it has replaced the secret, it learns of the end by its own statement, and the notice waits for that.
   * Null: the ended relationship does not exist there. The two have a relationship again, or the sender has left this
   * service: its new home answers the statement then.
   */
  async #followEnd(notice: ClaimedNotice, redirect: PeerOutcome): Promise<PeerOutcome | null> {
    const { url, baseuri, peerId } = notice
    const found = await this.#deps.findMovedPeer({ address: baseuri, actorId: peerId, publicKey: null })
    if (found.kind === 'deleted') return deletedThere
    if (found.kind !== 'followed') return redirect
    const outcome = await this.#call(notice, {
      url: `${found.to}${url.slice(baseuri.length)}`,
      bearer: { secret: this.#ownSecret(notice), baseuri: found.to },
    })
    if (!mayBeOfAnotherSecret(outcome)) return outcome
    const { store } = this.#deps
    // A page of an ingress may have the same status.
    if (isRefusal(outcome) && (await store.read((q) => hasSenderLeft(q, notice)))) return null
    const recipient = await store.read((q) => findRecipient(q, notice))
    const isRelatedAgain = recipient !== null && recipient.baseuri === found.to && recipient.peerApproved
    return isRelatedAgain ? null : redirect
  }

  #call({ method, body }: ClaimedNotice, address: Pick<PeerRequest, 'url' | 'bearer'>): Promise<PeerOutcome> {
    const { peerClient } = this.#deps
    return peerClient.call({ method, ...address, ...(body === '' ? {} : { body }) })
  }

  #settleRenewal(notice: ClaimedNotice): Promise<PeerOutcome | null> {
    const { actorId, peerId, url, baseuri } = notice
    return this.#deps.settleRenewal({ actorId, peerId, url, baseuri, secret: this.#ownSecret(notice) })
  }

  #ownSecret({ id, secret }: ClaimedNotice): string {
    return openNoticeSecret(this.#deps.keyRing, id, secret)
  }
}
