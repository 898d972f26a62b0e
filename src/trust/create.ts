import { identityOfActor } from '../app/kinds/actor-identity.ts'
import { DomainEvent } from '../domain-event.ts'
import { deleteNoticesOf } from '../outbox/notice-store.ts'
import type { Outbox } from '../outbox/create.ts'
import { Permission, type RelationshipRules } from '../permission/permission.ts'
import { TrustTypes } from '../permission/trust-types.ts'
import type { ActorModule } from '../actor/create.ts'
import type { Runtime } from '../runtime.ts'
import type { LockedActor, Transaction } from '../store/store.ts'
import { SignInAge } from '../permission/sign-in-age.ts'
import { TrustActs } from './acts/trust-acts.ts'
import { RightsActs } from './acts/rights-acts.ts'
import { Companions } from './companions.ts'
import { endTrust } from './end-trust.ts'
import { fireDeleted } from './events.ts'
import { Expiries } from './expiries.ts'
import { LastSeen } from './last-seen.ts'
import { TrustCalls } from './handshake/peer-calls.ts'
import { type ChangedRights, Permissions, type PermissionsDeps } from './permissions.ts'
import { Relationships } from './relationships.ts'
import { deletionNoticesOfActors } from './trust-notifications.ts'
import type { AdvanceApproval, AdvanceApprovals, Self, TrustDeps } from './trust-deps.ts'
import { Trusts } from './trusts.ts'
import type { Trust } from './trust.ts'

/** @param rules Decides what peers and clients may do. Default: the rules of their relationships. */
export function createPermission({ registry, store, now }: Runtime, rules?: RelationshipRules) {
  const relationships = new Relationships(new TrustTypes(registry.trustTypes), now)
  const permission =
    rules === undefined ? new Permission(relationships.rules(store), relationships.rulesOfMany) : new Permission(rules)
  return { relationships, permission }
}

interface TrustNeeds extends Pick<PermissionsDeps, 'declares' | 'needsApproval' | 'declared'> {
  readonly outbox: Outbox
  readonly movedKey: TrustDeps['movedKey']
  readonly wakeDeliveries: (actorId: string) => void
  readonly relationships: Relationships
  readonly actorsDeleting: ActorModule['actorsDeleting']
}

/** Events of relationships for the rooms above this one. Listeners of events with a `tx` run inside that transaction. */
function trustEvents() {
  return {
    /** Before the row of the relationship is deleted. */
    trustEnding: new DomainEvent<[tx: Transaction, actorId: string, peerId: string]>(),
    /** A relationship was renewed, or one side approved it. */
    trustRenewed: new DomainEvent<[tx: Transaction, actorId: string, peerId: string]>(),
    /** The owner approved a relationship that was not approved before. */
    trustApproved: new DomainEvent<[tx: Transaction, actor: LockedActor, trust: Trust]>(),
    /** An invitation approved a peer. The relationship is stored, and the peer receives its permissions afterwards. */
    trustInvited: new DomainEvent<[tx: Transaction, actor: LockedActor, trust: Trust, approval: AdvanceApproval]>(),
    /** The owner approved or declined the request of a peer, and the transaction is committed. The emitter does not wait. */
    trustDecided: new DomainEvent<[trust: Trust, decided: 'approved' | 'denied']>(),
    /** The owner changed what a peer may reach, a grant ended, or the trust type changed. */
    rightsChanged: new DomainEvent<[tx: Transaction, actor: LockedActor, change: ChangedRights]>(),
    /** The approval of a relationship reached its end. */
    approvalExpired: new DomainEvent<[tx: Transaction, actorId: string, peerId: string]>(),
    /** Both sides have approved, and the transaction is committed. The emitter does not wait. */
    trustMutual: new DomainEvent<[actor: Self, peerId: string]>(),
  }
}

type Emitters = Pick<TrustDeps, 'onEnd' | 'onRenewed' | 'onApproved' | 'onInvited' | 'onDecided' | 'onMutual'>

