/** The network of a test: services of the test call each other in this process, and no call leaves it. */
import { type Connection, toFetch } from '../http/edge/fetch.ts'
import { callInProcess } from '../peer/in-process-call.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../peer/peer-client.ts'
import { liesBelow } from '../peer/url-rules.ts'
import type { Service } from '../service.ts'

type Fetch = (request: Request, connection?: Connection) => Promise<Response>

/** Answers requests to hosts outside of the test, such as third-party services. */
export type Outside = (request: Request) => Response | Promise<Response>

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
    const target = this.#find(url) ?? this.#outside
    if (target === undefined) return { kind: 'unreached', reason: `No service of the test has the URL ${url.origin}` }
    try {
      return await callInProcess(target, request, url)
    } finally {
      this.#calls++
    }
  }
}
