/**
 * Actors that are created at the same time are inserted by one transaction. Each keeps its own outcome
 * (docs/decisions/067).
 */
import { ServiceError } from '../errors.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { Actor } from './actor.ts'
import { insertActor, insertActors } from './actor-store.ts'

/** The most actors that one transaction inserts. */
const maxTogether = 32

/** `alone`: nothing was stored, so the actor is inserted by a transaction of its own. */
type Outcome = 'stored' | 'alone'

interface Waiting {
  readonly actor: Actor
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

export class SharedInserts {
  readonly #store: Pick<Store, 'isSharded' | 'write'>
  #waiting: Waiting[] = []
  #isRunning = false

  constructor(store: Pick<Store, 'isSharded' | 'write'>) {
    this.#store = store
  }

  /**
   * Inserts an actor, together with the others that wait.
   *
   * @throws ServiceError `conflict` when the id is taken, `store_unavailable`
   */
  async insert(actor: Actor): Promise<void> {
    // On a sharded database, the rows of several actors are on several servers.
    const outcome = this.#store.isSharded ? 'alone' : await this.#join(actor)
    // After the wait, the insert runs in the async context of its own request.
    if (outcome === 'alone') await this.#store.write((tx) => insertNew(tx, actor))
  }

  #join(actor: Actor): Promise<Outcome> {
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
    this.#waiting.push({ actor, resolve, reject })
    if (!this.#isRunning) void this.#run()
    return promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) await this.#insertWaiting()
    this.#isRunning = false
  }

  async #insertWaiting(): Promise<void> {
    let taken: Waiting[] = []
    let isStored = false
    const take = (): void => {
      if (taken.length === 0) taken = this.#waiting.splice(0, maxTogether)
    }
    try {
      await this.#store.write(async (tx) => {
        // A later take finds more actors. The store may repeat the transaction after a conflict.
        take()
        isStored = false
        await insertAll(
          tx,
          taken.map(({ actor }) => actor),
        )
        isStored = true
      })
      for (const { resolve } of taken) resolve('stored')
    } catch (error) {
      take()
      // An error before the commit stored nothing, so each actor gets its own outcome. After it, the outcome is unknown.
      if (!isStored && taken.length > 1) for (const { resolve } of taken) resolve('alone')
      else for (const { reject } of taken) reject(error)
    }
  }
}

async function insertAll(tx: Transaction, actors: readonly Actor[]): Promise<void> {
  const [first, ...others] = actors
  if (first !== undefined && others.length === 0) await insertNew(tx, first)
  else if (!(await insertActors(tx, actors))) throw new ServiceError('conflict', 'Cannot create actors: an id is taken')
}

/** Inserts an actor. @throws ServiceError `conflict` when the id is taken */
export async function insertNew(tx: Transaction, actor: Actor): Promise<void> {
  if (!(await insertActor(tx, actor)))
    throw new ServiceError('conflict', `Cannot create actor ${JSON.stringify(actor.id)}: the id is taken`)
}
