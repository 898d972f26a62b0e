/**
 * What a call sends while it runs. Nothing is sent until there is something to send: an answer that comes first goes out
 * as JSON with its own status; a message that comes first makes the answer a stream.
 */

/** What it means that the receiver goes away: the end of the call (2026-07-28), or nothing (before). */
export type OnDisconnect = 'cancels' | 'means_nothing'

const mostWaiting = 1000
const mostCharacters = 1_000_000

interface Waiting {
  readonly message: object
  readonly length: number
}

export class Outgoing {
  readonly #parting: OnDisconnect
  #waiting: Waiting[] = []
  #characters = 0
  #controller: AbortController | undefined
  #isAborted = false
  /** Nobody receives any more: what is sent is dropped. */
  #isOver = false
  #wake: (() => void) | null = null

  constructor(parting: OnDisconnect) {
    this.#parting = parting
  }

  /** Made when somebody asks for it: most calls are over before anybody could. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isAborted) this.#controller.abort()
    return this.#controller.signal
  }

  /** For a receiver that takes nothing, the oldest notifications make room; questions are kept, somebody waits for them. */
  send(message: object): void {
    if (this.#isOver) return
    const { length } = JSON.stringify(message)
    this.#waiting.push({ message, length })
    this.#characters += length
    while (this.#waiting.length > mostWaiting || this.#characters > mostCharacters) {
      const oldest = this.#waiting.findIndex(({ message: each }) => !('id' in each))
      if (oldest < 0) break
      this.#characters -= this.#waiting.splice(oldest, 1)[0]?.length ?? 0
    }
    this.#wake?.()
  }

  /** The call is cancelled. */
  abort(): void {
    this.#isAborted = true
    this.#controller?.abort()
    this.#end()
  }

  /** The receiver went away. */
  left(): void {
    if (this.#parting === 'cancels' && !this.#isOver) this.abort()
    else this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#waiting = []
    this.#wake?.()
  }

  /** Resolves with the answer, or with `message` when something else is there to be sent, or nothing any more, before it. */
  async firstOf<T>(answer: Promise<T>): Promise<{ readonly answer: T } | 'message'> {
    if (this.#waiting.length > 0 || this.#isOver) return 'message'
    const message = new Promise<'message'>((resolve) => {
      this.#wake = () => resolve('message')
    })
    const first = await Promise.race([answer.then((done) => ({ answer: done })), message])
    this.#wake = null
    return first
  }

  /** The messages as they come, then the answer, which never rejects. A call that was cancelled gets none. */
  async *messages(answer: Promise<object>): AsyncGenerator<object> {
    let last: object | null = null
    void answer.then((message) => {
      last = message
      this.#wake?.()
    })
    try {
      while (!this.#isOver) {
        const next = this.#waiting.shift()
        if (next !== undefined) {
          this.#characters -= next.length
          yield next.message
        } else if (last !== null) {
          this.#isOver = true
          yield last
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        }
      }
    } finally {
      this.left()
    }
  }
}
