/**
 * Imitates an actor of the Python implementation 3.14 as its peers see it (docs/spec/wire.md): booleans as strings in one
 * response, errors without a body, its interpretation of responses, and when it deletes a relationship. One actor for each server.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface PythonTrust {
  readonly peerid: string
  baseuri: string
  type: string
  relationship: string
  secret: string
  desc: string
  approved: boolean
  peer_approved: boolean
  verified: boolean
  /** The token of this actor. */
  verification_token: string
}

export interface PythonRequest {
  readonly method: string
  /** The path below the actor with the query, such as `/trust/friend`. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface PythonAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** The body. An object is sent as JSON. */
  readonly body?: string | object
}

/** Returns the response of a route, or undefined to pass the request to the next route. */
export type PythonRoute = (
  request: PythonRequest,
  match: RegExpExecArray,
) => Promise<PythonAnswer | undefined> | PythonAnswer | undefined

export interface PythonCall {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface PythonReply {
  readonly status: number
  readonly location: string | null
  readonly body: string
}

/** Sends a request to a peer and follows redirects, without the credentials to another origin. Rejects without a response. */
export type PythonSend = (call: PythonCall) => Promise<PythonReply>

const overHttp: PythonSend = async ({ url, ...call }) => {
  const answer = await fetch(url, call)
  return { status: answer.status, location: answer.headers.get('location'), body: await answer.text() }
}

/** The interpretation of a response by its proxy: a JSON body decides, whatever the status. */
export type Believed = { readonly data: unknown } | { readonly error: number }

export interface PythonPeerOptions {
  /** Approves requests for this relationship at once. */
  readonly autoAccept?: string
}

/** A network of a simulation in place of HTTP. */
export interface PythonNetwork {
  readonly origin: string
  readonly id: string
  readonly send: PythonSend
}

export class PythonPeer {
  readonly id: string
  readonly type = 'urn:actingweb:example.com:python'
  /** Relationships by peer id. */
  readonly trusts = new Map<string, PythonTrust>()
  /** All received requests, in order. */
  readonly requests: PythonRequest[] = []
  /** The lifecycle hooks that ran: name and peer id. */
  readonly events: string[] = []
  autoAccept: string | null
  readonly #routes: [method: string, path: RegExp, route: PythonRoute][] = []
  #waiting: [method: string, path: RegExp, resolve: (request: PythonRequest) => void][] = []
  /** Runs when a relationship has ended, with the peer id. */
  readonly #endings: ((peerId: string) => void)[] = []
  #server: Server | undefined
  #origin = ''
  #send: PythonSend = overHttp

  private constructor({ autoAccept }: PythonPeerOptions, id = randomBytes(16).toString('hex')) {
    this.id = id
    this.autoAccept = autoAccept ?? null
    this.#declareTrust()
  }

  /** An actor without a server, whose network passes requests to `answer`. */
  static within({ origin, id, send }: PythonNetwork, options: PythonPeerOptions = {}): PythonPeer {
    const peer = new PythonPeer(options, id)
    peer.#origin = origin
    peer.#send = send
    return peer
  }

