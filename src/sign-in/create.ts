import type { ActorRoom } from '../actor/create.ts'
import type { Authenticate } from '../app/embedding/authenticate.ts'
import { fire } from '../app/events.ts'
import type { Config } from '../config/options.ts'
import type { TrustTypes } from '../permission/trust-types.ts'
import type { RateLimits } from '../rate-limit/create.ts'
import { release } from '../release.ts'
import type { Runtime } from '../runtime.ts'
import type { TokenRoom } from '../token/create.ts'
import { Sessions } from '../token/sessions.ts'
import { Accounts } from './accounts.ts'
import { ConfiguredProviders } from './configured.ts'
import { HostProvider } from './host/host-provider.ts'
import { HostSignIn } from './host/host-sign-in.ts'
import { hasLocalProvider, LocalProvider, LocalProviders } from './local/local-provider.ts'
import type { LocalPages } from './local/local-server.ts'
import { Operators } from './operators.ts'
import { PasswordAccess } from './password-access.ts'
import type { Providers } from './provider.ts'
import { KeySets } from './providers/key-sets.ts'
import { Outbound } from './providers/outbound.ts'
import type { ProviderPlan } from './providers/provider-config.ts'
import { ProvidersWithOwn } from './providers-with-own.ts'
import { SignIn } from './sign-in.ts'
import { States } from './states.ts'

export function createAccounts({ store, keyRing, now, registry, log, handles }: Runtime): Accounts {
  return new Accounts({
    store,
    keyRing,
    now,
    afterCommit: store.afterCommit,
    onSuperseded: async ({ actorId, creator, superseded }) => {
      const actor = handles.of({ id: actorId, creator })
      await fire(registry, log, 'creator_superseded', { actor, creator, superseded })
    },
  })
}

interface SignInNeeds {
  readonly actors: ActorRoom['actors']
  readonly accounts: Accounts
  readonly tokenRoom: TokenRoom
  readonly failedAttempts: RateLimits['failedAttempts']
  readonly trustTypes: TrustTypes
  /** Path to which the provider returns owners who authorize an AI client, below the service's prefix. */
  readonly clientPath: string
  readonly localPages: LocalPages
  readonly plans: readonly ProviderPlan[]
  /** Replaces the providers of the plans. */
  readonly providers: Providers | undefined
  /** Names the user of the embedding program. Null: it does not. */
  readonly authenticate: Authenticate | null
}

export function createSignIn(runtime: Runtime, needs: SignInNeeds) {
  const { config, store, live, keyRing, now, basePath, handles } = runtime
  const { accounts, tokenRoom } = needs
  const { tokens, oneTime } = tokenRoom
  const { providers, host, close } = createProviders(runtime, needs)
  return {
    accounts,
    providers,
    host,
    closeProviders: close,
    operators: new Operators(config.admins, accounts),
    passwordAccess: new PasswordAccess({ store, keyRing, now, live }),
    sessions: new Sessions({
      store,
      tokens,
      live,
      onSignOut: (tx, actorId) => accounts.clearProviderTokens(tx, actorId),
    }),
    signIn: new SignIn({
      ...runtime,
      ...needs,
      tokens,
      oneTime,
      providers,
      handleOf: handles.of,
      // `forceEmailAsCreator` implies the email identity mode.
      mode: config.forceEmailAsCreator ? 'email' : config.signInIdentity,
      clientPath: `${basePath}${needs.clientPath}`,
      redirectOrigins: config.spaRedirectOrigins,
      isDevelopment: config.mode === 'development',
    }),
  }
}

/** Creates the configured providers. In development without any, creates the local provider. */
function createProviders(runtime: Runtime, needs: SignInNeeds) {
  const { config, now, baseUrl, log } = runtime
  const { plans, authenticate } = needs
  const outbound = new Outbound({ allowHttp: config.allowHttp, release })
  const providerDeps = { outbound, keySets: new KeySets(outbound, now), now, baseUrl, log }
  const isLocal = usesLocalProvider(config, { plans, authenticate })
  const local = isLocal ? new LocalProvider(providerDeps, { pages: needs.localPages, log }) : null
  const others =
    needs.providers ?? (local === null ? new ConfiguredProviders(plans, providerDeps) : new LocalProviders(local))
  const host = authenticate === null ? null : createHost(runtime, needs, authenticate)
  return {
    providers: host === null ? others : new ProvidersWithOwn(host.provider, others),
    host: host?.signIn ?? null,
    close: async (): Promise<void> => {
      await local?.close()
      await outbound.close()
    },
  }
}

type SignInDeclared = Pick<SignInNeeds, 'plans' | 'authenticate'>
type LocalConfig = Pick<Config, 'localSignIn' | 'mode'>

/** Returns whether people can sign in, and so get a session. */
export function hasSignIn(config: LocalConfig, declared: SignInDeclared): boolean {
  return isDeclared(declared) || usesLocalProvider(config, declared)
}

/** The local provider of development is for services that have no other way to sign in. */
function usesLocalProvider({ localSignIn, mode }: LocalConfig, declared: SignInDeclared): boolean {
  return !isDeclared(declared) && localSignIn && mode === 'development' && hasLocalProvider()
}

function isDeclared({ plans, authenticate }: SignInDeclared): boolean {
  return plans.length > 0 || authenticate !== null
}

function createHost(runtime: Runtime, { tokenRoom: { oneTime } }: SignInNeeds, authenticate: Authenticate) {
  const { store, identity, config } = runtime
  const provider = new HostProvider({ ...runtime, oneTime, displayName: identity.name, signInUrl: config.signInUrl })
  return {
    provider,
    signIn: new HostSignIn({ ...runtime, authenticate, provider, states: new States(store, oneTime) }),
  }
}
