/** The answer that begins a session of a browser. */
import { sessionCookie as sessionCookieName } from '../../auth/credentials.ts'
import type { IssuedTokens } from '../../token/chain.ts'
import { type Answer, redirect } from '../edge/response.ts'
import { cookieOf, sessionCookie, signedInMark } from '../edge/cookies.ts'
import { noticeCookie, noticeNameOf } from './flash-messages.ts'
import type { Exchange } from './route.ts'
import { homeOf } from './urls.ts'

/**
 * The cookie, and on to the path, else to the actor's own page. A session that the browser had is over: whoever planted
 * its cookie is not signed in beside the person.
 */
export async function signedIn(
  { parts, request }: Pick<Exchange, 'parts' | 'request'>,
  tokens: IssuedTokens,
  path: string | null,
): Promise<Answer> {
  await endFormer({ parts, request }, tokens)
  const { origin } = new URL(parts.baseUrl)
  const own = homeOf(parts, tokens.actorId)
  const cookies = [sessionCookie(tokens), signedInMark(tokens)]
  if (noticeNameOf(request) === 'sessionExpired') cookies.push(noticeCookie('signedInAgain'))
  return { ...redirect(302, path === null ? own : `${origin}${path}`), cookies }
}

async function endFormer({ parts, request }: Pick<Exchange, 'parts' | 'request'>, now: IssuedTokens): Promise<void> {
  const former = cookieOf(request, sessionCookieName)
  const found = former === null ? null : await parts.tokens.validate(former)
  if (found === null || found.chain.kind !== 'session' || found.chain.chainId === now.chainId) return
  await parts.sessions.end(found.chain.actorId, found.chain.chainId)
}
