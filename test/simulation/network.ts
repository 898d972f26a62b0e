/** The network between the services, which delays, cuts, repeats and reorders requests as the seed decides. */
import { liesBelow } from '../../src/peer/url-rules.ts'
import type { PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import type { Random } from '../support/random.ts'
import type { Program, Reply } from './program.ts'
import type { VirtualTime } from './virtual-time.ts'

/** A service that answers as it likes. */
export interface Outsider {
  answer(request: PeerRequest, url: URL): Promise<Reply>
}

/** A process of a service, or another service. */
export interface Caller {
  readonly name: string
}

export interface NetworkParts {
  readonly time: VirtualTime
  readonly random: Random
  /** A process that currently serves this origin; undefined when none does. */
  readonly serverOf: (origin: string) => Program | undefined
  /** The service of another kind that has this address. */
  readonly outsiderOf: (url: URL) => Outsider | undefined
  readonly trace: (line: string) => void
  readonly sent: (from: Caller, request: PeerRequest) => void
  /** Called when the request arrives, however long ago it was sent. */
  readonly arrives: (request: PeerRequest) => void
  /** Called when the caller has the outcome. */
  readonly ended: (from: Caller, request: PeerRequest) => void
  readonly answered: (from: Caller, request: PeerRequest, reply: Reply) => void
}

/** Probability of each fault per call. */
export interface Weather {
  readonly unreached: number
  /** The request is lost. */
  readonly lostRequest: number
  /** The request takes effect, but its response is lost. */
  readonly lostAnswer: number
  readonly repeated: number
  /** The ingress of the service answers, because the service is being deployed or its route is missing. */
  readonly answeredByIngress: number
  readonly slow: number
}

export const calm: Weather = {
  unreached: 0,
  lostRequest: 0,
  lostAnswer: 0,
  repeated: 0,
  answeredByIngress: 0,
  slow: 0,
}

const readTimeoutMs = 20_000

export class Network {
  readonly #parts: NetworkParts
  weather: Weather = calm
  /** Pairs of origins that are currently disconnected. */
  readonly cut = new Set<string>()

  constructor(parts: NetworkParts) {
    this.#parts = parts
  }

  async call(from: Caller, fromOrigin: string, given: PeerRequest): Promise<PeerOutcome> {
    const { time, random, trace, sent } = this.#parts
    const request = await wholeBody(given)
    const url = new URL(request.url)
    const line = `${from.name} ${request.method} ${url.pathname}${url.search} ${bodyLine(request.body)}`
    const credential = request.bearer ?? request.basic
    if (credential !== undefined && !liesBelow(url, credential.baseuri)) {
      trace(`${line}: outside ${credential.baseuri}`)
      return { kind: 'unreached', reason: 'The URL lies outside the base address of the peer' }
    }
    sent(from, request)
    const fate = this.#fate(`${fromOrigin} ${url.origin}`)
    const { timeouts } = request
    // The body is complete, so that only silence follows.
    const readMs = timeouts === undefined ? readTimeoutMs : (timeouts.silenceSeconds ?? timeouts.readSeconds) * 1000
    const outcome = await new Promise<PeerOutcome>((resolve) => {
      const give = (after: number, outcome: PeerOutcome): void => void time.after(after, () => resolve(outcome))
      switch (fate) {
        case 'unreached':
          give(random.below(2) === 0 ? 5 : 5000, { kind: 'unreached', reason: 'No connection' })
          return
        case 'lostRequest':
          give(random.below(2) === 0 ? 20 : readMs, { kind: 'unknown', reason: 'The connection broke' })
          return
        case 'answeredByIngress':
          give(10, ingressAnswer(random))
          return
        default:
      }
      const wayMs = fate === 'slow' ? 1000 + random.below(25_000) : 1 + random.below(40)
      if (fate === 'repeated') {
        time.after(wayMs + random.below(10_000), () => {
          void this.#serve(url, request)
        })
      }
      give(readMs, { kind: 'unknown', reason: 'No answer in time' })
      time.after(wayMs, async () => {
        void this.#serve(url, request).then((reply) => {
          if (fate === 'lostAnswer') return give(5, { kind: 'unknown', reason: 'The connection broke' })
          if (reply === 'down') return give(5, { kind: 'unreached', reason: 'Connection refused' })
          if (reply === null) return give(5, { kind: 'unknown', reason: 'The connection broke' })
          this.#parts.answered(from, request, reply)
          return give(1 + random.below(40), { kind: 'answered', ...reply })
        })
      })
    })
    this.#parts.ended(from, request)
    trace(
      `${line}: ${fate === 'fair' ? '' : `${fate}, `}${outcome.kind === 'answered' ? outcome.status : outcome.kind}`,
    )
    return outcome
  }

  #fate(pair: string): 'fair' | keyof Weather {
    const { random } = this.#parts
    if (this.cut.has(pair)) return random.below(4) === 0 ? 'lostRequest' : 'unreached'
    let left = random.next()
    for (const [kind, share] of Object.entries(this.weather)) {
      left -= share
      if (left < 0) return kind as keyof Weather
    }
    return 'fair'
  }

  async #serve(url: URL, request: PeerRequest): Promise<Reply | null | 'down'> {
    const outsider = this.#parts.outsiderOf(url)
    if (outsider !== undefined) return outsider.answer(request, url)
    const server = this.#parts.serverOf(url.origin)
    if (server === undefined) return 'down'
    this.#parts.arrives(request)
    const { bearer, basic, body, headers } = request
    const authorization =
      bearer !== undefined
        ? `Bearer ${bearer.secret}`
        : basic === undefined
          ? undefined
          : `Basic ${Buffer.from(`${basic.user}:${basic.password}`).toString('base64')}`
    return server.ask(request.method, url.pathname + url.search, {
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    })
  }
}

/** The answers of ingresses are pages. They say nothing about the service behind. */
function ingressAnswer(random: Random): PeerOutcome {
  const status = random.pick([302, 404, 410, 502, 503, 504])
  const headers: Record<string, string> = { 'content-type': 'text/html' }
  if (status === 302) headers['location'] = 'https://sign-in.ingress.example/'
  if (status === 503 && random.below(2) === 0) headers['retry-after'] = String(random.below(20))
  return { kind: 'answered', status, headers, body: `<html><h1>${status}</h1></html>` }
}

/** Returns the request with its body in memory, because a repetition sends the body again. */
async function wholeBody({ stream, ...request }: PeerRequest): Promise<PeerRequest> {
  return stream === undefined ? request : { ...request, body: Buffer.concat(await Array.fromAsync(stream)) }
}

function bodyLine(body: PeerRequest['body']): string {
  if (body === undefined) return ''
  return typeof body === 'string' ? body : `${body.length} bytes`
}
