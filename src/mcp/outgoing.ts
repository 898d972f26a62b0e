/**
 * What a call sends while it runs. Nothing is sent until there is something to send: an answer that comes first goes out
 * as JSON with its own status; a message that comes first makes the answer a stream.
 */
export class Outgoing {
  readonly #waiting: object[] = []
  #controller: AbortController | undefined
  #isAborted = false
  #wake: (() => void) | null = null
  #ended = false

  /** Made when somebody asks for it: most calls are over before anybody could. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isAborted) this.#controller.abort()
    return this.#controller.signal
  }

  send(message: object): void {
    if (this.#ended || this.#isAborted) return
    this.#waiting.push(message)
    this.#wake?.()
  }

  /** The receiver cancelled or went away. */
  abort(): void {
    this.#isAborted = true
    this.#controller?.abort()
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
        else if (this.#ended || this.#isAborted) break
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
      }
      if (last !== null && !this.#isAborted) yield last
    } finally {
      if (!this.#ended) this.abort()
    }
  }
}
