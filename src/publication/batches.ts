/** Does at once what many ask for at about the same time: those who ask while one batch runs share the next. */
import { isTemporary } from '../errors.ts'

interface Waiting<I, O> {
  readonly item: I
  readonly resolve: (answer: O) => void
  readonly reject: (error: unknown) => void
}

export class Batches<I, O> {
  /** The answers, in the order of the items. */
  readonly #work: (items: readonly I[]) => Promise<readonly O[]>
  readonly #most: number
  #waiting: Waiting<I, O>[] = []
  #isRunning = false

  /** @param most One batch takes no more, so that nobody waits for a crowd. */
  constructor(most: number, work: (items: readonly I[]) => Promise<readonly O[]>) {
    this.#most = most
    this.#work = work
  }

  /** Rejects when its batch fails because of a temporary error, or when the item fails alone too. */
  ask(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      // What one turn of the loop asks for belongs together.
      await new Promise(setImmediate)
      await this.#settle(this.#waiting.splice(0, this.#most))
    }
    this.#isRunning = false
  }

  /** An item that makes its batch fail, such as a damaged record, must not fail the others: each is then worked on alone. */
  async #settle(batch: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const answers = await this.#work(batch.map(({ item }) => item))
      for (const [index, answer] of answers.entries()) batch[index]?.resolve(answer)
    } catch (error) {
      if (batch.length > 1 && !isTemporary(error)) for (const one of batch) await this.#settle([one])
      else for (const { reject } of batch) reject(error)
    }
  }
}
