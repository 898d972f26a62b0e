/** Actors that belong to the service itself. */
import { personKind } from '../app/kinds/person.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import type { Store } from '../store/store.ts'
import { findActor, insertActor } from './actor-store.ts'

interface SystemActorDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly now: () => number
}

/** Creates the actor unless it exists. Its id cannot be part of a route, and its passphrase is never returned. */
export async function ensureSystemActor(
  { store, keyRing, now }: SystemActorDeps,
  id: string,
  creator: string,
): Promise<void> {
  const existing = await store.read((q) => findActor(q, id))
  if (existing !== null) return
  const passphrase = seal(keyRing, randomPassphrase(), bindingOf(actorPassphrase, id))
  await store.write((tx) =>
    insertActor(tx, {
      id,
      creator,
      passphrase,
      trusteeRoot: null,
      createdAt: now(),
      guardedUntil: 0,
      kind: personKind,
    }),
  )
}
