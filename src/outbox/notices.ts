/** Queues notices to peers, in the transaction of the change that they report. */
import { currentContext } from '../observe/context.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId } from '../secret/random.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import { bindingOf, noticeSecret, trustSecret } from '../secret/sealed-columns.ts'
import type { AfterCommit, Transaction } from '../store/store.ts'
import type { EnqueueNotice, Notice } from './notice.ts'
import { deleteNoticesOfActors, insertNotices, type StoredNotice } from './notice-store.ts'

export interface NoticesParts {
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly afterCommit: AfterCommit
  /** Starts the delivery of what is due. */
  readonly wake: () => void
  /** Starts the delivery and resolves after the first attempt of each notice, within a limit. Never rejects. */
  readonly firstAttempts: (ids: readonly string[]) => Promise<void>
}

/** Call it after the commit: resolves when the peer was notified once, or the time for that is over. Never rejects. */
export type FirstAttempts = () => Promise<void>

export class Notices {
  readonly #parts: NoticesParts

  constructor(parts: NoticesParts) {
    this.#parts = parts
  }

  readonly enqueue: EnqueueNotice = (tx, notice) => this.enqueueAll(tx, [notice])

  /** As `enqueue`; of several notices to one peer the first given is sent first. One statement, however many they are. */
  async enqueueAll(tx: Transaction, notices: readonly Notice[]): Promise<void> {
    if ((await this.#insert(tx, notices)).length > 0) this.#parts.afterCommit(tx, this.#parts.wake)
  }

  /** As `enqueueAll`, for a caller that answers after the first attempt. */
  async enqueueAwaited(tx: Transaction, notices: readonly Notice[]): Promise<FirstAttempts> {
    const { afterCommit, firstAttempts } = this.#parts
    const ids = await this.#insert(tx, notices)
    let attempts = Promise.resolve()
    if (ids.length > 0) {
      // The write itself does not wait: what else follows from the change happens meanwhile.
      afterCommit(tx, () => {
        attempts = firstAttempts(ids)
      })
    }
    return () => attempts
  }

  async #insert(tx: Transaction, notices: readonly Notice[]): Promise<readonly string[]> {
    if (notices.length === 0) return []
    const rebound = notices.map((notice) => this.#rebound(notice))
    await insertNotices(tx, rebound, this.#parts.now())
    return rebound.map(({ id }) => id)
  }

  /** Before the actors go: what is left to say is that they went. */
  async takeLeave(tx: Transaction, actorIds: readonly string[], partings: readonly Notice[]): Promise<void> {
    await deleteNoticesOfActors(tx, actorIds)
    await this.enqueueAll(tx, partings)
  }

  /** The trust that sealed the secret may be gone when the notice is sent: it is sealed anew for the notice's own place. */
  #rebound(notice: Notice): StoredNotice {
    const { keyRing } = this.#parts
    const id = randomId()
    const secret = open(keyRing, notice.secret, bindingOf(trustSecret, notice.actorId, notice.peerId))
    const requestId = currentContext()?.requestId ?? ''
    return { ...notice, id, requestId, secret: seal(keyRing, secret, bindingOf(noticeSecret, id)) }
  }
}

export function openNoticeSecret(ring: KeyRing, id: string, sealed: Sealed): string {
  return open(ring, sealed, bindingOf(noticeSecret, id))
}
