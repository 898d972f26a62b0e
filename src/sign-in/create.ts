import { personKind } from '../app/kinds/person.ts'
import type { ActorModule } from '../actor/create.ts'
import type { Authenticate } from '../app/embedding/authenticate.ts'
import { fire } from '../app/events.ts'
import type { Config } from '../config/options.ts'
import type { TrustTypes } from '../permission/trust-types.ts'
import { SignInAge } from '../permission/sign-in-age.ts'
import type { RateLimits } from '../rate-limit/create.ts'
import { release } from '../release.ts'
import type { Runtime } from '../runtime.ts'
import type { TokenModule } from '../token/create.ts'
import { SessionActs } from '../token/session-acts.ts'
import { Sessions } from '../token/sessions.ts'
import { Accounts } from './accounts.ts'
import { ArrivedActors, type ArrivedActorsDeps } from './arrived-actors.ts'
import { ConfiguredProviders, outsidePlans, type ProviderChoice } from './configured.ts'
import { EmailLinkProvider } from './email-link/email-link-provider.ts'
import { EmailLinkSignIn } from './email-link/email-link-sign-in.ts'
import { HostProvider } from './host/host-provider.ts'
import { HostSignIn } from './host/host-sign-in.ts'
import { hasLocalProvider, LocalProvider, LocalProviders } from './local/local-provider.ts'
import type { LocalPages } from './local/local-server.ts'
import { OwnerLinks } from './owner-links.ts'
import { FirstOperator } from './operators/first-operator.ts'
import { Operators } from './operators/operators.ts'
import { PasskeyActs } from './acts/passkey-acts.ts'
import { PasswordAccessActs } from './acts/password-access-acts.ts'
import { PasswordAccess } from './password-access.ts'
import type { Provider, Providers } from './provider.ts'
import { KeySets } from './providers/key-sets.ts'
import { Outbound } from './providers/outbound.ts'
import { emailLinkPlan, hostProviderName, isOwnPlan, localProviderName, passkeyPlan } from './own/own-plans.ts'
import { PasskeyProvider } from './passkey/passkey-provider.ts'
import { PasskeySignIn } from './passkey/passkey-sign-in.ts'
import { Passkeys } from './passkey/passkeys.ts'
import { WebAuthn } from './passkey/webauthn.ts'
import { ProvidersWithOwn } from './own/providers-with-own.ts'
import { SignIn } from './sign-in.ts'
import { States } from './states.ts'

export function createAccounts({ store, keyRing, now, registry, log, handles }: Runtime): Accounts {
  return new Accounts({
    store,
    keyRing,
    now,
    afterCommit: store.afterCommit,
    onSuperseded: async ({ actorId, creator, superseded }) => {
      const actor = handles.of({ id: actorId, creator, kind: personKind })
      await fire(registry, log, 'creator_superseded', { actor, creator, superseded })
    },
  })
}

interface SignInNeeds {
  readonly actors: ActorModule['actors']
  readonly accounts: Accounts
  readonly tokenModule: TokenModule
  readonly failedAttempts: RateLimits['failedAttempts']
  readonly trustTypes: TrustTypes
  /** Path to which the provider returns owners who authorize an AI client, below the service's prefix. */
  readonly clientPath: string
  readonly localPages: LocalPages
  readonly plans: readonly ProviderChoice[]
  /** Deep links of the sign-ins of this service, by name. */
  readonly deepLinks: ReadonlyMap<string, string>
  /** Takes an actor that came from another service, in the transaction of the sign-in. */
  readonly takeArrival: ArrivedActorsDeps['takeArrival']
  /** Replaces the providers of the plans. */
  readonly providers: Providers | undefined
  /** Names the user of the embedding program. Null: it does not. */
  readonly authenticate: Authenticate | null
}

export function createSignIn(runtime: Runtime, needs: SignInNeeds) {
  const { config, store, live, keyRing, now, basePath, handles } = runtime
  const { accounts, tokenModule } = needs
  const { tokens, oneTime } = tokenModule
  const arrivedActors = new ArrivedActors({
    store,
    uniqueCreator: config.uniqueCreator,
    takeArrival: needs.takeArrival,
  })
  const { passkeys, passkeySignIn, passkeyProvider } = createPasskeys(runtime, needs)
  const { emailLinkSignIn, emailLinkProvider } = createEmailLinks(runtime, needs)
  const operators = new Operators(config.admins, { accounts, store })
  const signInAge = new SignInAge(runtime)
  const passwordAccess = new PasswordAccess({ store, keyRing, now, live })
  const sessions = new Sessions({
    store,
    tokens,
    live,
    onSignOut: (tx, actorId) => accounts.clearProviderTokens(tx, actorId),
  })
  const { providers, host, close } = createProviders(runtime, needs, [passkeyProvider, emailLinkProvider])
  return {
    accounts,
    arrivedActors,
    providers,
    host,
    passkeys,
    passkeySignIn,
    emailLinkSignIn,
    closeProviders: close,
    operators: operators,
    firstOperator: new FirstOperator({ operators, store }),
    ownerLinks: new OwnerLinks({ store, oneTime, tokens, operators }),
    passwordAccess,
    passwordAccessActs: new PasswordAccessActs({ passwordAccess, signInAge }),
    passkeyActs: new PasskeyActs({ passkeys, signInAge }),
    sessions,
    sessionActs: new SessionActs(sessions),
    signIn: new SignIn({
      ...runtime,
      ...needs,
      tokens,
      oneTime,
      providers,
      arrivedActors,
      handleOf: handles.of,
      // `forceEmailAsCreator` implies the email identity mode.
      mode: config.forceEmailAsCreator ? 'email' : config.signInIdentity,
      clientPath: `${basePath}${needs.clientPath}`,
      redirectOrigins: config.spaRedirectOrigins,
      isDevelopment: config.mode === 'development',
    }),
  }
}

