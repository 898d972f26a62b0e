/**
 * Messages that a call sends while it runs. The first message determines the form of the response. A result becomes JSON
 * with its own status; a notification or question opens a stream.
 */

/** The effect when a client disconnects: it cancels the call (2026-07-28), or has no effect (earlier revisions). */
export type OnDisconnect = 'cancels' | 'means_nothing'

const maxWaiting = 1000
const maxCharacters = 1_000_000

interface Waiting {
  readonly message: object
  readonly length: number
}

export class Outgoing {
  readonly #onDisconnect: OnDisconnect
  #waiting: Waiting[] = []
  #characters = 0
  #controller: AbortController | undefined
  #isAborted = false
  /** True when the client no longer receives. Further messages are dropped. */
  #isOver = false
  #wake: (() => void) | null = null

  constructor(onDisconnect: OnDisconnect) {
    this.#onDisconnect = onDisconnect
  }

  /** Created on demand, because most calls never need it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isAborted) this.#controller.abort()
    return this.#controller.signal
  }

  /** Drops the oldest notifications when the client reads too slowly. Questions stay, because a handler waits for answers. */
  send(message: object): void {
    if (this.#isOver) return
    const { length } = JSON.stringify(message)
    this.#waiting.push({ message, length })
    this.#characters += length
    while (this.#waiting.length > maxWaiting || this.#characters > maxCharacters) {
      const oldest = this.#waiting.findIndex(({ message: each }) => !('id' in each))
      if (oldest < 0) break
      this.#characters -= this.#waiting.splice(oldest, 1)[0]?.length ?? 0
    }
    this.#wake?.()
  }

  /** Cancels the call. */
  abort(): void {
    this.#isAborted = true
    this.#controller?.abort()
    this.#end()
  }

  /** Handles the disconnect of the client. */
  left(): void {
    if (this.#onDisconnect === 'cancels' && !this.#isOver) this.abort()
    else this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#waiting = []
    this.#wake?.()
  }

  /**
   * Resolves with the answer, or with `message` when another message comes first or the call is cancelled. With
   * `Promise.race`, calls survived young collections and filled the old generation.
   */
  async firstOf<T>(answer: Promise<T>): Promise<{ readonly answer: T } | 'message'> {
    if (this.#waiting.length > 0 || this.#isOver) return 'message'
    return new Promise((resolve, reject) => {
      const wake = (): void => resolve('message')
      this.#wake = wake
      answer.then((done) => {
        // After a message, the stream of the messages has its own function here.
        if (this.#wake === wake) this.#wake = null
        resolve({ answer: done })
      }, reject)
    })
  }

  /** The messages in order, then the answer, which must not reject. A cancelled call has no answer. */
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
