import type { ActorModule } from '../actor/create.ts'
import type { Outbox } from '../outbox/create.ts'
import type { Runtime } from '../runtime.ts'
import type { TrustModule } from '../trust/create.ts'
import { CopyWriter } from './copy-writer.ts'
import { DataHooks, type DataHooksDeps } from './data-hooks.ts'
import { forgetPeer } from './facts-store.ts'
import { FetchSchedule } from './fetch-schedule.ts'
import { GapWorker } from './gap-worker.ts'
import { markAllForFetch } from './subscriber-store.ts'
import { PeerLinks } from './peer-link.ts'
import { PeerFacts } from './peer-metadata.ts'
import { Receiver } from './receiver.ts'
import { RemoteReader } from './remote-reader.ts'
import { PeerData } from './snapshot.ts'
import { Subscribing } from './subscribing.ts'

interface ReplicaNeeds {
  readonly outbox: Outbox
  readonly actors: ActorModule['actors']
  readonly trust: TrustModule
  readonly runCallback: DataHooksDeps['notify']
}

export type ReplicaModule = ReturnType<typeof createReplica>

export function createReplica(runtime: Runtime, needs: ReplicaNeeds) {
  const { store, keyRing, config, now } = runtime
  const { outbox, trust } = needs
  const links = new PeerLinks(store, outbox, keyRing, config.maxJsonDepth)
  const data = new PeerData(links, now)
  const gaps = new GapWorker({ ...runtime, times: outbox.times })
  const shared = {
    ...runtime,
    data,
    links,
    afterCommit: store.afterCommit,
    wake: gaps.wake,
    enqueue: outbox.notices.enqueue,
  }
  const facts = createFacts(runtime, links, gaps)
  const dataHooks = createDataHooks(runtime, needs)
  const policy = { gapTimeoutMs: config.gapTimeoutSeconds * 1000, maxPending: config.maxPendingCallbacks }
  const { callHooks } = dataHooks
  const copy = new CopyWriter({ ...shared, policy, profileAttributes: config.peerProfileAttributes, callHooks })
  const fetches = new FetchSchedule({ ...shared, policy })
  const receiver = new Receiver({ ...shared, copy, fetches, policy, callHooks })
  const subscribing = new Subscribing({
    ...shared,
    copy,
    fetches,
    refreshFacts: (actor, peerId, when) => facts.refresh({ actorId: actor.id, peerId }, when),
    findActor: (actorId) => needs.actors.find(actorId),
    endTrust: (actor, asked) => trust.trusts.endedByPeer(actor, asked),
  })
  gaps.connect((key) => subscribing.fill(key))
  trust.trustEnding.on(forgetPeer)
  trust.trustRenewed.on(async (tx, actorId, peerId) => {
    await markAllForFetch(tx, { actorId, peerId }, now())
    store.afterCommit(tx, () => gaps.wake(actorId))
  })
  trust.trustMutual.on((actor, peerId) => facts.refreshLater({ actorId: actor.id, peerId }, 'mutual'))
  return { facts, dataHooks, receiver, subscribing, gaps, peerLinks: links, remoteReader: new RemoteReader(store) }
}

function createFacts(runtime: Runtime, links: PeerLinks, gaps: GapWorker): PeerFacts {
  const { config, store } = runtime
  return new PeerFacts({
    ...runtime,
    links,
    afterCommit: store.afterCommit,
    wake: gaps.wake,
    profileAttributes: config.peerProfileAttributes,
    capabilitiesMaxAgeMs: config.capabilitiesMaxAgeSeconds * 1000,
    autoDeleteRevoked: config.autoDeleteRevoked,
    fetchesGranted: config.autoSequence,
  })
}

function createDataHooks(
  { registry, log, timers, handles }: Runtime,
  { actors, runCallback }: ReplicaNeeds,
): DataHooks {
  return new DataHooks({
    registry,
    log,
    timers,
    notify: runCallback,
    handleOf: async (actorId) => {
      const actor = await actors.find(actorId)
      return actor === null ? null : handles.of(actor)
    },
  })
}
