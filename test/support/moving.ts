/** Three services in one network: the old one of an actor, the new one, and that of its peers. */
import assert from 'node:assert/strict'
import type { StartOptions, TestActor, TestService } from './service.ts'
import { ServiceNetwork } from './service-network.ts'
import { until } from './until.ts'

export const oldUrl = 'https://old.example.com'
export const newUrl = 'https://new.example.com'
export const peerUrl = 'https://peer.example.com'

export interface MoveView {
  readonly leaving: {
    readonly to: string
    readonly state: string
    readonly reason?: string
    /** Missing for an old session. */
    readonly claim_url?: string
  } | null
  readonly arrived: {
    readonly from: string
    readonly at: string
    readonly peers: Readonly<Record<string, number>>
    readonly first: readonly { readonly peerid: string; readonly state: string; readonly reason?: string }[]
  } | null
}

export interface MovingWorld {
  readonly network: ServiceNetwork
  readonly old: TestService
  readonly home: TestService
  readonly peers: TestService
  /** Begins the move to the new service. */
  move(actor: TestActor, to?: string): Promise<MoveView>
  /** Resolves when the actor is at the new service, and its owner has not taken it. */
  landed(actor: TestActor): Promise<void>
  /** Resolves when the actor is at the new service, and its owner has taken it with all that came along. */
  arrived(actor: TestActor): Promise<void>
  /** Resolves when the old service has deleted the actor, because its owner has taken it. */
  gone(actor: TestActor): Promise<void>
  /** Resolves when no peer waits. */
  informed(actor: TestActor): Promise<MoveView>
  /** Sends a request as the owner, who got a passphrase at the new service. */
  atHome(actor: TestActor, method: string, path: string, body?: unknown): Promise<Response>
}

type Start = (options?: StartOptions) => Promise<TestService>

export async function movingWorld(
  start: Start,
  options: { readonly all?: StartOptions; readonly old?: StartOptions; readonly home?: StartOptions } = {},
): Promise<MovingWorld> {
  const network = new ServiceNetwork()
  const common = { peerClient: network, ...options.all }
  const [old, home, peers] = await Promise.all([
    start({ ...common, baseUrl: oldUrl, ...options.old }),
    start({ ...common, baseUrl: newUrl, acceptMoves: true, ...options.home }),
    start({ ...common, baseUrl: peerUrl }),
  ])
  for (const service of [old, home, peers]) network.add(service)
  const passphrases = new Map<string, string>()
  const statusAt = async (service: TestService, { id }: TestActor): Promise<number> =>
    (await service.request(`/${id}/meta/id`)).status
  const atHome: MovingWorld['atHome'] = async (actor, method, path, body) => {
    const known = passphrases.get(actor.id) ?? (await passphraseAt(home, actor))
    passphrases.set(actor.id, known)
    const authorization = `Basic ${Buffer.from(`${actor.creator}:${known}`).toString('base64')}`
    return home.request(`/${actor.id}${path}`, {
      method,
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }
  return {
    network,
    old,
    home,
    peers,
    move: async (actor, to = newUrl) => {
      const answer = await actor.request('POST', '/move', { to })
      assert.equal(answer.status, 202, await answer.clone().text())
      return (await answer.json()) as MoveView
    },
    landed: async (actor) => until(async () => (await statusAt(home, actor)) === 200),
    arrived: (actor) => arrivedAt(home, actor),
    gone: async ({ id }) => until(async () => (await (await old.app.running()).parts.actors.find(id)) === null),
    informed: async (actor) => {
      let view: MoveView = { leaving: null, arrived: null }
      await until(async () => {
        view = (await (await atHome(actor, 'GET', '/move')).json()) as MoveView
        return view.arrived !== null && (view.arrived.peers['waiting'] ?? 0) === 0
      })
      return view
    },
    atHome,
  }
}

/** Waits until the actor is at the service, and takes it as its owner. */
export async function arrivedAt(service: TestService, actor: { readonly id: string }): Promise<void> {
  await until(async () => (await service.request(`/${actor.id}/meta/id`)).status === 200)
  await takeAt(service, actor)
}

/** Takes an actor that is at the service, as its owner who keeps all that came along, unless it was taken. */
export async function takeAt(service: TestService, { id }: { readonly id: string }): Promise<true> {
  const { store, parts } = await service.app.running()
  const { readers } = await parts.arrivalClaims.readers(id)
  const kept = readers.map(({ key }) => key)
  await store.writeActor(id, (tx) => parts.arrivalClaims.take(tx, id, kept))
  return true
}

async function passphraseAt(service: TestService, { id }: TestActor): Promise<string> {
  const { actors } = (await service.app.running()).parts
  const actor = await actors.find(id)
  assert.ok(actor)
  return actors.passphraseOf(actor)
}

/** The secret of a relationship, as one of the two services has it. */
export async function secretAt(service: TestService, actorId: string, peerId: string): Promise<string> {
  const { trusts } = (await service.app.running()).parts
  const trust = await trusts.find(actorId, peerId)
  assert.ok(trust)
  return trusts.shown(trust, 'owner').secret ?? ''
}

/** The address of a peer, as the service has it. */
export async function addressAt(service: TestService, actorId: string, peerId: string): Promise<string | undefined> {
  return (await (await service.app.running()).parts.trusts.find(actorId, peerId))?.baseuri
}

/** The fields of the page of an arrival that keep what came along. */
export function ticks(page: string): string[] {
  return [...page.matchAll(/<input type="checkbox" name="(keep\.[^"]+)"/g)].map(([, name = '']) => name)
}
