/**
 * The turns of the transactions of each actor in this process. With a store that keeps their order, a transaction runs when the
 * one before has begun its commit, and expects what that one will store. So several of them share a commit (docs/decisions/063).
 */
import type { Timers } from '../timers.ts'
import type { Earlier, Expectation } from './actor-transaction.ts'

/** The longest wait for a transaction before, in milliseconds. Afterwards the comparison at the commit keeps both right. */
const longestTurnMs = 5000
/** Commits that a transaction may run ahead of. When one of them fails, all that follow run again. */
const maxAhead = 16

export class TransactionTurns {
  readonly #timers: Timers
  readonly #keepsOrder: boolean
  /** The transactions of each actor that have not ended, in order. */
  readonly #turns = new Map<string, TransactionTurn[]>()

  /** @param keepsOrder Whether the store commits the changes of an actor in the order in which they were given. */
  constructor(timers: Timers, keepsOrder: boolean) {
    this.#timers = timers
    this.#keepsOrder = keepsOrder
  }

  /** Adds a turn behind those of the actor. */
  take(actorId: string): TransactionTurn {
    const turns = this.#turns.get(actorId) ?? []
    const turn: TransactionTurn = new TransactionTurn(this.#timers, this.#keepsOrder, [...turns], () => {
      const left = this.#turns.get(actorId)?.filter((other) => other !== turn) ?? []
      if (left.length === 0) this.#turns.delete(actorId)
      else this.#turns.set(actorId, left)
    })
    this.#turns.set(actorId, [...turns, turn])
    return turn
  }
}

const alone: Earlier = { expected: new Map(), ended: () => Promise.resolve() }

export class TransactionTurn {
  readonly #timers: Timers
  readonly #keepsOrder: boolean
  /** Empty after the end: a turn that waits must not keep all those that have ended. */
  #before: readonly TransactionTurn[]
  readonly #onEnd: () => void
  readonly #begun = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<void>()
  #hasEnded = false
  /** The values that the commit will store. Null before the commit, and when only the database knows. */
  #expectation: Expectation | null = null

  constructor(timers: Timers, keepsOrder: boolean, before: readonly TransactionTurn[], onEnd: () => void) {
    this.#timers = timers
    this.#keepsOrder = keepsOrder
    this.#before = before
    this.#onEnd = onEnd
  }

  /** Waits for the transaction before, until it commits. */
  async begin(): Promise<Earlier> {
    const last = this.#before.at(-1)
    if (last === undefined) return alone
    const oldest = this.#before.at(-maxAhead)
    const inTime = await this.#patiently([
      last.#begun.promise,
      ...(oldest === undefined ? [] : [oldest.#ended.promise]),
    ])
    if (!inTime) return alone
    const running = this.#before.filter((turn) => !turn.#hasEnded)
    const expectations = running.map((turn) => turn.#expectation)
    if (!expectations.every((expectation) => expectation !== null)) return this.beginAlone()
    const expected = new Map(expectations.flatMap((expectation) => [...expectation]))
    return { expected, ended: () => this.#allEnded() }
  }

  /** Waits until all transactions before have ended. */
  async beginAlone(): Promise<Earlier> {
    this.#expectation = null
    await this.#allEnded()
    return alone
  }

  /** Lets the next transaction begin, which expects these values. */
  commits(expectation: Expectation | null): void {
    if (!this.#keepsOrder) return
    this.#expectation = expectation
    if (expectation !== null) this.#begun.resolve()
  }

  end(): void {
    this.#hasEnded = true
    this.#before = []
    this.#onEnd()
    this.#begun.resolve()
    this.#ended.resolve()
  }

  async #allEnded(): Promise<void> {
    await this.#patiently(this.#before.map((turn) => turn.#ended.promise))
  }

  /** Waits, but not for ever: a handler may wait for something that never comes. False when the time was over. */
  #patiently(work: readonly Promise<void>[]): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#timers.setTimer(longestTurnMs, () => resolve(false))
      void Promise.all(work).then(() => {
        cancel()
        resolve(true)
      })
    })
  }
}
