/** Sessions that the embedding program begins and ends for its own users. */
import type { Actors } from '../actor/actors.ts'
import type { BegunSession, SessionsApi } from '../app/embedding/sessions.ts'
import { headOf } from '../http/edge/host-request.ts'
import { cookieValue } from '../auth/credentials.ts'
import {
  accessCookieName,
  clearCookies,
  clearedSignedInMark,
  endedCookie,
  newSessionCookie,
  refreshCookieName,
  signedInMark,
} from '../http/edge/cookies.ts'
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
}

export function hostSessions(deps: HostSessionDeps): SessionsApi {
  return {
    begin: async ({ id }, { request }) => begin(deps, id, headOf(request)),
    end: async (request) => end(deps, headOf(request)),
    endAll: async ({ id }) => deps.sessions.endOthers((await deps.actors.require(id)).id, ''),
  }
}

async function begin(deps: HostSessionDeps, id: string, head: RequestHead): Promise<BegunSession> {
  const { actors, accounts, sessions, visitorOf } = deps
  const actor = await actors.require(id)
  const identifier = (await accounts.find(id))?.identifier ?? actor.creator
  const device = deviceOf(head.header('user-agent'))
  const tokens = await sessions.begin({ actorId: actor.id, identifier, beganWith: 'host', device })
  const visitor = visitorOf(head)
  // An attacker may have planted these cookies, and a shared browser may have the cookies of the person before.
  const hasOthers = await sessions.endFormer(visitor.cookies, { actorId: actor.id, pageToken: visitor.pageToken })
  const others = hasOthers ? [accessCookieName, refreshCookieName] : []
  const stale = others.filter((name) => cookieValue(head.header('cookie'), name) !== undefined)
  return {
    id: tokens.chainId,
    actorId: actor.id,
    cookies: [newSessionCookie(tokens), signedInMark(tokens), ...stale.map(endedCookie)],
    accessToken: tokens.accessToken,
    expiresIn: tokens.expiresIn,
    refreshToken: tokens.refreshToken,
    refreshExpiresIn: tokens.refreshExpiresIn,
  }
}

async function end({ sessions, visitorOf }: HostSessionDeps, head: RequestHead): Promise<{ cookies: string[] }> {
  const { bearer, cookies } = visitorOf(head)
  await sessions.signOut([...(bearer === null ? [] : [bearer]), ...cookies])
  return { cookies: [...clearCookies(), ...clearedSignedInMark(head)] }
}
