/**
 * Calls that need the owner's approval (`confirm: 'owner'`). The owner approves on a page of the service or through
 * `/<actor>/approvals`, never through the caller. An approval covers one call of one caller to one operation with exactly
 * these arguments. The first such call consumes the approval, in any process.
 */
import type { MailPort } from '../app/background/mail-port.ts'
import type { Caller } from '../caller.ts'
import { quoted, ServiceError } from '../errors.ts'
import { digestOf } from '../json/canonical.ts'
import { fromPlain, type Json, toPlain } from '../json/json.ts'
import { cursorOf, parseCursor } from '../audit-log/entry.ts'
import type { Live } from '../live/live.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomToken } from '../secret/random.ts'
import { open, seal } from '../secret/sealed.ts'
import { approvalArguments, bindingOf } from '../secret/sealed-columns.ts'
import type { AfterCommit, Store } from '../store/store.ts'
import {
  type ApprovalKind,
  type StoredApproval,
  countAllWaiting,
  countWaiting,
  deleteExpiredApprovals,
  findApproval,
  findApprovalFor,
  findWaiting,
  insertApproval,
  moveApproval,
} from './approval-store.ts'

/** The caller and the actor of a call. Only these callers need an approval. */
export interface Asker {
  readonly actor: { readonly id: string }
  readonly caller: Extract<Caller, { kind: 'peer' | 'client' }>
}

/** The operation of a call. */
export interface Called {
  readonly kind: ApprovalKind
  readonly name: string
}

/**
 * The input of a call. The owner sees `input`, the digest covers it, and the handler receives it. `given` is the input of
 * the caller, before the schema added defaults and converted values.
 */
export interface CallInput {
  readonly given: unknown
  readonly input: unknown
}

/** An approval as the owner sees it. */
export interface Approval extends Omit<StoredApproval, 'digest' | 'arguments' | 'runs'> {
  /** `CallInput.input` as JSON. */
  readonly arguments: Json
  /** `CallInput.given`. The preview of the call converts it again. */
  readonly given: Json
}

export type Decided = 'approved' | 'denied'

export interface ApprovalsDeps {
  readonly store: Store
  readonly live: Live
  readonly keyRing: KeyRing
  /** The URL at which the owner decides about an approval. */
  readonly addressOf: (actorId: string, approvalId: string) => string
  /** Records the owner's decision in the audit log, after the decision is stored. */
  readonly note: (approval: Omit<StoredApproval, 'digest' | 'arguments'>, decided: Decided) => void
  readonly mail: Pick<MailPort, 'event'>
  readonly afterCommit: AfterCommit
  readonly now: () => number
}

export type ApprovalAnswer =
  /** `unseen`: the owner is not asked, because the arguments are too long to review. */
  | { readonly answer: 'denied' | 'unseen' }
  | { readonly answer: 'granted'; readonly approvalId: string; readonly expiresAt: number; readonly runs: number }
  /** The owner decides at `url`. */
  | { readonly answer: 'waiting'; readonly approvalId: string; readonly url: string; readonly expiresAt: number }

/** Reasons for the audit log, which pages show. */
export const heldBecause = {
  waiting: 'the owner has to agree to it',
  denied: 'the owner refused it',
  unseen: 'its arguments are too long to be looked through',
} as const

/** Lifetime of a request for approval, an unused approval and a denial. */
const waitMs = 15 * 60_000
const maxWaiting = 20
/** The most runs of one approved call that asks its client questions. */
const maxRuns = 10
export const maxListed = 100
/** Longest arguments that an owner is asked to review, in characters of JSON. A page shows all of them. */
export const longestArguments = 16_384

/** True for the owner and the application. */
export function needsNoApproval(caller: Caller): caller is Extract<Caller, { kind: 'creator' | 'application' }> {
  return caller.kind === 'creator' || caller.kind === 'application'
}

