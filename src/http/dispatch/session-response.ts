/** The answer that begins a session of a browser. */
import { sessionCookie as sessionCookieName } from '../../auth/credentials.ts'
import type { IssuedTokens } from '../../token/chain.ts'
import type { Sessions } from '../../token/sessions.ts'
import type { Tokens } from '../../token/tokens.ts'
import { type Answer, redirect } from '../edge/response.ts'
import { cookieOf, newSessionCookie, signedInMark } from '../edge/cookies.ts'
import { noticeCookie, noticeNameOf } from './flash-messages.ts'
import type { Incoming } from '../edge/request.ts'
import { type HomeDeps, homeOf } from './urls.ts'

export interface SessionResponseDeps extends HomeDeps {
  readonly tokens: Tokens
  readonly sessions: Sessions
}

/**
 * The cookie, and on to the path, else to the actor's own page. A session that the browser had is over: whoever planted
 * its cookie is not signed in beside the person.
 */
export async function signedIn(
  deps: SessionResponseDeps,
  request: Incoming,
  tokens: IssuedTokens,
  path: string | null,
): Promise<Answer> {
  await endFormer(deps, request, tokens)
  const { origin } = new URL(deps.baseUrl)
  const own = homeOf(deps, tokens.actorId)
  const cookies = [newSessionCookie(tokens), signedInMark(tokens)]
  if (noticeNameOf(request) === 'sessionExpired') cookies.push(noticeCookie('signedInAgain'))
  return { ...redirect(302, path === null ? own : `${origin}${path}`), cookies }
}

async function endFormer(
  { tokens, sessions }: SessionResponseDeps,
  request: Incoming,
  now: IssuedTokens,
): Promise<void> {
  const former = cookieOf(request, sessionCookieName)
  const found = former === null ? null : await tokens.validate(former)
  if (found === null || found.chain.kind !== 'session' || found.chain.chainId === now.chainId) return
  await sessions.end(found.chain.actorId, found.chain.chainId)
}
