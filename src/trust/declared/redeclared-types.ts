/**
 * Tells peers when a new deployment declares other rights for their trust type. Rights apply at once, but the copies of peers have
 * what they could read before.
 */
import { absenceOf, ServiceError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import {
  changedTypes,
  deleteOwedRules,
  findOwedRules,
  findTypeRules,
  oweRules,
  putTypeRules,
  type TypeRules,
  typeRulesOf,
} from '../../permission/declared-types.ts'
import type { TrustType } from '../../permission/trust-types.ts'
import { Poller } from '../../due/poller.ts'
import type { Queries, Store } from '../../store/store.ts'
import type { Timers } from '../../timers.ts'
import type { Permissions } from '../permissions.ts'

export interface RedeclaredTypesDeps {
  readonly store: Store
  readonly timers: Timers
  readonly log: Log
  readonly types: readonly TrustType[]
  readonly permissions: Pick<Permissions, 'redeclared'>
  /** The trust types whose rules differed at the start. */
  readonly redeclared: TypeRules
}

const maxRead = 200
/** The pause before actors that were moving or suspended are tried again. */
const againMs = 60_000

/**
 * Works once after a start, and for suspended actors when they are resumed. A process that is killed leaves all of it to the next
 * start: telling a peer twice changes nothing.
 */
export class RedeclaredTypes {
  readonly #deps: RedeclaredTypesDeps
  readonly #poller: Poller
  #isDone: boolean

  constructor(deps: RedeclaredTypesDeps) {
    this.#deps = deps
    this.#isDone = Object.keys(deps.redeclared).length === 0
    this.#poller = new Poller(deps.timers, () => this.#look())
  }

  wake(): void {
    this.#poller.wake()
  }

  async settled(): Promise<void> {
    await this.#poller.looking
  }

  nextDue(): Promise<null> {
    return Promise.resolve(null)
  }

  stop(): Promise<void> {
    return this.#poller.stop()
  }

  async #look(): Promise<number | null> {
    const { log } = this.#deps
    try {
      if (!this.#isDone) this.#isDone = await this.#tellAll()
      if (await this.#tellOwed()) return againMs
    } catch (error) {
      log.warn({ error }, 'Cannot tell peers about the rights of their trust types; the service tries again')
      return againMs
    }
    return this.#isDone ? null : againMs
  }

  /** False: actors are left that are moving, or are replaced. */
  async #tellAll(): Promise<boolean> {
    const { store, types, log } = this.#deps
    const known = (await store.read(findTypeRules)) ?? {}
    const declared = typeRulesOf(types)
    const before = changedTypes(known, declared)
    const names = Object.keys(before)
    let [after, isComplete] = ['', true]
    for (let actors = await this.#actorsAfter(names, after); actors.length > 0; ) {
      for (const actorId of actors) {
        if (this.#poller.isStopping) return false
        if (!(await this.#tell(actorId, before))) isComplete = false
      }
      after = actors.at(-1) ?? ''
      actors = actors.length < maxRead ? [] : await this.#actorsAfter(names, after)
    }
    if (!isComplete) return false
    await store.write((tx) => putTypeRules(tx, declared))
    log.info({ types: names }, 'Peers learn of the rights that this deployment declares for their trust types')
    return true
  }

  async #actorsAfter(names: readonly string[], after: string): Promise<readonly string[]> {
    if (names.length === 0) return []
    const find = (q: Queries): Promise<{ actorId: string }[]> =>
      q.all<{ actorId: string }>(
        `/* rights */ SELECT DISTINCT actor_id AS "actorId" FROM trust
         WHERE relationship IN (SELECT name FROM rows($1, name TEXT) AS changed) AND approved = 1 AND actor_id > $2
         ORDER BY actor_id LIMIT $3`,
        JSON.stringify(names.map((name) => [name])),
        after,
        maxRead,
      )
    return (await this.#deps.store.read(find)).map(({ actorId }) => actorId)
  }

  /** False: the actor is moving, or is replaced. */
  async #tell(actorId: string, before: TypeRules): Promise<boolean> {
    try {
      await this.#deps.permissions.redeclared(actorId, before)
      return true
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'actor_suspended') {
        await this.#deps.store.write((tx) => oweRules(tx, { actorId, before }))
        return true
      }
      const absence = absenceOf(error)
      if (absence === null) throw error
      return absence === 'gone'
    }
  }

  /** Tells the peers of actors that were suspended. True: some still are. */
  async #tellOwed(): Promise<boolean> {
    const { store, permissions } = this.#deps
    const owed = await store.read(findOwedRules)
    let isLeft = false
    for (const { actorId, before } of owed) {
      if (this.#poller.isStopping) return true
      try {
        await permissions.redeclared(actorId, before)
      } catch (error) {
        const absence = absenceOf(error)
        if (absence === null) throw error
        if (absence === 'closed') {
          isLeft = true
          continue
        }
      }
      await store.write((tx) => deleteOwedRules(tx, actorId))
    }
    return isLeft
  }
}
