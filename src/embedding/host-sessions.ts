/** Sessions that the embedding program begins and ends for its own users. */
import type { Actors } from '../actor/actors.ts'
import type { BegunSession, SessionsApi } from '../app/embedding/sessions.ts'
import { headOf } from '../http/edge/host-request.ts'
import type { CookieNames } from '../http/edge/cookies/cookie-names.ts'
import { clearedSignedInMark, signedInMark } from '../http/edge/cookies/cookies.ts'
import { accessCookie, refreshCookie } from '../http/edge/cookies/session-cookies.ts'
import type { Visitor } from '../http/dispatch/visitor.ts'
import type { RequestHead } from '../http/edge/request.ts'
import type { Accounts } from '../sign-in/accounts.ts'
import { deviceOf } from '../token/device.ts'
import type { Sessions } from '../token/sessions.ts'

export interface HostSessionDeps {
  readonly actors: Pick<Actors, 'require'>
  readonly accounts: Pick<Accounts, 'find'>
  readonly sessions: Sessions
  readonly visitorOf: (head: RequestHead) => Visitor
  readonly cookieNames: CookieNames
}

export function hostSessions(deps: HostSessionDeps): SessionsApi {
  return {
    begin: async ({ id }, { request }) => begin(deps, id, deps.cookieNames.receivedHead(headOf(request))),
    end: async (request) => end(deps, deps.cookieNames.receivedHead(headOf(request))),
    endAll: async ({ id }) => deps.sessions.endOthers((await deps.actors.require(id)).id, ''),
  }
}

async function begin(deps: HostSessionDeps, id: string, head: RequestHead): Promise<BegunSession> {
  const { actors, accounts, sessions, visitorOf, cookieNames } = deps
  const actor = await actors.require(id)
  const identifier = (await accounts.find(id))?.identifier ?? actor.creator
  const device = deviceOf(head.header('user-agent'))
  const tokens = await sessions.begin({ actorId: actor.id, identifier, beganWith: 'host', device })
  const visitor = visitorOf(head)
  const own = await visitor.sessionCookies()
  // An attacker may have planted these cookies, and a shared browser may have the cookies of the person before.
  const hasOthers = await sessions.endFormer(visitor.cookies, { actorId: actor.id, pageToken: visitor.pageToken })
  const stale = hasOthers ? own.cleared([accessCookie, refreshCookie]) : []
  return {
    id: tokens.chainId,
    actorId: actor.id,
    cookies: cookieNames.sent([own.session(tokens), signedInMark(tokens), ...stale]),
    accessToken: tokens.accessToken,
    expiresIn: tokens.expiresIn,
    refreshToken: tokens.refreshToken,
    refreshExpiresIn: tokens.refreshExpiresIn,
  }
}

async function end(
  { sessions, visitorOf, cookieNames }: HostSessionDeps,
  head: RequestHead,
): Promise<{ cookies: string[] }> {
  const visitor = visitorOf(head)
  const { bearer, cookies } = visitor
  const own = await visitor.sessionCookies()
  await sessions.signOut([...(bearer === null ? [] : [bearer]), ...cookies])
  return { cookies: cookieNames.sent([...own.cleared(), ...clearedSignedInMark(head)]) }
}
