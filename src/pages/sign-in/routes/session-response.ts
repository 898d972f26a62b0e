/** The response that starts a browser session. */
import type { IssuedTokens } from '../../../token/chain.ts'
import type { Sessions } from '../../../token/sessions.ts'
import { noticeCookie, noticeOf } from '../../../http/dispatch/flash-messages.ts'
import type { VisitorExchange } from '../../../http/dispatch/route.ts'
import { type HomeDeps, homeOf } from '../../../http/dispatch/urls.ts'
import type { Visitor } from '../../../http/dispatch/visitor.ts'
import { signedInMark } from '../../../http/edge/cookies/cookies.ts'
import { type HttpResponse, redirect } from '../../../http/edge/response.ts'

export interface SessionResponseDeps extends HomeDeps {
  readonly sessions: Sessions
}

/**
 * Sets the cookie and redirects to the path or the start page. Ends an earlier session of the browser, so that a session
 * whose cookie an attacker planted does not continue.
 */
export async function signedIn(
  deps: SessionResponseDeps,
  { request, visitor }: Pick<VisitorExchange, 'request' | 'visitor'>,
  tokens: IssuedTokens,
  path: string | null,
): Promise<HttpResponse> {
  const own = await visitor.sessionCookies()
  await endFormer(deps, visitor, tokens)
  const { origin } = new URL(deps.baseUrl)
  const home = homeOf(deps, tokens.actorId)
  const cookies = [own.session(tokens), signedInMark(tokens)]
  if (noticeOf(request) === 'sessionExpired') cookies.push(noticeCookie('signedInAgain'))
  return { ...redirect(302, path === null ? home : `${origin}${path}`), cookies }
}

async function endFormer({ sessions }: SessionResponseDeps, visitor: Visitor, now: IssuedTokens): Promise<void> {
  const found = await visitor.pageSession()
  if (found === null || found.chain.chainId === now.chainId) return
  await sessions.end(found.chain.actorId, found.chain.chainId)
}
