/** The person whose session a browser has, at addresses that belong to no actor. */
import type { Actor } from '../../actor/actor.ts'
import { sessionCookie as sessionCookieName } from '../../auth/credentials.ts'
import { cookieOf } from '../edge/cookies.ts'
import type { Exchange } from './route.ts'

/** Null for a browser without a session, or with one that has ended; costs no query without a session cookie. */
export async function visitorOf({ parts, request }: Pick<Exchange, 'parts' | 'request'>): Promise<Actor | null> {
  const cookie = cookieOf(request, sessionCookieName)
  const found = cookie === null ? null : await parts.tokens.validate(cookie)
  return found?.chain.kind === 'session' ? parts.actors.find(found.chain.actorId) : null
}
