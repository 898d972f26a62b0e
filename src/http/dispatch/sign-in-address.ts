/** URLs that start a sign-in in a browser. */
import type { Config } from '../../config/options.ts'
import type { Provider, Providers } from '../../sign-in/provider.ts'
import type { HttpRequest } from '../edge/request.ts'
import type { BaseUrl } from './urls.ts'

export interface ProviderDeps {
  readonly providers: Providers
}

export interface ProviderTargetDeps extends ProviderDeps {
  readonly config: Pick<Config, 'mode'>
}

/** Returns the providers that a user may choose on a page. Device variants are for applications only. */
export function webProviders({ providers }: ProviderDeps): readonly Provider[] {
  return providers.all.filter(({ platform }) => platform === 'web')
}

/** Returns the providers that the operator configured: neither the local provider of development nor the default one. */
export function configuredWebProviders(deps: ProviderDeps): readonly Provider[] {
  return webProviders(deps).filter(({ kind, isDefault }) => kind !== 'local' && isDefault !== true)
}

/** Returns true when no provider is configured. Basic credentials then open the pages, as they open the API (CHOICE-78). */
export function opensPagesByPassphrase({ providers }: ProviderDeps): boolean {
  return providers.all.every(({ isDefault }) => isDefault === true)
}

const passphraseQuery = 'sign_in=passphrase'

/**
 * Returns true when the browser prompts for the creator and the passphrase: without any provider, or because the person chose
 * so on the sign-in page.
 */
export function promptsForPassphrase(deps: ProviderDeps, { query }: Pick<HttpRequest, 'query'>): boolean {
  return deps.providers.all.length === 0 || (opensPagesByPassphrase(deps) && query === passphraseQuery)
}

/** Returns the address of a page for which the browser prompts for the passphrase. */
export function withPassphrasePrompt({ providers }: ProviderDeps, page: string): string {
  return providers.all.length === 0 ? page : `${page.replace(/\?.*/, '')}?${passphraseQuery}`
}

/**
 * Returns the CSP `form-action` sources for forms that redirect to a provider. Providers redirect through other https
 * hosts, so all https is allowed. Providers with plain http (development) are listed.
 */
export function providerTargets(deps: ProviderTargetDeps): readonly string[] {
  const providers = webProviders(deps)
  if (providers.length === 0) return []
  const plain = providers.flatMap(({ authorizationEndpoint }) => {
    const origin = URL.parse(authorizationEndpoint)?.origin
    if (origin !== undefined) return origin.startsWith('http:') ? [origin] : []
    // The endpoint or its port is discovered at the first sign-in.
    return deps.config.mode === 'development' ? ['http://127.0.0.1:*', 'http://localhost:*'] : []
  })
  return ['https:', ...new Set(plain)]
}

export interface SignInRequest {
  /** The path on this host to continue to. */
  readonly redirect?: string | undefined
  /** The actor whose page was requested. The owner of another actor is refused. */
  readonly actorId?: string | undefined
  /** The code by which the user takes the actor. */
  readonly claim?: string | undefined
  /** The email address that the user typed. */
  readonly hint?: string | undefined
  /** The user must prove again who they are. */
  readonly isFresh?: boolean | undefined
}

/** Returns the URL that starts a sign-in at the named provider. */
export function beginAddress({ baseUrl }: BaseUrl, provider: string, wish: SignInRequest = {}): string {
  return `${baseUrl}/oauth/login/${encodeURIComponent(provider)}${wishQuery(wish)}`
}

/** Returns the query string for `/login` and for provider URLs: empty, or with a leading question mark. */
export function wishQuery({ redirect, actorId, claim, hint, isFresh }: SignInRequest): string {
  const query = new URLSearchParams()
  if (actorId !== undefined) query.set('actor', actorId)
  if (claim !== undefined) query.set('claim', claim)
  if (redirect !== undefined) query.set('redirect', redirect)
  if (hint !== undefined) query.set('login_hint', hint)
  if (isFresh === true) query.set('fresh', '1')
  return query.size === 0 ? '' : `?${query.toString()}`
}
