/** One request and its response, from the queue for a connection to the last byte. */
import type { Dispatcher } from 'undici'
import { storableText } from '../json/json.ts'
import { BoundedBody } from './bounded-body.ts'
import type { NoAnswer, PeerOutcome } from './peer-client.ts'

export interface ExchangeLimits {
  readonly connectMs: number
  /** Milliseconds from sending the request to the end of the response. */
  readonly readMs: number
  /** Milliseconds between two pieces of a streamed body, and from its end to the end of the response. */
  readonly silenceMs?: number | undefined
  readonly maxAnswerBytes: number
}

/**
 * Tracks whether the request was sent, which distinguishes `unreached` from `unknown`. Each limit closes the
 * connection, so that a late response is not taken for the response to the next request.
 */
export class HttpCall implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<PeerOutcome>
  readonly #settle: (outcome: PeerOutcome) => void
  readonly #limits: ExchangeLimits
  readonly #body: BoundedBody
  #timer: NodeJS.Timeout
  #silence: NodeJS.Timeout | undefined
  #isSilent: () => void = () => {}
  #isSent = false
  #isOver = false
  #status = 0
  #headers: Record<string, string> = {}

  constructor(limits: ExchangeLimits) {
    const { promise, resolve } = Promise.withResolvers<PeerOutcome>()
    this.outcome = promise
    this.#settle = resolve
    this.#limits = limits
    this.#body = new BoundedBody(limits.maxAnswerBytes)
    this.#timer = setTimeout(() => this.#end('no connection in time', { isTimeout: true }), limits.connectMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return controller.abort(new Error('The call has already ended'))
    this.#isSent = true
    clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => this.#cut(controller, 'no complete answer in time', { isTimeout: true }),
      this.#limits.readMs,
    )
    this.#isSilent = () => this.#cut(controller, 'no progress in time', { isTimeout: true })
    this.#progress()
  }

  /** The same body, whose pieces are watched for progress. */
  async *watched(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const piece of stream) {
      this.#progress()
      yield piece
    }
    this.#progress()
  }

  #progress(): void {
    const { silenceMs } = this.#limits
    clearTimeout(this.#silence)
    if (silenceMs !== undefined && !this.#isOver) this.#silence = setTimeout(this.#isSilent, silenceMs)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#status = status
    this.#headers = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
    )
    if (Number(this.#headers['content-length']) > this.#limits.maxAnswerBytes) this.#cutOversized(controller)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const encoding = this.#headers['content-encoding'] ?? 'identity'
    // The request accepts only plain bodies. Nothing is decompressed, so a small response cannot expand in memory.
    if (encoding !== 'identity') this.#cut(controller, `an answer in the encoding ${JSON.stringify(encoding)}`)
    else if (!this.#body.append(chunk)) this.#cutOversized(controller)
  }

  onResponseEnd(): void {
    this.#finish({ kind: 'answered', status: this.#status, headers: this.#headers, body: this.#body.text() })
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#end(reasonOf(error), isConnectTimeout(error) ? { isTimeout: true } : {})
  }

  #cutOversized(controller: Dispatcher.DispatchController): void {
    this.#cut(controller, answerTooLarge, { oversizedStatus: this.#status })
  }

  #cut(controller: Dispatcher.DispatchController, reason: string, facts: Facts = {}): void {
    this.#end(reason, facts)
    controller.abort(new Error(reason))
  }

  #end(reason: string, facts: Facts): void {
    this.#finish({ kind: this.#isSent ? 'unknown' : 'unreached', reason, ...facts })
  }

  #finish(outcome: PeerOutcome): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    clearTimeout(this.#silence)
    this.#settle(outcome)
  }
}

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]

type Facts = Pick<NoAnswer & { readonly kind: 'unknown' }, 'isTimeout' | 'oversizedStatus'>

export const answerTooLarge = 'an answer that is too large'

function isConnectTimeout(error: Error): boolean {
  return 'code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT'
}

/** A failure to connect to several addresses has only a code and no message. */
function reasonOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  const message = error.message === '' ? error.name : error.message
  // TLS errors repeat names from the peer's certificate, and the reason is stored with the outcome.
  return storableText(code === null || message.includes(code) ? message : `${code}: ${message}`)
}