export class Approvals {
  readonly #deps: ApprovalsDeps

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps
  }

  /**
   * Returns when the call may run: the caller is the owner or the application, or the owner approved exactly this call.
   * The call then consumes the approval.
   *
   * @throws ServiceError `approval_required` with `approval_url`; `approval_denied`; `forbidden` for arguments that are too
   *   long to review; `too_many_requests` for a caller with too many waiting calls.
   */
  async require(actor: Asker['actor'], caller: Caller, called: Called, input: CallInput): Promise<void> {
    if (needsNoApproval(caller)) return
    // The permission check already rejects these callers. An approval could not be bound to them.
    if (caller.kind === 'anonymous' || caller.kind === 'trustee') throw new ServiceError('forbidden')
    const what = `Cannot call ${quoted(called.name)}:`
    const verdict = await this.ask({ actor, caller }, called, input)
    switch (verdict.answer) {
      case 'granted':
        return
      case 'denied':
        throw new ServiceError('approval_denied', `${what} the owner denied this call`, { reason: heldBecause.denied })
      case 'unseen':
        throw new ServiceError(
          'forbidden',
          `${what} it needs the owner's approval, and its arguments are too long for the owner to review (more than ${longestArguments} characters of JSON)`,
          { reason: heldBecause.unseen },
        )
      case 'waiting': {
        const { approvalId, url, expiresAt } = verdict
        throw new ServiceError(
          'approval_required',
          `${what} it needs the owner's approval. The owner can approve it at ${url}; then repeat the same call.`,
          {
            reason: heldBecause.waiting,
            members: { approval_id: approvalId, approval_url: url, expires_at: new Date(expiresAt).toISOString() },
          },
        )
      }
      default:
        return verdict satisfies never
    }
  }

  /**
   * Consumes the approval of this call, or requests one from the owner.
   *
   * @throws ServiceError `too_many_requests` for a caller with too many waiting calls; `invalid_value` for arguments that
   *   JSON cannot represent, because the owner could not review them.
   */
  async ask({ actor, caller }: Asker, called: Called, { given, input }: CallInput): Promise<ApprovalAnswer> {
    const { store, live, now, mail, afterCommit } = this.#deps
    const shown = fromPlain(input)
    const sent = fromPlain(given)
    if (Math.max(shown.length, sent.length) > longestArguments) return { answer: 'unseen' }
    const key = {
      actorId: actor.id,
      peerId: caller.peerId,
      clientId: caller.kind === 'client' ? caller.clientId : '',
      // The digest covers the JSON, because the members of objects such as dates do not contain their value.
      digest: digestOf({ kind: called.kind, name: called.name, args: toPlain(shown) }),
    }
    // Under the lock of the actor, concurrent equal calls request one approval, and only one of them consumes it.
    return store.writeActor(actor.id, async (tx, locked) => {
      const at = now()
      const found = await findApprovalFor(tx, key, at)
      if (found?.state === 'approved') {
        await moveApproval(tx, actor.id, found.approvalId, {
          from: 'approved',
          to: 'used',
          now: at,
          until: at + waitMs,
        })
        const { approvalId, expiresAt, runs } = found
        return { answer: 'granted', approvalId, expiresAt, runs: runs + 1 }
      }
      if (found?.state === 'denied') return { answer: 'denied' }
      if (found !== null) return this.#waiting(found)
      await deleteExpiredApprovals(tx, at, tx.isSharded ? actor.id : null)
      const waiting = await countWaiting(tx, actor.id, caller.peerId, at)
      if (waiting >= maxWaiting) {
        throw new ServiceError(
          'too_many_requests',
          'Cannot request approval: too many calls of this client wait for the owner',
          {
            retryAfterSeconds: 60,
          },
        )
      }
      const row = this.#newRow(key, called, `{"input":${shown},"given":${sent}}`, at)
      await insertApproval(tx, row)
      await live.record(tx, locked, 'approvals', [row.approvalId])
      const url = this.#urlOf(row)
      // A caller with many calls causes one message.
      if (waiting === 0)
        afterCommit(tx, () =>
          mail.event({ kind: 'approval', actorId: actor.id, peerId: caller.peerId, operation: called.name, url }),
        )
      return this.#waiting(row)
    })
  }

  /**
   * Restores a consumed approval until its first end. Its call did not finish, because the client must answer questions and
   * repeat it. Each repetition runs the code before the questions again, so an approval lasts for a limited number of runs.
   */
  async giveBack(
    { actor }: Pick<Asker, 'actor'>,
    { approvalId, expiresAt, runs }: Extract<ApprovalAnswer, { answer: 'granted' }>,
  ): Promise<void> {
    const { store, now } = this.#deps
    if (runs >= maxRuns) return
    await store.writeActor(actor.id, (tx) =>
      moveApproval(tx, actor.id, approvalId, { from: 'used', to: 'approved', now: now(), until: expiresAt }),
    )
  }

  /** The number of waiting approvals, at most `most`. */
  countWaiting(actorId: string, most: number): Promise<number> {
    const { store, now } = this.#deps
    return store.read((q) => countAllWaiting(q, actorId, now(), most))
  }

  /** The first page of the waiting approvals, newest first. */
  async waiting(actorId: string): Promise<Approval[]> {
    return (await this.page(actorId)).approvals
  }

  /**
   * One page of the waiting approvals, newest first. `next` is null on the last page.
   *
   * @throws ServiceError `bad_request` for an invalid cursor.
   */
  async page(
    actorId: string,
    cursor: string | null = null,
  ): Promise<{ readonly approvals: Approval[]; readonly next: string | null }> {
    const { store, now } = this.#deps
    const before = cursor === null ? null : parseCursor(cursor)
    if (cursor !== null && before === null)
      throw new ServiceError('bad_request', 'Cannot list the approvals: invalid cursor; request the first page again')
    const rows = await store.read((q) => findWaiting(q, actorId, now(), { limit: maxListed + 1, before }))
    const listed = rows.slice(0, maxListed)
    const last = listed.at(-1)
    return {
      approvals: listed.map((row) => this.#shown(row)),
      next:
        rows.length > maxListed && last !== undefined ? cursorOf({ at: last.createdAt, id: last.approvalId }) : null,
    }
  }

  async find(actorId: string, approvalId: string): Promise<Approval | null> {
    const { store, now } = this.#deps
    const row = await store.read((q) => findApproval(q, actorId, approvalId))
    return row === null || row.expiresAt <= now() ? null : this.#shown(row)
  }

  /**
   * Stores the owner's decision, or withdraws an approval that is not used yet. False when the approval does not wait, and
   * `decision` is not the withdrawal of an approval.
   */
  async decide(actorId: string, approvalId: string, decision: Decided): Promise<boolean> {
    const { store, live, now, note } = this.#deps
    const decided = await store.writeActor(actorId, async (tx, actor) => {
      const orFrom = decision === 'denied' ? 'approved' : 'waiting'
      const move = { from: 'waiting', orFrom, to: decision, now: now(), until: now() + waitMs } as const
      if (!(await moveApproval(tx, actorId, approvalId, move))) return null
      await live.record(tx, actor, 'approvals', [approvalId])
      return findApproval(tx, actorId, approvalId)
    })
    if (decided === null) return false
    const { digest: _digest, arguments: _arguments, ...approval } = decided
    note(approval, decision)
    return true
  }

  #newRow(
    key: Pick<StoredApproval, 'actorId' | 'peerId' | 'clientId' | 'digest'>,
    { kind, name }: Called,
    args: string,
    now: number,
  ): StoredApproval {
    const approvalId = randomToken(18)
    return {
      ...key,
      approvalId,
      kind,
      operation: name,
      arguments: seal(this.#deps.keyRing, args, bindingOf(approvalArguments, key.actorId, approvalId)),
      state: 'waiting',
      runs: 0,
      createdAt: now,
      expiresAt: now + waitMs,
    }
  }

  #waiting(row: StoredApproval): ApprovalAnswer {
    const { approvalId, expiresAt } = row
    return { answer: 'waiting', approvalId, url: this.#urlOf(row), expiresAt }
  }

  #urlOf({ actorId, approvalId }: StoredApproval): string {
    return this.#deps.addressOf(actorId, approvalId)
  }

  #shown({ digest: _digest, arguments: sealed, ...row }: StoredApproval): Approval {
    const binding = bindingOf(approvalArguments, row.actorId, row.approvalId)
    const { input, given } = JSON.parse(open(this.#deps.keyRing, sealed, binding)) as { input: Json; given: Json }
    return { ...row, arguments: input, given }
  }
}
