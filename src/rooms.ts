/** Creates the rooms in their order, once. Each receives the runtime and the rooms below it that it needs. */
import { createActors } from './actor/create.ts'
import type { Authenticate } from './app/embedding/authenticate.ts'
import { createArchives } from './archive/create.ts'
import { createAuditLog } from './audit-log/create.ts'
import { finishPath } from './authorization-server/consents.ts'
import { systemActorId } from './authorization-server/client.ts'
import { createAuthorizationServer } from './authorization-server/create.ts'
import { application } from './caller.ts'
import { createConnections } from './connection/create.ts'
import { createEmbedding } from './embedding/create.ts'
import type { Catalogues } from './mcp/catalogue/catalogues.ts'
import { createMcp } from './mcp/create.ts'
import { createMoving } from './moving/create.ts'
import { holdWork, resumeWork } from './moving/held-work.ts'
import { followMoves } from './moving/published-move.ts'
import { deleteExpiredSessions } from './mcp/sessions/session-store.ts'
import { deleteExpiredTasks } from './mcp/tasks/task-store.ts'
import { DeclaredNames } from './mcp/catalogue/declared.ts'
import { deleteExpiredApprovals } from './operation/approval-store.ts'
import { createHistory } from './history/create.ts'
import { createObjects, type ObjectNeeds } from './object/create.ts'
import { openFileBytes } from './object/open-bytes.ts'
import { createScheduledBackups } from './backup/scheduled-backups.ts'
import { createJobs } from './job/create.ts'
import { connectionAct } from './operation/approval-act.ts'
import { createOperations } from './operation/create.ts'
import { createOperator } from './operator/create.ts'
import { createOutbox } from './outbox/create.ts'
import type { Languages } from './pages/languages/languages.ts'
import { localPages } from './pages/sign-in/local-sign-in.ts'
import { createProperties } from './property/create.ts'
import { createPublications, createPublisher } from './publication/create.ts'
import { DeliveryPort } from './publication/delivery-port.ts'
import { keepAllMissedDiffs } from './publication/missed-store.ts'
import { quotasWith } from './quotas.ts'
import { createRateLimits } from './rate-limit/create.ts'
import { withCallerNames } from './replica/caller-names.ts'
import { createReplica } from './replica/create.ts'
import type { Runtime } from './runtime.ts'
import { createAccounts, createSignIn } from './sign-in/create.ts'
import { createTokens } from './token/create.ts'
import { createTransactions } from './transaction/create.ts'
import { createPermission, createTrust } from './trust/create.ts'
import { RedeclaredTypes } from './trust/declared/redeclared-types.ts'
import { createUndo } from './undo/create.ts'
import type { ThirdPartyService } from './connection/configured.ts'
import type { FileBytes } from './object/file-bytes.ts'
import type { PeerClient } from './peer/peer-client.ts'
import type { RelationshipRules } from './permission/permission.ts'
import type { ChangeSink } from './property/change.ts'
import type { LockedActor } from './store/store.ts'
import type { Providers } from './sign-in/provider.ts'
import type { ProviderChoice } from './sign-in/configured.ts'

/** The options of an application or a test for the parts of the service that its rooms (the folders of `src/`) make. */
export interface RoomOptions {
  /** The identity providers. Default: the local provider in development. */
  readonly signIn?: readonly ProviderChoice[]
  /** Deep links of the sign-ins of this service, by name. */
  readonly deepLinks?: ReadonlyMap<string, string>
  /** Replaces the configured identity providers. */
  readonly providers?: Providers
  /** Names the user of the embedding program. */
  readonly authenticate?: Authenticate | undefined
  /** Third-party services at which actors may have an account. */
  readonly services?: ReadonlyMap<string, ThirdPartyService>
  /** The rights of peers and clients. Default: none. */
  readonly relationshipRules?: RelationshipRules
  /** Replaces the configured storage for files. */
  readonly fileBytes?: FileBytes
  /** The files of actors are in the memory of this process, as its database is. Default: false. */
  readonly inMemory?: boolean
  /** Calls other actors. Default: the network client with address checks. */
  readonly peerClient?: PeerClient
}

export type Rooms = ReturnType<typeof createRooms>

const forOperators = {
  /** The work of an actor that operators suspend and resume. */
  suspension: { holdWork, resumeWork },
  /** A start loads little (docs/decisions/059). */
  newestBackup: async (root: string) => (await import('./backup/run-backup.ts')).newestBackup(root),
}

