/** An HTTP request, independent of the adapter that received it. */
import type { HostRequest } from '../../app/embedding/sessions.ts'
import type { BodyStream } from './body-stream.ts'
import type { HttpResponse } from './response.ts'

/** Handles every request. Errors also become responses. */
export type Handle = (request: HttpRequest) => Promise<HttpResponse>

/** The parts of a request that its headers determine. */
export type RequestHead = Pick<HttpRequest, 'method' | 'header' | 'hasRepeated'>

export interface HttpRequest {
  /** The method in upper case. */
  readonly method: string
  /** The path, still percent-encoded, without the query. */
  readonly path: string
  /** The other base URL of the service at which the request arrived. Absent: it arrived at `BASE_URL`. */
  readonly otherBaseUrl?: string | undefined
  /** The query without the question mark. */
  readonly query: string
  /** Returns a header by its lower-case name. Repeated headers are joined with a comma. */
  header(name: string): string | undefined
  /** Returns true when a header that may occur only once was sent more than once. */
  readonly hasRepeated: (name: string) => boolean
  /**
   * Reads the entire body.
   *
   * @throws ServiceError `payload_too_large` beyond `maxBytes`, without keeping the rest.
   */
  body(maxBytes: number): Promise<Uint8Array>
  /** The body as a stream, for bodies that do not fit into memory. Use either this or `body`. */
  stream(): BodyStream
  /** The reason why the request is invalid HTTP; null for a valid request. */
  readonly fault: string | null
  /** Calls `then` once if the client disconnects before the response ends. Returns a function that cancels this. */
  onGone(then: () => void): () => void
  /** The address of the peer of the connection; null when the adapter does not know it. */
  readonly remoteAddress: string | null
  /** The request as the server received it, for the embedding program. */
  readonly original: HostRequest
}

/** A request that reaches the service in another form: all else is that of the request inside. */
export class ForwardedRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly otherBaseUrl: string | undefined
  readonly query: string
  readonly hasRepeated: (name: string) => boolean
  readonly remoteAddress: string | null
  readonly original: HostRequest
  protected readonly inner: HttpRequest

  constructor(inner: HttpRequest, { path, otherBaseUrl }: Pick<HttpRequest, 'path' | 'otherBaseUrl'> = inner) {
    this.method = inner.method
    this.path = path
    this.otherBaseUrl = otherBaseUrl
    this.query = inner.query
    this.hasRepeated = inner.hasRepeated
    this.remoteAddress = inner.remoteAddress
    this.original = inner.original
    this.inner = inner
  }

  get fault(): string | null {
    return this.inner.fault
  }

  header(name: string): string | undefined {
    return this.inner.header(name)
  }

  onGone(then: () => void): () => void {
    return this.inner.onGone(then)
  }

  stream(): BodyStream {
    return this.inner.stream()
  }

  body(maxBytes: number): Promise<Uint8Array> {
    return this.inner.body(maxBytes)
  }
}
