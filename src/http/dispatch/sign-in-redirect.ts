/** Where a browser goes that has to sign in first (CHOICE-01), and back to the page that it asked for. */
import { type Credential, sessionCookie as sessionCookieName } from '../../auth/credentials.ts'
import type { Providers } from '../../sign-in/provider.ts'
import type { SignIn } from '../../sign-in/sign-in.ts'
import type { Tokens } from '../../token/tokens.ts'
import { type HttpResponse, redirect } from '../edge/response.ts'
import { clearedSignedInMark, cookieOf, endedSessionCookie, hasSignedInMark } from '../edge/cookies.ts'
import { noticeCookie } from './flash-messages.ts'
import type { Exchange } from './route.ts'
import { beginAddress, wishQuery, type SignInWish } from './sign-in-address.ts'
import type { BaseUrl } from './urls.ts'

const vary = { Vary: 'Accept' }

/** In seconds, as long as a sign-in at a provider may take. */
const signInSeconds = 600

export interface LoginRedirectDeps extends BaseUrl {
  readonly signIn: Pick<SignIn, 'targets'>
}

/** The page where one chooses a provider. */
export function loginRedirect(deps: LoginRedirectDeps, exchange: Exchange): HttpResponse {
  return redirect(302, `${deps.baseUrl}/login${wishQuery(wishOf(deps, exchange))}`, vary)
}

export interface SignInRedirectDeps extends LoginRedirectDeps {
  readonly providers: Providers
  readonly tokens: Pick<Tokens, 'validate'>
}

/**
 * Where exactly one provider is configured there is nothing to choose, and the browser goes to that provider. Otherwise, and
 * where the person has to read something first, the browser goes to the page where one chooses. Either way the browser comes
 * back to the page that it asked for.
 */
export async function toSignIn(
  deps: SignInRedirectDeps,
  exchange: Exchange,
  credential: Credential,
  mustChoose: boolean,
): Promise<HttpResponse> {
  const session = await formerSession(deps, exchange, credential)
  const answer = mustChoose || session === 'other' ? loginRedirect(deps, exchange) : toProvider(deps, exchange)
  if (session !== 'expired') return answer
  const { request } = exchange
  const ended = cookieOf(request, sessionCookieName) === null ? [] : [endedSessionCookie()]
  const notice = noticeCookie('sessionExpired', signInSeconds)
  return { ...answer, cookies: [...ended, ...clearedSignedInMark(request), notice] }
}

function toProvider(deps: SignInRedirectDeps, exchange: Exchange): HttpResponse {
  // Browsers keep a form from leaving this service (`form-action`).
  if (exchange.request.method === 'POST') return loginRedirect(deps, exchange)
  // The local provider of development is no provider that an operator configured; one for phones does not serve browsers.
  const [only, ...others] = deps.providers.all.filter(({ kind, platform }) => kind !== 'local' && platform === 'web')
  if (only === undefined || others.length > 0) return loginRedirect(deps, exchange)
  return redirect(302, beginAddress(deps, only.name, wishOf(deps, exchange)), vary)
}

/** `other`: the browser has a session of another account, which stays. `expired`: of this or another one, which is over. */
async function formerSession(
  { tokens }: SignInRedirectDeps,
  { request }: Exchange,
  credential: Credential,
): Promise<'other' | 'expired' | null> {
  if (credential.kind === 'none') return hasSignedInMark(request) ? 'expired' : null
  if (credential.kind !== 'bearer' || credential.via !== 'cookie') return null
  return (await tokens.validate(credential.token)) === null ? 'expired' : 'other'
}

/** The page that was asked for; the page with the form where a form was sent. An address that sign-in refuses is left out. */
function wishOf({ signIn }: LoginRedirectDeps, { request, params }: Exchange): SignInWish {
  const isForm = request.method === 'POST'
  const path = isForm ? request.path.replace(/\/(items|metadata|permissions)$/, '') : request.path
  const query = isForm || request.query === '' ? '' : `?${request.query}`
  return { actorId: params['actor'], redirect: signIn.targets.parsePath(`${path}${query}`) ?? undefined }
}
