/** The bearer kinds of our own tokens: those that open an actor to its owner, and those that open nothing any more. */
import { type BearerKind, refused } from '../auth/authenticate.ts'
import { ServiceError } from '../errors.ts'
import { recogniseToken } from './token-text.ts'
import type { Tokens } from './tokens.ts'
import type { Uses } from './last-used.ts'

/** A session of the owner, in the header or in the cookie. Its form tells it from a peer's secret: one look-up suffices. */
export function sessionBearer(tokens: Tokens, uses: Uses): BearerKind {
  return async (token, actor, via) => {
    const form = recogniseToken(token)
    if (form?.chain !== 'session' || form.kind !== 'access') return null
    const found = await tokens.validate(token)
    if (found === null) return null
    const { chain } = found
    if (chain.actorId !== actor.id) throw refused()
    uses.note(chain)
    return { kind: 'creator', via, session: chain.chainId }
  }
}

/**
 * After every kind that could know it: a token of ours that opens nothing (any more) is told from a wrong credential,
 * because its owner can get another one (RFC 6750 section 3.1), and is shown to nobody else.
 */
export const deadBearer: BearerKind = (token) =>
  recogniseToken(token) === null
    ? Promise.resolve(null)
    : Promise.reject(
        new ServiceError(
          'unauthorized',
          'Cannot let you in: the token has expired, was revoked, or is of another kind',
          {
            headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"', Vary: 'Accept' },
          },
        ),
      )
