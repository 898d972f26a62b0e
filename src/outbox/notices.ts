/** Queues notices to peers, in the transaction of the change that they report. */
import { setImmediate } from 'node:timers/promises'
import { currentContext } from '../observe/context.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId } from '../secret/random.ts'
import { isKeyMissing, open, seal, type Sealed } from '../secret/sealed.ts'
import { bindingOf, noticeSecret, trustSecret } from '../secret/sealed-columns.ts'
import type { AfterCommit, Transaction } from '../store/store.ts'
import type { Deliveries, QueuedNotice } from './deliveries.ts'
import type { EnqueueNotice, Notice } from './notice.ts'
import { deleteNoticesOfActors, insertNotices, type StoredNotice } from './notice-store.ts'

export interface NoticesDeps extends Deliveries {
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly afterCommit: AfterCommit
}

/** Call this after the commit. Resolves after the first attempt or its time limit. Never rejects. */
export type FirstAttempts = () => Promise<void>

/** Notices that are sealed and inserted in one turn of the event loop. */
const ofOnePart = 256

export class Notices {
  readonly #deps: NoticesDeps

  constructor(deps: NoticesDeps) {
    this.#deps = deps
  }

  readonly enqueue: EnqueueNotice = (tx, notice) => this.enqueueAll(tx, [notice])

  /** Like `enqueue`, for many. Notices to the same peer are sent in the given order. */
  async enqueueAll(tx: Transaction, notices: readonly Notice[]): Promise<void> {
    const { afterCommit, wake } = this.#deps
    const senders = new Set((await this.#insert(tx, notices)).map(({ actorId }) => actorId))
    if (senders.size > 0) afterCommit(tx, () => wake(...senders))
  }

  /** Like `enqueueAll`, for a caller that responds after the first attempt. */
  async enqueueAwaited(tx: Transaction, notices: readonly Notice[]): Promise<FirstAttempts> {
    const { afterCommit, firstAttempts } = this.#deps
    const inserted = await this.#insert(tx, notices)
    let attempts = Promise.resolve()
    if (inserted.length > 0) {
      // The write does not wait, so the other effects of the change run meanwhile.
      afterCommit(tx, () => {
        attempts = firstAttempts(inserted)
      })
    }
    return () => attempts
  }

  /** Inserts in parts, because an actor that is deleted may have notices for thousands of peers. */
  async #insert(tx: Transaction, notices: readonly Notice[]): Promise<readonly QueuedNotice[]> {
    const inserted: QueuedNotice[] = []
    for (let from = 0; from < notices.length; from += ofOnePart) {
      if (from > 0) await setImmediate()
      const rebound = notices.slice(from, from + ofOnePart).flatMap((notice) => this.#rebound(notice))
      if (rebound.length === 0) continue
      await insertNotices(tx, rebound, this.#deps.now())
      for (const { id, actorId } of rebound) inserted.push({ id, actorId })
    }
    return inserted
  }

  /** Call this before deleting actors. Replaces their waiting notices by those about the deletion. */
  async replaceNotices(
    tx: Transaction,
    actorIds: readonly string[],
    parts: AsyncIterable<readonly Notice[]>,
  ): Promise<void> {
    for await (const notices of parts) await this.enqueueAll(tx, notices)
    // The parts read the waiting offers of new secrets, because the peer may have such a secret already.
    await deleteNoticesOfActors(tx, actorIds)
  }

  /** Seals the secret for the notice, because its trust may be deleted before the notice is sent. */
  #rebound(notice: Notice): StoredNotice[] {
    const { keyRing } = this.#deps
    const id = randomId()
    let secret: string
    try {
      secret = open(keyRing, notice.secret, bindingOf(trustSecret, notice.actorId, notice.peerId))
    } catch (error) {
      // Without its secret, the peer would refuse the notice. The owner must be able to end the relationship all the same.
      if (isKeyMissing(error)) return []
      throw error
    }
    const requestId = currentContext()?.requestId ?? ''
    return [{ ...notice, id, requestId, secret: seal(keyRing, secret, bindingOf(noticeSecret, id)) }]
  }
}

export function openNoticeSecret(ring: KeyRing, id: string, sealed: Sealed): string {
  return open(ring, sealed, bindingOf(noticeSecret, id))
}
