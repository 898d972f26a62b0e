import { Indexes } from '../actor/indexes.ts'
import type { History } from '../history/history.ts'
import { ListIndexes } from '../list/list-indexes.ts'
import { RemovedLists } from '../list/removed-lists.ts'
import { ShortLists } from '../list/short-list.ts'
import type { Permission } from '../permission/permission.ts'
import type { Runtime } from '../runtime.ts'
import type { LockedActor } from '../store/store.ts'
import { BulkWrite } from './bulk-write.ts'
import { DeclaredKinds } from './declared-kinds.ts'
import { ActorWriter, type ChangeSink, recordedChanges } from './change.ts'
import { replaceOther } from './kinds.ts'
import { ListHooks } from './lists/list-hooks.ts'
import { ListReader } from './lists/list-reader.ts'
import { ListWriter } from './lists/list-writer.ts'
import { Properties } from './properties.ts'
import { StoredNames } from './stored-names.ts'
import { PropertyGate } from './property-hooks.ts'
import { Values } from './values.ts'
import { Versions } from './version.ts'

interface PropertyNeeds {
  readonly permission: Permission
  readonly history: History
  /** The sinks that receive the changes of every write inside its transaction, in this order. */
  readonly changeSinks: readonly ChangeSink[]
  /** Whether a sink stores the changes of the actor with their origins, besides subscriptions. */
  readonly observes: (actor: LockedActor) => boolean
}

export type PropertyModule = ReturnType<typeof createProperties>

export function createProperties(runtime: Runtime, { permission, history, changeSinks, observes }: PropertyNeeds) {
  const { config, registry, store, readReplicas, timers, log, now, keyRing, live, handles } = runtime
  const removedLists = new RemovedLists({ store, timers, log })
  const listIndexes = new ListIndexes({ store, log })
  const deleteRemoved = removedLists.wake
  const declared = new DeclaredKinds(registry, history.isOn ? history : undefined)
  const versions = new Versions(keyRing, declared)
  const writer = new ActorWriter(store, versions, async (tx, actor, changes, by) => {
    for (const sink of changeSinks) await sink(tx, actor, changes, by)
    if (actor.watchedUntil > 0) await live.record(tx, actor, 'properties', recordedChanges(changes))
  })
  const gate = new PropertyGate(registry, handles.withoutHooks, runtime.log)
  const indexes = new Indexes({
    indexedProperties: new Set(config.indexedProperties),
    forceEmailAsCreator: config.forceEmailAsCreator,
    uniqueCreator: config.uniqueCreator,
    onCollision: (actorId, name) =>
      log.warn({ actorId, name }, 'An indexed value belongs to another actor already; the first owner keeps it'),
  })
  const isObserved = (actor: LockedActor): boolean =>
    actor.subscriptionCount > 0 || actor.watchedUntil >= now() || observes(actor)
  const writing = { store, writer, permission, versions, declared, isObserved }
  const values = new Values({ ...writing, gate, indexes, history, replaceOther })
  const hooks = new ListHooks(store, gate, declared)
  const shortLists = new ShortLists()
  const listReader = new ListReader({ store, permission, hooks, declared, listIndexes, shortLists })
  const listWriter = new ListWriter({ ...writing, hooks, now, deleteRemoved })
  const kindDeps = { writer, permission, gate, declared, versions, values, listReader, listWriter }
  const names = new StoredNames({ store, declared })
  const properties = new Properties({ kindDeps, store, names, readReplicas, indexes, versions, history, deleteRemoved })
  const bulkWrite = new BulkWrite({ kindDeps, names, indexes, history, now })
  return {
    properties,
    listReader,
    listWriter,
    bulkWrite,
    removedLists,
    listIndexes,
    writer,
    values,
    gate,
    hooks,
    declared,
  }
}
