/** `authorization_code` (RFC 6749 section 4.1.3): exchanges a code for tokens, once. */
import { createHash } from 'node:crypto'
import { earliest } from '../../permission/grants.ts'
import { sameSecret } from '../../secret/hash.ts'
import type { Transaction } from '../../store/store.ts'
import { isApprovedAt, type Trust } from '../../trust/trust.ts'
import { findTrust } from '../../trust/trust-store.ts'
import { mayUse } from '../clients.ts'
import type { CodeData } from '../consents.ts'
import { OAuthError } from '../oauth-error.ts'
import { audienceOf, isOfOtherActor, type ServiceAddresses } from '../resources.ts'
import type { Grant, IssuedGrant, GrantDeps, GrantRequest } from './grant.ts'

/** Time in which a replay of a used code is detected: the lifetime of the first access token. */
const rememberedSeconds = 3600

interface Spent extends CodeData {
  readonly outcome?: { readonly actorId: string; readonly chainId: string }
}

export const authorizationCode: Grant = async (deps, request) => {
  const { store, oneTime } = deps
  const { parameters } = request
  const code = parameters.get('code')
  const redirectUri = parameters.get('redirect_uri')
  if (code === undefined) throw new OAuthError('invalid_request', 'code is missing')
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing')
  const presented = { purpose: 'code', value: code } as const
  // The code is read before it is consumed, so that a refused request cannot consume another client's code.
  const waiting = await store.read((q) => oneTime.peek<CodeData>(q, presented))
  if (waiting === null) {
    await revokeReplayed(deps, request, code)
    throw refused()
  }
  if (waiting.data.request.clientId !== request.client.clientId) throw refused()
  const actorId = waiting.actorId ?? ''
  const audience = judge(waiting.data, request, redirectUri, { ...deps, actorId })
  return store.writeActor(actorId, async (tx) => {
    const consumed = await oneTime.consume<CodeData>(tx, presented)
    const trust = consumed === null ? null : await standing(deps, tx, actorId, consumed.data)
    if (consumed === null || trust === null) throw refused()
    const until = earliest(request.client.until, trust.approvedUntil)
    return issue(deps, tx, { client: request.client, data: consumed.data, actorId, code, audience, until })
  })
}

/** The relationship of the consent, while it exists. A relationship that was created later does not count. */
export async function standing(
  { now }: GrantDeps,
  tx: Transaction,
  actorId: string,
  { peerId, agreedAt }: CodeData,
): Promise<Trust | null> {
  const trust = await findTrust(tx, actorId, peerId)
  return trust !== null && isApprovedAt(trust, now()) && trust.createdAt <= agreedAt ? trust : null
}

/** @returns the audience of the tokens. @throws OAuthError */
function judge(
  { request: asked }: CodeData,
  { parameters }: GrantRequest,
  redirectUri: string,
  own: ServiceAddresses & { readonly actorId: string },
): string {
  if (redirectUri !== asked.redirectUri) throw refused()
  const verifier = parameters.get('code_verifier')
  if (asked.codeChallenge === null) {
    if (verifier !== undefined)
      throw new OAuthError('invalid_request', 'code_verifier was sent without a code_challenge')
  } else if (verifier === undefined || !fits(verifier, asked.codeChallenge)) {
    throw refused()
  }
  const resource = parameters.get('resource')
  const audience = audienceOf(resource, own)
  const isOther = resource !== undefined && asked.audience !== '' && audience !== asked.audience
  if (audience === null || isOther || isOfOtherActor(audience, own.actorId, own.baseUrl)) {
    throw new OAuthError('invalid_target', 'resource differs from the authorized resource')
  }
  return asked.audience === '' ? audience : asked.audience
}

function fits(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9\-._~]{43,128}$/.test(verifier)) return false
  return sameSecret(createHash('sha256').update(verifier).digest('base64url'), challenge)
}

interface RedeemedCode extends Pick<GrantRequest, 'client'> {
  readonly data: CodeData
  readonly actorId: string
  readonly code: string
  readonly audience: string
  readonly until: number | null
}

async function issue(
  deps: GrantDeps,
  tx: Transaction,
  { client, data, actorId, code, audience, until }: RedeemedCode,
): Promise<IssuedGrant> {
  const { scope } = data.request
  const tokens = await deps.tokens.startClient(
    tx,
    { actorId, identifier: data.identifier, beganWith: 'mcp', device: client.name },
    { clientId: client.clientId, peerId: data.peerId, audience, scope },
    until,
  )
  await deps.oneTime.remember(tx, code, { ...data, outcome: { actorId, chainId: tokens.chainId } }, rememberedSeconds)
  return {
    tokens,
    scope,
    isRefreshable: mayUse(client, 'refresh_token'),
    members: { actor_id: actorId, email: data.identifier, trust_type: data.trustType },
  }
}

/**
 * Revokes the tokens of a code that is used twice, because one of its users stole it (RFC 6749 section 4.1.2). Concurrent
 * requests of one client are no theft: one wins, and the others revoke nothing.
 */
async function revokeReplayed(
  { store, oneTime, tokens }: GrantDeps,
  { client, receivedAt }: GrantRequest,
  code: string,
): Promise<void> {
  const spent = await store.read((q) => oneTime.spent<Spent>(q, { purpose: 'code', value: code }))
  if (spent === null || spent.data.request.clientId !== client.clientId) return
  const { outcome } = spent.data
  if (outcome === undefined || receivedAt < (spent.usedAt ?? 0)) return
  await store.write((tx) => tokens.endChain(tx, outcome.actorId, outcome.chainId, 'client'))
}

function refused(): OAuthError {
  return new OAuthError('invalid_grant', 'The code is unknown, expired, used, or not for this request')
}
