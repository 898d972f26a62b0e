import type { ActorModule } from '../actor/create.ts'
import type { AuditLog } from '../audit-log/audit-log.ts'
import { actorClosed, ServiceError } from '../errors.ts'
import { subscriptionChange } from '../live/live.ts'
import type { Outbox } from '../outbox/create.ts'
import type { Permission } from '../permission/permission.ts'
import type { PropertyModule } from '../property/create.ts'
import { findProperties } from '../property/property-store.ts'
import type { Runtime } from '../runtime.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { TrustModule } from '../trust/create.ts'
import type { DeliveryPort } from './delivery-port.ts'
import type { DiffEntry } from './diff-store.ts'
import { fullState } from './full-state.ts'
import { deletePublisherSubscriptions } from './publisher-store.ts'
import { repairFirst } from './queue-store.ts'
import { Publications } from './publications.ts'
import { Publisher } from './publisher.ts'
import { WaitingChanges } from './waiting-changes.ts'
import { DeliveryWorker } from './worker.ts'

const dayMs = 86_400_000

export function createPublisher(
  { config, store, timers, log, now, maxDirectSubscriptions }: Runtime,
  { permission, delivery }: { readonly permission: Permission; readonly delivery: DeliveryPort },
) {
  /** The entries of a transaction. One batch may send all of them, so the response must wait for them together. */
  const written = new WeakMap<Transaction, DiffEntry[]>()
  const publisher: Publisher = new Publisher({
    permission,
    now,
    maxDiffs: config.maxDiffs,
    announce: (tx, actorId, entries) => {
      const earlier = written.get(tx)
      if (earlier !== undefined) {
        for (const entry of entries) earlier.push(entry)
        return
      }
      const all = [...entries]
      written.set(tx, all)
      store.afterCommit(tx, () =>
        config.synchronousCallbacks ? delivery.worker.attempted(actorId, all) : delivery.wake(actorId),
      )
    },
    announceWaiting: (tx, actorId) => store.afterCommit(tx, () => waitingChanges.wake(actorId)),
    // A response that waits for the callbacks waits for the diffs too.
    maxDirectSubscriptions: config.synchronousCallbacks ? Number.POSITIVE_INFINITY : maxDirectSubscriptions,
  })
  const waitingChanges = new WaitingChanges({ store, timers, log, now, publisher })
  store.connect(waitingChanges)
  return { publisher, waitingChanges }
}

interface PublicationNeeds {
  readonly auditLog: AuditLog
  readonly permission: Permission
  readonly publisher: Publisher
  readonly waitingChanges: WaitingChanges
  readonly delivery: DeliveryPort
  readonly outbox: Outbox
  readonly property: PropertyModule
  readonly actors: ActorModule['actors']
  readonly trust: TrustModule
}

export function createPublications(runtime: Runtime, needs: PublicationNeeds) {
  const { config, store, live, registry, log, now, handles } = runtime
  const { permission, publisher, waitingChanges, trust, outbox, delivery, property } = needs
  const deliveries = createWorker(runtime, needs)
  delivery.connect(deliveries)
  runtime.metrics.gauge(
    { name: 'troupe_delivery_backlog', help: 'Subscriptions with pending deliveries, in the whole store' },
    () => deliveries.backlog(),
  )
  trust.trustEnding.on(deletePublisherSubscriptions)
  trust.trustRenewed.on((tx, actorId, peerId) => repairFirst(tx, { actorId, peerId }, now()))
  trust.trustApproved.on(async (tx, actor, approved) => {
    if (await publisher.resyncPeer(tx, actor, approved.peerId, presentOf(property)))
      await trust.permissions.notify(tx, approved)
  })
  trust.rightsChanged.on((tx, actor, change) => publisher.rightsChanged(tx, actor, change, presentOf(property)))
  const publications = new Publications({
    store,
    live,
    registry,
    permission,
    publisher,
    presentOf: presentOf(property),
    waitingChanges,
    log,
    now,
    maxPeerSubscriptions: config.maxPeerSubscriptions,
    maxHighGranularityBytes: config.maxHighGranularityBytes,
    enqueue: outbox.notices.enqueue,
    afterCommit: store.afterCommit,
    wake: deliveries.wake,
    handleOf: handles.of,
  })
  return { publications, waitingChanges, deliveries }
}

function presentOf({ declared }: PropertyModule) {
  return async (q: Queries, actorId: string) =>
    (await declared.ofActor(q, actorId)).allPresent(await findProperties(q, actorId))
}

function createWorker(runtime: Runtime, needs: PublicationNeeds) {
  const { auditLog, permission, outbox, property, actors, trust, publisher } = needs
  const { config, live } = runtime
  const maxDiffAgeMs = config.maxDiffAgeDays * dayMs
  return new DeliveryWorker({
    ...runtime,
    auditLog,
    permission,
    peerClient: outbox.peerClient,
    findMovedPeer: outbox.findMovedPeer,
    times: outbox.times,
    policy: {
      retryUnknown: config.retryCallbacks,
      circuitThreshold: config.circuitThreshold,
      circuitCooldownMs: config.circuitCooldownSeconds * 1000,
      giveUpAfterMs: maxDiffAgeMs,
    },
    announce: ({ actorId, peerId, subscriptionId }) =>
      live.announce(actorId, 'subscriptions', subscriptionChange(subscriptionId, peerId)),
    settleRenewal: async ({ actorId, ...offer }) => {
      const actor = await actors.find(actorId)
      return actor === null ? null : trust.trusts.settleRenewal(actor, offer)
    },
    writeRepair: ({ actorId, ...subscription }, { hasState }) =>
      runtime.store.writeActor(actorId, (tx) =>
        publisher.repair(tx, actorId, subscription, { presentOf: presentOf(property), hasState }),
      ),
    fullState: async (actorId, caller, scope) => {
      const actor = await actors.find(actorId)
      if (actor?.residence === 'replacing') throw actorClosed()
      if (actor?.residence === 'suspended') throw new ServiceError('actor_suspended')
      return actor === null ? null : fullState(property, { actor, caller }, scope)
    },
    maxHighGranularityBytes: config.maxHighGranularityBytes,
    maxConcurrentCallbacks: config.maxConcurrentCallbacks,
    maxDiffAgeMs,
    shutdownMs: config.shutdownSeconds * 1000,
  })
}
