/** The invariants that must hold when a simulated world has come to rest. */
import { violationsIn } from '../support/invariants.ts'
import { openFile } from './databases.ts'
import { judgePythonCopies } from './python/judge-python.ts'
import type { SubscriptionView, Workload } from './workload.ts'
import type { SimActor, World } from './world.ts'

/** Checks I8, that each actor has one home, and the other invariants that are visible in the tables alone. */
export async function judgeTables(world: World): Promise<void> {
  for (const host of world.hosts) {
    const found = [...(await violationsIn(`sqlite:${host.path}`, { openFile })), ...host.ledger.leftovers()]
    for (const text of found) world.violation(`${host.origin}: ${text}`)
  }
  for (const { id, isGone, mayBeGone } of world.actors) {
    const homes = world.hosts.filter(({ ledger }) => ledger.isHome(id)).map(({ origin }) => origin)
    if (homes.length > (isGone ? 0 : 1)) world.violation(`R-MOVE-06: ${id} is at ${homes.join(' and ')}`)
    if (!isGone && !mayBeGone && homes.length === 0) world.violation(`R-MOVE-06: ${id} is nowhere`)
  }
}

/** Checks that two related actors share one secret, whatever was lost during rotations. */
export async function judgeSecrets(world: World, workload: Workload): Promise<void> {
  for (const actor of world.actors) {
    if (actor.isGone) continue
    for (const { peerid, secret, baseuri } of await workload.trustsOf(actor)) {
      const peer = workload.actorOf(peerid)
      if (peer === undefined || peer.isGone || world.isStrange(peerid, baseuri)) continue
      const theirs = (await workload.trustsOf(peer)).find((trust) => trust.peerid === actor.id)
      if (theirs !== undefined && !world.isStrange(actor.id, theirs.baseuri) && theirs.secret !== secret) {
        world.violation(`PEER-05: ${actor.id} and ${peerid} have two secrets`)
      }
    }
  }
}

/**
 * Checks I4: the copy of each subscriber equals what the subscriber may see.
 *
 * @param mayBeBehind Skips peers with missing diffs, because a subscriber notices a diff that the publisher gave up only
 * with the next one.
 * @returns the number of copies of the Python actor that were compared.
 */
export async function judgeReplicas(
  world: World,
  workload: Workload,
  { mayBeBehind }: { readonly mayBeBehind: boolean },
): Promise<number> {
  const views = new Views(world, workload)
  for (const actor of world.actors) {
    if (actor.isGone) continue
    const trusts = await workload.trustsOf(actor)
    const secrets = new Map(trusts.map(({ peerid, secret }) => [peerid, secret]))
    const evil = new Set(trusts.filter((one) => world.isStrange(one.peerid, one.baseuri)).map(({ peerid }) => peerid))
    const subscriptions = await views.subscriptionsOf(actor)
    const behind = mayBeBehind ? await peersBehind(workload, views, actor, subscriptions) : new Set<string>()
    for (const subscription of subscriptions) {
      if (!subscription.callback || behind.has(subscription.peerid) || evil.has(subscription.peerid)) continue
      // The Python actor publishes nothing.
      if (subscription.peerid === world.python?.id) continue
      const publisher = workload.actorOf(subscription.peerid)
      const secret = secrets.get(subscription.peerid)
      if (publisher === undefined || secret === undefined) {
        world.violation(`I8: ${actor.id} listens to ${subscription.peerid} without a relationship`)
      } else await judgeReplica(world, views, { actor, publisher, secret, subscription })
    }
  }
  return judgePythonCopies(world, workload, {
    mayBeBehind,
    canonical,
    shownTo: (publisher, secret) => views.shownTo(publisher, secret),
  })
}

/** The state of the services at rest. Each request is sent once and cached. */
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

/** The peers whose diffs have not all arrived. */
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
    const published = (await views.subscriptionsOf(publisher)).find(
      (other) => other.subscriptionid === subscriptionid && other.peerid === actor.id && !other.callback,
    )
    if (published !== undefined && published.sequence !== sequence) behind.add(peerid)
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
  const published = (await views.subscriptionsOf(publisher)).find(
    ({ subscriptionid, callback }) => subscriptionid === subscription.subscriptionid && !callback,
  )
  if (published === undefined) {
    // If the peer still knows other subscriptions, an unknown one remains until its owner ends it: a sync that finds only
    // some unknown deletes nothing. If the peer knows none, all subscriptions or the relationship end automatically.
    if (!(await listensStill(views, listening))) world.violation(`I4: ${name}, is not known to the publisher`)
    return
  }
  if (published.sequence !== subscription.sequence) {
    world.violation(`I4: ${name}, is at ${subscription.sequence} of ${published.sequence}`)
  }
  const source = inScope(await views.shownTo(publisher, secret), subscription)
  const replica = inScope(await views.copyAt(actor, publisher.id), subscription)
  for (const key of new Set([...source.keys(), ...replica.keys()])) {
    const [has, sees] = [replica.get(key), source.get(key)]
    // A callback that left before the right was revoked may arrive after the subscriber deleted its copy. The exception
    // covers only properties that the subscriber may not see now.
    if (sees === undefined && world.watch.isLate(publisher.id, actor.id, key)) continue
    if (has !== sees) world.violation(`I4: ${name}, has ${key} = ${has ?? 'nothing'} and may see ${sees ?? 'nothing'}`)
  }
}

/** Whether the publisher knows any subscription of the actor. */
async function listensStill(views: Views, { actor, publisher }: Listening): Promise<boolean> {
  const theirs = await views.subscriptionsOf(publisher)
  return theirs.some(({ peerid, callback }) => peerid === actor.id && !callback)
}

function scopeText({ target, subtarget, resource, granularity }: SubscriptionView): string {
  return `${[target, subtarget, resource].filter((step) => step !== '').join('/')}, ${granularity}`
}

/** Maps each name to canonical JSON with sorted keys. */
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

/** The properties that the publisher shows to the peer, fetched as the peer. A list is `{ list: items }`. */
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

/** The copy of the subscriber, read from its attribute bucket through `/devtest`. */
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

/** Removes the wrapper `{"value": …}`, which every value except an object has. */
function uncovered(data: unknown): unknown {
  const keys = Object.keys(data as object)
  return keys.length === 1 && keys[0] === 'value' ? (data as { value: unknown }).value : data
}
