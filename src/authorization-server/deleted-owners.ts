/**
 * Deletes what deleted actors leave on other servers of a sharded database: tokens, one-time records and clients. No row of
 * an actor names them, so each statement asks every server, and the request that deletes an actor does not wait for it.
 * Tokens and records of a deleted actor are refused before that, because the actor does not exist (docs/decisions/042).
 */
import { runInBackground } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { AfterCommit, Store, Transaction } from '../store/store.ts'
import { deleteRecordsOf } from '../token/one-time-store.ts'
import { deleteTokensOf } from '../token/token-store.ts'
import { findDeletedActors, lockDeletionMarker } from '../actor/actor-store.ts'
import type { ClientEnds } from './client-ends.ts'

/** Deletions of this time are repeated by the purge, because a process may have stopped in between. */
const repeatedMs = 86_400_000
/** Actors per purge. */
const maxRepeated = 500

export interface DeletedOwnersDeps {
  readonly store: Pick<Store, 'isSharded' | 'write'>
  readonly afterCommit: AfterCommit
  readonly ends: ClientEnds
  readonly log: Log
}

export class DeletedOwners {
  readonly #deps: DeletedOwnersDeps
  readonly #waiting = new Set<string>()
  #running: Promise<void> | undefined
  #isStopping = false

  constructor(deps: DeletedOwnersDeps) {
    this.#deps = deps
  }

  /** Call it in the transaction that deletes the actors, before their rows. */
  async follow(tx: Transaction, actorIds: readonly string[]): Promise<void> {
    const { store, afterCommit, ends } = this.#deps
    if (!store.isSharded) await ends.endWithActors(tx, actorIds)
    else afterCommit(tx, () => this.#begin(actorIds))
  }

  /** Repeats the deletions of the last day, for processes that stopped before they had finished. */
  async purge(tx: Transaction, now: number): Promise<void> {
    this.#begin(await findDeletedActors(tx, now - repeatedMs, maxRepeated))
  }

  /** Stops after the current actor. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.settled()
  }

  /** Resolves when no deletion runs. */
  async settled(): Promise<void> {
    await this.#running
  }

  #begin(actorIds: readonly string[]): void {
    for (const actorId of actorIds) this.#waiting.add(actorId)
    this.#running ??= runInBackground(() => this.#run()).finally(() => (this.#running = undefined))
  }

  async #run(): Promise<void> {
    const { store, log } = this.#deps
    for (const actorId of this.#waiting) {
      if (this.#isStopping) return
      this.#waiting.delete(actorId)
      try {
        await store.write((tx) => this.#deleteOf(tx, actorId))
      } catch (error) {
        log.warn({ error, actorId }, 'Cannot delete what a deleted actor left; the service tries again in an hour')
      }
    }
  }

  async #deleteOf(tx: Transaction, actorId: string): Promise<void> {
    if (!(await lockDeletionMarker(tx, actorId))) return
    await this.#deps.ends.endWithActors(tx, [actorId])
    await deleteRecordsOf(tx, actorId)
    await deleteTokensOf(tx, actorId)
  }
}
