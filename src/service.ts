/** Joins the parts, once. Nothing else names a concrete store. */
import { dirname, join, resolve } from 'node:path'
import { actorHandle } from './api/actor.ts'
import { findActor } from './actor/actor-store.ts'
import { Actors } from './actor/actors.ts'
import { Attributes } from './actor/attributes.ts'
import type { ActorHandle } from './app/actor-handle.ts'
import { fire } from './app/events.ts'
import type { Identity } from './app/identity.ts'
import type { Registry } from './app/registry.ts'
import { Authentication, type BearerKind } from './auth/authenticate.ts'
import { application } from './caller.ts'
import { clientAccess, rememberClient } from './authorization-server/client-access.ts'
import { ClientEnds } from './authorization-server/client-ends.ts'
import { Clients } from './authorization-server/clients.ts'
import { Consents, finishPath } from './authorization-server/consents.ts'
import { MetadataDocuments } from './authorization-server/metadata-document.ts'
import { TokenEndpoint } from './authorization-server/token-endpoint.ts'
import { ConfigError } from './config/config.ts'
import type { Config } from './config/options.ts'
import { createHandle, type Handle } from './http/dispatch/dispatch.ts'
import { pageStreams } from './pages/live/live-stream.ts'
import type { Parts } from './http/dispatch/parts.ts'
import { routesFor } from './http/routes/all-routes.ts'
import { requireFolder } from './http/edge/static-files.ts'
import { catalogueOf } from './mcp/catalogue/catalogue.ts'
import { Declared } from './mcp/catalogue/declared.ts'
import { McpEndpoint } from './mcp/endpoint.ts'
import { McpSessions } from './mcp/sessions/sessions.ts'
import { McpTasks } from './mcp/tasks/tasks.ts'
import { Guesses } from './rate-limit/failed-attempts.ts'
import { Ledger } from './audit-log/audit-log.ts'
import { Limiter } from './rate-limit/limiter.ts'
import { LocalLimiter } from './rate-limit/local-limiter.ts'
import { ratesOf } from './rate-limit/rates.ts'
import { Live } from './live/live.ts'
import { currentContext } from './observe/context.ts'
import { createLog, type Log } from './observe/log.ts'
import { createMetrics } from './observe/metrics.ts'
import { Tracing } from './observe/tracing.ts'
import { decisionAct } from './operation/approval-act.ts'
import { Approvals } from './operation/approvals.ts'
import { Callbacks } from './operation/callbacks.ts'
import { Once } from './operation/idempotency.ts'
import { Operations } from './operation/operations.ts'
import { forgetPeer } from './replica/facts-store.ts'
import { GuardedClient } from './peer/guarded-client.ts'
import { ObservedClient } from './peer/observed-client.ts'
import type { PeerClient } from './peer/peer-client.ts'
import { PeerFacts } from './replica/peer-metadata.ts'
import { PeerLinks } from './replica/peer-link.ts'
import { peerTimes } from './peer/timeouts.ts'
import { Permission, type RelationshipRules } from './permission/permission.ts'
import { Permissions } from './trust/permissions.ts'
import { Relationships } from './trust/relationships.ts'
import { TrustTypes } from './permission/trust-types.ts'
import type { Access } from './property/access.ts'
import { BulkWrite } from './property/bulk-write.ts'
import { ActorWriter, type ChangeSink, namesIn } from './property/change.ts'
import { PropertyGate } from './property/property-hooks.ts'
import { Indexes } from './actor/indexes.ts'
import { rebuildLookups } from './actor/lookup-rebuild.ts'
import { ListHooks } from './property/list-hooks.ts'
import { Lists } from './property/lists.ts'
import { Properties } from './property/properties.ts'
import { RemovedLists } from './list/removed-lists.ts'
import { Versions } from './property/version.ts'
import { deleteNoticesOf } from './outbox/notice-store.ts'
import { Notices } from './outbox/notices.ts'
import { systemTimers, type Timers } from './timers.ts'
import { DeliveryWorker } from './publication/worker.ts'
import { Accounts } from './sign-in/accounts.ts'
import type { ThirdPartyService } from './connection/configured.ts'
import { Connections } from './connection/connections.ts'
import { ConfiguredProviders } from './sign-in/configured.ts'
import { hasLocalProvider, LocalProvider, LocalProviders } from './sign-in/local/local-provider.ts'
import { KeySets } from './sign-in/providers/key-sets.ts'
import { Outbound } from './sign-in/providers/outbound.ts'
import type { ProviderPlan } from './sign-in/providers/provider-config.ts'
import { developmentKeyRing } from './secret/development-key.ts'
import { KeyCheck } from './secret/key-check.ts'
import { type KeyRing, KeyRingError, parseKeyRing } from './secret/key-ring.ts'
import { FollowedStore } from './store/after-commit.ts'
import { openStore } from './open-store.ts'
import type { QueryObserver, Store } from './store/store.ts'
import { PeerData } from './replica/snapshot.ts'
import { callbackState } from './replica/callback-state.ts'
import { DataHooks } from './replica/data-hooks.ts'
import { fullState } from './publication/full-state.ts'
import { GapWorker } from './replica/gap-worker.ts'
import { deleteInboundOf } from './publication/inbound-store.ts'
import { markAllForFetch } from './replica/outbound-store.ts'
import { Publications } from './publication/publications.ts'
import { Publisher } from './publication/publisher.ts'
import { Receiver } from './replica/receiver.ts'
import { remoteForm } from './replica/remote-data.ts'
import { Subscribing } from './replica/subscribing.ts'
import { OneTime } from './token/one-time.ts'
import { Purge } from './token/purge.ts'
import { deadBearer, sessionBearer } from './token/session-bearer.ts'
import { recogniseToken } from './token/token-text.ts'
import { Sessions } from './token/sessions.ts'
import { SpaSessions } from './token/spa-sessions.ts'
import { Tokens } from './token/tokens.ts'
import { Uses } from './token/last-used.ts'
import { Companions } from './trust/companions.ts'
import { Contacts } from './trust/last-seen.ts'
import { fireDeleted } from './trust/events.ts'
import { partings } from './trust/trust-notifications.ts'
import { peerBearer } from './trust/peer-bearer.ts'
import { TrustCalls } from './trust/peer-calls.ts'
import { trusteeBearer } from './trust/trustee-bearer.ts'
import type { TrustParts } from './trust/trust-parts.ts'
import { Trusts } from './trust/trusts.ts'
import { PasswordAccess } from './sign-in/password-access.ts'
import { SignIn } from './sign-in/sign-in.ts'
import { localPages } from './pages/sign-in/local-sign-in.ts'
import { type OwnPages, pageSet } from './pages/shared/page-set.ts'
import { Templates } from './pages/shared/templates.ts'
import { release } from './release.ts'

