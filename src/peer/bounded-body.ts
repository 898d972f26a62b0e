/** The bytes of an answer, up to a limit. */
export class BoundedBody {
  readonly #maxBytes: number
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** False, and nothing is taken, when the limit would be passed. */
  append(chunk: Buffer): boolean {
    const length = this.#length + chunk.length
    if (length > this.#maxBytes) return false
    if (this.#length === 0) {
      this.#bytes = chunk
    } else {
      // Copied rather than collected: a million chunks of one byte would cost a hundred times their size as objects.
      if (length > this.#bytes.length) {
        const larger = Buffer.allocUnsafe(Math.min(this.#maxBytes, Math.max(length * 2, 1024)))
        this.#bytes.copy(larger, 0, 0, this.#length)
        this.#bytes = larger
      }
      chunk.copy(this.#bytes, this.#length)
    }
    this.#length = length
    return true
  }

  text(): string {
    return this.#bytes.toString('utf8', 0, this.#length)
  }
}