export function createRooms(runtime: Runtime, options: RoomOptions, catalogues: Catalogues, languages: Languages) {
  const base = createBase(runtime, options, catalogues)
  const { limits, auditLog, tokenModule, outbox, relationships, permission, property, declared } = base
  const { actors } = base.actorModule
  const peers = createPeerModules(runtime, base)
  const authorizationServer = createAuthorizationServer(runtime, { ...base, trust: peers.trust })
  const signIn = createSignIn(runtime, {
    ...base,
    actors,
    failedAttempts: limits.failedAttempts,
    trustTypes: relationships.types,
    clientPath: finishPath,
    localPages: localPages(runtime.identity.name, languages),
    plans: options.signIn ?? [],
    deepLinks: options.deepLinks ?? new Map(),
    providers: options.providers,
    authenticate: options.authenticate ?? null,
    takeArrival: (tx, actorId, kept) => peers.moving.arrivalClaims.take(tx, actorId, kept),
  })
  const connections = createConnections(runtime, {
    services: options.services ?? new Map(),
    oneTime: tokenModule.oneTime,
    client: outbox.outsideClient,
  })
  const mcp = createMcp(runtime, { catalogues, permission, property, approvals: peers.operation.approvals, auditLog })
  const embedding = createEmbedding(runtime, { ...tokenModule, ...authorizationServer, ...signIn, actors })
  const ofActors = { ...limits, ...tokenModule, actors, auditLog, ...forOperators }
  const operator = createOperator(runtime, { ...signIn, ...peers.publication, ...base.job, ...ofActors })
  const rooms = {
    ...runtime,
    ...limits,
    ...tokenModule,
    ...outbox,
    ...property,
    ...base.job,
    ...base.objects,
    changeSinks: base.changeSinks,
    ...peers.trust,
    ...peers.operation,
    ...peers.publication,
    ...peers.replica,
    ...peers.moving,
    ...authorizationServer,
    ...signIn,
    actors,
    actorActs: base.actorModule.actorActs,
    permission,
    declared,
    auditLog,
    ...base.actorContent,
    quotaUses: (actorId: string) => runtime.store.read((q) => runtime.quotas.usesOf(q, actorId)),
    ...connections,
    ...operator,
    embedding,
    mcp,
    languages,
  }
  purgeWithTokens(rooms)
  return rooms
}

/** Deletes the expired records of other rooms together with expired tokens. */
function purgeWithTokens({ purge, actors, once, clients, deletedOwners }: Rooms): void {
  purge.also([
    (tx, now) => actors.purge(tx, now),
    (tx, now) => once.purge(tx, now),
    (tx, now) => clients.purge(tx, now),
    (tx, now) => deletedOwners.purge(tx, now),
    (tx, now) => deleteExpiredApprovals(tx, now, null),
    (tx, now) => deleteExpiredTasks(tx, now, null),
    (tx, now) => deleteExpiredSessions(tx, now, null),
  ])
}

/** Creates the rooms for actors, properties and permissions, and the rooms that they need. */
function createBase(runtime: Runtime, options: RoomOptions, catalogues: Catalogues) {
  const { config, registry, quotas } = runtime
  quotas.declare(quotasWith(runtime.tables), [systemActorId])
  const delivery = new DeliveryPort()
  const limits = createRateLimits(runtime)
  const auditLog = createAuditLog(runtime, { nameEntries: withCallerNames })
  const tokenModule = createTokens(runtime)
  const outbox = createOutbox(runtime, { deliveries: delivery, client: options.peerClient, followMoves })
  const { relationships, permission } = createPermission(runtime, options.relationshipRules)
  const { publisher, waitingChanges } = createPublisher(runtime, { permission, delivery })
  const job = createJobs(runtime)
  // Features add their sinks before the first change.
  const changeSinks: ChangeSink[] = [publisher.sink, job.events.sink]
  const observes = (actor: LockedActor): boolean => job.events.isHandled || actor.observerCount > 0
  const history = createHistory(runtime)
  const property = createProperties(runtime, { permission, history, changeSinks, observes })
  const accounts = createAccounts(runtime)
  const transactions = createTransactions(runtime, property)
  const actorModule = createActors(runtime, {
    deleteRemoved: property.removedLists.wake,
    prove: (tx, actor) => accounts.prove(tx, actor),
  })
  const objects = createStorage(runtime, options, { ...job, ...actorModule })
  const declared = new DeclaredNames(registry, config.mcp ? catalogues : null)
  return {
    delivery,
    limits,
    auditLog,
    tokenModule,
    outbox,
    relationships,
    permission,
    publisher,
    waitingChanges,
    actorContent: {
      history,
      undo: createUndo(runtime, { history, property }),
      transactions,
      ...createArchives(runtime, { property, job, objects }),
    },
    property,
    accounts,
    actorModule,
    declared,
    job,
    changeSinks,
    objects,
  }
}