export interface ServiceOptions {
  readonly config: Config
  readonly identity: Identity
  readonly registry: Registry
  /** Where the service is reached, without a slash at the end. */
  readonly baseUrl: string
  readonly pages?: OwnPages
  /** Where people sign in. Without any, the local provider in development. */
  readonly signIn?: readonly ProviderPlan[]
  /** Third-party services at which actors may have an account. */
  readonly services?: ReadonlyMap<string, ThirdPartyService>
  readonly log?: Log
  /** Unix milliseconds; the one clock of the service, in place of the store's. */
  readonly now?: () => number
  /** What waits; the runtime's timers unless given. */
  readonly timers?: Timers
  /** Numbers from 0 to below 1, for what only has to differ between processes. */
  readonly random?: () => number
  /** Kinds of bearer tokens besides those that the service knows, asked before them in this order. */
  readonly bearerKinds?: readonly BearerKind[]
  /** What peers and clients may do; nothing unless given. */
  readonly relationshipRules?: RelationshipRules
  /** Receives the changes of every write inside its transaction. */
  readonly changeSink?: ChangeSink
  /** Calls to other actors; the guarded way over the network unless given. */
  readonly peerClient?: PeerClient
  /** Told of every statement, for counting. */
  readonly onQuery?: QueryObserver
  /** Stands between the domain and the store, for faults. */
  readonly wrapStore?: (store: Store) => Store
}

