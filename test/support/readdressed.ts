/** A service whose public address changes, in a network with those of its peers. */
import assert from 'node:assert/strict'
import { type AddressChange, readdress, type ReaddressProgress } from '../../src/moving/readdress.ts'
import { parseKeyRing } from '../../src/secret/key-ring.ts'
import type { Store } from '../../src/store/store.ts'
import { relate } from './friends.ts'
import { peerUrl } from './moving.ts'
import { type StartOptions, testKeys, type TestActor, type TestService } from './service.ts'
import { ServiceNetwork } from './service-network.ts'
import { until } from './until.ts'

export const formerUrl = 'https://former.example.com'
export const currentUrl = 'https://current.example.com'
export const otherUrl = 'https://other.example.com'

type Start = (options?: StartOptions) => Promise<TestService>

export interface ReaddressedWorld {
  readonly network: ServiceNetwork
  readonly peers: TestService
  readonly others: TestService
  /** The service at its former address, and later at the current one. */
  readonly service: () => TestService
  /** Restarts the service with another address. The network reaches it by each of these URLs. */
  restart(baseUrl: string, formerBaseUrls: readonly string[], options?: StartOptions): Promise<TestService>
  /** Lets time pass for all services. */
  pass(ms: number): void
  /** Sends a request as the owner of an actor of the service. */
  as(actor: TestActor, method: string, path: string, body?: unknown): Promise<Response>
}

export async function readdressedWorld(start: Start, others: StartOptions = {}): Promise<ReaddressedWorld> {
  const network = new ServiceNetwork()
  let passed = 0
  const common = { peerClient: network, now: () => Date.now() + passed }
  const [first, peers, other] = await Promise.all([
    start({ ...common, baseUrl: formerUrl }),
    start({ ...common, baseUrl: peerUrl }),
    start({ ...common, baseUrl: otherUrl, ...others }),
  ])
  for (const service of [first, peers, other]) network.add(service)
  let service = first
  return {
    network,
    peers,
    others: other,
    service: () => service,
    pass: (ms) => {
      passed += ms
    },
    restart: async (baseUrl, formerBaseUrls, options = {}) => {
      for (const url of [formerUrl, currentUrl]) network.remove(url)
      await service.close()
      service = await start({ ...common, ...options, baseUrl, formerBaseUrls, database: first.databaseUrl })
      for (const url of [baseUrl, ...formerBaseUrls]) network.serve(url, (request) => service.app.fetch(request))
      return service
    },
    as: (actor, method, path, body) =>
      service.request(`/${actor.id}${path}`, {
        method,
        headers: { authorization: actor.authorization, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}

const change: AddressChange = { from: formerUrl, to: currentUrl, asksAgain: false, isRepeated: false }

interface Interruption {
  readonly steps?: number
  readonly wrap?: (store: Store) => Store
}

/** Runs the work of `troupe readdress`. `steps`: the command is killed after so many actors. */
export async function runReaddress(
  service: TestService,
  given: Partial<AddressChange> = {},
  { steps = Number.POSITIVE_INFINITY, wrap = (store) => store }: Interruption = {},
): Promise<ReaddressProgress | null> {
  const { store, parts } = await service.app.running()
  let last: ReaddressProgress | null = null
  let left = steps
  for await (const progress of readdress(
    { store: wrap(store), keyRing: parseKeyRing(testKeys) },
    { ...change, ...given },
  )) {
    last = progress
    left -= 1
    if (left <= 0) break
  }
  // Another process would find the work by polling.
  parts.jobs.wake()
  return last
}

/** The number of peers of an actor by state. */
export async function peerStates(service: TestService, actor: TestActor): Promise<Readonly<Record<string, number>>> {
  const { arrivalClaims } = (await service.app.running()).parts
  return (await arrivalClaims.find(actor.id))?.counts ?? {}
}

export interface Friends {
  /** At the service whose address changes. */
  readonly ada: TestActor
  /** At another service. */
  readonly bob: TestActor
  readonly secret: string
}

/** Two actors that subscribe to each other. */
export async function friendsIn(world: ReaddressedWorld, at: TestService = world.peers): Promise<Friends> {
  const ada = await world.service().createActor()
  const bob = await at.createActor()
  const { secret } = await relate(bob, [world.service(), ada])
  await subscribe(bob, ada)
  await subscribe(ada, bob)
  return { ada, bob, secret }
}

async function subscribe(one: TestActor, other: TestActor): Promise<void> {
  const wanted = { peerid: other.id, target: 'properties', granularity: 'high' }
  const answer = await one.request('POST', '/subscriptions', wanted)
  assert.ok(answer.ok, await answer.text())
}

/** Waits until a copy has a value. */
export function untilCopied(
  request: (path: string) => Promise<Response>,
  publisher: TestActor,
  name: string,
  value: unknown,
): Promise<void> {
  return until(async () => {
    const answer = await request(`/remote/${publisher.id}/${name}`)
    return answer.status === 200 && JSON.stringify(await answer.json()) === JSON.stringify(value)
  })
}
