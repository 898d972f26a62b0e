/** Addresses where a browser begins to sign in. */
import type { Config } from '../../config/options.ts'
import type { Provider, Providers } from '../../sign-in/provider.ts'
import type { BaseUrl } from './urls.ts'

export interface ProviderDeps {
  readonly providers: Providers
}

export interface ProviderTargetDeps extends ProviderDeps {
  readonly config: Pick<Config, 'mode'>
}

/** Those that a person may choose on a page; the variants for devices are for applications. */
export function webProviders({ providers }: ProviderDeps): readonly Provider[] {
  return providers.all.filter(({ platform }) => platform === 'web')
}

/** Whether the operator configured any: the one of development is there by itself. */
export function hasConfiguredProvider(deps: ProviderDeps): boolean {
  return webProviders(deps).some(({ kind }) => kind !== 'local')
}

/** Where no sign-in method exists, the creator's Basic credentials open the pages, as they open the API (CHOICE-78). */
export function opensPagesByPassphrase({ providers }: ProviderDeps): boolean {
  return providers.all.length === 0
}

/**
 * Where a form leads to that ends at a provider. Before the page where one signs in providers send browsers on to others
 * that they trust, by https; those by plain http, which only development has, are named.
 */
export function providerTargets(deps: ProviderTargetDeps): readonly string[] {
  const providers = webProviders(deps)
  if (providers.length === 0) return []
  const plain = providers.flatMap(({ authorizationEndpoint }) => {
    const origin = URL.parse(authorizationEndpoint)?.origin
    if (origin !== undefined) return origin.startsWith('http:') ? [origin] : []
    // It is found, or gets its port, when somebody goes there first.
    return deps.config.mode === 'development' ? ['http://127.0.0.1:*', 'http://localhost:*'] : []
  })
  return ['https:', ...new Set(plain)]
}

export interface SignInWish {
  /** Path of this host to go on to. */
  readonly redirect?: string | undefined
  /** The actor whose page was asked for: another one's owner is refused. */
  readonly actorId?: string | undefined
  /** What was typed as an address. */
  readonly hint?: string | undefined
}

/** Of the one provider that is named. */
export function beginAddress({ baseUrl }: BaseUrl, provider: string, wish: SignInWish = {}): string {
  return `${baseUrl}/oauth/login/${encodeURIComponent(provider)}${wishQuery(wish)}`
}

/** For `/login` and the addresses of providers alike: empty, or beginning with a question mark. */
export function wishQuery({ redirect, actorId, hint }: SignInWish): string {
  const query = new URLSearchParams()
  if (actorId !== undefined) query.set('actor', actorId)
  if (redirect !== undefined) query.set('redirect', redirect)
  if (hint !== undefined) query.set('login_hint', hint)
  return query.size === 0 ? '' : `?${query.toString()}`
}
