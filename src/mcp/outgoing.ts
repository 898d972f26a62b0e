/**
 * What a call sends while it runs. Nothing is sent until there is something to send: an answer that comes first goes out
 * as JSON with its own status; a message that comes first makes the answer a stream.
 */
export class Outgoing {
  readonly #waiting: object[] = []
  readonly #controller = new AbortController()
  #wake: (() => void) | null = null
  #ended = false

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  send(message: object): void {
    if (this.#ended || this.signal.aborted) return
    this.#waiting.push(message)
    this.#wake?.()
  }

  /** The receiver cancelled or went away. */
  abort(): void {
    this.#controller.abort()
    this.#wake?.()
  }

  /** Resolves with the first message's arrival, or with the answer when that comes before it. */
  async firstOf<T>(answer: Promise<T>): Promise<{ readonly answer: T } | 'message'> {
    if (this.#waiting.length > 0) return 'message'
    const message = new Promise<'message'>((resolve) => {
      this.#wake = () => resolve('message')
    })
    const first = await Promise.race([answer.then((done) => ({ answer: done })), message])
    this.#wake = null
    return first
  }

  /** The messages as they come, then the answer, which never rejects. Left early, it tells the call to stop. */
  async *messages(answer: Promise<object | null>): AsyncGenerator<object> {
    let last: object | null = null
    void answer.then((message) => {
      last = message
      this.#ended = true
      this.#wake?.()
    })
    try {
      for (;;) {
        const next = this.#waiting.shift()
        if (next !== undefined) yield next
        else if (this.#ended || this.signal.aborted) break
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
      }
      if (last !== null && !this.signal.aborted) yield last
    } finally {
      if (!this.#ended) this.abort()
    }
  }
}
