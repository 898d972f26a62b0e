/** Puts notices into their lanes, inside the transaction of what they tell about. */
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId } from '../secret/random.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import { bindingOf, noticeSecret, trustSecret } from '../secret/sealed-columns.ts'
import type { AfterCommit, Transaction } from '../store/store.ts'
import type { EnqueueNotice, Notice } from './notice.ts'
import { deleteNoticesOfActors, insertNotices } from './notice-store.ts'

export interface NoticesParts {
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly afterCommit: AfterCommit
  /** Starts the delivery of what is due. */
  readonly wake: () => void
}

export class Notices {
  readonly #parts: NoticesParts

  constructor(parts: NoticesParts) {
    this.#parts = parts
  }

  readonly enqueue: EnqueueNotice = (tx, notice) => this.enqueueAll(tx, [notice])

  /** As `enqueue`; of several notices to one peer the first given is sent first. One statement, however many they are. */
  async enqueueAll(tx: Transaction, notices: readonly Notice[]): Promise<void> {
    if (notices.length === 0) return
    const { now, afterCommit, wake } = this.#parts
    await insertNotices(
      tx,
      notices.map((notice) => this.#rebound(notice)),
      now(),
    )
    afterCommit(tx, wake)
  }

  /** Before the actors go: what is left to say is that they went. */
  async takeLeave(tx: Transaction, actorIds: readonly string[], partings: readonly Notice[]): Promise<void> {
    await deleteNoticesOfActors(tx, actorIds)
    await this.enqueueAll(tx, partings)
  }

  /** The trust that sealed the secret may be gone when the notice is sent: it is sealed anew for the notice's own place. */
  #rebound(notice: Notice): Notice & { readonly id: string } {
    const { keyRing } = this.#parts
    const id = randomId()
    const secret = open(keyRing, notice.secret, bindingOf(trustSecret, notice.actorId, notice.peerId))
    return { ...notice, id, secret: seal(keyRing, secret, bindingOf(noticeSecret, id)) }
  }
}

export function openNoticeSecret(ring: KeyRing, id: string, sealed: Sealed): string {
  return open(ring, sealed, bindingOf(noticeSecret, id))
}
