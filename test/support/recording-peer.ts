/** A peer that records callbacks and answers with given replies, and its relationship with an actor, stored without a handshake. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { hashSecret } from '../../src/secret/hash.ts'
import { seal } from '../../src/secret/sealed.ts'
import { bindingOf, trustSecret, trustToken } from '../../src/secret/sealed-columns.ts'
import { insertTrust } from '../../src/trust/trust-store.ts'
import type { TrustFacts } from '../../src/app/trust-record.ts'
import type { TestActor, TestService } from './service.ts'

export interface Received {
  /** The time on the peer's clock. */
  readonly at: number
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The parsed JSON body, or null without a body. */
  readonly body: Record<string, unknown> | null
}

export type Reply =
  | number
  | { readonly status: number; readonly headers?: Record<string, string> }
  /** Closes the connection after the request arrived. */
  | 'cut'
  /** Never answers. */
  | 'hang'
  /** Answers when the promise resolves with a status. */
  | Promise<number>

export class RecordingPeer {
  readonly received: Received[] = []
  /** The next replies. The last one repeats. */
  replies: Reply[] = [204]
  /** The largest number of open requests at one time. */
  maxAtOnce = 0
  now: () => number = Date.now
  #open = 0
  #server: Server | undefined
  readonly #sockets = new Set<Socket>()
  #port = 0
  #heard: (() => void)[] = []

  /** The root URL, without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<this> {
    this.#server = createServer((request, response) => void this.#take(request, response))
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    await new Promise<void>((resolve) => this.#server?.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
    return this
  }

  /** Refuses connections from now on. `start` listens on the same address again. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server?.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#open += 1
    this.maxAtOnce = Math.max(this.maxAtOnce, this.#open)
    response.once('close', () => (this.#open -= 1))
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const raw = Buffer.concat(chunks)
    const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString('utf8')
    const body = text === '' ? null : (JSON.parse(text) as Record<string, unknown>)
    this.received.push({
      at: this.now(),
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
    })
    const reply = this.replies.length > 1 ? this.replies.shift() : this.replies[0]
    const [heard, others] = [this.#heard, []]
    this.#heard = others
    for (const tell of heard) tell()
    if (reply === 'hang') return
    if (reply === 'cut' || reply === undefined) return void response.destroy()
    const answer = await reply
    const { status, headers = {} } = typeof answer === 'number' ? { status: answer } : answer
    response.writeHead(status, headers).end()
  }

  /** Resolves when `count` requests arrived. */
  async has(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) {
      await new Promise<void>((resolve) => this.#heard.push(resolve))
    }
    return this.received
  }

  get sequences(): unknown[] {
    return this.received.map(({ body }) => body?.['sequence'])
  }
}

export interface TestRelationship {
  readonly peerId: string
  readonly secret: string
  /** Sends a request as the peer to a path below the actor. */
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** Subscribes as the peer, and returns the id of the subscription. */
  subscribe(wanted: Record<string, unknown>): Promise<string>
}

export interface RelationshipOptions {
  readonly baseuri?: string
  readonly relationship?: string
  readonly approved?: boolean
  readonly facts?: TrustFacts
  readonly peerId?: string
}

export async function relateTo(
  service: TestService,
  actor: TestActor,
  {
    baseuri = '',
    relationship = 'friend',
    approved = true,
    facts = {},
    peerId = randomUUID(),
  }: RelationshipOptions = {},
): Promise<TestRelationship> {
  const { store, keyRing } = await service.app.running()
  const secret = randomUUID().replaceAll('-', '')
  await store.writeActor(actor.id, (tx) =>
    insertTrust(tx, {
      actorId: actor.id,
      peerId,
      baseuri,
      type: 'urn:actingweb:example.com:peer',
      relationship,
      secret: seal(keyRing, secret, bindingOf(trustSecret, actor.id, peerId)),
      secretHash: hashSecret(secret),
      verificationToken: seal(keyRing, 'token', bindingOf(trustToken, actor.id, peerId)),
      description: '',
      approved,
      nickname: '',
      approvedUntil: null,
      peerApproved: true,
      verified: true,
      establishedVia: 'trust',
      facts,
      createdAt: 1,
      lastAccessed: 1,
      lastConnectedVia: 'trust',
      ownRequest: null,
    }),
  )
  const request: TestRelationship['request'] = (method, path, body, headers = {}) =>
    service.request(`/${actor.id}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    peerId,
    secret,
    request,
    async subscribe(wanted) {
      const answer = await request('POST', `/subscriptions/${peerId}`, { target: 'properties', ...wanted })
      if (answer.status !== 201) throw new Error(`Cannot subscribe: status ${answer.status} ${await answer.text()}`)
      return ((await answer.json()) as { subscriptionid: string }).subscriptionid
    },
  }
}
