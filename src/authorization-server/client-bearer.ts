/** The bearer kind of clients: access tokens of the authorization server, at the addresses of an actor. */
import { type BearerKind, refused } from '../auth/authenticate.ts'
import { ServiceError } from '../errors.ts'
import type { ClientAccess } from './client-access.ts'
import { actorMetadataUrl, isForActor } from './resources.ts'

/** Every request at an address of an actor needs this scope. */
const neededScope = 'actor'

/**
 * Authenticates a client within its relationship with the actor. Only the header counts: a browser adds a cookie to requests
 * of any site. A token that is not valid any longer is left to the last bearer kind, which rejects it.
 *
 * @throws ServiceError `forbidden` for a token of another actor or without the scope, `unauthorized` for another resource.
 */
export function clientBearer(
  baseUrl: string,
  clientAccess: (token: string) => Promise<ClientAccess | null>,
): BearerKind {
  return async (token, actor, via, form) => {
    if (form?.chain !== 'client' || form.kind !== 'access' || via !== 'bearer') return null
    const access = await clientAccess(token)
    if (access === null) return null
    if (access.actor.id !== actor.id) throw refused()
    if (!isForActor(access.audience, actor.id, baseUrl)) throw foreignResource(baseUrl, actor.id)
    if (!access.scope.split(' ').includes(neededScope)) throw insufficientScope(baseUrl, actor.id)
    return access.caller
  }
}

/** Returns whether the token is valid at the addresses of its own actor. */
export function mayActAt({ actor, audience, scope }: ClientAccess, baseUrl: string): boolean {
  return isForActor(audience, actor.id, baseUrl) && scope.split(' ').includes(neededScope)
}

/** Says where a program gets a token for the actor (RFC 9728 section 5.1). */
export function actorChallenge(baseUrl: string, actorId: string): string {
  return `Bearer resource_metadata="${actorMetadataUrl(baseUrl, actorId)}", scope="${neededScope}"`
}

function foreignResource(baseUrl: string, actorId: string): ServiceError {
  return new ServiceError('unauthorized', 'Cannot authenticate: the token was issued for another resource', {
    headers: {
      'WWW-Authenticate': errorChallenge(baseUrl, actorId, {
        error: 'invalid_token',
        description: 'The access token was issued for another resource',
      }),
      Vary: 'Accept',
    },
    reason: 'the token was issued for another resource',
  })
}

/** The client may ask the owner for the scope (RFC 6750 section 3.1). */
function insufficientScope(baseUrl: string, actorId: string): ServiceError {
  return new ServiceError('forbidden', `Cannot authenticate: the token does not have the scope ${neededScope}`, {
    headers: {
      'WWW-Authenticate': errorChallenge(baseUrl, actorId, {
        error: 'insufficient_scope',
        description: `The access token does not have the scope ${neededScope}`,
      }),
    },
    reason: 'the token does not have the scope',
  })
}

function errorChallenge(
  baseUrl: string,
  actorId: string,
  { error, description }: { readonly error: string; readonly description: string },
): string {
  const parameters = [
    `error="${error}"`,
    `error_description="${description}"`,
    `resource_metadata="${actorMetadataUrl(baseUrl, actorId)}"`,
    `scope="${neededScope}"`,
  ]
  return `Bearer ${parameters.join(', ')}`
}