/** Passkeys exist without the provider too, because an owner may have some from a time when it was configured. */
function createPasskeys(runtime: Runtime, { accounts, tokenModule: { oneTime }, plans, deepLinks }: SignInNeeds) {
  const { config, store, identity, baseUrl } = runtime
  const { hostname, origin } = new URL(baseUrl)
  const webauthn = new WebAuthn({ id: hostname, name: identity.name, origin })
  const passkeys = new Passkeys({ ...runtime, oneTime, accounts, webauthn })
  const plan = plans.filter(isOwnPlan).find(({ name }) => name === passkeyPlan.name)
  if (plan === undefined) return { passkeys, passkeySignIn: null, passkeyProvider: null }
  const deepLink = deepLinks.get(plan.name) ?? null
  const provider = new PasskeyProvider({ ...runtime, oneTime, passkeys, deepLink, isDefault: plan.isDefault })
  const signIn = { ...runtime, oneTime, provider, webauthn, states: new States(store, oneTime) }
  return {
    passkeys,
    passkeySignIn: new PasskeySignIn({ ...signIn, opensAccounts: !config.forceEmailAsCreator }),
    passkeyProvider: provider,
  }
}

function createEmailLinks(runtime: Runtime, { tokenModule: { oneTime }, plans, deepLinks }: SignInNeeds) {
  const { config, store } = runtime
  if (!plans.some(({ name }) => name === emailLinkPlan.name)) return { emailLinkSignIn: null, emailLinkProvider: null }
  const isDevelopment = config.mode === 'development'
  const provider = new EmailLinkProvider({ ...runtime, oneTime, deepLink: deepLinks.get(emailLinkPlan.name) ?? null })
  const signIn = { ...runtime, oneTime, provider, isDevelopment, states: new States(store, oneTime) }
  return { emailLinkSignIn: new EmailLinkSignIn(signIn), emailLinkProvider: provider }
}

/** Puts the providers of this service at their places among the others. */
function withOwn(plans: readonly ProviderChoice[], own: readonly (Provider | null)[], others: Providers): Providers {
  return plans.reduce<Providers>((all, { name }, place) => {
    const provider = own.find((each) => each?.name === name)
    return provider === undefined || provider === null ? all : new ProvidersWithOwn(provider, all, place)
  }, others)
}

/** Creates the configured providers. In development without any, creates the local provider. */
function createProviders(runtime: Runtime, needs: SignInNeeds, own: readonly (Provider | null)[]) {
  const { config, now, baseUrl, log } = runtime
  const { plans, authenticate } = needs
  const outbound = new Outbound({ allowHttp: config.allowHttp, release })
  const providerDeps = { outbound, keySets: new KeySets(outbound, now), now, baseUrl, log }
  const isLocal = usesLocalProvider(config, { plans, authenticate })
  const deepLink = needs.deepLinks.get(localProviderName) ?? null
  const local = isLocal ? new LocalProvider(providerDeps, { pages: needs.localPages, log, deepLink }) : null
  const outside = outsidePlans(plans)
  const configured = local === null ? new ConfiguredProviders(outside, providerDeps) : new LocalProviders(local)
  const others = needs.providers ?? withOwn(plans, own, configured)
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

/** Returns the names of the sign-ins of this service that people can use. */
export function ownSignInsOf(config: LocalConfig, declared: SignInDeclared): readonly string[] {
  return [
    ...declared.plans.filter(isOwnPlan).map(({ name }) => name),
    ...(declared.authenticate === null ? [] : [hostProviderName]),
    ...(usesLocalProvider(config, declared) ? [localProviderName] : []),
  ]
}

/** The local provider of development is for services that have no other way to sign in. */
function usesLocalProvider({ localSignIn, mode }: LocalConfig, declared: SignInDeclared): boolean {
  return !isDeclared(declared) && localSignIn && mode === 'development' && hasLocalProvider()
}

function isDeclared({ plans, authenticate }: SignInDeclared): boolean {
  return plans.length > 0 || authenticate !== null
}

function createHost(
  runtime: Runtime,
  { tokenModule: { oneTime }, deepLinks }: SignInNeeds,
  authenticate: Authenticate,
) {
  const { store, identity, config } = runtime
  const provider = new HostProvider({
    ...runtime,
    oneTime,
    displayName: identity.name,
    signInUrl: config.signInUrl,
    deepLink: deepLinks.get(hostProviderName) ?? null,
  })
  return {
    provider,
    signIn: new HostSignIn({ ...runtime, authenticate, provider, states: new States(store, oneTime) }),
  }
}
