/** Adds the parts of an actor that archives do not have: clients, their relationships and tokens, sessions, and diffs that peers poll. */
import type { Client } from '../authorization-server/client.ts'
import { findClient, insertClient, tieTrustToClient } from '../authorization-server/client-store.ts'
import { insertDiffs } from '../publication/diff-store.ts'
import { markForFetch } from '../replica/subscriber-store.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { accountTokens, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import { findAccount, updateAccount } from '../sign-in/account-store.ts'
import type { Transaction } from '../store/store.ts'
import type { Tokens } from '../token/tokens.ts'
import { newTrust } from '../trust/new-trust.ts'
import { putOverride } from '../trust/override-store.ts'
import { insertTrust } from '../trust/trust-store.ts'
import type { Leftover } from './actor-archive.ts'
import { accountOf } from './source-account.ts'
import { clientBucket, clientOf, type SourceSession, type SourceToken, clientTokensOf } from './source-apps.ts'
import type { SourceTrust } from './source-trusts.ts'
import type { SourceActor, SourceAttribute } from './source.ts'

export interface CompleteDeps {
  readonly keyRing: KeyRing
  readonly tokens: Pick<Tokens, 'adopt' | 'adoptClient'>
  readonly now: () => number
}

export interface Completion {
  readonly actor: SourceActor
  readonly attributes: readonly SourceAttribute[]
  readonly sessions: readonly SourceSession[]
  readonly left: Leftover
}

/** The valid tokens of clients with their relationships, and how many have none. */
export interface ActorApps {
  readonly clients: readonly Client[]
  readonly grants: readonly { readonly trust: SourceTrust; readonly tokens: readonly SourceToken[] }[]
  readonly orphans: number
}

export function appsOf({ actor, attributes, left }: Completion, now: number): ActorApps {
  const registered = attributes.filter(({ bucket }) => bucket === clientBucket)
  const issued = Map.groupBy(clientTokensOf(attributes, now), ({ clientId, link }) => `${clientId} ${link}`)
  const grants = [...issued.values()].map((tokens) => ({
    trust: left.programs.find((trust) => isOf(trust, tokens[0]?.clientId ?? '')),
    tokens,
  }))
  return {
    clients: registered.map((attribute) => clientOf(actor.id, attribute)).filter((client) => client !== null),
    grants: grants.flatMap(({ trust, tokens }) => (trust === undefined ? [] : [{ trust, tokens }])),
    orphans: grants.filter(({ trust }) => trust === undefined).length,
  }
}

function isOf({ facts, peerId }: SourceTrust, clientId: string): boolean {
  return facts.oauth_client_id === clientId || peerId.endsWith(`:${clientId}`)
}

/** Call it in the transaction that completes the actor. */
export async function completeActor(tx: Transaction, deps: CompleteDeps, completion: Completion): Promise<void> {
  const { actor, sessions, left } = completion
  const now = deps.now()
  const { clients, grants } = appsOf(completion, now)
  for (const client of clients) if ((await findClient(tx, client.clientId)) === null) await insertClient(tx, client)
  for (const trust of left.programs) await insertProgram(tx, deps, actor.id, trust)
  for (const { peerId, ...override } of left.programRights) await putOverride(tx, actor.id, peerId, override)
  for (const { trust, tokens } of grants) {
    const [{ clientId, scope } = { clientId: '', scope: '' }] = tokens
    await deps.tokens.adoptClient(tx, actor.id, { clientId, peerId: trust.peerId, audience: '', scope }, tokens)
  }
  for (const { refreshToken, expiresAt } of sessions) await deps.tokens.adopt(tx, actor.id, refreshToken, expiresAt)
  await keepProviderTokens(tx, deps, completion)
  for (const [createdAt, diffs] of Map.groupBy(left.diffs, (diff) => diff.createdAt)) {
    const entries = diffs.map((diff) => ({ ...diff, kind: 'diff' as const, replaces: false, deletions: null }))
    await insertDiffs(tx, actor.id, entries, { createdAt, hops: 0 })
  }
  for (const peerId of new Set(left.behind.map((one) => one.peerId)))
    await markForFetch(tx, { actorId: actor.id, peerId }, now)
}

async function insertProgram(
  tx: Transaction,
  { keyRing }: CompleteDeps,
  actorId: string,
  given: SourceTrust,
): Promise<void> {
  const { secret, verificationToken, createdAt, lastAccessed, lastConnectedVia, establishedVia, facts, ...rest } = given
  const trust = newTrust(keyRing, {
    ...rest,
    actorId,
    secret,
    token: verificationToken,
    ownRequest: null,
    now: createdAt,
  })
  await insertTrust(tx, {
    ...trust,
    establishedVia,
    facts,
    lastConnectedVia,
    lastAccessed: lastAccessed ?? createdAt,
  })
  const clientId = facts.oauth_client_id
  const isRegistered = clientId !== undefined && (await findClient(tx, clientId)) !== null
  if (isRegistered) await tieTrustToClient(tx, actorId, given.peerId, clientId)
}

/** The tokens of the provider of the last sign-in: applications call the provider with them. */
async function keepProviderTokens(
  tx: Transaction,
  { keyRing }: CompleteDeps,
  { actor, attributes }: Completion,
): Promise<void> {
  const found = accountOf(actor.creator, attributes)
  const account = found === null ? null : await findAccount(tx, actor.id)
  if (found === null || account === null) return
  const providerTokens = seal(keyRing, JSON.stringify(found.tokens), bindingOf(accountTokens, actor.id))
  await updateAccount(tx, account, { ...account, providerTokens })
}
