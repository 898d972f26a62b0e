/**
 * Change records: what a write did, in the terms that subscriptions speak. They are handed over inside the write's own
 * transaction, so a change and what follows from it are one.
 */
import type { Caller } from '../caller.ts'
import { type JsonText, members } from '../json/json.ts'
import { originText } from '../origin.ts'
import type { LockedActor, Store, Transaction } from '../store/store.ts'

export interface Change {
  readonly target: 'properties'
  /** The property's or list's name; null when the blob is an object of several names. */
  readonly subtarget: string | null
  /** The first key below it; the blob then begins at that key. */
  readonly resource: string | null
  /** The new value, `""` for a removal, or the list change of the protocol (`list`, `operation`, …). */
  readonly blob: JsonText
  /** The whole values before and after, by property name. Absent where they are not known, or no subscription needs them. */
  readonly states?: ReadonlyMap<string, PropertyState>
  /** A list change that leaves the list as it was. */
  readonly changesNothing?: true
}

/** One property before and after a change; null where it does not exist. */
export interface PropertyState {
  readonly before: JsonText | null
  readonly after: JsonText | null
}

/** Receives the changes of one transaction before it commits. */
export type ChangeSink = (tx: Transaction, actor: LockedActor, changes: readonly Change[], by: Caller) => Promise<void>

export type Record = (change: Change) => void

/** The one way to change what an actor holds: its turn, the change, and what the change leads to, as one. */
export class ActorWriter {
  readonly #store: Store
  readonly #sink: ChangeSink | null

  constructor(store: Store, sink: ChangeSink | null) {
    this.#store = store
    this.#sink = sink
  }

  /** @throws ServiceError `actor_not_found` */
  change<T>(
    actorId: string,
    by: Caller,
    work: (tx: Transaction, record: Record, actor: LockedActor) => Promise<T>,
  ): Promise<T> {
    return this.#store.writeActor(
      actorId,
      async (tx, actor) => {
        const changes: Change[] = []
        const result = await work(tx, (change) => changes.push(change), actor)
        if (this.#sink !== null && changes.length > 0) await this.#sink(tx, actor, changes, by)
        return result
      },
      originText(by),
    )
  }
}

/** The properties that the changes name. */
export function changedNames(changes: readonly Change[]): string[] {
  return [
    ...new Set(
      changes.flatMap(({ subtarget, blob }) => (subtarget === null ? [...(members(blob)?.keys() ?? [])] : [subtarget])),
    ),
  ]
}
