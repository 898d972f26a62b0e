/** Does at once what many ask for at about the same time: those who ask while one batch runs share the next. */
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

  /** Rejects when its batch fails. */
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
      const batch = this.#waiting.splice(0, this.#most)
      try {
        const answers = await this.#work(batch.map(({ item }) => item))
        for (const [index, answer] of answers.entries()) batch[index]?.resolve(answer)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isRunning = false
  }
}
