/** The person whose session a browser has, at addresses that belong to no actor. */
import type { Actor } from '../../actor/actor.ts'
import { sessionCookie as sessionCookieName } from '../../auth/credentials.ts'
import type { Actors } from '../../actor/actors.ts'
import type { Tokens } from '../../token/tokens.ts'
import { cookieOf } from '../edge/cookies.ts'
import type { Incoming } from '../edge/request.ts'

export interface VisitorDeps {
  readonly actors: Actors
  readonly tokens: Tokens
}

/** Null for a browser without a session, or with one that has ended; costs no query without a session cookie. */
export async function visitorOf({ actors, tokens }: VisitorDeps, request: Incoming): Promise<Actor | null> {
  const cookie = cookieOf(request, sessionCookieName)
  const found = cookie === null ? null : await tokens.validate(cookie)
  return found?.chain.kind === 'session' ? actors.find(found.chain.actorId) : null
}
