/**
 * Changes of one actor that share a transaction, and so the lock of the actor and one COMMIT. Each runs in its own savepoint,
 * and its caller receives the outcome only after that COMMIT.
 */
import { AsyncResource } from 'node:async_hooks'
import type { LockedActor, Transaction } from '../store.ts'
import { isConflictOfTurns, isLockTimeout, isLost, isStalePlan, translate } from './failure.ts'
import type { PostgresTransaction } from './transaction.ts'

/** Maximum number of changes in a group. PostgreSQL keeps up to 64 subtransactions of a session in fast memory. */
const MAX_CHANGES = 32
/** A group takes further changes for this share of the lock timeout, so that other processes get the actor's lock in time. */
const SHARE_OF_LOCK_TIMEOUT = 1 / 20
/** Timeout for any other lock within a group, in milliseconds. A change that reaches it runs again without a group. */
const LOCK_TIMEOUT_MS = 100

export interface GroupedChange<T> {
  readonly work: (tx: Transaction, actor: LockedActor) => Promise<T>
  /** `Transaction.origin` */
  readonly origin: string | undefined
}

/**
 * The outcome of one change, which is withheld until the COMMIT, because even a rejection may depend on an earlier change.
 * `again`: the change had no effect, and runs again without a group.
 */
export type ChangeOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'again' }

/** The end of a transaction. */
export type TransactionEnd =
  | { readonly kind: 'committed' | 'rolled back' }
  /** The connection broke during the COMMIT. */
  | { readonly kind: 'unknown'; readonly error: unknown }

/** A change that waits for the actor's turn, so that a group may run it. */
export interface WaitingChange<T> {
  readonly outcome: Promise<T>
  /** Runs the change in the group, which then reports the outcome. Throws when the connection broke. */
  readonly run: (group: ChangeGroup) => Promise<void>
  /** Reports the outcome after the end of the group's transaction. */
  readonly end: (end: TransactionEnd) => void
}

/** @param again Runs the change without a group. */
export function waitingChange<T>(change: GroupedChange<T>, again: () => Promise<T>): WaitingChange<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  let outcome: ChangeOutcome<T> = { kind: 'again' }
  // The change runs in the async context of its own request, not of the request whose transaction runs the group.
  const context = new AsyncResource('troupe.change')
  return {
    outcome: promise,
    run: async (group) => {
      outcome = await context.runInAsyncScope(() => group.run(change))
    },
    end(end) {
      // After a rollback, no change of the group had an effect. A change that had failed before a broken COMMIT had none either.
      if (outcome.kind === 'again' || end.kind === 'rolled back') resolve(context.runInAsyncScope(again))
      else if (end.kind === 'committed' && outcome.kind === 'done') resolve(outcome.value)
      else if (end.kind === 'committed' && outcome.kind === 'failed') reject(outcome.error)
      else if (end.kind === 'unknown' && outcome.kind === 'done') reject(end.error)
      else resolve(context.runInAsyncScope(again))
    },
  }
}

export class ChangeGroup {
  readonly #transaction: PostgresTransaction
  readonly #actorId: string
  /** The row of the actor. Undefined after a change that may have changed or deleted the row. */
  #actor: LockedActor | undefined
  readonly #waiting: WaitingChange<unknown>[] = []
  readonly #fullAt: number
  /** Ends the previous savepoint and begins the next one. */
  #next: string

  /** @param actor The row that the transaction has locked. */
  constructor(transaction: PostgresTransaction, actor: LockedActor, lockTimeoutMs: number) {
    this.#transaction = transaction
    this.#actorId = actor.id
    this.#actor = actor
    this.#fullAt = performance.now() + lockTimeoutMs * SHARE_OF_LOCK_TIMEOUT
    this.#next = `SET LOCAL lock_timeout TO ${Math.min(LOCK_TIMEOUT_MS, lockTimeoutMs)}; SAVEPOINT change`
  }

  get hasCapacity(): boolean {
    return this.#waiting.length + 1 < MAX_CHANGES && performance.now() < this.#fullAt
  }

  /** Runs a change that waited. Throws when the connection broke. */
  async join(waiting: WaitingChange<unknown>): Promise<void> {
    this.#waiting.push(waiting)
    await waiting.run(this)
  }

  /** Runs a change in a savepoint. Throws when the connection broke. */
  async run<T>({ work, origin }: GroupedChange<T>): Promise<ChangeOutcome<T>> {
    const statements = this.#transaction.statements(origin)
    this.#transaction.control(this.#next)
    try {
      this.#actor ??= await statements.lockActor(this.#actorId)
      const value = await work(statements, this.#actor)
      statements.finish()
      await statements.answered()
      if (statements.failed) throw statements.failure
      if (!statements.keepsActor) this.#actor = undefined
      this.#next = 'RELEASE SAVEPOINT change; SAVEPOINT change'
      return { kind: 'done', value }
    } catch (error) {
      statements.finish()
      this.#actor = undefined
      this.#next = 'ROLLBACK TO SAVEPOINT change'
      // `work` may have replaced the error of a failed statement by its own error.
      const raised = statements.failure ?? error
      if (isLost(raised)) throw raised
      if (isConflictOfTurns(raised) || isLockTimeout(raised) || isStalePlan(raised)) return { kind: 'again' }
      return { kind: 'failed', error: translate(error) }
    }
  }

  /** Undoes the last change if it failed, so that COMMIT stores the others. */
  close(): void {
    if (this.#next.startsWith('ROLLBACK')) this.#transaction.control(this.#next)
  }

  /** Reports the outcomes. */
  end(end: TransactionEnd): void {
    for (const waiting of this.#waiting) waiting.end(end)
  }
}
