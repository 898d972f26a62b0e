import type { ArchiveModule } from '../archive/create.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { workerDeps, type JobModule } from '../job/create.ts'
import { Cleaning } from '../job/cleaning.ts'
import { JobWorker } from '../job/worker.ts'
import type { Outbox } from '../outbox/create.ts'
import { SignInAge } from '../permission/sign-in-age.ts'
import { limitsIn } from '../quota/quota.ts'
import type { ReplicaModule } from '../replica/create.ts'
import type { Runtime } from '../runtime.ts'
import type { Transaction } from '../store/store.ts'
import type { TrustModule } from '../trust/create.ts'
import { endForOwner } from '../trust/end-trust.ts'
import { MoveActs } from './acts.ts'
import type { ReaderEnds } from './arrived-readers.ts'
import { Arrivals } from './arrivals.ts'
import { ArrivalClaims } from './claims.ts'
import { deleteOldMoves } from './departure-store.ts'
import { Departures, type DeparturesDeps } from './departures.ts'
import { Landings } from './landings.ts'
import { MovedPeers } from './moved-peers.ts'
import { endPauses } from './peer-work.ts'
import { MovedRelationships } from './moved-relationships.ts'
import { Spool } from './spool.ts'

interface MovingNeeds extends Pick<DeparturesDeps, 'keepMissed'> {
  readonly outbox: Outbox
  readonly job: Pick<JobModule, 'jobs'>
  readonly trust: TrustModule
  readonly replica: Pick<ReplicaModule, 'facts' | 'gaps'>
  readonly archive: Pick<ArchiveModule, 'imports'>
  readonly bytes: FileBytes
  readonly wakeDeliveries: (actorId: string) => void
  readonly wakeUnused: (actorId: string) => void
  readonly removedLists: { wake(actorId: string): void; deleteRowsOf(actorId: string): Promise<void> }
}

export function createMoving(runtime: Runtime, needs: MovingNeeds) {
  const { config, store, now } = runtime
  const { outbox, trust, replica, archive, removedLists, wakeUnused, wakeDeliveries } = needs
  const onReached = async (tx: Transaction, actorId: string, peerId: string): Promise<void> => {
    await endPauses(tx, actorId, peerId, now())
    store.afterCommit(tx, () => {
      wakeDeliveries(actorId)
      replica.gaps.wake(actorId)
    })
  }
  const shared = { ...runtime, client: outbox.peerClient, onReached, bytes: needs.bytes }
  const deleteLeftovers = (actorId: string): void => {
    removedLists.wake(actorId)
    wakeUnused(actorId)
  }
  const wakeAll = (actorId: string): void => {
    wakeDeliveries(actorId)
    replica.gaps.wake(actorId)
    needs.job.jobs.wake()
  }
  const departures: Departures = new Departures({
    ...shared,
    addressRules: config,
    isImporting: async (actorId) => (await archive.imports.find(actorId))?.state === 'running',
    wake: (actorId) => departing.wake(actorId),
    wakeAll,
    deleteLeftovers,
    keepMissed: needs.keepMissed,
  })
  const spool = new Spool({ ...shared, wakeUnused, limitIn: limitsIn(config) })
  const landings: Landings = new Landings({
    ...shared,
    uniqueCreator: config.uniqueCreator,
    deleteRemoved: (actorId) => removedLists.deleteRowsOf(actorId),
    deleteLeft: (tx, actorId) => departures.deleteLeft(tx, actorId),
    relationships: new MovedRelationships({ ...shared, trusts: trust.trusts }),
    spool,
    wake: (actorId) => arriving.wake(actorId),
    deleteLeftovers,
  })
  const arrivals = new Arrivals({ ...shared, spool, landings })
  const wake = (actorId: string): void => arriving.wake(actorId)
  const endRelationships: ReaderEnds['endRelationships'] = (tx, actor, peerIds) =>
    endForOwner({ ...trust.trustDeps, afterCommit: store.afterCommit }, tx, actor, peerIds)
  const arrivalClaims = new ArrivalClaims({ ...runtime, endRelationships, wake, wakeAll })
  const movedPeers = new MovedPeers({
    ...shared,
    wake,
    refreshLater: (key) => replica.facts.refreshLater(key, 'synchronized'),
  })
  const deps = workerDeps(runtime)
  const departing = new JobWorker(deps, departures.jobQueue)
  const arriving = new JobWorker(deps, landings.jobQueue)
  for (const worker of [departing, arriving, createCleaning(runtime, arrivals)]) needs.job.jobs.add(worker)
  const moveActs = new MoveActs({ departures, arrivalClaims, signInAge: new SignInAge(runtime) })
  const movedTo = (actorId: string): ReturnType<Departures['movedTo']> => departures.movedTo(actorId)
  return { departures, arrivals, arrivalClaims, moveActs, movedPeers, movedTo }
}

function createCleaning(runtime: Runtime, arrivals: Arrivals): Cleaning {
  return new Cleaning(runtime, 'old moves', async () => {
    await runtime.store.write(deleteOldMoves)
    await arrivals.settleWaiting()
  })
}
