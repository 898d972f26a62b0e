/** What must hold of a world that came to rest. */
import { DatabaseSync } from 'node:sqlite'
import { violationsIn } from '../support/invariants.ts'
import type { SubscriptionView, Workload } from './workload.ts'
import type { Host, SimActor, World } from './world.ts'

/** A sentence for what is still due in a database; null when nothing is. */
export function dueIn(host: Host): string | null {
  const database = new DatabaseSync(host.path, { readOnly: true, timeout: 5000 })
  try {
    const due = [
      'SELECT peer_id AS peer, due_at AS at FROM inbound_subscription WHERE due_at IS NOT NULL',
      'SELECT recipient AS peer, due_at AS at FROM notice WHERE due_at IS NOT NULL',
      'SELECT peer_id AS peer, gap_due_at AS at FROM outbound_subscription WHERE gap_due_at IS NOT NULL',
    ]
    for (const sql of due) {
      const row = database.prepare(`${sql} LIMIT 1`).get() as { peer: string; at: number } | undefined
      if (row !== undefined) return `${sql.split(' FROM ')[1]?.split(' ')[0]} to ${row.peer} is due at ${row.at}`
    }
    return null
  } finally {
    database.close()
  }
}

/** I8 and what else the tables alone must show. */
export async function judgeTables(world: World): Promise<void> {
  for (const host of world.hosts) {
    for (const found of await violationsIn(`sqlite:${host.path}`)) world.violation(`${host.origin}: ${found}`)
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
  for (const actor of world.actors) {
    if (actor.isGone) continue
    const secrets = new Map((await workload.trustsOf(actor)).map(({ peerid, secret }) => [peerid, secret]))
    const subscriptions = await workload.subscriptionsOf(actor)
    const behind = mayBeBehind ? await peersBehind(workload, actor, subscriptions) : new Set<string>()
    for (const subscription of subscriptions) {
      if (!subscription.callback || behind.has(subscription.peerid)) continue
      const publisher = workload.actorOf(subscription.peerid)
      const secret = secrets.get(subscription.peerid)
      if (publisher === undefined || secret === undefined) {
        world.violation(`I8: ${actor.id} listens to ${subscription.peerid} without a relationship`)
      } else await judgeReplica(world, workload, { actor, publisher, secret, subscription })
    }
  }
}

/** The peers of whose changes not everything arrived. */
async function peersBehind(
  workload: Workload,
  actor: SimActor,
  subscriptions: readonly SubscriptionView[],
): Promise<Set<string>> {
  const behind = new Set<string>()
  for (const { peerid, subscriptionid, sequence, callback } of subscriptions) {
    const publisher = workload.actorOf(peerid)
    if (!callback || publisher === undefined) continue
    const told = (await workload.subscriptionsOf(publisher)).find(
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

async function judgeReplica(world: World, workload: Workload, listening: Listening): Promise<void> {
  const { actor, publisher, secret, subscription } = listening
  const name = `${actor.id}, listening to ${publisher.id} as ${subscription.subscriptionid} (${scopeText(subscription)})`
  const told = (await workload.subscriptionsOf(publisher)).find(
    ({ subscriptionid, callback }) => subscriptionid === subscription.subscriptionid && !callback,
  )
  if (told === undefined) {
    // One of several stays until its owner ends it; where the peer knows none, they end by themselves.
    if (!(await listensStill(workload, listening))) world.violation(`I4: ${name}, is not known to the publisher`)
    return
  }
  if (told.sequence !== subscription.sequence) {
    world.violation(`I4: ${name}, stands at ${subscription.sequence} of ${told.sequence}`)
  }
  const source = inScope(await visibleTo(world, publisher, secret), subscription)
  const replica = inScope(await copyAt(world, actor, publisher.id), subscription)
  for (const key of new Set([...source.keys(), ...replica.keys()])) {
    const [has, sees] = [replica.get(key), source.get(key)]
    if (has !== sees) world.violation(`I4: ${name}, has ${key} = ${has ?? 'nothing'} and may see ${sees ?? 'nothing'}`)
  }
}

/** Whether the publisher knows another subscription of the actor. */
async function listensStill(workload: Workload, { actor, publisher }: Listening): Promise<boolean> {
  const theirs = await workload.subscriptionsOf(publisher)
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
    // An empty text there cannot be told from nothing.
    if (part !== undefined && (resource === '' || part !== '')) texts.set(name, canonical(part))
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
