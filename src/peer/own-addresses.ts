/**
 * Answers calls to addresses of this service in this process. Actors of one service therefore reach each other behind a
 * router that cannot send a connection back (hairpin NAT), and where the public name means another machine inside.
 */
import type { Timers } from '../timers.ts'
import { type Answers, callInProcess } from './in-process-call.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from './peer-client.ts'
import { judgeUrl, liesBelow } from './url-rules.ts'

interface OwnAddressesDeps {
  /** Calls all other addresses. */
  readonly client: PeerClient
  /** The base URL of the service, and its former ones. */
  readonly baseUrls: readonly string[]
  readonly timers: Timers
  readonly readSeconds: number
}

export class OwnAddresses implements PeerClient {
  readonly #deps: OwnAddressesDeps
  #answer: Answers | null = null
  #isClosed = false
  readonly #running = new Set<() => void>()

  constructor(deps: OwnAddressesDeps) {
    this.#deps = deps
  }

  /** Answers calls by the request handler of the service from now on. */
  connect(answer: Answers): void {
    this.#answer = answer
  }

  call(request: PeerRequest): Promise<PeerOutcome> {
    // The rules for private addresses and plain http protect other machines.
    const judged = judgeUrl(request.url, { allowPrivatePeers: true, allowHttp: true })
    const { baseUrls } = this.#deps
    if (this.#answer === null || 'refused' in judged || !baseUrls.some((base) => liesBelow(judged.url, base)))
      return this.#deps.client.call(request)
    if (this.#isClosed) return Promise.resolve({ kind: 'unreached', reason: 'The service is stopping' })
    return this.#callHere(this.#answer, request, judged.url)
  }

  /** Ends running calls, whose outcome is unknown. */
  close(): Promise<void> {
    this.#isClosed = true
    for (const stop of this.#running) stop()
    return this.#deps.client.close()
  }

  async #callHere(answer: Answers, request: PeerRequest, url: URL): Promise<PeerOutcome> {
    const { promise: cut, resolve } = Promise.withResolvers<PeerOutcome>()
    const leaving = new AbortController()
    const end = (outcome: PeerOutcome): void => {
      resolve(outcome)
      leaving.abort()
    }
    const stop = (): void => end({ kind: 'unknown', reason: 'The service is stopping' })
    const { readSeconds } = request.timeouts ?? this.#deps
    const cancel = this.#deps.timers.setTimer(readSeconds * 1000, () =>
      end({ kind: 'unknown', reason: 'no complete answer in time', isTimeout: true }),
    )
    this.#running.add(stop)
    try {
      return await Promise.race([callInProcess(answer, request, url, leaving.signal), cut])
    } finally {
      cancel()
      this.#running.delete(stop)
    }
  }
}
