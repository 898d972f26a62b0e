import { findActor } from '../actor/actor-store.ts'
import type { ActorModule } from '../actor/create.ts'
import { otherBaseUrls } from '../config/other-base-urls.ts'
import type { Outbox } from '../outbox/create.ts'
import type { Runtime } from '../runtime.ts'
import type { TokenModule } from '../token/create.ts'
import type { TrustModule } from '../trust/create.ts'
import { fireDeleted } from '../trust/events.ts'
import type { Permission } from '../permission/permission.ts'
import { SignInAge } from '../permission/sign-in-age.ts'
import { AppActs } from './apps/app-acts.ts'
import { KeyActs } from './key-acts.ts'
import { CurrentAccess } from './apps/current-access.ts'
import { type ClientAccess, clientAccess } from './client-access.ts'
import { actorChallenge, clientBearer } from './client-bearer.ts'
import { ClientAssertions } from './client-assertion.ts'
import { ClientEnds } from './client-ends.ts'
import { Clients } from './clients.ts'
import { Consents } from './consents.ts'
import { DeletedOwners } from './deleted-owners.ts'
import { DeviceCodes, Polls } from './device/device-codes.ts'
import { deleteRemoteKey } from './key-store.ts'
import { Keys } from './keys.ts'
import { ClientKeys } from './documents/client-keys.ts'
import { MetadataDocuments } from './documents/metadata-document.ts'
import { currentResource } from './resources.ts'
import { TokenEndpoint } from './token-endpoint.ts'

interface AuthorizationServerNeeds {
  readonly actorModule: ActorModule
  readonly trust: TrustModule
  readonly tokenModule: TokenModule
  readonly outbox: Outbox
  readonly permission: Permission
}

export function createAuthorizationServer(runtime: Runtime, needs: AuthorizationServerNeeds) {
  const { config, store, keyRing, live, now, metrics, baseUrl, log } = runtime
  const addresses = { baseUrl, otherBaseUrls: otherBaseUrls(runtime) }
  const { tokens, oneTime, sessionUses } = needs.tokenModule
  const { actorsDeleting } = needs.actorModule
  const ends = createClientEnds(runtime, needs.trust)
  const deletedOwners = new DeletedOwners({ store, afterCommit: store.afterCommit, ends, log })
  actorsDeleting.on((tx, actorIds) => deletedOwners.follow(tx, actorIds))
  needs.trust.trustEnding.on((tx, actorId, peerId) => ends.endWithOwnTrust(tx, actorId, peerId))
  needs.trust.approvalExpired.on(async (tx, actorId, peerId) => {
    await tokens.endAllOfPeer(tx, actorId, peerId)
  })
  const documents = new MetadataDocuments(needs.outbox.outsideClient, now)
  const { scheduleExpiry } = needs.trust.trustDeps
  const keys = new Keys({ store, keyRing, tokens, trusts: needs.trust.trusts, live, scheduleExpiry, now })
  needs.trust.trustEnding.on(async (tx, actorId, peerId) => {
    if (tx.isSharded) await deleteRemoteKey(tx, actorId, peerId)
  })
  const clients = new Clients({ store, keyRing, documents, ends, now })
  /** Resolves a client's access token. Null for any other string. */
  const accessOf = async (token: string): Promise<ClientAccess | null> => {
    const access = await clientAccess(store, token)
    if (access === null) return null
    sessionUses.note({ ...access, actorId: access.actor.id })
    return { ...access, audience: currentResource(access.audience, addresses) }
  }
  const devices = new DeviceCodes({ store, oneTime })
  const clientKeys = new ClientKeys(needs.outbox.outsideClient, now)
  const assertions = new ClientAssertions({ store, oneTime, keys: clientKeys, ...addresses, now })
  return {
    clients,
    devices,
    deletedOwners,
    keys,
    ...createActs(runtime, needs.trust, keys),
    currentAccess: new CurrentAccess({ store, permission: needs.permission, clients, now }),
    consents: new Consents({ store, oneTime, clients, devices, keyRing, live, baseUrl, now }),
    tokenEndpoint: new TokenEndpoint(
      {
        store,
        oneTime,
        tokens,
        keyRing,
        ...addresses,
        now,
        metrics,
        devices,
        polls: new Polls(now),
        assertions,
      },
      clients,
    ),
    clientAccess: accessOf,
    clientBearer: clientBearer(baseUrl, accessOf),
    /** Returns where a program gets a token for the actor. Null without an authorization server. */
    challengeOf: (actorId: string): string | null => (config.mcp ? actorChallenge(baseUrl, actorId) : null),
  }
}

function createClientEnds({ store, live, registry, log }: Runtime, { trustDeps }: TrustModule): ClientEnds {
  return new ClientEnds({
    afterCommit: store.afterCommit,
    // `findActor` also finds the system actor, which has no URL.
    findActor: (actorId) => store.read((q) => findActor(q, actorId)),
    notify: async (actor, trust, byPeer) => {
      await fireDeleted(trustDeps, actor, trust, byPeer)
      await live.announce(actor.id, 'trust', trust.peerId)
    },
    isHeard: () => registry.all.some((each) => each.eventHandlers('trust_deleted').length > 0),
    log,
  })
}

function createActs(runtime: Runtime, trust: TrustModule, keys: Keys) {
  const { types } = trust.relationships
  return {
    keyActs: new KeyActs({ keys, signInAge: new SignInAge(runtime) }),
    appActs: new AppActs({ apps: trust, trustActs: trust.trustActs, types, now: runtime.now }),
  }
}
