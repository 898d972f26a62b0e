/**
 * Calls that wait for the owner's yes (`confirm: 'owner'`). The yes is given on a page of the service by a signed-in owner,
 * never through the client; it is for one call of one client with exactly these arguments, and is used up by it.
 */
import { ServiceError } from '../errors.ts'
import { digestOf } from '../json/canonical.ts'
import type { Live } from '../live/live.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomToken } from '../secret/random.ts'
import { open, seal } from '../secret/sealed.ts'
import { approvalArguments, bindingOf } from '../secret/sealed-columns.ts'
import type { Store } from '../store/store.ts'
import {
  type ApprovalRow,
  type ApprovalState,
  countWaiting,
  deleteExpiredApprovals,
  findApproval,
  findApprovalFor,
  findWaiting,
  insertApproval,
  moveApproval,
} from './approval-store.ts'

type Params = Readonly<Record<string, unknown>>

/** Whose call waits. */
export interface Asker {
  readonly actor: { readonly id: string }
  readonly caller: { readonly peerId: string; readonly clientId: string }
}

export interface ApprovalsParts {
  readonly store: Store
  readonly live: Live
  readonly keyRing: KeyRing
  readonly baseUrl: string
  readonly now: () => number
}

/** As the owner sees it. */
export interface Approval {
  readonly approvalId: string
  readonly clientId: string
  readonly peerId: string
  readonly tool: string
  readonly arguments: unknown
  readonly state: ApprovalState
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly expiresAt: number
}

export type ApprovalAnswer =
  /** `unseen`: nobody could look through all of its arguments, so nobody is asked. */
  | { readonly answer: 'denied' | 'unseen' }
  | { readonly answer: 'granted'; readonly approvalId: string }
  /** Where the owner decides. */
  | { readonly answer: 'waiting'; readonly approvalId: string; readonly url: string }

/** How long the owner may take to decide, how long a yes waits for its call, and how long a no holds. */
const waitMs = 15 * 60_000
const mostWaiting = 20
const mostShown = 100
/** What the owner says yes to stands on the page as a whole: so many characters of JSON at most. */
export const longestArguments = 16_384

export class Approvals {
  readonly #parts: ApprovalsParts

  constructor(parts: ApprovalsParts) {
    this.#parts = parts
  }

  /** @throws ServiceError `too_many_requests` for a client with too many calls that wait. */
  async ask({ actor, caller }: Asker, tool: string, args: Params): Promise<ApprovalAnswer> {
    const { store, live, now } = this.#parts
    if (JSON.stringify(args).length > longestArguments) return { answer: 'unseen' }
    const key = {
      actorId: actor.id,
      peerId: caller.peerId,
      clientId: caller.clientId,
      digest: digestOf({ tool, args }),
    }
    // In the actor's turn: two equal calls at once ask once, and one yes lets one of them through.
    return store.writeActor(actor.id, async (tx, locked) => {
      const at = now()
      const found = await findApprovalFor(tx, key, at)
      if (found?.state === 'approved') {
        await moveApproval(tx, actor.id, found.approvalId, 'approved', 'used', at, at + waitMs)
        return { answer: 'granted', approvalId: found.approvalId }
      }
      if (found?.state === 'denied') return { answer: 'denied' }
      if (found !== null) return this.#waiting(found)
      await deleteExpiredApprovals(tx, at)
      if ((await countWaiting(tx, actor.id, caller.peerId, at)) >= mostWaiting) {
        throw new ServiceError('too_many_requests', 'Too many calls of this client wait for the owner', {
          retryAfterSeconds: 60,
        })
      }
      const row = this.#newRow(key, tool, args, at)
      await insertApproval(tx, row)
      await live.record(tx, locked, 'approvals', [row.approvalId])
      return this.#waiting(row)
    })
  }

  /** The call that it let through did not run to its end: the client was asked something first, and comes again. */
  async giveBack({ actor }: Asker, approvalId: string): Promise<void> {
    const { store, now } = this.#parts
    await store.writeActor(actor.id, (tx) =>
      moveApproval(tx, actor.id, approvalId, 'used', 'approved', now(), now() + waitMs),
    )
  }

  /** Those that wait, the newest first. */
  async waiting(actorId: string): Promise<Approval[]> {
    const { store, now } = this.#parts
    const rows = await store.read((q) => findWaiting(q, actorId, now(), mostShown))
    return rows.map((row) => this.#shown(row))
  }

  async find(actorId: string, approvalId: string): Promise<Approval | null> {
    const { store, now } = this.#parts
    const row = await store.read((q) => findApproval(q, actorId, approvalId))
    return row === null || row.expiresAt <= now() ? null : this.#shown(row)
  }

  /** False when it no longer waits. */
  decide(actorId: string, approvalId: string, decision: 'approved' | 'denied'): Promise<boolean> {
    const { store, live, now } = this.#parts
    return store.writeActor(actorId, async (tx, actor) => {
      const moved = await moveApproval(tx, actorId, approvalId, 'waiting', decision, now(), now() + waitMs)
      if (moved) await live.record(tx, actor, 'approvals', [approvalId])
      return moved
    })
  }

  #newRow(
    key: Pick<ApprovalRow, 'actorId' | 'peerId' | 'clientId' | 'digest'>,
    tool: string,
    args: Params,
    now: number,
  ): ApprovalRow {
    const approvalId = randomToken(18)
    return {
      ...key,
      approvalId,
      tool,
      arguments: seal(this.#parts.keyRing, JSON.stringify(args), bindingOf(approvalArguments, key.actorId, approvalId)),
      state: 'waiting',
      createdAt: now,
      expiresAt: now + waitMs,
    }
  }

  #waiting({ actorId, approvalId }: ApprovalRow): ApprovalAnswer {
    return {
      answer: 'waiting',
      approvalId,
      url: `${this.#parts.baseUrl}/${actorId}/www/approvals/${approvalId}`,
    }
  }

  #shown({ actorId, digest: _digest, arguments: sealed, ...row }: ApprovalRow): Approval {
    const binding = bindingOf(approvalArguments, actorId, row.approvalId)
    return { ...row, arguments: JSON.parse(open(this.#parts.keyRing, sealed, binding)) as unknown }
  }
}
