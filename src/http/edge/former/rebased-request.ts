/** A request with another path, for a former address of the service with another path prefix. */
import type { HostRequest } from '../../../app/embedding/sessions.ts'
import type { BodyStream } from '../body-stream.ts'
import type { HttpRequest } from '../request.ts'

export class RebasedRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly hasRepeated: (name: string) => boolean
  readonly remoteAddress: string | null
  readonly original: HostRequest
  readonly #inner: HttpRequest

  constructor(inner: HttpRequest, path: string) {
    this.method = inner.method
    this.path = path
    this.query = inner.query
    this.hasRepeated = inner.hasRepeated
    this.remoteAddress = inner.remoteAddress
    this.original = inner.original
    this.#inner = inner
  }

  get fault(): string | null {
    return this.#inner.fault
  }

  header(name: string): string | undefined {
    return this.#inner.header(name)
  }

  onGone(then: () => void): () => void {
    return this.#inner.onGone(then)
  }

  body(maxBytes: number): Promise<Uint8Array> {
    return this.#inner.body(maxBytes)
  }

  stream(): BodyStream {
    return this.#inner.stream()
  }
}
