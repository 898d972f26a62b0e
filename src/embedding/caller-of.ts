/** Finds the caller of a request to a route of the embedding program. */
import type { Actors } from '../actor/actors.ts'
import type { HostRequest, RequestCaller } from '../app/embedding/sessions.ts'
import { readCredential } from '../auth/credentials.ts'
import type { ClientAccess } from '../authorization-server/client-access.ts'
import { mayActAt } from '../authorization-server/client-bearer.ts'
import { type ForgeryRule, isForged } from '../http/dispatch/anti-forgery.ts'
import { headOf } from '../http/edge/host-request.ts'
import type { CookieNames } from '../http/edge/cookies/cookie-names.ts'
import type { RequestHead } from '../http/edge/request.ts'
import type { Uses } from '../token/last-used.ts'
import { recognizeToken } from '../token/token-text.ts'
import type { Tokens } from '../token/tokens.ts'

export interface CallerDeps {
  readonly actors: Pick<Actors, 'find'>
  readonly tokens: Pick<Tokens, 'find'>
  readonly sessionUses: Uses
  readonly clientAccess: (token: string) => Promise<ClientAccess | null>
  readonly forgeryRule: Pick<ForgeryRule, 'origin' | 'isTrustedOrigin'>
  readonly baseUrl: string
  readonly cookieNames: CookieNames
}

/**
 * Returns the caller; undefined without a valid session or access token. A cookie does not count in a request that another
 * site may have made the browser send.
 *
 * @throws ServiceError `store_unavailable`, because a failing store must never look like an anonymous request.
 */
export async function findCaller(deps: CallerDeps, request: HostRequest): Promise<RequestCaller | undefined> {
  const head = deps.cookieNames.receivedHead(headOf(request))
  const credential = readCredential(
    head.header('authorization'),
    head.header('cookie'),
    head.hasRepeated('authorization'),
  )
  if (credential.kind !== 'bearer') return undefined
  const { token, via } = credential
  const form = recognizeToken(token)
  if (form?.kind !== 'access') return undefined
  if (form.chain === 'client') return via === 'bearer' ? clientOf(deps, token) : undefined
  if (via === 'cookie' && isChange(head) && isForged(head, deps.forgeryRule, token)) return undefined
  const found = await deps.tokens.find(token)
  if (found === null || (await deps.actors.find(found.chain.actorId)) === null) return undefined
  deps.sessionUses.note(found.chain)
  return { kind: 'creator', via, session: found.chain.chainId, actorId: found.chain.actorId }
}

async function clientOf({ clientAccess, baseUrl }: CallerDeps, token: string): Promise<RequestCaller | undefined> {
  const access = await clientAccess(token)
  // A token for `/mcp`, or for another resource, must not be passed on to other addresses (RFC 8707).
  return access !== null && mayActAt(access, baseUrl) ? { ...access.caller, actorId: access.actor.id } : undefined
}

/** A WebSocket begins with a GET, and may then send changes. */
function isChange({ method, header }: RequestHead): boolean {
  return !['GET', 'HEAD', 'OPTIONS'].includes(method) || header('upgrade') !== undefined
}
