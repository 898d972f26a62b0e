/** A request as the service sees it, whichever edge it came through. */
import type { HttpResponse } from './response.ts'

/** Answers every request. An error becomes an answer too. */
export type Handle = (request: HttpRequest) => Promise<HttpResponse>

export interface HttpRequest {
  /** Upper case, as it was sent. */
  readonly method: string
  /** Still percent-encoded, without the query. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  /** One value for a field; several lines of a field are joined with a comma. Names in lower case. */
  header(name: string): string | undefined
  /** True when a field that may stand once only was sent more than once. */
  readonly hasRepeated: (name: string) => boolean
  /**
   * The whole body.
   *
   * @throws ServiceError `payload_too_large` beyond `maxBytes`, without keeping the rest.
   */
  body(maxBytes: number): Promise<Uint8Array>
  /** What is wrong with the request as such, whatever it asks for; null for a good one. */
  readonly fault: string | null
  /** Calls `then` once when the sender goes away before it has the answer, until it is told to stop; an edge may not know. */
  onGone(then: () => void): () => void
  /** The other end of the connection, where the edge knows it. */
  readonly remoteAddress: string | null
}
