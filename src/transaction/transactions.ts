/**
 * Transactions of application code. The transactions of an actor run one after another in this process. On SQLite, the commits
 * of those before may still be on their way. A transaction that was overtaken, by another process or by a single write, runs
 * again.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { ServiceError } from '../errors.ts'
import type { Access } from '../property/access.ts'
import type { Timers } from '../timers.ts'
import { ActorTransaction, type ActorTransactionDeps } from './actor-transaction.ts'
import { OvertakenError } from './overtaken-error.ts'
import { type TransactionTurn, TransactionTurns } from './turns.ts'

/** How often a transaction runs before it fails. */
const maxRuns = 50
/** The longest pause before the next run, in milliseconds. */
const longestPauseMs = 50

export interface TransactionsDeps extends ActorTransactionDeps {
  readonly timers: Timers
  readonly random: () => number
}

export class Transactions {
  readonly #deps: TransactionsDeps
  readonly #turns: TransactionTurns
  readonly #isInside = new AsyncLocalStorage<true>()

  constructor(deps: TransactionsDeps) {
    this.#deps = deps
    this.#turns = new TransactionTurns(deps.timers, deps.store.dialect === 'sqlite')
  }

  /**
   * Runs `work` and stores its changes together. `work` runs again when another change came between.
   *
   * @throws ServiceError `conflict` when other changes came between too often; `bad_request` inside a transaction.
   */
  async run<T>(access: Access, work: (transaction: ActorTransaction) => Promise<T>): Promise<T> {
    if (this.#isInside.getStore() === true)
      throw new ServiceError(
        'bad_request',
        'Cannot start a transaction inside a transaction: use the actor that the transaction receives',
      )
    const turn = this.#turns.take(access.actor.id)
    try {
      return await this.#isInside.run(true, () => this.#repeat(access, turn, work))
    } finally {
      turn.end()
    }
  }

  /** @throws ServiceError `bad_request` inside a transaction. `what` completes "Cannot …". */
  refuseInside(what: string): void {
    if (this.#isInside.getStore() === true)
      throw new ServiceError(
        'bad_request',
        `Cannot ${what} inside a transaction, which may run again: do it before or after`,
      )
  }

  async #repeat<T>(
    access: Access,
    turn: TransactionTurn,
    work: (transaction: ActorTransaction) => Promise<T>,
  ): Promise<T> {
    let earlier = await turn.begin()
    for (let run = 1; run <= maxRuns; ) {
      if (run > 2) await this.#pause(run)
      const transaction = new ActorTransaction(this.#deps, access, earlier)
      try {
        const result = await this.#runOnce(transaction, work)
        turn.commits(transaction.expectation())
        await transaction.commit()
        return result
      } catch (error) {
        if (!(error instanceof OvertakenError)) throw error
      }
      // A run that expected the values of others does not count.
      if (earlier.expected.size === 0) run += 1
      earlier = await turn.beginAlone()
    }
    throw new ServiceError(
      'conflict',
      `Cannot finish the transaction: other changes of the actor came between ${maxRuns} times`,
    )
  }

  /** An error of `work` counts only if what it has read was true. */
  async #runOnce<T>(transaction: ActorTransaction, work: (transaction: ActorTransaction) => Promise<T>): Promise<T> {
    try {
      return await work(transaction)
    } catch (error) {
      await transaction.requireCurrent()
      throw error
    }
  }

  /** Pauses for a random time, so that two processes do not overtake each other again. */
  #pause(run: number): Promise<void> {
    const ms = this.#deps.random() * Math.min(longestPauseMs, 2 ** run)
    return new Promise((resolve) => {
      this.#deps.timers.setTimer(ms, resolve)
    })
  }
}
