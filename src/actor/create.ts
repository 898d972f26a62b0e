import { DomainEvent } from '../domain-event.ts'
import type { Runtime } from '../runtime.ts'
import type { Transaction } from '../store/store.ts'
import { SignInAge } from '../permission/sign-in-age.ts'
import { ActorActs } from './acts.ts'
import { Actors, type ActorsDeps } from './actors.ts'

export type ActorModule = ReturnType<typeof createActors>

export function createActors(runtime: Runtime, needs: Pick<ActorsDeps, 'deleteRemoved' | 'prove'>) {
  const { config, registry, store, keyRing, log, now, handles, tables } = runtime
  /** Runs in the transaction that deletes the actors, before their rows are deleted. */
  const actorsDeleting = new DomainEvent<[tx: Transaction, actorIds: readonly string[]]>()
  const actors = new Actors({
    ...needs,
    store,
    registry,
    keyRing,
    log,
    now,
    tables,
    uniqueCreator: config.uniqueCreator,
    indexedProperties: new Set(config.indexedProperties),
    handleOf: handles.of,
    onDeleting: actorsDeleting.emit,
  })
  return { actors, actorActs: new ActorActs({ actors, signInAge: new SignInAge(runtime) }), actorsDeleting }
}