function emittersOf(events: ReturnType<typeof trustEvents>): Emitters {
  return {
    onEnd: events.trustEnding.emit,
    onRenewed: events.trustRenewed.emit,
    onApproved: events.trustApproved.emit,
    onInvited: events.trustInvited.emit,
    onDecided: (trust, decided) => void events.trustDecided.emit(trust, decided),
    onMutual: (actor, peerId) => void events.trustMutual.emit(actor, peerId),
  }
}

export type TrustModule = ReturnType<typeof createTrust>

export function createTrust(runtime: Runtime, needs: TrustNeeds) {
  const { config, store, keyRing, live, now, timers, log } = runtime
  const { outbox, relationships, declares, needsApproval, wakeDeliveries } = needs
  const { notices, peerClient, times } = outbox
  const events = trustEvents()
  events.trustEnding.on(deleteNoticesOf)
  needs.actorsDeleting.on(async (tx, actorIds) => {
    await notices.replaceNotices(tx, actorIds, deletionNoticesOfActors(tx, keyRing, actorIds))
  })
  const expiries = new Expiries({ store, timers, now, log, expire: (key) => permissions.expire(key) })
  const permissions = new Permissions({
    store,
    declares,
    needsApproval,
    declared: needs.declared,
    live,
    relationships,
    now,
    enqueue: config.notifyPermissions ? notices.enqueue : null,
    scheduleExpiry: (tx, key, at) => expiries.schedule(tx, key, at),
    endKey: async (tx, locked, trust) => {
      await endTrust(trustDeps, tx, locked, trust)
      store.afterCommit(tx, () => fireDeleted(trustDeps, locked, trust, false))
    },
    onExpired: events.approvalExpired.emit,
    onRightsChanged: events.rightsChanged.emit,
  })
  // Features add theirs before the first request.
  const advanceApprovals: AdvanceApprovals[] = []
  const trustDeps: TrustDeps = {
    ...runtime,
    times,
    advanceApprovals,
    typeOf: (actor) => identityOfActor(runtime, actor).type,
    handleOf: runtime.handles.of,
    calls: new TrustCalls(peerClient, timers),
    movedKey: needs.movedKey,
    enqueue: (tx, all) => notices.enqueueAll(tx, all),
    enqueueAwaited: (tx, all) => notices.enqueueAwaited(tx, all),
    scheduleExpiry: (tx, key, at) => expiries.schedule(tx, key, at),
    wakeDelivery: (tx, actorId) => store.afterCommit(tx, () => wakeDeliveries(actorId)),
    defaultRelationship: config.relationship,
    maxPending: config.maxPendingTrusts,
    isAutoAccepted: (name) => isAutoAccepted(name, config, relationships.types),
    ...emittersOf(events),
    needsConfirmation: (name) => relationships.types.needsConfirmation(name),
    isOfMembers: (name, group) => relationships.types.isOfMembers(name, group),
    changesMembership: (before, after, group) => relationships.types.changesMembership(before, after, group),
    onTypeChanged: permissions.typeChanged,
    onApprovalEnded: permissions.approvalEnded,
  }
  const trusts = new Trusts(trustDeps)
  const companions = new Companions(trustDeps, trusts, peerClient)
  const contacts = new LastSeen(store, log, now)
  const room = { trusts, advanceApprovals, companions, contacts, permissions, expiries, relationships, trustDeps }
  return { ...room, ...createActs(runtime, room), ...events }
}

interface ActsNeeds {
  readonly trusts: Trusts
  readonly permissions: Permissions
  readonly relationships: Relationships
}

function createActs(runtime: Runtime, { trusts, permissions, relationships: { types } }: ActsNeeds) {
  const signInAge = new SignInAge(runtime)
  return {
    trustActs: new TrustActs({ trusts, permissions, types, signInAge, now: runtime.now }),
    rightsActs: new RightsActs({ permissions, signInAge }),
  }
}

function isAutoAccepted(name: string, config: Runtime['config'], types: TrustTypes): boolean {
  const { autoAcceptTrust, relationship } = config
  return autoAcceptTrust && name === relationship && types.find(name)?.neverAutoApproved !== true
}