  static async start(options: PythonPeerOptions = {}): Promise<PythonPeer> {
    const peer = new PythonPeer(options)
    const server = createServer((request, response) => void peer.#serve(request, response))
    peer.#server = server
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    peer.#origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return peer
  }

  /** The root URL of the actor, without a trailing slash. */
  get url(): string {
    return `${this.#origin}/${this.id}`
  }

  async close(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }

  /** Adds a route below the actor. Routes declared later take precedence. */
  route(method: string, path: RegExp, route: PythonRoute): void {
    this.#routes.unshift([method, path, route])
  }

  onEnd(listener: (peerId: string) => void): void {
    this.#endings.push(listener)
  }

  /** Deletes a relationship with everything that belongs to it, without a message. */
  forget(peerId: string): void {
    if (!this.trusts.delete(peerId)) return
    this.events.push(`trust_deleted ${peerId}`)
    for (const listener of this.#endings) listener(peerId)
  }

  /** Returns a function that restores the relationships of this moment. */
  backup(): () => void {
    const kept = structuredClone(this.trusts)
    return () => {
      this.trusts.clear()
      for (const [peerId, trust] of structuredClone(kept)) this.trusts.set(peerId, trust)
    }
  }

  /** Waits for the next request with this method and path, and resolves after its response. */
  answered(method: string, path: RegExp): Promise<PythonRequest> {
    return new Promise((resolve) => this.#waiting.push([method, path, resolve]))
  }

  /** Returns the relationship whose secret a request carries, or an error response without a valid secret. */
  authenticate(request: PythonRequest): PythonTrust | PythonAnswer {
    const { authorization } = request.headers
    if (authorization === undefined) {
      return { status: 401, headers: { 'WWW-Authenticate': 'Basic realm="python"' }, body: 'Authentication required' }
    }
    const secret = /^bearer ([^ ]+)$/i.exec(authorization)?.[1]
    return [...this.trusts.values()].find((trust) => trust.secret === secret) ?? { status: 403 }
  }

  // Operations of the owner

  /** Requests a relationship. It stores the record before the request, and deletes it unless the status is 201 or 202. */
  async request(url: string, relationship: string): Promise<PythonTrust | null> {
    const meta = await this.call('GET', `${url}/meta`)
    const facts = 'data' in meta ? (meta.data as { id?: string; type?: string }) : {}
    if (facts.id === undefined || facts.type === undefined) return null
    const trust: PythonTrust = {
      peerid: facts.id,
      baseuri: url,
      type: facts.type,
      relationship,
      secret: randomBytes(20).toString('hex'),
      desc: '',
      approved: true,
      peer_approved: false,
      verified: true,
      verification_token: randomBytes(20).toString('hex'),
    }
    this.trusts.set(trust.peerid, trust)
    const status = await this.send('POST', `${url}/trust/${relationship}`, '', {
      baseuri: this.url,
      id: this.id,
      type: this.type,
      secret: trust.secret,
      desc: trust.desc,
      verify: trust.verification_token,
    }).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status !== 201 && status !== 202) {
      // Its subscriptions stay behind (WIRE-ADDRESS-10).
      this.trusts.delete(trust.peerid)
      return null
    }
    if (status === 201) trust.peer_approved = true
    this.events.push(`trust_initiated ${trust.peerid}`)
    return trust
  }

  /** Approves the relationship and notifies the peer. It ignores the response. */
  async approve(peerId: string): Promise<void> {
    const trust = this.#require(peerId)
    trust.approved = true
    const url = `${trust.baseuri}/trust/${trust.relationship}/${this.id}`
    await this.call('POST', url, trust.secret, { approved: true })
    if (trust.peer_approved) this.events.push(`trust_fully_approved_local ${peerId}`)
  }

  /** Ends the relationship. Returns false and keeps the relationship when the notification of the peer fails. */
  async end(peerId: string): Promise<boolean> {
    const trust = this.#require(peerId)
    const url = `${trust.baseuri}/trust/${trust.relationship}/${this.id}`
    const deletion = await this.call('DELETE', url, trust.secret)
    if ('error' in deletion && deletion.error !== 404) return false
    this.forget(peerId)
    return true
  }

  /** Sends a request. Rejects without a response. */
  send(method: string, url: string, secret: string, body?: object): Promise<PythonReply> {
    return this.#send({
      method,
      url,
      headers: {
        ...(secret === '' ? {} : { authorization: `Bearer ${secret}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  /** Sends a request as its proxy does. */
  async call(method: string, url: string, secret?: string, body?: object): Promise<Believed> {
    try {
      const answer = await this.send(method, url, secret ?? '', body)
      return believe(answer.status, answer.body)
    } catch {
      return { error: 408 }
    }
  }

  #require(peerId: string): PythonTrust {
    const trust = this.trusts.get(peerId)
    if (trust === undefined) throw new Error(`The Python actor has no relationship with ${peerId}`)
    return trust
  }

  // Routes

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const path = (incoming.url ?? '').slice(this.id.length + 1)
    const request = {
      method: incoming.method ?? '',
      path,
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
    }
    this.requests.push(request)
    const { status, headers = {}, body = '' } = await this.answer(request)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status, {
      ...(typeof body === 'string' ? {} : { 'content-type': 'application/json' }),
      ...headers,
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
    this.#waiting = this.#waiting.filter(([method, pattern, resolve]) => {
      if (method !== request.method || !pattern.test(request.path)) return true
      resolve(request)
      return false
    })
  }

  async answer(request: PythonRequest): Promise<PythonAnswer> {
    for (const [method, pattern, route] of this.#routes) {
      const match = pattern.exec(request.path)
      if (method !== request.method || match === null) continue
      const answer = await route(request, match)
      if (answer !== undefined) return answer
    }
    // The web framework answers requests without a route.
    return { status: 404, body: { detail: 'Not Found' } }
  }

  #declareTrust(): void {
    this.route('GET', /^\/meta$/, () => ({ status: 200, body: { id: this.id, type: this.type, version: '3.14.0' } }))
    this.route('POST', /^\/trust\/([^/]+)$/, (request, [, relationship = '']) => this.#receive(request, relationship))
    const one = /^\/trust\/([^/]+)\/([^/?]+)(?:\?.*)?$/
    this.route('GET', one, (request, [, relationship, peerId]) => {
      const caller = this.authenticate(request)
      if ('status' in caller) return caller
      const trust = this.#named(relationship, peerId)
      if (trust === null) return { status: 404 }
      if (caller !== trust || !trust.approved) return { status: 403 }
      return { status: 200, body: { ...trust, id: this.id } }
    })
    this.route('POST', one, (request, [, relationship, peerId]) => {
      const caller = this.authenticate(request)
      if ('status' in caller) return caller
      const trust = this.#named(relationship, peerId)
      if (trust === null) return { status: 500 }
      if ((JSON.parse(request.body) as { approved?: unknown }).approved === true) trust.peer_approved = true
      if (trust.approved && trust.peer_approved) this.events.push(`trust_fully_approved_remote ${trust.peerid}`)
      return { status: 204 }
    })
    this.route('DELETE', one, (request, [, relationship, peerId]) => {
      const trust = this.#named(relationship, peerId)
      if (trust === null) return { status: 404 }
      const caller = this.authenticate(request)
      if ('status' in caller) return caller
      if (caller !== trust) return { status: 403 }
      this.forget(trust.peerid)
      return { status: 204 }
    })
  }

  #named(relationship: string | undefined, peerId: string | undefined): PythonTrust | null {
    const trust = this.trusts.get(decodeURIComponent(peerId ?? ''))
    return trust?.relationship === decodeURIComponent(relationship ?? '') ? trust : null
  }

  async #receive(request: PythonRequest, relationship: string): Promise<PythonAnswer> {
    let asked: Record<string, string | undefined>
    try {
      asked = JSON.parse(request.body) as Record<string, string | undefined>
    } catch {
      return { status: 400 }
    }
    const { baseuri, id, type = '', secret = '', desc = '', verify = '' } = asked
    if (!baseuri || !id) return { status: 400 }
    const minted = secret === '' ? randomBytes(20).toString('hex') : secret
    if ([...this.trusts.values()].some((trust) => trust.secret === minted)) return { status: 403 }
    // The Python implementation uses the body and ignores the status.
    const shown: unknown = await this.send('GET', `${baseuri}/trust/${relationship}/${this.id}`, minted)
      .then(({ body }): unknown => JSON.parse(body))
      .catch(() => ({}))
    const { verification_token: token } = shown as { verification_token?: unknown }
    const trust: PythonTrust = {
      peerid: id,
      baseuri,
      type,
      relationship,
      secret: minted,
      desc,
      approved: this.autoAccept === relationship,
      peer_approved: true,
      verified: verify !== '' && token === verify,
      verification_token: randomBytes(20).toString('hex'),
    }
    // A second request replaces the first one without a check of its sender.
    this.trusts.set(id, trust)
    this.events.push(`trust_request_received ${id}`)
    return {
      status: trust.approved ? 201 : 202,
      headers: { Location: `${this.url}/trust/${relationship}/${id}` },
      body: {
        ...trust,
        id: this.id,
        approved: String(trust.approved),
        peer_approved: String(trust.peer_approved),
        verified: String(trust.verified),
      },
    }
  }
}

/** Interprets a response: a JSON body is a success unless it has `error`. Without a JSON body, the status decides. */
export function believe(status: number, body: string): Believed {
  let data: unknown
  try {
    data = JSON.parse(body)
  } catch {
    return status >= 200 && status <= 299 ? { data: {} } : { error: status }
  }
  if (typeof data === 'object' && data !== null && 'error' in data) {
    const { error } = data
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : status
    return { error: typeof code === 'number' ? code : status }
  }
  return { data }
}
