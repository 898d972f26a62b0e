/** Bearer kinds of the service's own tokens: sessions of owners, and tokens that are no longer valid. */
import { type BearerKind, refused } from '../auth/authenticate.ts'
import { ServiceError } from '../errors.ts'
import type { Tokens } from './tokens.ts'
import type { Uses } from './last-used.ts'

/** Authenticates a session from the header or cookie. Its form differs from a peer's secret, so one lookup suffices. */
export function sessionBearer(tokens: Tokens, uses: Uses): BearerKind {
  return (token, actor, via, form) => {
    if (form?.chain !== 'session' || form.kind !== 'access') return null
    return tokens.find(token).then((found) => {
      if (found === null) return null
      const { chain } = found
      if (chain.actorId !== actor.id) throw refused()
      uses.note(chain)
      return { kind: 'creator', via, session: chain.chainId, authenticatedAt: chain.authenticatedAt }
    })
  }
}

/**
 * Rejects a token of this service that is expired or revoked. It runs after all other kinds. `invalid_token` tells the
 * owner or the client to get a new token (RFC 6750 section 3.1), and no other party receives the token.
 *
 * @param challengeOf Returns where a client gets a new token for the actor. Null when the service issues none.
 */
export function deadBearer(challengeOf: (actorId: string) => string | null): BearerKind {
  return (_token, actor, _via, form) => {
    if (form === null) return null
    const where = form.chain === 'client' ? challengeOf(actor.id) : null
    const error = 'error="invalid_token"'
    return Promise.reject(
      new ServiceError(
        'unauthorized',
        'Cannot authenticate: the token has expired, was revoked, or is of another kind',
        {
          headers: {
            'WWW-Authenticate': where === null ? `Bearer ${error}` : `${where}, ${error}`,
            Vary: 'Accept',
          },
        },
      ),
    )
  }
}
