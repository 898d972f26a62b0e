/** The handle by which applications subscribe to peers and read the copies. */
import type { ActorHandle, AnyDeclared, RemoteHandle, RemoteListHandle } from '../app/actor-handle.ts'
import { array, type Json, toPlain } from '../json/json.ts'
import { toNfc } from '../json/nfc.ts'
import type { PeerFacts } from '../replica/peer-metadata.ts'
import type { Access } from '../property/access.ts'
import type { Store } from '../store/store.ts'
import { subscriberView } from '../replica/subscriber.ts'
import { readRemote, readRemoteName, readRemoteValue, type RemoteValue } from '../replica/copy/remote-data.ts'
import type { Subscribing, SyncResult } from '../replica/subscribing.ts'
import { remoteListHandle } from './remote-list.ts'
import { declaredType, nameOf } from './transaction.ts'

export interface SubscribingHandleDeps {
  readonly store: Store
  readonly subscribing: Subscribing
  readonly facts: PeerFacts
}

export function subscribingHandle(
  deps: SubscribingHandleDeps,
  actor: Access['actor'],
): Pick<ActorHandle, 'subscribe' | 'unsubscribe' | 'sync' | 'remote'> {
  const { subscribing } = deps
  return {
    async subscribe(peerId, { target = 'properties', subtarget = '', resource = '', granularity = 'high' } = {}) {
      const wish = { target, subtarget, resource, granularity }
      const { subscription } = await subscribing.subscribe(actor, peerId, wish)
      return subscriberView(subscription)
    },
    unsubscribe: (peerId, subscriptionId) => subscribing.unsubscribe({ actorId: actor.id, peerId, subscriptionId }),
    async sync(peerId, subscriptionId) {
      if (subscriptionId === undefined) {
        const { results, trustEnded } = await subscribing.syncPeer(actor, peerId)
        return { subscriptions: results.map(summaryOf), trustEnded }
      }
      const result = await subscribing.sync({ actorId: actor.id, peerId, subscriptionId })
      return { subscriptions: [summaryOf(result)], trustEnded: false }
    },
    remote: (peerId) => remoteHandle(deps, { actorId: actor.id, peerId }),
  }
}

function summaryOf(result: SyncResult) {
  const { subscriptionId: subscriptionid, kind: outcome } = result
  return {
    subscriptionid,
    outcome,
    ...(result.kind === 'refused' ? { status: result.status } : {}),
    ...(result.kind === 'synced' ? { sequence: result.sequence } : {}),
  }
}

function remoteHandle(
  { store, subscribing, facts }: SubscribingHandleDeps,
  key: { readonly actorId: string; readonly peerId: string },
): RemoteHandle {
  /** The copy has the names of the publisher. As at an own actor, another Unicode form means the name in the form NFC. */
  const copied = async (name: string): Promise<string> => {
    if (toNfc(name) === name) return name
    return (await store.read((q) => readRemoteValue(q, key, name))) === null ? toNfc(name) : name
  }
  return {
    async get(given: string | AnyDeclared): Promise<never> {
      const name = await copied(nameOf(given))
      const found = await store.snapshot((q) => readRemoteName(q, key, name))
      return declaredType(found === null ? undefined : plain(found))
    },
    list: (name: string | AnyDeclared): RemoteListHandle<never> =>
      declaredType(remoteListHandle(store, key, nameOf(name), copied)),
    async all() {
      const found = await store.read((q) => readRemote(q, key))
      return Object.fromEntries([...found].map(([name, value]) => [name, plain(value)]))
    },
    subscriptions: async () => (await subscribing.list(key.actorId, key.peerId)).map(subscriberView),
    profile: () => facts.find(key, 'profile'),
    capabilities: () => facts.find(key, 'capabilities'),
    permissions: () => facts.find(key, 'permissions'),
  }
}

function plain(value: RemoteValue): Json {
  return toPlain(value.kind === 'value' ? value.value : array(value.items))
}
