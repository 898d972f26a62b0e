/** What must hold of a world that came to rest. */
import { violationsIn } from '../support/invariants.ts'
import type { SubscriptionView, Workload } from './workload.ts'
import type { SimActor, World } from './world.ts'

/** I8 and what else the tables alone must show. */
export async function judgeTables(world: World): Promise<void> {
  for (const host of world.hosts) {
    const found = [...(await violationsIn(`sqlite:${host.path}`)), ...host.ledger.leftovers()]
    for (const text of found) world.violation(`${host.origin}: ${text}`)
  }
}

/** Two actors in a relationship have one secret, whatever was lost when it was renewed. */
export async function judgeSecrets(world: World, workload: Workload): Promise<void> {
  for (const actor of world.actors) {
    if (actor.isGone) continue
    for (const { peerid, secret } of await workload.trustsOf(actor)) {
      const peer = workload.actorOf(peerid)
      if (peer === undefined || peer.isGone) continue
      const theirs = (await workload.trustsOf(peer)).find((trust) => trust.peerid === actor.id)
      if (theirs !== undefined && theirs.secret !== secret) {
        world.violation(`PEER-05: ${actor.id} and ${peerid} have two secrets`)
      }
    }
  }
}

/**
 * I4: what everybody who listens has is what it may see.
 *
 * @param mayBeBehind a number that was given up is noticed with the next one: until then nothing is said of that peer.
 */
export async function judgeReplicas(
  world: World,
  workload: Workload,
  { mayBeBehind }: { readonly mayBeBehind: boolean },
): Promise<void> {
  const views = new Views(world, workload)
  for (const actor of world.actors) {
    if (actor.isGone) continue
    const secrets = new Map((await workload.trustsOf(actor)).map(({ peerid, secret }) => [peerid, secret]))
    const subscriptions = await views.subscriptionsOf(actor)
    const behind = mayBeBehind ? await peersBehind(workload, views, actor, subscriptions) : new Set<string>()
    for (const subscription of subscriptions) {
      if (!subscription.callback || behind.has(subscription.peerid)) continue
      const publisher = workload.actorOf(subscription.peerid)
      const secret = secrets.get(subscription.peerid)
      if (publisher === undefined || secret === undefined) {
        world.violation(`I8: ${actor.id} listens to ${subscription.peerid} without a relationship`)
      } else await judgeReplica(world, views, { actor, publisher, secret, subscription })
    }
  }
}

/** What services show while nothing happens any more: each is asked once. */
class Views {
  readonly #world: World
  readonly #workload: Workload
  readonly #known = new Map<string, unknown>()

  constructor(world: World, workload: Workload) {
    this.#world = world
    this.#workload = workload
  }

  subscriptionsOf(actor: SimActor): Promise<readonly SubscriptionView[]> {
    return this.#once(actor.id, () => this.#workload.subscriptionsOf(actor))
  }

  shownTo(publisher: SimActor, secret: string): Promise<ReadonlyMap<string, unknown>> {
    return this.#once(`${publisher.id} to ${secret}`, () => visibleTo(this.#world, publisher, secret))
  }

  copyAt(actor: SimActor, peerId: string): Promise<ReadonlyMap<string, unknown>> {
    return this.#once(`${peerId} at ${actor.id}`, () => copyAt(this.#world, actor, peerId))
  }

  async #once<T>(key: string, ask: () => Promise<T>): Promise<T> {
    if (!this.#known.has(key)) this.#known.set(key, await ask())
    return this.#known.get(key) as T
  }
}

/** The peers of whose changes not everything arrived. */
async function peersBehind(
  workload: Workload,
  views: Views,
  actor: SimActor,
  subscriptions: readonly SubscriptionView[],
): Promise<Set<string>> {
  const behind = new Set<string>()
  for (const { peerid, subscriptionid, sequence, callback } of subscriptions) {
    const publisher = workload.actorOf(peerid)
    if (!callback || publisher === undefined) continue
    const told = (await views.subscriptionsOf(publisher)).find(
      (other) => other.subscriptionid === subscriptionid && other.peerid === actor.id && !other.callback,
    )
    if (told !== undefined && told.sequence !== sequence) behind.add(peerid)
  }
  return behind
}

interface Listening {
  readonly actor: SimActor
  readonly publisher: SimActor
  readonly secret: string
  readonly subscription: SubscriptionView
}

