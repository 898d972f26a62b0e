/** The bytes of a response, up to a limit. */
export class BoundedBody {
  readonly #maxBytes: number
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Appends a chunk. Returns false, and appends nothing, when the body would exceed the limit. */
  append(chunk: Buffer): boolean {
    const length = this.#length + chunk.length
    if (length > this.#maxBytes) return false
    if (this.#length === 0) {
      this.#bytes = chunk
    } else {
      // Copies chunks into one buffer. A million chunks of one byte would need a hundred times their size as objects.
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
