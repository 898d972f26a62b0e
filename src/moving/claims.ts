/** The owner takes an actor that came from another service, and sees the state of its peers. Its work begins when it is taken. */
import { lockResident } from '../actor/actor-store.ts'
import { replacePassphrase } from '../actor/passphrases.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { Live } from '../live/live.ts'
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { Transaction } from '../store/store.ts'
import {
  type ArrivedReader,
  endOtherReaders,
  type ReaderEnds,
  findReaders,
  maxShownReaders,
  readersVersion,
} from './arrived-readers.ts'
import {
  type ArrivalPeer,
  beginWork,
  countPeers,
  endClaim,
  findArrival,
  findArrivalPeers,
  findClaimed,
  hurryArrivalJob,
  retryPeers,
} from './arrival-store.ts'
import type { PeerState } from './peer-states.ts'

export interface ArrivalClaimsDeps extends ReaderEnds {
  readonly store: CatchUpStore
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly live: Pick<Live, 'record'>
  /** Starts the work of the arrival. */
  readonly wake: (actorId: string) => void
  /** Starts the work that an actor has waiting. */
  readonly wakeAll: (actorId: string) => void
}

/** An arrival, for the owner. */
export interface ShownArrival {
  readonly originUrl: string
  readonly hereAt: number
  readonly counts: Readonly<Partial<Record<PeerState, number>>>
  /** Up to 200 peers, those that need a look first. */
  readonly peers: readonly Pick<ArrivalPeer, 'peerId' | 'baseuri' | 'state' | 'reason' | 'updatedAt'>[]
}

/** The readers that an actor brought along, for the person who is about to take it. */
export interface ArrivedReaders {
  /** Up to 5000 of each kind. */
  readonly readers: readonly ArrivedReader[]
  /** Names this list. */
  readonly version: string
}

/** The readers that the owner keeps: all of the list with this version, or those with these keys. */
export type ReaderChoice = { readonly allOf: string } | { readonly keys: readonly string[] }

const maxShown = 200

export class ArrivalClaims {
  readonly #deps: ArrivalClaimsDeps

  constructor(deps: ArrivalClaimsDeps) {
    this.#deps = deps
  }

  /**
   * Finds the actor that a code takes.
   *
   * @returns null when the code is wrong or was used.
   */
  async findByCode(
    actorId: string,
    code: string,
  ): Promise<{ readonly originUrl: string; readonly isHere: boolean } | null> {
    const found = await this.#deps.store.read((q) => findClaimed(q, actorId, hashSecret(code)))
    return found === null ? null : { originUrl: found.originUrl, isHere: found.state === 'here' }
  }

  /** The old address of an actor that its owner has not taken. Null: no such actor waits. */
  async waitingFrom(actorId: string): Promise<string | null> {
    const arrival = await this.#deps.store.read((q) => findArrival(q, actorId))
    return arrival === null || arrival.claimHash === '' ? null : arrival.originUrl
  }

  /** Call this with the owner's code alone, because the list has names and addresses. */
  async readers(actorId: string): Promise<ArrivedReaders> {
    const readers = await this.#deps.store.read((q) => findReaders(q, this.#deps.tables, actorId, maxShownReaders))
    return { readers, version: readersVersion(readers) }
  }

  /**
   * The keys of the readers that the owner has chosen to keep.
   *
   * @throws ServiceError `conflict` when the choice is about another list; `invalid_value` for a key that is not listed.
   */
  async chosen(actorId: string, choice: ReaderChoice): Promise<string[]> {
    if ('keys' in choice && choice.keys.length === 0) return []
    const { readers, version } = await this.readers(actorId)
    const keys = readers.map(({ key }) => key)
    if ('allOf' in choice) {
      if (choice.allOf !== version)
        throw new ServiceError('conflict', 'Cannot keep all: the list is another one by now. Read it again.')
      return keys
    }
    const unknown = choice.keys.find((key) => !keys.includes(key))
    if (unknown === undefined) return [...choice.keys]
    throw new ServiceError('invalid_value', `Cannot keep ${quoted(unknown)}: the list has no such key. Read it again.`)
  }

  /**
   * Ends the code, ends what the owner does not keep, and begins the work of the actor. False: the code was used, or the actor
   * is not here.
   *
   * @param kept Keys of readers.
   */
  async take(tx: Transaction, actorId: string, kept: readonly string[]): Promise<boolean> {
    const { store, now, wake, wakeAll } = this.#deps
    const actor = await lockResident(tx, actorId)
    if (actor === null || !(await endClaim(tx, actorId))) return false
    await endOtherReaders(tx, actor, new Set(kept), this.#deps)
    await beginWork(tx, actorId, now())
    await hurryArrivalJob(tx, actorId, now())
    store.afterCommit(tx, () => {
      wake(actorId)
      wakeAll(actorId)
    })
    return true
  }

  /**
   * Gives the actor a new passphrase, for its owner.
   *
   * @throws ServiceError `forbidden` when the code is wrong or was used; `conflict` before the actor is here; the errors of `chosen`.
   */
  async takeByPassphrase(actorId: string, code: string, choice: ReaderChoice): Promise<string> {
    const { store, keyRing } = this.#deps
    const found = await this.findByCode(actorId, code)
    if (found === null) throw wrongLink()
    if (!found.isHere) throw new ServiceError('conflict', 'This account is not here yet')
    const kept = await this.chosen(actorId, choice)
    return store.writeActor(actorId, async (tx) => {
      if (!(await this.take(tx, actorId, kept))) throw wrongLink()
      return replacePassphrase(tx, keyRing, actorId)
    })
  }

  /** The arrival of an actor that is here. Null: it was created here. */
  async find(actorId: string): Promise<ShownArrival | null> {
    const { store } = this.#deps
    const arrival = await store.read((q) => findArrival(q, actorId))
    if (arrival === null) return null
    const [{ counts }, peers] = await store.read((q) =>
      Promise.all([countPeers(q, actorId), findArrivalPeers(q, actorId, maxShown)]),
    )
    return { originUrl: arrival.originUrl, hereAt: arrival.hereAt ?? 0, counts, peers }
  }

  /** Notifies the failed peers again. Returns their number. */
  async retry(actorId: string): Promise<number> {
    const { store, now, live, wake } = this.#deps
    const again = await store.writeActor(actorId, async (tx, locked) => {
      const peers = await retryPeers(tx, actorId, now())
      if (peers > 0) await hurryArrivalJob(tx, actorId, now())
      await live.record(tx, locked, 'move', [actorId])
      return peers
    })
    if (again > 0) wake(actorId)
    return again
  }
}

function wrongLink(): ServiceError {
  return new ServiceError('forbidden', 'This link is not valid, or was used')
}
