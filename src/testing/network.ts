/** The network of a test: services of the test call each other in this process, and no call leaves it. */
import { type Connection, toFetch } from '../http/edge/fetch.ts'
import { peerHeaders } from '../peer/guarded-client.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../peer/peer-client.ts'
import { liesBelow } from '../peer/url-rules.ts'
import { release } from '../release.ts'
import type { Service } from '../service.ts'

type Fetch = (request: Request, connection?: Connection) => Promise<Response>

/** Answers requests to hosts outside of the test, such as third-party services. */
export type Outside = (request: Request) => Response | Promise<Response>

const maxAnswerBytes = 1_048_576

export class Network {
  /** The services of the test by their base URL. */
  readonly #services = new Map<string, Fetch>()
  readonly #outside: Outside | undefined
  #calls = 0

  constructor(outside: Outside | undefined) {
    this.#outside = outside
  }

  /** Number of calls between services so far. */
  get calls(): number {
    return this.#calls
  }

  add(baseUrl: string, { handle }: Pick<Service, 'handle'>): void {
    this.#services.set(baseUrl, toFetch(handle))
  }

  remove(baseUrl: string): void {
    this.#services.delete(baseUrl)
  }

  /** @throws TypeError for a URL that no service of the test has. */
  async fetch(request: Request): Promise<Response> {
    const target = this.#find(new URL(request.url))
    if (target === undefined) throw new TypeError(`Cannot fetch ${request.url}: no service of the test has this URL`)
    return target(request, { remoteAddress: '127.0.0.1' })
  }

  #find(url: URL): Fetch | undefined {
    return [...this.#services].find(([baseUrl]) => liesBelow(url, baseUrl))?.[1]
  }

  readonly client: PeerClient = {
    call: (request) => this.#call(request),
    close: () => Promise.resolve(),
  }

  async #call(request: PeerRequest): Promise<PeerOutcome> {
    this.#calls++
    const url = URL.parse(request.url)
    if (url === null) return { kind: 'unreached', reason: 'The URL cannot be parsed' }
    const made = peerHeaders(request, url, `Troupe/${release}`)
    if ('refused' in made) return { kind: 'unreached', reason: made.refused }
    const { method, body = null } = request
    // The bytes of a body are not shared memory, which the type of a request requires.
    const sent = new Request(url, {
      method,
      headers: made.headers,
      body: body as string | Uint8Array<ArrayBuffer> | null,
    })
    const target = this.#find(url) ?? this.#outside
    if (target === undefined) return { kind: 'unreached', reason: `No service of the test has the URL ${url.origin}` }
    try {
      return await outcomeOf(await target(sent), request.maxAnswerBytes ?? maxAnswerBytes)
    } catch (error) {
      return { kind: 'unknown', reason: error instanceof Error ? error.message : String(error) }
    } finally {
      this.#calls++
    }
  }
}

async function outcomeOf(response: Response, most: number): Promise<PeerOutcome> {
  const body = await response.text()
  if (Buffer.byteLength(body) > most) return { kind: 'unknown', reason: 'an answer that is too large' }
  return { kind: 'answered', status: response.status, headers: Object.fromEntries(response.headers), body }
}
