/**
 * A service with one actor of the Python implementation in the network of a run. It obeys the rules of docs/spec/wire.md, and can
 * go back to an earlier moment. It subscribes to all properties only: below a property, the reference stores the names of the inner
 * object.
 */
import type { PeerRequest } from '../../../src/peer/peer-client.ts'
import { type PythonCall, PythonPeer, type PythonReply, type PythonTrust } from '../../support/python-peer.ts'
import { PythonSubscriber } from '../../support/python-subscriptions.ts'
import type { Caller, Network, Outsider } from '../network.ts'
import type { Reply } from '../program.ts'
import type { VirtualTime } from '../virtual-time.ts'

const origin = 'http://py.test'
/** The tags of release 3.14.0. */
const tags =
  'actions,callbacks,methods,nestedproperties,oauth,onewaytrust,permissioncallback,permissionquery,resources,sessions,' +
  'subscriptionbatch,subscriptionresync,subscriptions,trust,trustpermissions,www'
const maxRedirects = 5

export interface PythonHostParts {
  readonly time: VirtualTime
  readonly network: Network
  readonly trace: (line: string) => void
}

export class PythonHost implements Outsider, Caller {
  readonly name = 'py'
  readonly peer: PythonPeer
  readonly subscriber: PythonSubscriber
  /** Whether the state of an earlier moment is back. */
  wasRestored = false
  readonly #parts: PythonHostParts
  #restore: (() => void) | null = null

  constructor(parts: PythonHostParts) {
    this.#parts = parts
    this.peer = PythonPeer.within({ origin, id: 'a'.repeat(32), send: (call) => this.#send(call) })
    this.peer.route('GET', /^\/meta\/actingweb\/supported$/, () => ({ status: 200, body: tags }))
    this.peer.route('GET', /^\/meta\/actingweb\/version$/, () => ({ status: 200, body: '1.0' }))
    this.subscriber = new PythonSubscriber(this.peer, { now: parts.time.now })
  }

  get id(): string {
    return this.peer.id
  }

  get url(): string {
    return this.peer.url
  }

  trustIn(actorId: string): PythonTrust | undefined {
    return this.peer.trusts.get(actorId)
  }

  /** Whether it has a peer at this address. */
  knows(baseuri: string): boolean {
    return [...this.peer.trusts.values()].some((trust) => trust.baseuri === baseuri)
  }

  /** Keeps the state of this moment. */
  backUp(): void {
    const restores = [this.peer.backup(), this.subscriber.backup()]
    this.#restore = () => {
      for (const restore of restores) restore()
    }
  }

  /** Goes back to the kept moment. */
  restore(): void {
    if (this.#restore === null) return
    this.#parts.trace('py is restored')
    this.#restore()
    this.wasRestored = true
  }

  // Requests of others

  async answer({ method, body, bearer, basic, headers }: PeerRequest, url: URL): Promise<Reply> {
    const authorization =
      bearer !== undefined ? `Bearer ${bearer.secret}` : basic === undefined ? undefined : `Basic ${basic.user}`
    const answer = await this.peer.answer({
      method,
      path: `${url.pathname}${url.search}`.slice(this.id.length + 1),
      headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
      body: String(body ?? ''),
    })
    const isJson = typeof answer.body === 'object'
    return {
      status: answer.status,
      headers: Object.fromEntries(
        Object.entries({ ...(isJson ? { 'content-type': 'application/json' } : {}), ...answer.headers }).map(
          ([name, value]) => [name.toLowerCase(), value],
        ),
      ),
      body: isJson ? JSON.stringify(answer.body) : (answer.body ?? ''),
    }
  }

  // Its own requests

  /** Its blocking client follows redirects, without the credentials to another origin (WIRE-ADDRESS-03). */
  async #send(call: PythonCall, redirects = 0): Promise<PythonReply> {
    const { method, url, headers, body } = call
    const secret = headers['authorization']?.slice('Bearer '.length)
    const outcome = await this.#parts.network.call(this, origin, {
      method: method as PeerRequest['method'],
      url,
      ...(secret === undefined ? {} : { bearer: { secret, baseuri: url } }),
      ...(body === undefined ? {} : { body }),
    })
    if (outcome.kind !== 'answered') throw new Error(outcome.reason)
    const { status, headers: answered } = outcome
    const location = answered['location'] ?? null
    if (status < 301 || status > 308 || status === 304 || location === null || redirects === maxRedirects)
      return { status, location, body: outcome.body }
    const to = new URL(location, url)
    const { authorization, ...others } = headers
    const isKept = status === 307 || status === 308
    const next: PythonCall = {
      method: isKept ? method : 'GET',
      url: to.href,
      headers: authorization !== undefined && to.origin === new URL(url).origin ? headers : others,
      ...(isKept && body !== undefined ? { body } : {}),
    }
    return this.#send(next, redirects + 1)
  }
}
