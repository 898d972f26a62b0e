/**
 * The public address of the whole service has changed. Each actor with peers becomes one that came here from its former address,
 * with a key of this home, so that its peers get the signed statement of a move. The former address leads to the new one by a
 * notice of the same key. Secrets stay, because no other service knows them.
 */
import { lockResident } from '../actor/actor-store.ts'
import { absenceOf, ServiceError } from '../errors.ts'
import { findKnownAddress, setKnownAddress } from '../config/known-address.ts'
import { hashSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId, randomToken } from '../secret/random.ts'
import { arrivalKey, arrivalPeerSecret, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import type { Store, Transaction } from '../store/store.ts'
import {
  actorsWithPeers,
  addOrigin,
  findArrival,
  findArrivalJob,
  findUninformed,
  hurryArrivalJob,
  insertArrivalJob,
  insertPeers,
  putReaddressed,
  renewPeers,
} from './arrival-store.ts'
import { holdWork } from './held-work.ts'
import { type HomeKeys, newHomeKeys } from './proof.ts'

export interface ReaddressDeps {
  readonly store: Store
  readonly keyRing: KeyRing
}

export interface AddressChange {
  /** The former base URL. */
  readonly from: string
  /** The base URL. */
  readonly to: string
  /** Peers that cannot follow a statement are asked to connect again. */
  readonly asksAgain: boolean
  /** An earlier run has changed the address, and only peers are new that came by the former one. */
  readonly isRepeated: boolean
}

/** The work of a run until now. */
export interface ReaddressProgress {
  readonly actors: number
  /** Peers that wait for the new address by this run. */
  readonly peers: number
  /** Actors that are moving to another service, or are replaced. Run again later for them. */
  readonly skipped: readonly string[]
  /** The actor of this step. */
  readonly actorId: string
}

const maxRead = 200
/** The work of one actor begins for so many milliseconds on average, so that peers of many actors are not called at once. */
const pauseMs = 50
/** A job that is due later would mean a wrong clock. */
const longestMs = 3_000_000
/** Addresses that are remembered. */
const maxOrigins = 10

/** Does one actor after the other, each in a transaction. A run that was killed is continued by the next one. */
export async function* readdress(deps: ReaddressDeps, change: AddressChange): AsyncGenerator<ReaddressProgress, void> {
  const { store } = deps
  await store.write(async (tx) => {
    const known = await findKnownAddress(tx)
    if (known !== null && change.asksAgain) await setKnownAddress(tx, { ...known, asksAgain: true })
  })
  const begunAt = store.now()
  const skipped: string[] = []
  let [actors, peers, after] = [0, 0, '']
  for (;;) {
    const page = await store.read((q) => actorsWithPeers(q, after, maxRead))
    for (const { actorId } of page) {
      const dueAt = begunAt + Math.min(longestMs, actors * pauseMs)
      const waiting = await readdressActor(deps, actorId, change, dueAt)
      if (waiting === null) skipped.push(actorId)
      else [actors, peers] = [actors + 1, peers + waiting]
      yield { actors, peers, skipped, actorId }
      after = actorId
    }
    if (page.length < maxRead) break
  }
  if (skipped.length > 0) return
  await store.write((tx) => setKnownAddress(tx, { url: change.to, asksAgain: change.asksAgain }))
}

/** The number of peers that wait now. Null: the actor cannot be changed now. */
async function readdressActor(
  { store, keyRing }: ReaddressDeps,
  actorId: string,
  { from, asksAgain, isRepeated }: AddressChange,
  dueAt: number,
): Promise<number | null> {
  const keys = await newHomeKeys()
  const change = async (tx: Transaction): Promise<number> => {
    const former = { actorId, address: `${from}/${actorId}`, keys, isRepeated }
    const isNew = await addFormerAddress(tx, keyRing, former, store.now())
    const uninformed = await findUninformed(tx, actorId)
    const secretOf = (peerId: string) => seal(keyRing, '', bindingOf(arrivalPeerSecret, actorId, peerId))
    const added = uninformed.map((peer) => ({ ...peer, secret: secretOf(peer.peerId) }))
    const now = store.now()
    const renewed =
      (await renewPeers(tx, actorId, isNew ? ['waiting', 'informed', 'asked', 'failed'] : ['failed'], now)) +
      (asksAgain || isNew ? await renewPeers(tx, actorId, ['kept'], now) : 0)
    if (added.length > 0) await insertPeers(tx, actorId, added, now)
    const waiting = added.length + renewed
    if (waiting > 0) await beginJob(tx, actorId, dueAt, now)
    return waiting
  }
  try {
    return await store.writeActor(actorId, change)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'actor_suspended') return ofSuspended(store, actorId, change)
    const absence = absenceOf(error)
    if (absence === null) throw error
    return absence === 'gone' ? 0 : null
  }
}

/** A suspension must not keep the new address from all other peers. The peers of the actor learn of it after the resumption. */
function ofSuspended(
  store: Store,
  actorId: string,
  change: (tx: Transaction) => Promise<number>,
): Promise<number | null> {
  return store.write(async (tx) => {
    if ((await lockResident(tx, actorId))?.residence !== 'suspended') return null
    const waiting = await change(tx)
    await holdWork(tx, actorId)
    return waiting
  })
}

interface Former {
  readonly actorId: string
  readonly address: string
  readonly keys: HomeKeys
  readonly isRepeated: boolean
}

/** False: an earlier run has added the address. */
async function addFormerAddress(
  tx: Transaction,
  keyRing: KeyRing,
  { actorId, address, keys, isRepeated }: Former,
  now: number,
): Promise<boolean> {
  const arrival = await findArrival(tx, actorId)
  if (arrival === null) {
    await putReaddressed(
      tx,
      {
        actorId,
        originUrl: address,
        tokenHash: hashSecret(randomToken()),
        publicKey: keys.publicKey,
        privateKey: seal(keyRing, keys.privateKey, bindingOf(arrivalKey, actorId, address)),
        origins: JSON.stringify([address]),
      },
      now,
    )
    return true
  }
  const origins = JSON.parse(arrival.origins) as string[]
  // The service may have come back to an address that it left, and peers know the one in between.
  if (isRepeated ? origins.includes(address) : origins[0] === address) return false
  const all = [address, ...origins.filter((origin) => origin !== address)].slice(0, maxOrigins)
  // Later than the last change: peers compare the times.
  const hereAt = Math.max(now, (arrival.hereAt ?? 0) + 1)
  await addOrigin(tx, arrival, { origins: JSON.stringify(all), hereAt })
  return true
}

async function beginJob(tx: Transaction, actorId: string, dueAt: number, now: number): Promise<void> {
  const job = await findArrivalJob(tx, actorId)
  if (job === null) await insertArrivalJob(tx, actorId, { dueAt, lease: '', attempts: 0, entryId: randomId() }, now)
  else await hurryArrivalJob(tx, actorId, dueAt)
}
