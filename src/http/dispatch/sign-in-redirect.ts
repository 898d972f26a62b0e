/** Where a browser goes that has to sign in first (decision 1), and back to the page that it asked for. */
import { type Credential, sessionCookie as sessionCookieName } from '../../auth/credentials.ts'
import type { SignIn } from '../../sign-in/sign-in.ts'
import { type Answer, redirect } from '../edge/response.ts'
import { clearedSignedInMark, cookieOf, endedSessionCookie, hasSignedInMark } from '../edge/cookies.ts'
import { noticeCookie } from './flash-messages.ts'
import type { DispatchExchange } from './parts.ts'
import type { Exchange } from './route.ts'
import { beginAddress, wishQuery, type Wish } from './sign-in-address.ts'
import type { BaseUrl } from './urls.ts'

const vary = { Vary: 'Accept' }

/** In seconds, as long as a sign-in at a provider may take. */
const signInSeconds = 600

export interface LoginRedirectDeps extends BaseUrl {
  readonly signIn: Pick<SignIn, 'targets'>
}

/** The page where one chooses a provider. */
export function loginRedirect(deps: LoginRedirectDeps, exchange: Exchange): Answer {
  return redirect(302, `${deps.baseUrl}/login${wishQuery(wishOf(deps, exchange))}`, vary)
}

export function toLogin(exchange: DispatchExchange): Answer {
  return loginRedirect(exchange.parts, exchange)
}

/**
 * Where exactly one provider is configured there is nothing to choose, and the browser goes to that provider. Otherwise, and
 * where the person has to read something first, the browser goes to the page where one chooses. Either way the browser comes
 * back to the page that it asked for.
 */
export async function toSignIn(
  exchange: DispatchExchange,
  credential: Credential,
  mustChoose = false,
): Promise<Answer> {
  const session = await formerSession(exchange, credential)
  const answer = mustChoose || session === 'other' ? toLogin(exchange) : toProvider(exchange)
  if (session !== 'expired') return answer
  const { request } = exchange
  const ended = cookieOf(request, sessionCookieName) === null ? [] : [endedSessionCookie()]
  const notice = noticeCookie('sessionExpired', signInSeconds)
  return { ...answer, cookies: [...ended, ...clearedSignedInMark(request), notice] }
}

function toProvider(exchange: DispatchExchange): Answer {
  const { parts, request } = exchange
  // Browsers keep a form from leaving this service (`form-action`).
  if (request.method === 'POST') return toLogin(exchange)
  // The local provider of development is no provider that an operator configured; one for phones does not serve browsers.
  const [only, ...others] = parts.providers.all.filter(({ kind, platform }) => kind !== 'local' && platform === 'web')
  if (only === undefined || others.length > 0) return toLogin(exchange)
  return redirect(302, beginAddress(parts, only.name, wishOf(parts, exchange)), vary)
}

/** `other`: the browser has a session of another account, which stays. `expired`: of this or another one, which is over. */
async function formerSession(
  { parts, request }: DispatchExchange,
  credential: Credential,
): Promise<'other' | 'expired' | null> {
  if (credential.kind === 'none') return hasSignedInMark(request) ? 'expired' : null
  if (credential.kind !== 'bearer' || credential.via !== 'cookie') return null
  return (await parts.tokens.validate(credential.token)) === null ? 'expired' : 'other'
}

/** The page that was asked for; the page with the form where a form was sent. An address that sign-in refuses is left out. */
function wishOf({ signIn }: LoginRedirectDeps, { request, params }: Exchange): Wish {
  const isForm = request.method === 'POST'
  const path = isForm ? request.path.replace(/\/(items|metadata|permissions)$/, '') : request.path
  const query = isForm || request.query === '' ? '' : `?${request.query}`
  const redirectTo = signIn.targets.parsePath(`${path}${query}`)
  return { actorId: params['actor'], redirect: redirectTo ?? undefined }
}
