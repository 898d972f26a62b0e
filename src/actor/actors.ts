/** Creating, finding and deleting actors. */
import type { ActorHandle } from '../app/actor-handle.ts'
import { fire } from '../app/events.ts'
import type { Registry } from '../app/registry.ts'
import { quoted, ServiceError } from '../errors.ts'
import { stringText } from '../json/json.ts'
import type { Log } from '../observe/log.ts'
import { lookupText } from './lookup.ts'
import { sameSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId, randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { open, seal } from '../secret/sealed.ts'
import type { Store, Transaction } from '../store/store.ts'
import { type Actor, defaultCreator, normaliseCreator, parseActorId } from './actor.ts'
import {
  claimCreator,
  clearDeletionMarker,
  deleteActor,
  deleteActorsOf,
  findActor,
  findActorByCreator,
  findActorByProperty,
  hasAccount,
  hasDeletionMarker,
  hasSession,
  insertActor,
  lockActor,
  lockActorsOf,
  lockCreator,
  purgeDeletionMarkers,
  setCreator,
  setTrusteeRoot,
} from './actor-store.ts'

export interface NewActor {
  readonly creator?: string | undefined
  /** Made at random when absent or empty. */
  readonly passphrase?: string | undefined
  /** Chosen by code only; made at random when absent. */
  readonly id?: string
  readonly trusteeRoot?: string | undefined
  /** Replaces every actor of the same creator, in the same transaction. */
  readonly deleteExisting?: boolean
  /** The caller knows that the creator is who they say: whoever proves it to a provider is signed in to this actor. */
  readonly verified?: boolean
}

export interface Created {
  readonly actor: Actor
  readonly passphrase: string
  /** False when the actor was there before: same creator, same passphrase, unique creators. */
  readonly isNew: boolean
}

/** Says whether somebody's guess at the passphrase of an actor is right, and counts the wrong ones. */
export type PassphraseJudge = (actor: Actor, isRight: () => boolean) => Promise<boolean>

export interface ActorsDeps {
  readonly store: Store
  readonly registry: Registry
  readonly keyRing: KeyRing
  readonly log: Log
  readonly now: () => number
  readonly uniqueCreator: boolean
  readonly indexedProperties: ReadonlySet<string>
  readonly handleOf: (actor: Pick<Actor, 'id' | 'creator'>) => ActorHandle
  /** Runs in the transaction of the deletion, before the rows are deleted: enqueues the notices to the peers. */
  readonly onDeleting: (tx: Transaction, actorIds: readonly string[]) => Promise<void>
  /** Called after lists of a deleted actor may have left rows behind. */
  readonly deleteRemoved: () => void
  /** Writes that the creator is proven. False when another actor is the one of a proven creator. */
  readonly prove: (tx: Transaction, actor: Pick<Actor, 'id' | 'creator'>) => Promise<boolean>
}

const markerDays = 30
const markerMs = markerDays * 24 * 60 * 60 * 1000

/** A creation that lost the race for its creator looks again; each round has a winner, so this many rounds serve as many rivals. */
const mostRounds = 200

export class Actors {
  readonly #deps: ActorsDeps

  constructor(deps: ActorsDeps) {
    this.#deps = deps
  }

  async find(id: string): Promise<Actor | null> {
    // What cannot be an id is nobody's, and is not worth a statement.
    return parseActorId(id) === null ? null : this.#deps.store.read((q) => findActor(q, id))
  }

  /** @throws ServiceError `actor_not_found` */
  async require(id: string): Promise<Actor> {
    const actor = await this.find(id)
    if (actor === null) throw new ServiceError('actor_not_found', `There is no actor ${quoted(id)}`)
    return actor
  }

  findByCreator(creator: string): Promise<Actor | null> {
    return this.#deps.store.read((q) => findActorByCreator(q, normaliseCreator(creator)))
  }

  /** By the value of an indexed property. @throws ServiceError `bad_request` when the name is not indexed. */
  findBy(name: string, value: string): Promise<Actor | null> {
    if (!this.#deps.indexedProperties.has(name)) {
      return Promise.reject(
        new ServiceError(
          'bad_request',
          `Cannot find an actor by ${JSON.stringify(name)}: it is not an indexed property`,
        ),
      )
    }
    const text = lookupText(stringText(value))
    return text === null ? Promise.resolve(null) : this.#deps.store.read((q) => findActorByProperty(q, name, text))
  }

  passphraseOf(actor: Actor): string {
    return open(this.#deps.keyRing, actor.passphrase, bindingOf(actorPassphrase, actor.id))
  }

  /**
   * @throws ServiceError `creator_exists` when creators are unique and this one has an actor, `conflict` when the id is
   *   taken, `invalid_value` for an id or creator that cannot be used, and what `judge` throws.
   */
  async create(request: NewActor, judge: PassphraseJudge = asItIs): Promise<Created> {
    const creator = normaliseCreator(request.creator)
    const passphrase =
      request.passphrase === undefined || request.passphrase === '' ? randomPassphrase() : request.passphrase
    const actor = this.#newActor(request, creator, passphrase)
    const turn = this.#deps.uniqueCreator || request.deleteExisting === true ? `creator ${creator}` : undefined
    for (let round = 0; round < mostRounds; round += 1) {
      const outcome = await this.#deps.store.write((tx) => this.#insert(tx, request, actor), { turn }).catch(lostRace)
      if (outcome === 'created') {
        if (request.deleteExisting === true) this.#deps.deleteRemoved()
        await this.announce(actor)
        return { actor, passphrase, isNew: true }
      }
      if (outcome !== 'lost') return this.#existing(request, outcome, judge)
    }
    throw new ServiceError(
      'store_unavailable',
      `Cannot create an actor for this creator now: too many others try the same`,
      { retryAfterSeconds: 1 },
    )
  }

  #newActor(request: NewActor, creator: string, passphrase: string): Actor {
    const id = request.id === undefined ? randomId() : parseActorId(request.id)
    if (id === null) {
      throw new ServiceError(
        'invalid_value',
        `Cannot use the actor id ${quoted(request.id ?? '')}: letters, digits, "-" and "_" only, and no word of a route`,
      )
    }
    return {
      id,
      creator,
      passphrase: seal(this.#deps.keyRing, passphrase, bindingOf(actorPassphrase, id)),
      trusteeRoot: request.trusteeRoot === undefined || request.trusteeRoot === '' ? null : request.trusteeRoot,
      createdAt: this.#deps.now(),
      guardedUntil: 0,
    }
  }

  async #insert(tx: Transaction, request: NewActor, actor: Actor): Promise<'created' | Actor> {
    if (request.deleteExisting === true) {
      await lockCreator(tx, actor.creator)
      await this.#deps.onDeleting(tx, await lockActorsOf(tx, actor.creator))
      await deleteActorsOf(tx, actor.creator, this.#deps.now())
    } else if (this.#deps.uniqueCreator) {
      const existing = await findActorByCreator(tx, actor.creator)
      if (existing !== null) return existing
    }
    if (!(await insertActor(tx, actor))) {
      throw new ServiceError('conflict', `Cannot create actor ${JSON.stringify(actor.id)}: the id is taken`)
    }
    if (request.id !== undefined) await clearDeletionMarker(tx, actor.id)
    if (request.verified === true && !(await this.#deps.prove(tx, actor))) {
      throw new ServiceError('creator_exists', 'Cannot create an actor: this creator has proved to own another one')
    }
    // Two replacements at one instant see nothing of each other; the claim is what they meet at.
    const isAlone = this.#deps.uniqueCreator || request.deleteExisting === true
    if (isAlone && !(await claimCreator(tx, actor.creator, actor.id))) throw new LostRace()
    return 'created'
  }

  /** The actor of a person who signs in for the first time, not stored yet. */
  draft(identifier: string): Actor {
    return this.#newActor({}, identifier, randomPassphrase())
  }

  /**
   * Stores a draft in the transaction of the sign-in; `announce` follows once that is durable.
   *
   * @returns false when creators are unique and another actor got this one first.
   */
  async insertDraft(tx: Transaction, draft: Actor): Promise<boolean> {
    if (!(await insertActor(tx, draft))) throw new Error('An actor id was made twice')
    return !this.#deps.uniqueCreator || claimCreator(tx, draft.creator, draft.id)
  }

  /** An actor of the service itself, whose id no address of a route can name. Nobody is told its passphrase. */
  async ensureSystemActor(id: string, creator: string): Promise<void> {
    const existing = await this.#deps.store.read((q) => findActor(q, id))
    if (existing !== null) return
    const { keyRing, store, now } = this.#deps
    const passphrase = seal(keyRing, randomPassphrase(), bindingOf(actorPassphrase, id))
    await store.write((tx) =>
      insertActor(tx, { id, creator, passphrase, trusteeRoot: null, createdAt: now(), guardedUntil: 0 }),
    )
  }

  async announce(actor: Pick<Actor, 'id' | 'creator'>): Promise<void> {
    await fire(this.#deps.registry, this.#deps.log, 'actor_created', { actor: this.#deps.handleOf(actor) })
  }

  /** Takes an actor back whose sign-in was refused; it stays when somebody signed in to it meanwhile. Fires no event. */
  async withdraw(id: string): Promise<void> {
    await this.#deps.store.write(async (tx) => {
      if ((await lockActor(tx, id)).length === 0 || (await hasSession(tx, id))) return
      await this.#deps.onDeleting(tx, [id])
      await deleteActor(tx, id, this.#deps.now())
    })
    this.#deps.deleteRemoved()
  }

  /** The creator proved to be the owner by the passphrase, or is refused. */
  async #existing({ passphrase: shown }: NewActor, existing: Actor, judge: PassphraseJudge): Promise<Created> {
    const passphrase = this.passphraseOf(existing)
    const isRight = shown !== undefined && shown !== '' && (await judge(existing, () => sameSecret(shown, passphrase)))
    if (isRight) {
      return { actor: existing, passphrase, isNew: false }
    }
    if (existing.creator === defaultCreator) {
      throw new ServiceError(
        'bad_request',
        'Cannot create an actor: a creator has to be named, because creators are unique here',
      )
    }
    throw new ServiceError('creator_exists', 'Cannot create an actor: this creator has one already')
  }

  /**
   * Says whose companion the actor is; what is not given stays.
   *
   * @throws ServiceError `conflict` when somebody signs in to the actor, or creators are unique and this one has another.
   */
  async setTrustee(
    id: string,
    change: { trusteeRoot?: string | null | undefined; creator?: string | undefined },
  ): Promise<void> {
    const creator = change.creator === undefined ? undefined : normaliseCreator(change.creator)
    await this.#deps.store.writeActor(id, async (tx) => {
      if (change.trusteeRoot !== undefined) await setTrusteeRoot(tx, id, change.trusteeRoot)
      if (creator === undefined) return
      // Applications and clients are told the creator as who signed in: it is what was proven, or typed under a doubt.
      if ((await findActor(tx, id))?.creator !== creator && (await hasAccount(tx, id))) {
        throw new ServiceError('conflict', 'Cannot set the creator: the owner signs in, and is known by that')
      }
      if (this.#deps.uniqueCreator) {
        const holder = await findActorByCreator(tx, creator)
        const isFree = (holder === null || holder.id === id) && (await claimCreator(tx, creator, id))
        if (!isFree) throw new ServiceError('conflict', 'Cannot set the creator: another actor has it')
      }
      await setCreator(tx, id, creator)
    })
  }

  /** Wipes everything of the actor in one transaction. False when there was none. Fires no event. */
  async delete(id: string): Promise<boolean> {
    // Those of the service itself, whose ids are none that anybody can have, stay.
    if (parseActorId(id) === null) return false
    const now = this.#deps.now()
    const deleted = await this.#deps.store.write(async (tx) => {
      await purgeDeletionMarkers(tx, now - markerMs)
      await this.#deps.onDeleting(tx, await lockActor(tx, id))
      return deleteActor(tx, id, now)
    })
    if (deleted) this.#deps.deleteRemoved()
    return deleted
  }

  /** As `delete`, with the events of an HTTP DELETE around it. */
  async deleteWithEvents(actor: Actor): Promise<void> {
    const { registry, log } = this.#deps
    await fire(registry, log, 'actor_deleted', { actor: this.#deps.handleOf(actor) })
    const deleted = await this.delete(actor.id)
    if (deleted) await fire(registry, log, 'actor_deleted_complete', { actor: null, actor_id: actor.id })
  }

  /**
   * Whether an actor of this id was deleted in the last 30 days. `unknown` when the store cannot be read: work for an
   * actor is never dropped on a guess.
   */
  async wasDeleted(id: string): Promise<'yes' | 'no' | 'unknown'> {
    try {
      const marked = await this.#deps.store.read((q) => hasDeletionMarker(q, id, this.#deps.now() - markerMs))
      return marked ? 'yes' : 'no'
    } catch (error) {
      this.#deps.log.warn({ error, actorId: id }, 'Cannot tell whether the actor was deleted')
      return 'unknown'
    }
  }
}

/** Of the application, which guesses nothing. */
const asItIs: PassphraseJudge = async (_actor, isRight) => isRight()

/** Thrown to roll back: another creation of the same creator committed first. */
class LostRace extends Error {}

function lostRace(error: unknown): 'lost' {
  if (error instanceof LostRace) return 'lost'
  throw error
}
