/** Redirects a browser to sign in first (CHOICE-01), with a return to the requested page. */
import { type Credential, sessionCookie } from '../../auth/credentials.ts'
import type { Providers } from '../../sign-in/provider.ts'
import type { SignIn } from '../../sign-in/sign-in.ts'
import type { Tokens } from '../../token/tokens.ts'
import { type HttpResponse, redirect } from '../edge/response.ts'
import { clearedSignedInMark, hasSignedInMark } from '../edge/cookies/cookies.ts'
import { SessionCookies } from '../edge/cookies/session-cookies.ts'
import { noticeCookie } from './flash-messages.ts'
import type { Exchange } from './route.ts'
import { beginAddress, configuredWebProviders, wishQuery, type SignInRequest } from './sign-in-address.ts'
import type { BaseUrl } from './urls.ts'

const vary = { Vary: 'Accept' }

/** Maximum duration of a sign-in at a provider, in seconds. */
const signInSeconds = 600

export interface LoginRedirectDeps extends BaseUrl {
  readonly signIn: Pick<SignIn, 'targets'>
}

/** Redirects to the page where the user chooses a provider. */
export function loginRedirect(deps: LoginRedirectDeps, exchange: Exchange): HttpResponse {
  return redirect(302, `${deps.baseUrl}/login${wishQuery(wishOf(deps, exchange))}`, vary)
}

export interface SignInRedirectDeps extends LoginRedirectDeps {
  readonly providers: Providers
  readonly tokens: Pick<Tokens, 'validate' | 'knows'>
}

/**
 * Redirects the browser to the only configured provider. With several providers, or when the user must read something
 * first, it redirects to the sign-in page. Either way the browser returns to the requested page.
 */
export async function toSignIn(
  deps: SignInRedirectDeps,
  exchange: Exchange,
  credential: Credential,
  mustChoose: boolean,
): Promise<HttpResponse> {
  const cookies = await SessionCookies.of(deps.tokens, exchange.request)
  const session = await formerSession(deps, exchange, credential, cookies)
  const answer = mustChoose || session === 'other' ? loginRedirect(deps, exchange) : toProvider(deps, exchange)
  if (session !== 'expired') return answer
  const { request } = exchange
  const notice = noticeCookie('sessionExpired', signInSeconds)
  return { ...answer, cookies: [...cookies.cleared([sessionCookie]), ...clearedSignedInMark(request), notice] }
}

function toProvider(deps: SignInRedirectDeps, exchange: Exchange): HttpResponse {
  // CSP `form-action` prevents a form from redirecting to another site.
  if (exchange.request.method === 'POST') return loginRedirect(deps, exchange)
  const [only, ...others] = configuredWebProviders(deps)
  if (only === undefined || others.length > 0) return loginRedirect(deps, exchange)
  return redirect(302, beginAddress(deps, only.name, wishOf(deps, exchange)), vary)
}

/** `other`: the browser keeps its session of another account. `expired`: the session of the browser has ended. */
async function formerSession(
  { tokens }: SignInRedirectDeps,
  { request }: Exchange,
  credential: Credential,
  cookies: SessionCookies,
): Promise<'other' | 'expired' | null> {
  if (credential.kind !== 'none' && !(credential.kind === 'bearer' && credential.via === 'cookie')) return null
  if (credential.kind === 'bearer' && (await tokens.validate(credential.token)) !== null) return 'other'
  // The cookie of another service at this host shows no session here.
  return hasSignedInMark(request) || cookies.namesOf([sessionCookie]).length > 0 ? 'expired' : null
}

/** Returns the requested page, or for a submitted form the page with the form. Omits a path that sign-in refuses. */
function wishOf({ signIn }: LoginRedirectDeps, { request, params }: Exchange): SignInRequest {
  const isForm = request.method === 'POST'
  const path = isForm ? request.path.replace(/\/(items|metadata|permissions)$/, '') : request.path
  const query = isForm || request.query === '' ? '' : `?${request.query}`
  return { actorId: params['actor'], redirect: signIn.targets.parsePath(`${path}${query}`) ?? undefined }
}