export interface Service {
  readonly handle: Handle
  readonly parts: Parts
  readonly store: Store
  readonly keyRing: KeyRing
  readonly notices: Notices
  readonly handleOf: (actor: Access['actor']) => ActorHandle
  /** From now on `/health/ready` answers 503. */
  stopping(): void
  /** Resolves when no exchange with peers runs in the background. Work that waits for a later time does not count. */
  settled(): Promise<void>
  close(): Promise<void>
}

const dayMs = 86_400_000

export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, identity, registry, baseUrl, onQuery } = options
  const rates = ratesOf(config)
  const log = options.log ?? createLog(config.logLevel)
  const metrics = createMetrics(release)
  const tracing = new Tracing(release)
  const catalogue = catalogueOf(registry)
  if (config.singlePage !== null) await requireFolder('TROUPE_SINGLE_PAGE', config.singlePage)
  const keyRing = await keyRingOf(config)
  const pages = pageSet(options.pages ?? {}, config.templates === null ? null : Templates.load(config.templates))
  const opened = await openStore({
    url: config.database,
    synchronous: config.synchronous,
    workers: config.workers,
    lockTimeoutMs: config.storeTimeoutSeconds * 1000,
    ...(options.now === undefined ? {} : { now: options.now }),
    log: (level, message, cause) => log[level]({ error: cause }, message),
    onQuery: (sql) => {
      metrics.statementRun()
      onQuery?.(sql)
    },
  })
  const store = new FollowedStore(options.wrapStore?.(opened) ?? opened)
  const { now } = store
  const timers = options.timers ?? systemTimers
  const indexedProperties = new Set(config.indexedProperties)
  const keyCheck = new KeyCheck(store, keyRing, now)
  try {
    if (!(await keyCheck.fits())) throw unfitKeys(config)
    await rebuildLookups(store, indexedProperties)
  } catch (error) {
    await opened.close()
    throw error
  }

  const handleOf = (actor: Access['actor']): ActorHandle => actorHandle(handleParts, { actor, caller: application })
  const rawHandleOf = (actor: Access['actor']): ActorHandle =>
    actorHandle(handleParts, { actor, caller: application, withoutHooks: true })

  const relationships = new Relationships(new TrustTypes(registry.trustTypes))
  const permission =
    options.relationshipRules === undefined
      ? new Permission(relationships.rules(store), relationships.rulesOfMany)
      : new Permission(options.relationshipRules)
  const publisher = new Publisher({
    permission,
    now,
    maxDiffs: config.maxDiffs,
    announce: (tx, actorId, entries) =>
      store.afterCommit(tx, () =>
        config.synchronousCallbacks ? deliveries.attempted(actorId, entries) : deliveries.wake(),
      ),
  })
  const live = new Live({ store, afterCommit: store.afterCommit, timers, now, log })
  const writer = new ActorWriter(store, async (tx, actor, changes, by) => {
    await publisher.sink(tx, actor, changes, by)
    if (actor.watchedUntil > 0) await live.record(tx, actor, 'properties', namesIn(changes))
    await options.changeSink?.(tx, actor, changes, by)
  })
  const gate = new PropertyGate(registry, rawHandleOf)
  const indexes = new Indexes({
    indexedProperties,
    forceEmailAsCreator: config.forceEmailAsCreator,
    uniqueCreator: config.uniqueCreator,
    onCollision: (actorId, name) =>
      log.warn({ actorId, name }, 'An indexed value belongs to another actor already; the first owner keeps it'),
  })
  const removedLists = new RemovedLists({ store, timers, log })
  const deleteRemoved = removedLists.wake
  const versions = new Versions(keyRing)
  const properties = new Properties({ store, writer, permission, gate, indexes, versions, deleteRemoved })
  const lists = new Lists({
    store,
    writer,
    permission,
    versions,
    hooks: new ListHooks(store, gate),
    now,
    deleteRemoved,
  })
  const accounts = new Accounts({
    store,
    keyRing,
    now,
    afterCommit: store.afterCommit,
    onSuperseded: async ({ actorId, creator, superseded }) => {
      const actor = handleOf({ id: actorId, creator })
      await fire(registry, log, 'creator_superseded', { actor, creator, superseded })
    },
  })
  const passwordAccess = new PasswordAccess({ store, keyRing, now })
  const actors = new Actors({
    store,
    registry,
    keyRing,
    log,
    now,
    uniqueCreator: config.uniqueCreator,
    indexedProperties,
    handleOf,
    deleteRemoved,
    takeLeave: async (tx, actorIds) => {
      await clientEnds.endWithActors(tx, actorIds)
      await notices.takeLeave(tx, actorIds, await partings(tx, keyRing, actorIds))
    },
    prove: (tx, actor) => accounts.prove(tx, actor),
  })
  const contacts = new Contacts(store, log, now)
  const tokens = new Tokens({
    store,
    log,
    now,
    maxSessionDays: config.maxSessionDays,
    onSession: (tx, grant) => store.afterCommit(tx, () => metrics.tokensIssued('session', grant)),
  })
  const sessionUses = new Uses(store, log, now)
  const purge = new Purge(store, log, now)
  const oneTime = new OneTime(keyRing, now)
  const timeouts = { connectSeconds: config.peerConnectSeconds, readSeconds: config.peerReadSeconds }
  const times = peerTimes(timeouts)
  const outsideClient =
    options.peerClient ??
    new GuardedClient({
      allowPrivatePeers: config.allowPrivatePeers,
      allowHttp: config.allowHttp,
      ...timeouts,
      release,
    })
  // Other services are not told which trace they are in: nothing of theirs belongs to it.
  const peerClient = new ObservedClient(outsideClient, tracing, metrics)
  const notices = new Notices({
    keyRing,
    now,
    afterCommit: store.afterCommit,
    wake: () => deliveries.wake(),
    firstAttempts: (ids) => deliveries.firstAttempts(ids),
  })
  const deliveries = new DeliveryWorker({
    store,
    peerClient,
    permission,
    keyRing,
    policy: {
      retryUnknown: config.retryCallbacks,
      circuitThreshold: config.circuitThreshold,
      circuitCooldownMs: config.circuitCooldownSeconds * 1000,
      giveUpAfterMs: config.maxDiffAgeDays * dayMs,
    },
    times,
    announce: ({ actorId, subscriptionId }) => live.announce(actorId, 'subscriptions', subscriptionId),
    settleRenewal: async ({ actorId, ...offer }) => {
      const actor = await actors.find(actorId)
      return actor === null ? null : trusts.settleRenewal(actor, offer)
    },
    fullState: async (actorId, caller, scope) => {
      const actor = await actors.find(actorId)
      return actor === null ? null : fullState({ properties, lists }, { actor, caller }, scope)
    },
    baseUrl,
    maxHighGranularityBytes: config.maxHighGranularityBytes,
    maxConcurrentCallbacks: config.maxConcurrentCallbacks,
    maxDiffAgeMs: config.maxDiffAgeDays * dayMs,
    shutdownMs: config.shutdownSeconds * 1000,
    timers,
    now,
    random: options.random ?? Math.random,
    log,
    metrics,
    tracing,
  })
  metrics.backlogFrom(() => deliveries.backlog())
  const publications = new Publications({
    store,
    live,
    registry,
    permission,
    publisher,
    log,
    now,
    maxPeerSubscriptions: config.maxPeerSubscriptions,
    enqueue: notices.enqueue,
    afterCommit: store.afterCommit,
    wake: deliveries.wake,
    handleOf,
  })
  const links = new PeerLinks(peerClient, keyRing, config.maxJsonDepth)
  const peerData = new PeerData(links, now)
  const facts = new PeerFacts({
    store,
    links,
    log,
    now,
    afterCommit: store.afterCommit,
    wake: () => gaps.wake(),
    profileAttributes: config.peerProfileAttributes,
    capabilitiesMaxAgeMs: config.capabilitiesMaxAgeSeconds * 1000,
    autoDeleteRevoked: config.autoDeleteRevoked,
    fetchesGranted: config.autoSequence,
  })
  const callbacks = new Callbacks({ registry, log, handleOf })
  const dataHooks = new DataHooks({
    registry,
    log,
    timers,
    tell: (actor, name, data) => callbacks.tell(actor, application, name, data),
    handleOf: async (actorId) => {
      const actor = await actors.find(actorId)
      return actor === null ? null : handleOf(actor)
    },
  })
  const receiver = new Receiver({
    store,
    live,
    data: peerData,
    policy: { gapTimeoutMs: config.gapTimeoutSeconds * 1000, maxPending: config.maxPendingCallbacks },
    profileAttributes: config.peerProfileAttributes,
    enqueue: notices.enqueue,
    afterCommit: store.afterCommit,
    handOn: dataHooks.handOn,
    wake: () => gaps.wake(),
    now,
  })
  const subscribing = new Subscribing({
    store,
    live,
    links,
    data: peerData,
    receiver,
    enqueue: notices.enqueue,
    afterCommit: store.afterCommit,
    wake: () => gaps.wake(),
    refreshFacts: (actor, peerId, when) => facts.refresh({ actorId: actor.id, peerId }, when),
    findActor: (actorId) => actors.find(actorId),
    endTrust: (actor, asked) => trusts.endedByPeer(actor, asked),
    now,
    log,
  })
  const gaps = new GapWorker({ store, fill: (key) => subscribing.fill(key), times, timers, now, log, tracing })
  const declared = new Declared(registry, config.mcp ? catalogue : null)
  const permissions = new Permissions({
    store,
    declares: (category, name) => declared.has(category, name),
    needsApproval: (category, name) => declared.needsApproval(category, name),
    live,
    relationships,
    now,
    enqueue: config.notifyPermissions ? notices.enqueue : null,
  })
  const trustParts: TrustParts = {
    store,
    live,
    keyRing,
    registry,
    log,
    now,
    times,
    baseUrl,
    type: identity.type,
    handleOf,
    calls: new TrustCalls(peerClient, timers),
    enqueue: (tx, all) => notices.enqueueAll(tx, all),
    enqueueAwaited: (tx, all) => notices.enqueueAwaited(tx, all),
    wakeDelivery: (tx) => store.afterCommit(tx, deliveries.wake),
    defaultRelationship: config.relationship,
    maxPending: config.maxPendingTrusts,
    isAutoAccepted: (name) =>
      config.autoAcceptTrust &&
      name === config.relationship &&
      relationships.types.find(name)?.neverAutoApproved !== true,
    onEnd: [
      deleteInboundOf,
      deleteNoticesOf,
      forgetPeer,
      (tx, actorId, peerId) => clientEnds.endWithOwnTrust(tx, actorId, peerId),
    ],
    onRenewed: async (tx, actorId, peerId) => {
      await markAllForFetch(tx, { actorId, peerId }, now())
      store.afterCommit(tx, () => gaps.wake())
    },
    onApproved: async (tx, actor, trust) => {
      if (await publisher.resyncPeer(tx, actor, trust.peerId)) await permissions.tell(tx, trust)
    },
    tellRights: (tx, trust) => permissions.tell(tx, trust),
    onMutual: (actor, peerId) => facts.refreshLater({ actorId: actor.id, peerId }, 'mutual'),
  }
  const trusts = new Trusts(trustParts)
  const companions = new Companions(trustParts, trusts, peerClient)
  const outbound = new Outbound({ allowHttp: config.allowHttp, release })
  const providerParts = { outbound, keySets: new KeySets(outbound, now), now, baseUrl, log }
  const { signIn = [] } = options
  const local =
    signIn.length === 0 && config.localSignIn && config.mode === 'development' && hasLocalProvider()
      ? new LocalProvider(providerParts, { pages: localPages(identity.name), log })
      : null
  const connections = new Connections({
    services: options.services ?? new Map(),
    store,
    keyRing,
    oneTime,
    client: outsideClient,
    now,
    timers,
    baseUrl,
  })
  const ledger = new Ledger({
    store,
    timers,
    now,
    log,
    metrics,
    mostPerActor: config.activityPerActor,
    maxAgeMs: config.activityDays * dayMs,
  })
  const providers = local === null ? new ConfiguredProviders(signIn, providerParts) : new LocalProviders(local)
  const clientEnds = new ClientEnds({
    afterCommit: store.afterCommit,
    // The system actor, too, which no address leads to.
    findActor: (actorId) => store.read((q) => findActor(q, actorId)),
    tell: async (actor, trust, byPeer) => {
      await fireDeleted(trustParts, actor, trust, byPeer)
      await live.announce(actor.id, 'trust', trust.peerId)
    },
    isHeard: () => registry.eventHandlers('trust_deleted').length > 0,
    log,
  })
  const documents = new MetadataDocuments(outsideClient, now)
  const clients = new Clients({ store, actors, keyRing, documents, ends: clientEnds, now })
  const handleParts = {
    properties,
    lists,
    trusts,
    companions,
    accounts,
    publications,
    store,
    subscribing,
    facts,
    ledger,
    live,
    connections,
    clients,
    baseUrl,
  }
  const limiter = new Limiter({ store, rates, now, log, metrics })
  const guesses = new Guesses({ store, rates, now, log, metrics })
  let isStopping = false

  const resources = [`${baseUrl}/mcp`, baseUrl]
  const approvals = new Approvals({
    store,
    live,
    keyRing,
    addressOf: (actorId, approvalId) => {
      // Without pages, the address is the one at which programs decide: it works for the owner in every configuration.
      const own = `${baseUrl}/{actor}/${config.webUi ? 'www/approvals' : 'approvals'}/{approval}`
      return (config.approvalUrl ?? own).replaceAll('{actor}', actorId).replaceAll('{approval}', approvalId)
    },
    note: (approval, decided) =>
      ledger.record({ ...decisionAct(approval, decided), requestId: currentContext()?.requestId ?? '' }),
    now,
  })
  const basePath = new URL(baseUrl).pathname.replace(/\/$/, '')
  const parts: Parts = {
    config,
    identity,
    baseUrl,
    basePath,
    registry,
    authentication: new Authentication({
      bearerKinds: [
        ...(options.bearerKinds ?? []),
        sessionBearer(tokens, sessionUses),
        trusteeBearer((actor) => actors.passphraseOf(actor)),
        peerBearer(store, contacts),
        // What comes after it never sees a token of ours.
        deadBearer,
      ],
      isOwnToken: (token) => recogniseToken(token) !== null,
      passphraseOf: (actor) => actors.passphraseOf(actor),
      formerCreatorOf: (actor) => passwordAccess.nameOf(actor),
      guesses,
      realm: new URL(baseUrl).host,
    }),
    limiter,
    localLimiter: new LocalLimiter({ rates, now, metrics }),
    guesses,
    ledger,
    connections,
    permission,
    permissions,
    relationships,
    actors,
    properties,
    lists,
    bulkWrite: new BulkWrite({ writer, permission, gate, indexes, lists, now }),
    operations: new Operations({ registry, permission, approvals, handleOf }),
    once: new Once({ store, keyRing, timers, now }),
    attributes: new Attributes(store, now, [callbackState], [remoteForm]),
    contacts,
    tokens,
    sessions: new Sessions({
      store,
      tokens,
      live,
      onSignOut: (tx, actorId) => accounts.clearProviderTokens(tx, actorId),
    }),
    sessionUses,
    oneTime,
    spaSessions: new SpaSessions(store, oneTime),
    purge,
    trusts,
    companions,
    peerClient,
    providers,
    passwordAccess,
    signIn: new SignIn({
      store,
      guesses,
      registry,
      keyRing,
      log,
      now,
      actors,
      accounts,
      tokens,
      live,
      oneTime,
      providers,
      handleOf,
      trustTypes: relationships.types,
      // Where the creator is to be the address, an address is needed.
      mode: config.forceEmailAsCreator ? 'email' : config.signInIdentity,
      baseUrl,
      clientPath: `${basePath}${finishPath}`,
      redirectOrigins: config.spaRedirectOrigins,
      isDevelopment: config.mode === 'development',
    }),
    live,
    pageStreams: pageStreams(),
    approvals,
    clients,
    consents: new Consents({ store, oneTime, clients, keyRing, live, now }),
    tokenEndpoint: new TokenEndpoint({ store, oneTime, tokens, keyRing, resources, now, metrics }, clients),
    resources,
    clientAccess: (token) => clientAccess(store, token),
    declared,
    mcp: new McpEndpoint({
      catalogue,
      permission,
      properties,
      lists,
      handleOf,
      keyRing,
      server: { name: identity.name, version: identity.version },
      instructions: config.mcpInstructions,
      live,
      sessions: new McpSessions({ store, timers, now }),
      tasks: new McpTasks({ store, live, keyRing, timers, now }),
      approvals,
      remember: rememberClient(store),
      note: ({ access, method, target, decision, reason }) =>
        ledger.record({
          actorId: access.actor.id,
          callerKind: 'client',
          caller: access.caller.peerId,
          through: 'mcp',
          method,
          path: target,
          decision,
          reason,
          status: 200,
          requestId: currentContext()?.requestId ?? '',
          isRead: method !== 'tools/call',
        }),
      metrics,
      tracing,
      log,
      timers,
      now,
    }),
    pages,
    publications,
    subscribing,
    receiver,
    facts,
    callbacks,
    log,
    now,
    timers,
    metrics,
    tracing,
    health: {
      isStopping: () => isStopping,
      checkStore: async () => {
        await store.ping()
        await keyCheck.require()
      },
    },
  }
  deliveries.wake()
  gaps.wake()
  removedLists.wake()
  return {
    handle: createHandle(parts, routesFor(parts)),
    parts,
    store,
    keyRing,
    notices,
    handleOf,
    stopping: () => {
      isStopping = true
      // Streams that would go on for ever end, so that their requests are done in time.
      live.stop()
    },
    settled: async () => {
      // Each hands work to those after it: a fetched diff, for example, is acknowledged by a delivery.
      for (const each of [gaps, facts, dataHooks, contacts, deliveries]) await each.settled()
    },
    close: async () => {
      live.stop()
      await local?.close()
      await outbound.close()
      await gaps.stop()
      await deliveries.stop(peerClient)
      // Their calls ended with the client.
      await Promise.all([
        gaps.settled(),
        facts.settled(),
        dataHooks.settled(),
        contacts.settled(),
        sessionUses.settled(),
        purge.stop(),
        removedLists.stop(),
        limiter.settled(),
        live.settled(),
        ledger.stop(),
      ])
      await store.close()
    },
  }
}

/** @throws ConfigError */
export async function keyRingOf(config: Config): Promise<KeyRing> {
  try {
    return config.secretKeys === null
      ? await developmentKeyRing(developmentKeyFile(config))
      : parseKeyRing(config.secretKeys)
  } catch (error) {
    if (!(error instanceof KeyRingError)) throw error
    throw new ConfigError(
      config.secretKeys === null ? `${error.message}.` : `TROUPE_SECRET_KEYS cannot be used: ${error.message}.`,
    )
  }
}

/** The refusal to work on a store that was written with other keys: everything that needs a secret would fail. */
export function unfitKeys(config: Config): ConfigError {
  const [keys, mend] =
    config.secretKeys === null
      ? [`The key in ${developmentKeyFile(config)}`, 'restore the key']
      : ['TROUPE_SECRET_KEYS', 'set the keys']
  return new ConfigError(
    `${keys} opens none of the secrets in the database: ${mend} that encrypted them, or use another database.`,
  )
}

function developmentKeyFile(config: Config): string {
  const file = /^sqlite:(.+)$/.exec(config.database)?.[1]
  return join(file === undefined ? resolve('data') : dirname(resolve(file)), 'development.key')
}
