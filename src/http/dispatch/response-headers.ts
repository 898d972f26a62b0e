/** The headers that every response carries, and the rules for HEAD and streams. */
import { setImmediate } from 'node:timers/promises'
import type { Log } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { logError, toServiceError } from '../edge/error-response.ts'
import type { HttpRequest } from '../edge/request.ts'
import { type HttpResponse, isPage } from '../edge/response.ts'
import { securityHeaders } from '../edge/security-headers.ts'
import type { RequestState } from './request-state.ts'

export class ResponseHeaders {
  readonly #security: ReturnType<typeof securityHeaders>
  readonly #metrics: Pick<Metrics, 'streamsOpen'>
  readonly #log: Log

  constructor(baseUrl: string, metrics: Pick<Metrics, 'streamsOpen'>, log: Log) {
    this.#security = securityHeaders(baseUrl)
    this.#metrics = metrics
    this.#log = log
  }

  complete(request: HttpRequest, answer: HttpResponse, state: RequestState): HttpResponse {
    const { requestId, limitHeaders, route, ignoredQuery } = state
    const headers: Record<string, string> = {
      ...(isPage(answer) ? this.#security.forPages : this.#security.forData),
      ...limitHeaders,
      ...answer.headers,
      'X-Request-ID': requestId,
      ...(ignoredQuery.length === 0 ? {} : { 'Troupe-Ignored-Query': namesIn(ignoredQuery) }),
    }
    const isHead = request.method === 'HEAD'
    if (answer.stream !== undefined && !isHead) {
      return { ...answer, headers, stream: this.#counted(route?.id ?? 'none', answer.stream) }
    }
    // A response to HEAD reads no stream, and its length is unknown.
    answer.onClose?.()
    if (answer.stream !== undefined) return { status: answer.status, headers, body: null }
    if (answer.body !== null) headers['Content-Length'] = String(Buffer.byteLength(answer.body))
    else if (answer.status !== 204 && answer.status !== 304) headers['Content-Length'] = '0'
    const body = isHead ? null : answer.body
    return answer.cookies === undefined
      ? { status: answer.status, headers, body }
      : { status: answer.status, headers, body, cookies: answer.cookies }
  }

  async *#counted(route: string, stream: AsyncIterable<string | Uint8Array>): AsyncGenerator<string | Uint8Array> {
    this.#metrics.streamsOpen(route, 1)
    try {
      yield* inTurns(stream)
    } catch (error) {
      // The status is sent already: the log is the only place that names the reason.
      logError(this.#log, toServiceError(error))
      throw error
    } finally {
      this.#metrics.streamsOpen(route, -1)
    }
  }
}

/** Other work runs after this much of a stream, because the store may have the next pieces without waiting. */
const lengthOfTurn = 65_536

async function* inTurns(stream: AsyncIterable<string | Uint8Array>): AsyncGenerator<string | Uint8Array> {
  let length = 0
  for await (const piece of stream) {
    yield piece
    length += piece.length
    if (length < lengthOfTurn) continue
    length = 0
    await setImmediate()
  }
}

const maxIgnored = 10

/** The names as they stand in a URL, because a header has only visible characters. */
function namesIn(ignored: readonly string[]): string {
  return ignored
    .slice(0, maxIgnored)
    .map((name) => encodeURIComponent(name.toWellFormed().slice(0, 50).toWellFormed()))
    .join(', ')
}
