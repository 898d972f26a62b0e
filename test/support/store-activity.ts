/** Counts the transactions under way, so that a test advances its clock only while a service is idle. */
import type { Store } from '../../src/store/store.ts'
import { bound } from './stores.ts'

/** The largest number of event-loop turns between two transactions of one task. */
const idleTurns = 10

export class StoreActivity {
  #underWay = 0

  readonly wrap = (store: Store): Store => ({
    ...bound(store),
    read: (work) => this.#count(store.read(work)),
    snapshot: (work) => this.#count(store.snapshot(work)),
    write: (work, how) => this.#count(store.write(work, how)),
    writeActor: (actorId, work, origin) => this.#count(store.writeActor(actorId, work, origin)),
  })

  /** Resolves when only a timer or a peer can cause the next transaction. */
  async idle(): Promise<void> {
    for (let turn = 0; turn < idleTurns; turn++) {
      if (this.#underWay > 0) turn = 0
      await new Promise(setImmediate)
    }
  }

  async #count<T>(work: Promise<T>): Promise<T> {
    this.#underWay += 1
    try {
      return await work
    } finally {
      this.#underWay -= 1
    }
  }
}
