/** A peer without a network, which returns the responses of a test and records every request. */
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import { insertSubscriberSubscription } from '../../src/replica/subscriber-store.ts'
import { relateTo, type RelationshipOptions, type TestRelationship } from './recording-peer.ts'
import type { TestActor, TestService } from './service.ts'

export interface ScriptedAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON, a string as it is. */
  readonly body?: unknown
}

export type Script = (request: PeerRequest) => Promise<ScriptedAnswer | null> | ScriptedAnswer | null

export class ScriptedPeers implements PeerClient {
  readonly baseuri = 'https://publisher.example.com/b1'
  readonly calls: PeerRequest[] = []
  /** Responses by method and path below the peer, such as `GET /properties`. Null is unreachable, and a missing entry is 404. */
  readonly answers = new Map<string, ScriptedAnswer | Script | null>()

  /** Methods and paths of the requests, in order. */
  get asked(): string[] {
    return this.calls.map(({ method, url }) => `${method} ${url.slice(this.baseuri.length)}`)
  }

  /** Publishes properties by name (arrays are lists), the latest sequence number, and the diffs that can be polled. */
  publish(
    subscription: { readonly subscriber: string; readonly id: string },
    properties: Readonly<Record<string, unknown>>,
    sequence = 0,
    diffs: readonly { readonly sequence: number; readonly data: unknown }[] = [],
  ): void {
    const listing = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [
        name,
        Array.isArray(value) ? { _list: true, count: value.length } : value,
      ]),
    )
    this.answers.set('GET /properties', { body: listing })
    for (const [name, value] of Object.entries(properties)) {
      this.answers.set(`GET /properties/${name}`, { body: value })
      if (Array.isArray(value)) this.answers.set(`GET /properties/${name}/metadata`, { body: { length: value.length } })
    }
    const path = `/subscriptions/${subscription.subscriber}/${subscription.id}`
    this.answers.set(`GET ${path}`, { body: { sequence, data: diffs } })
    this.answers.set(`PUT ${path}`, { status: 204 })
  }

  async call(request: PeerRequest): Promise<PeerOutcome> {
    this.calls.push(request)
    if (!request.url.startsWith(`${this.baseuri}/`)) return { kind: 'unreached', reason: 'No peer has this address' }
    const found = this.answers.get(`${request.method} ${request.url.slice(this.baseuri.length)}`)
    const answer = typeof found === 'function' ? await found(request) : found
    if (answer === null) return { kind: 'unreached', reason: 'No peer has this address' }
    const { status = answer === undefined ? 404 : 200, headers = {}, body = '' } = answer ?? {}
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return { kind: 'answered', status, headers, body: text }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

export interface Listening extends TestRelationship {
  readonly id: string
  /** Sends a callback about the subscription as the peer. */
  tell(body: unknown, headers?: Record<string, string>): Promise<Response>
  /** Sends a callback like `tell`, with an unchanged body. */
  send(body: string | Uint8Array, headers?: Record<string, string>): Promise<Response>
  /** Sends a complete diff as the peer. */
  diff(sequence: number, data: unknown, more?: Record<string, unknown>): Promise<Response>
  /** Returns the copy of the peer's data. */
  copy(): Promise<unknown>
  /** Returns the last sequence number that was applied. */
  sequence(): Promise<number | undefined>
  /** Returns the sequence numbers of waiting callbacks. */
  waiting(): Promise<number[]>
}

/** Stores a relationship with a peer, and a subscription to that peer. */
export async function listenTo(
  service: TestService,
  actor: TestActor,
  {
    id = 'sub1',
    subtarget = '',
    resource = '',
    target = 'properties',
    granularity = 'high',
    ...related
  }: RelationshipOptions & {
    id?: string
    target?: string
    subtarget?: string
    resource?: string
    granularity?: string
  } = {},
): Promise<Listening> {
  const peer = await relateTo(service, actor, { baseuri: 'https://publisher.example.com/b1', ...related })
  await subscribed(service, actor, peer.peerId, { id, target, subtarget, resource, granularity })
  return listening(service, actor, peer, id)
}

/** Stores a subscription to a peer. */
export async function subscribed(
  service: TestService,
  actor: TestActor,
  peerId: string,
  wanted: { id: string; target?: string; subtarget?: string; resource?: string; granularity?: string },
): Promise<void> {
  const { store } = await service.app.running()
  const { id, target = 'properties', subtarget = '', resource = '', granularity = 'high' } = wanted
  await store.writeActor(actor.id, (tx) =>
    insertSubscriberSubscription(tx, {
      actorId: actor.id,
      peerId,
      subscriptionId: id,
      target,
      subtarget,
      resource,
      granularity,
      sequence: 0,
      gapDueAt: null,
      resyncPending: false,
      isUnknown: false,
      attempts: 0,
      createdAt: 1,
    }),
  )
}

export function listening(service: TestService, actor: TestActor, peer: TestRelationship, id: string): Listening {
  const tell: Listening['tell'] = (body, headers) =>
    peer.request('POST', `/callbacks/subscriptions/${peer.peerId}/${id}`, body, headers)
  return {
    ...peer,
    id,
    tell,
    send: (body, headers = {}) =>
      service.request(`/${actor.id}/callbacks/subscriptions/${peer.peerId}/${id}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${peer.secret}`, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : new Uint8Array(body),
      }),
    diff: (sequence, data, more = {}) =>
      tell({ id: peer.peerId, subscriptionid: id, target: 'properties', sequence, granularity: 'high', data, ...more }),
    async copy() {
      const handle = await service.app.actors.get(actor.id)
      return handle?.remote(peer.peerId).all()
    },
    async sequence() {
      const handle = await service.app.actors.get(actor.id)
      const all = (await handle?.remote(peer.peerId).subscriptions()) ?? []
      return all.find(({ subscriptionid }) => subscriptionid === id)?.sequence
    },
    async waiting() {
      const key = `pending:${peer.peerId}:${id}`
      const shown = await actor.request('GET', `/devtest/attributes/_callback_state/${encodeURIComponent(key)}`)
      if (shown.status !== 200) return []
      const { data } = (await shown.json()) as { data: { callbacks: { sequence: number }[] } }
      return data.callbacks.map(({ sequence }) => sequence)
    },
  }
}
