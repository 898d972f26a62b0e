/** Creating, finding and deleting actors. */
import type { ActorHandle } from '../app/actor-handle.ts'
import { application } from '../caller.ts'
import { fire } from '../app/events.ts'
import { personKind } from '../app/kinds/person.ts'
import type { Registry } from '../app/registry.ts'
import { quoted, ServiceError } from '../errors.ts'
import { stringText } from '../json/json.ts'
import type { Log } from '../observe/log.ts'
import { originText } from '../origin.ts'
import { lookupText } from './lookup.ts'
import { sameSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId, randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { open, seal } from '../secret/sealed.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { WithTables } from '../table/table.ts'
import { type Actor, creatorOfKind, defaultCreator, normalizeCreator, parseActorId } from './actor.ts'
import {
  clearDeletionMarker,
  deleteActor,
  type Deletion,
  findActor,
  findActorByCreator,
  findActorByProvenCreator,
  findActorByProperty,
  hasAccount,
  hasDeletionMarker,
  hasSession,
  insertActor,
  isCreatorFree,
  lockActor,
  lockActorsOf,
  purgeDeletionMarkers,
  setCreator,
  setTrusteeRoot,
  type StoredActor,
} from './actor-store.ts'
import { lockCreator } from './creator-store.ts'
import { insertNew, SharedInserts } from './shared-inserts.ts'

/** The input of `app.actors.create`. @public */
export interface NewActor {
  readonly creator?: string | undefined
  /** Default, also when empty: a random passphrase. */
  readonly passphrase?: string | undefined
  /** Chosen only by code. Default: a random id. */
  readonly id?: string
  readonly trusteeRoot?: string | undefined
  /** Deletes every existing actor of the same creator, in the same transaction. */
  readonly deleteExisting?: boolean
  /**
   * The caller has verified the creator. A person whom a provider identifies as the creator is then signed in to this
   * actor.
   */
  readonly verified?: boolean
}

/** The input of `Actors.create`. */
export interface NewActorOfKind extends NewActor {
  /** Default: the person. */
  readonly kind?: string
  /** Checks the first data of the actor, before the row exists. The result stores the data in the transaction of the creation. */
  readonly prepareData?: ((actor: Actor) => Promise<StoreData>) | undefined
}

type StoreData = (tx: Transaction) => Promise<void>

export interface Created {
  readonly actor: Actor
  readonly passphrase: string
  /** False when an existing actor was returned: same creator, same passphrase, unique creators. */
  readonly isNew: boolean
}

/** Decides whether a request has the passphrase of an actor, and counts wrong attempts. */
export type PassphraseJudge = (actor: Actor, isRight: () => boolean) => Promise<boolean>

export interface ActorsDeps extends WithTables {
  readonly store: Store
  readonly registry: Registry
  readonly keyRing: KeyRing
  readonly log: Log
  readonly now: () => number
  readonly uniqueCreator: boolean
  readonly indexedProperties: ReadonlySet<string>
  readonly handleOf: (actor: Pick<Actor, 'id' | 'creator' | 'kind'>) => ActorHandle
  /** Runs in the transaction of the deletion, before the rows are deleted, and enqueues the notices to the peers. */
  readonly onDeleting: (tx: Transaction, actorIds: readonly string[]) => Promise<void>
  /** Deletes list rows that the deletion of the actor, or of any actor, may have left behind. */
  readonly deleteRemoved: (actorId?: string) => void
  /** Stores that the creator is verified. Returns false when another actor already belongs to the verified creator. */
  readonly prove: (tx: Transaction, actor: Pick<Actor, 'id' | 'creator' | 'kind'>) => Promise<boolean>
}

const markerDays = 30
const markerMs = markerDays * 24 * 60 * 60 * 1000

export class Actors {
  readonly #deps: ActorsDeps
  readonly #sharedInserts: SharedInserts

  constructor(deps: ActorsDeps) {
    this.#deps = deps
    this.#sharedInserts = new SharedInserts(deps.store)
  }

  find(id: string): Promise<StoredActor | null> {
    // Avoids a statement for a string that cannot be an id.
    return parseActorId(id) === null ? Promise.resolve(null) : this.#deps.store.read((q) => findActor(q, id))
  }

  /** @throws ServiceError `actor_not_found` */
  async require(id: string): Promise<StoredActor> {
    const actor = await this.find(id)
    if (actor === null) throw new ServiceError('actor_not_found', `Actor ${quoted(id)} does not exist`)
    return actor
  }

  /** @param isProven Finds only the actor that belongs to the verified creator. Default: also an actor without proof. */
  findByCreator(creator: string, isProven = false): Promise<StoredActor | null> {
    const find = isProven ? findActorByProvenCreator : findActorByCreator
    return this.#deps.store.read((q) => find(q, normalizeCreator(creator)))
  }

  /** Finds an actor by the value of an indexed property. @throws ServiceError `bad_request` when the name is not indexed. */
  findBy(name: string, value: string): Promise<StoredActor | null> {
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
   * Creates an actor, or returns the existing one when the passphrase is right.
   *
   * @throws ServiceError `creator_exists` when creators are unique and this one has an actor, `conflict` when the id is
   *   taken, `invalid_value` for an id or creator that cannot be used, and errors of `judge` and `prepareData`.
   */
  async create(request: NewActorOfKind, judge: PassphraseJudge = plainJudge): Promise<Created> {
    const creator = normalizeCreator(request.creator)
    const passphrase =
      request.passphrase === undefined || request.passphrase === '' ? randomPassphrase() : request.passphrase
    const actor = this.#newActor(request, creator, passphrase)
    const storeData = await request.prepareData?.(actor)
    const existing = await this.#store(request, actor, storeData)
    if (existing !== null) return this.#existing(request, existing, judge)
    if (request.deleteExisting === true) this.#deps.deleteRemoved()
    await this.announce(actor)
    return { actor, passphrase, isNew: true }
  }

  #newActor(request: NewActorOfKind, creator: string, passphrase: string): Actor {
    const { kind = personKind } = request
    const id = request.id === undefined ? randomId() : parseActorId(request.id)
    if (id === null) {
      throw new ServiceError(
        'invalid_value',
        `Cannot use the actor id ${quoted(request.id ?? '')}: use only letters, digits, "-" and "_", and neither the name of a route nor a reserved word`,
      )
    }
    return {
      id,
      creator: kind === personKind ? creator : creatorOfKind({ id, kind }),
      passphrase: seal(this.#deps.keyRing, passphrase, bindingOf(actorPassphrase, id)),
      trusteeRoot: request.trusteeRoot === undefined || request.trusteeRoot === '' ? null : request.trusteeRoot,
      createdAt: this.#deps.now(),
      guardedUntil: 0,
      kind,
    }
  }

  /** Stores the actor, or returns the existing one when creators are unique. */
  async #store(request: NewActor, actor: Actor, storeData: StoreData | undefined): Promise<Actor | null> {
    const locksCreator = this.#deps.uniqueCreator || request.deleteExisting === true
    if (locksCreator || request.id !== undefined || request.verified === true || storeData !== undefined) {
      const turn = locksCreator ? `creator ${actor.creator}` : undefined
      const insert = async (tx: Transaction): Promise<Actor | null> => {
        const existing = await this.#insert(tx, request, actor)
        if (existing === null) await storeData?.(tx)
        return existing
      }
      const origin = storeData === undefined ? undefined : originText(application)
      return this.#deps.store.write(insert, { turn, origin })
    }
    await this.#sharedInserts.insert(actor)
    return null
  }

  /** Inserts the actor, or returns the existing one when creators are unique. */
  async #insert(tx: Transaction, request: NewActor, actor: Actor): Promise<Actor | null> {
    // Two concurrent replacements would not see each other's actor without the lock.
    if (this.#deps.uniqueCreator || request.deleteExisting === true) await lockCreator(tx, actor.creator)
    if (request.deleteExisting === true) {
      const replaced = await lockActorsOf(tx, actor.creator)
      await this.#deps.onDeleting(tx, replaced)
      for (const id of replaced) await deleteActor(tx, id, this.#deletion())
    } else if (this.#deps.uniqueCreator) {
      const existing = await findActorByCreator(tx, actor.creator)
      if (existing !== null) return existing
    }
    await insertNew(tx, actor)
    if (request.id !== undefined) await clearDeletionMarker(tx, actor.id)
    if (request.verified === true && !(await this.#deps.prove(tx, actor))) {
      throw new ServiceError(
        'creator_exists',
        'Cannot create an actor: this creator is already verified as the owner of another one',
      )
    }
    return null
  }

  /**
   * Builds the actor of a person who signs in for the first time, without storing it.
   *
   * @param id Random. Default: a new id.
   */
  draft(creator: string, id?: string): Actor {
    return this.#newActor(id === undefined ? {} : { id }, creator, randomPassphrase())
  }

  /**
   * Stores a draft in the transaction of the sign-in. The caller calls `announce` after the commit.
   *
   * @returns false when creators are unique and another actor got this one first.
   */
  async insertDraft(tx: Transaction, draft: Actor): Promise<boolean> {
    if (this.#deps.uniqueCreator && !(await isCreatorFree(tx, draft.creator, draft.id))) return false
    if (!(await insertActor(tx, draft))) throw new Error('An actor id was made twice')
    return true
  }

  async announce(actor: Pick<Actor, 'id' | 'creator' | 'kind'>): Promise<void> {
    await fire(this.#deps.registry, this.#deps.log, 'actor_created', { actor: this.#deps.handleOf(actor) })
  }

  /** Deletes an actor whose sign-in was refused, unless a user has signed in to it meanwhile. Fires no event. */
  async withdraw(id: string): Promise<void> {
    await this.#deps.store.write(async (tx) => {
      if ((await lockActor(tx, id)).length === 0 || (await hasSession(tx, id))) return
      await this.#deps.onDeleting(tx, [id])
      await deleteActor(tx, id, this.#deletion())
    })
    this.#deps.deleteRemoved(id)
  }

  #deletion(): Deletion {
    return { now: this.#deps.now(), tables: this.#deps.tables }
  }

  /** Returns the existing actor when the request has its passphrase. Throws otherwise. */
  async #existing({ passphrase: shown }: NewActor, existing: Actor, judge: PassphraseJudge): Promise<Created> {
    const passphrase = this.passphraseOf(existing)
    const isRight = shown !== undefined && shown !== '' && (await judge(existing, () => sameSecret(shown, passphrase)))
    if (isRight) {
      return { actor: existing, passphrase, isNew: false }
    }
    if (existing.creator === defaultCreator) {
      throw new ServiceError('bad_request', 'Cannot create an actor: name a creator, because creators are unique here')
    }
    throw new ServiceError('creator_exists', 'Cannot create an actor: this creator has one already')
  }

  /**
   * Changes the trustee and the creator of an actor. Absent members stay unchanged.
   *
   * @throws ServiceError `conflict` when a user signs in to the actor, the actor is of no person, or creators are unique and
   *   this one has another.
   */
  async setTrustee(
    id: string,
    change: { trusteeRoot?: string | null | undefined; creator?: string | undefined },
  ): Promise<void> {
    const creator = change.creator === undefined ? undefined : normalizeCreator(change.creator)
    await this.#deps.store.writeActor(id, async (tx, locked) => {
      if (change.trusteeRoot !== undefined) await setTrusteeRoot(tx, id, change.trusteeRoot)
      if (creator === undefined || creator === locked.creator) return
      // The owner of an address signs in to the actor that has it as its creator.
      if (locked.kind !== personKind)
        throw new ServiceError('conflict', 'Cannot set the creator: the actor is of no person')
      // Applications and clients receive the creator as the identity of the signed-in user, so it must stay the verified one.
      if (await hasAccount(tx, id)) {
        throw new ServiceError('conflict', 'Cannot set the creator: the owner signs in with the current one')
      }
      if (this.#deps.uniqueCreator && !(await isCreatorFree(tx, creator, id)))
        throw new ServiceError('conflict', 'Cannot set the creator: another actor has it')
      await setCreator(tx, id, creator)
    })
  }

  /** Deletes the records of actors that were deleted long ago. */
  purge(tx: Transaction, now: number): Promise<void> {
    return purgeDeletionMarkers(tx, now - markerMs)
  }

  /** Deletes everything of the actor in one transaction. False: it did not exist. Fires no event. */
  async delete(id: string): Promise<boolean> {
    // Actors of the service itself have ids that are not valid actor ids. They are never deleted.
    if (parseActorId(id) === null) return false
    const now = this.#deps.now()
    const deleted = await this.#deps.store.write(async (tx) => {
      if (!tx.isSharded) await this.purge(tx, now)
      await this.#deps.onDeleting(tx, await lockActor(tx, id))
      return deleteActor(tx, id, { now, tables: this.#deps.tables })
    })
    if (deleted) this.#deps.deleteRemoved(id)
    return deleted
  }

  /** Like `delete`, with the events of an HTTP DELETE before and after it. */
  async deleteWithEvents(actor: Actor): Promise<void> {
    const { registry, log } = this.#deps
    await fire(registry, log, 'actor_deleted', { actor: this.#deps.handleOf(actor) })
    const deleted = await this.delete(actor.id)
    if (deleted) await fire(registry, log, 'actor_deleted_complete', { actor: null, actor_id: actor.id })
  }

  /**
   * Whether an actor with this id was deleted in the last 30 days. Returns `unknown` when the store cannot be read,
   * because background work for an actor must not be dropped by mistake.
   */
  async wasDeleted(id: string): Promise<'yes' | 'no' | 'unknown'> {
    try {
      const marked = await this.#deps.store.read((q) => hasDeletionMarker(q, id, this.#deps.now() - markerMs))
      return marked ? 'yes' : 'no'
    } catch (error) {
      this.#deps.log.warn({ error, actorId: id }, 'Cannot read whether the actor was deleted')
      return 'unknown'
    }
  }
}

/** Judge for requests of the application, which are not rate limited. */
const plainJudge: PassphraseJudge = async (_actor, isRight) => isRight()
