/** A request body that is read piece by piece, with backpressure. */

export class BodyStream implements AsyncIterable<Uint8Array> {
  readonly #pieces: AsyncIterator<Uint8Array, undefined>
  /** Pieces that `head` has read. */
  #read: Uint8Array[] = []
  #isOver = false

  constructor(pieces: AsyncIterable<Uint8Array, undefined>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Returns the beginning of the body, without removing it: at least `bytes`, unless the body is shorter. */
  async head(bytes: number): Promise<Uint8Array> {
    let size = this.#read.reduce((sum, { length }) => sum + length, 0)
    while (size < bytes && !this.#isOver) {
      const next = await this.#pieces.next()
      if (next.done === true) {
        this.#isOver = true
      } else {
        this.#read.push(next.value)
        size += next.value.length
      }
    }
    return Buffer.concat(this.#read)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    try {
      for (let piece = this.#read.shift(); piece !== undefined; piece = this.#read.shift()) yield piece
      while (!this.#isOver) {
        const next = await this.#pieces.next()
        if (next.done === true) this.#isOver = true
        else yield next.value
      }
    } finally {
      await this.#pieces.return?.()
    }
  }
}

/** A body that was read as a whole before. */
export async function* wholeBody(body: Promise<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  yield await body
}