/** Creates the storage of objects, and the scheduled backups of their bytes. */
function createStorage(
  runtime: Runtime,
  options: RoomOptions,
  { jobs, actorsDeleting }: Pick<ObjectNeeds, 'actorsDeleting'> & Pick<ReturnType<typeof createJobs>, 'jobs'>,
) {
  const { config } = runtime
  const bytes = options.fileBytes ?? openFileBytes(config, options.inMemory === true)
  const backups = createScheduledBackups(runtime, { bytes, shutdownMs: config.shutdownSeconds * 1000 })
  if (backups !== null) jobs.add(backups)
  return createObjects(runtime, { bytes, actorsDeleting })
}

/** Creates the rooms for relationships, operations, and both sides of subscriptions. */
function createPeerModules(runtime: Runtime, base: ReturnType<typeof createBase>) {
  const { delivery, auditLog, outbox, relationships, permission, property, declared } = base
  const { actors, actorsDeleting } = base.actorModule
  const trust = createTrust(runtime, {
    declared: property.declared,
    outbox,
    movedKey: async (known, to) => {
      const followed = await followMoves({ client: outbox.peerClient, now: runtime.now }, known, to)
      return followed.kind === 'followed' ? followed.publicKey : null
    },
    relationships,
    actorsDeleting,
    wakeDeliveries: delivery.wake,
    declares: (kind, category, name) => declared.of(kind).has(category, name),
    needsApproval: (kind, category, name) => declared.of(kind).needsApproval(category, name),
  })
  const { store, timers, log, redeclared, registry } = runtime
  const types = { store, timers, log, redeclared, types: registry.trustTypes, permissions: trust.permissions }
  base.job.jobs.add(new RedeclaredTypes(types))
  const operation = createOperations(runtime, { permission, auditLog })
  trust.trustDecided.on((about, decided) => auditLog.record(connectionAct(about, decided)))
  const publication = createPublications(runtime, { ...base, actors, trust })
  const replica = createReplica(runtime, {
    outbox,
    actors,
    trust,
    runCallback: (actor, name, data) => operation.callbacks.notify(actor, application, name, data),
  })
  const moving = createMoving(runtime, {
    ...base,
    keepMissed: keepAllMissedDiffs,
    trust,
    replica,
    archive: base.actorContent,
    bytes: base.objects.fileBytes,
    wakeDeliveries: delivery.wake,
    wakeUnused: base.objects.unusedObjects.wake,
    removedLists: property.removedLists,
  })
  return { trust, operation, publication, replica, moving }
}

/** Stops the workers, then closes the store that they write to. */
export async function closeRooms({ live, store, readReplicas }: Runtime, rooms: Rooms): Promise<void> {
  live.stop()
  await rooms.heartbeat.stop()
  await rooms.closeProviders()
  await Promise.all([rooms.gaps.stop(), rooms.expiries.stop(), rooms.waitingChanges.stop(), rooms.jobs.stop()])
  await rooms.deliveries.stop(rooms.peerClient)
  // `deliveries.stop` closed the peer client, so the calls of these workers have ended.
  await Promise.all([
    rooms.gaps.settled(),
    rooms.facts.settled(),
    rooms.dataHooks.settled(),
    rooms.contacts.settled(),
    rooms.sessionUses.settled(),
    rooms.basicUses.stop(),
    rooms.rankings.stop(),
    rooms.purge.stop(),
    rooms.removedLists.stop(),
    rooms.history.stop(),
    rooms.unusedObjects.stop(),
    rooms.deletedOwners.stop(),
    rooms.listIndexes.stop(),
    rooms.limiter.settled(),
    live.settled(),
    rooms.auditLog.stop(),
  ])
  await Promise.all([readReplicas.close(), rooms.fileBytes.close()])
  await store.close()
}
