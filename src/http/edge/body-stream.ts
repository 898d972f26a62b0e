/** A request body that is read piece by piece, with backpressure. */
import { tooLarge } from './fetch.ts'
import type { HttpRequest } from './request.ts'

export class BodyStream implements AsyncIterable<Uint8Array> {
  readonly #pieces: AsyncIterator<Uint8Array>
  /** Pieces that `head` has read. */
  #read: Uint8Array[] = []
  #isOver = false

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Returns the beginning of the body, without removing it: at least `bytes`, unless the body is shorter. */
  async head(bytes: number): Promise<Uint8Array> {
    let size = this.#read.reduce((sum, { length }) => sum + length, 0)
    while (size < bytes && !this.#isOver) {
      const { done, value } = await this.#pieces.next()
      if (done === true) {
        this.#isOver = true
      } else {
        this.#read.push(value)
        size += value.length
      }
    }
    return Buffer.concat(this.#read)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      for (let piece = this.#read.shift(); piece !== undefined; piece = this.#read.shift()) yield piece
      while (!this.#isOver) {
        const { done, value } = await this.#pieces.next()
        if (done === true) this.#isOver = true
        else yield value
      }
    } finally {
      await this.#pieces.return?.()
    }
  }
}

/** The body of a request, which may have at most this size. @throws ServiceError `payload_too_large` */
export async function* limitedBody(request: HttpRequest, mostBytes: number): AsyncGenerator<Uint8Array, void> {
  if ((sizeOf(request) ?? 0) > mostBytes) throw tooLarge(mostBytes)
  let size = 0
  for await (const piece of request.stream()) {
    size += piece.length
    if (size > mostBytes) throw tooLarge(mostBytes)
    yield piece
  }
}

/** The size of the body, if the request states it. */
export function sizeOf(request: HttpRequest): number | undefined {
  const length = request.header('content-length')
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined
}
