/** Batches concurrent requests: all requests that arrive while one batch runs share the next one. */
import { isTemporary } from '../errors.ts'

interface Waiting<I, O> {
  readonly item: I
  readonly resolve: (answer: O) => void
  readonly reject: (error: unknown) => void
}

export class Batches<I, O> {
  /** Returns the answers in the order of the items. */
  readonly #work: (items: readonly I[]) => Promise<readonly O[]>
  readonly #most: number
  readonly #groupOf: (item: I) => string
  #waiting: Waiting<I, O>[] = []
  #isRunning = false

  /**
   * @param most Maximum size of a batch. Bounds how long a request waits for the others.
   * @param groupOf Only items of one group share a batch. Default: all items are one group.
   */
  constructor(most: number, work: (items: readonly I[]) => Promise<readonly O[]>, groupOf?: (item: I) => string) {
    this.#most = most
    this.#work = work
    this.#groupOf = groupOf ?? (() => '')
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
      // Requests of the same event loop iteration share a batch.
      await new Promise(setImmediate)
      const batches = Map.groupBy(this.#waiting.splice(0, this.#most), ({ item }) => this.#groupOf(item))
      await Promise.all([...batches.values()].map((batch) => this.#runBatch(batch)))
    }
    this.#isRunning = false
  }

  /** Retries each item alone when the batch fails, so one damaged record does not fail the others. */
  async #runBatch(batch: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const answers = await this.#work(batch.map(({ item }) => item))
      for (const [index, answer] of answers.entries()) batch[index]?.resolve(answer)
    } catch (error) {
      if (batch.length > 1 && !isTemporary(error)) for (const one of batch) await this.#runBatch([one])
      else for (const { reject } of batch) reject(error)
    }
  }
}