async function judgeReplica(world: World, views: Views, listening: Listening): Promise<void> {
  const { actor, publisher, secret, subscription } = listening
  const name = `${actor.id}, listening to ${publisher.id} as ${subscription.subscriptionid} (${scopeText(subscription)})`
  const told = (await views.subscriptionsOf(publisher)).find(
    ({ subscriptionid, callback }) => subscriptionid === subscription.subscriptionid && !callback,
  )
  if (told === undefined) {
    // One of several stays until its owner ends it (a synchronisation in which only some are unknown removes nothing);
    // where the peer knows none, all end by themselves: they, or the relationship.
    if (!(await listensStill(views, listening))) world.violation(`I4: ${name}, is not known to the publisher`)
    return
  }
  if (told.sequence !== subscription.sequence) {
    world.violation(`I4: ${name}, stands at ${subscription.sequence} of ${told.sequence}`)
  }
  const source = inScope(await views.shownTo(publisher, secret), subscription)
  const replica = inScope(await views.copyAt(actor, publisher.id), subscription)
  for (const key of new Set([...source.keys(), ...replica.keys()])) {
    const [has, sees] = [replica.get(key), source.get(key)]
    // What left the publisher before the peer's right was withdrawn, and arrived after that, cannot be called back: the
    // peer drops its copy when it hears of the withdrawal, which may have been before. What it may see now is not in it.
    if (sees === undefined && world.watch.isLate(publisher.id, actor.id, key)) continue
    if (has !== sees) world.violation(`I4: ${name}, has ${key} = ${has ?? 'nothing'} and may see ${sees ?? 'nothing'}`)
  }
}

/** Whether the publisher knows another subscription of the actor. */
async function listensStill(views: Views, { actor, publisher }: Listening): Promise<boolean> {
  const theirs = await views.subscriptionsOf(publisher)
  return theirs.some(({ peerid, callback }) => peerid === actor.id && !callback)
}

function scopeText({ target, subtarget, resource, granularity }: SubscriptionView): string {
  return `${[target, subtarget, resource].filter((step) => step !== '').join('/')}, ${granularity}`
}

/** Name to JSON text with sorted keys; an object that is empty says the same as none below a name. */
function inScope(all: ReadonlyMap<string, unknown>, { subtarget, resource }: SubscriptionView): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [name, value] of all) {
    if (subtarget !== '' && name !== subtarget) continue
    const part = resource === '' ? value : partOf(value, resource)
    if (part !== undefined) texts.set(name, canonical(part))
  }
  return texts
}

function partOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const part: unknown = Object.entries(value).find(([name]) => name === key)?.[1]
  return part
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

interface ListView {
  readonly _list: true
  readonly items: readonly unknown[]
}

/** What the publisher shows to the peer, asked as the peer would ask. A list is `{ list: items }`. */
async function visibleTo(world: World, publisher: SimActor, secret: string): Promise<Map<string, unknown>> {
  const reply = await world.asPeer(publisher, secret, 'GET', '/properties?format=full')
  const shown = new Map<string, unknown>()
  if (reply === null || reply.status !== 200) return shown
  for (const [name, value] of Object.entries(JSON.parse(reply.body) as object)) {
    const list = (value as { value?: ListView } | null)?.value ?? (value as ListView | null)
    shown.set(name, isList(list) ? { list: list.items } : value)
  }
  return shown
}

function isList(value: unknown): value is ListView {
  return typeof value === 'object' && value !== null && '_list' in value && value._list === true
}

/** What the listening actor has, from the bucket where test clients look. */
async function copyAt(world: World, actor: SimActor, peerId: string): Promise<Map<string, unknown>> {
  const reply = await world.asOwner(actor, 'GET', `/devtest/attributes/${encodeURIComponent(`remote:${peerId}`)}`)
  const copy = new Map<string, unknown>()
  if (reply === null || reply.status !== 200) return copy
  const bucket = new Map(
    Object.entries(JSON.parse(reply.body) as Record<string, { data: unknown }>).map(([key, { data }]) => [key, data]),
  )
  for (const [key, data] of bucket) {
    const [, list, part] = /^list:(.*):(meta|\d+)$/s.exec(key) ?? []
    if (list === undefined) copy.set(key, uncovered(data))
    else if (part === 'meta') {
      const { length } = data as { length: number }
      copy.set(list, { list: Array.from({ length }, (_, index) => bucket.get(`list:${list}:${index}`)) })
    }
  }
  return copy
}

/** Anything but an object is kept as `{"value": …}`. */
function uncovered(data: unknown): unknown {
  const keys = Object.keys(data as object)
  return keys.length === 1 && keys[0] === 'value' ? (data as { value: unknown }).value : data
}
