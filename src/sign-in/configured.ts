/** Validates the providers that the application declares and the environment names. */
import { ConfigError } from '../config/config-error.ts'
import type { Environment } from '../config/env.ts'
import type { Config } from '../config/options.ts'
import { isName } from '../config/named-variables.ts'
import { type ProviderOptionName, providerOptions, providerVariables } from '../config/provider-options.ts'
import { fileVariable } from '../config/secret-file.ts'
import {
  emailLinkPlan,
  hostProviderName,
  isOwnPlan,
  localProviderName,
  type OwnPlan,
  passkeyPlan,
} from './own/own-plans.ts'
import { takesPasskeys } from './passkey/passkey-plan.ts'
import type { Provider, ProviderProblem, Providers } from './provider.ts'
import { applePlan } from './providers/apple.ts'
import { githubPlan } from './providers/github.ts'
import { googlePlan } from './providers/google.ts'
import { OAuthProvider, type OAuthProviderDeps } from './providers/oauth-provider.ts'
import { openidPlan } from './providers/openid.ts'
import { isForPlatform, providerKindOf, type ProviderPlan } from './providers/provider-config.ts'
import type { AnySettings, ProviderDeclaration, ProviderType, Settings, TextSetting } from './providers/settings.ts'

/** A provider that the application or its operator configured. */
export type ProviderChoice = ProviderPlan | OwnPlan

const plans: Readonly<Record<ProviderType, (settings: Settings) => ProviderChoice>> = {
  google: googlePlan,
  github: githubPlan,
  apple: applePlan,
  openid: openidPlan,
  passkey: () => passkeyPlan,
  email: () => emailLinkPlan,
}

/** Names that no other provider may have. */
const ownNames: ReadonlySet<string> = new Set([passkeyPlan.name, emailLinkPlan.name])

/** The sign-ins of this service. Their only setting is the deep link, and no list needs to name them. */
const ownSignIns = [...ownNames, hostProviderName, localProviderName]

/**
 * Merges the declared providers with the environment, which takes precedence. `TROUPE_PROVIDERS`, if set, is the complete
 * list; a provider that the application did not declare is configured by its variables alone.
 *
 * @throws ConfigError naming the setting.
 */
export function configuredProviders(
  declared: readonly ProviderDeclaration[],
  env: Environment,
  rules: { readonly allowHttp: boolean },
): readonly ProviderChoice[] {
  for (const { name, type } of declared) {
    if (!isName(name) || isForPlatform(providerKindOf(name))) {
      throw new ConfigError(
        `Option signIn: providers must have names such as google or acme-mobile; ${name} is not a valid name.`,
      )
    }
    if (ownNames.has(providerKindOf(name)) && type !== name)
      throw new ConfigError(`Option signIn: ${name} is a sign-in of this service; give the provider another name.`)
    if (declared.filter((other) => other.name === name).length > 1) {
      throw new ConfigError(`Option signIn names the provider ${name} twice.`)
    }
  }
  const fromEnv = providerVariables.read(env)
  const names = listedIn(env) ?? declared.map(({ name }) => name)
  const twoSuffixes = names.find((name) => isForPlatform(providerKindOf(name)))
  if (twoSuffixes !== undefined)
    throw new ConfigError(`TROUPE_PROVIDERS must contain names with at most one suffix; ${twoSuffixes} has two.`)
  const variant = names.find((name) => isForPlatform(name) && ownNames.has(providerKindOf(name)))
  if (variant !== undefined) {
    const own = providerKindOf(variant)
    throw new ConfigError(
      `TROUPE_PROVIDERS must not contain ${variant}: name ${own}, and applications can begin at ${variant}.`,
    )
  }
  const known = new Set([...names, ...declared.map(({ name }) => name)])
  for (const name of ownSignIns) {
    if (ownNames.has(name) || !known.has(name)) refuseSettings(name, fromEnv.get(name))
  }
  refuseStrays(fromEnv.keys(), [...known, ...ownSignIns], env)
  return names.map((name) => {
    const own = declared.find((declaration) => declaration.name === name)
    const type = own?.type ?? typeOf(name)
    return plans[type](new CheckedSettings(name, own?.settings ?? {}, fromEnv.get(name) ?? {}, rules.allowHttp))
  })
}

/**
 * Returns the providers that the environment configures alone, without the application.
 *
 * @returns `others`: names of providers that also need settings in code.
 */
export function environmentProviders(
  env: Environment,
  { allowHttp }: { readonly allowHttp: boolean },
): { readonly choices: readonly ProviderChoice[]; readonly others: readonly string[] } {
  const fromEnv = providerVariables.read(env)
  const choices: ProviderChoice[] = []
  const others: string[] = []
  for (const name of listedIn(env) ?? fromEnv.keys()) {
    try {
      choices.push(plans[typeOf(name)](new CheckedSettings(name, {}, fromEnv.get(name) ?? {}, allowHttp)))
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      others.push(name)
    }
  }
  return { choices, others }
}

/**
 * Returns the deep links of the sign-ins of this service, by name.
 *
 * @param offered Names of the sign-ins that people can use.
 * @throws ConfigError for a deep link of another sign-in, and for one that is not valid.
 */
export function ownDeepLinks(
  declared: readonly ProviderDeclaration[],
  env: Environment,
  { allowHttp, offered }: { readonly allowHttp: boolean; readonly offered: readonly string[] },
): ReadonlyMap<string, string> {
  const fromEnv = providerVariables.read(env)
  const known = new Set([...(listedIn(env) ?? []), ...declared.map(({ name }) => name)])
  const links = new Map<string, string>()
  for (const name of ownSignIns) {
    const given = fromEnv.get(name) ?? {}
    if (!offered.includes(name)) {
      if (given.deepLink === undefined || known.has(name)) continue
      throw new ConfigError(
        `${providerVariables.of(name, 'deepLink')} has no effect: the service offers no sign-in ${name}.`,
      )
    }
    const code = declared.find((declaration) => declaration.name === name)?.settings ?? {}
    const link = new CheckedSettings(name, code, given, allowHttp).address('deepLink')
    if (link !== undefined) links.set(name, link)
  }
  return links
}

/** Returns the providers besides this service. */
export function outsidePlans(choices: readonly ProviderChoice[]): readonly ProviderPlan[] {
  return choices.filter((choice): choice is ProviderPlan => !isOwnPlan(choice))
}

/**
 * Returns the way to sign in where nothing is configured: passkeys, in production with the pages of the service. An empty `TROUPE_PROVIDERS` or an empty
 * list in code means that people do not sign in.
 */
export function defaultProviders(
  declared: readonly ProviderDeclaration[] | undefined,
  env: Environment,
  service: Pick<Config, 'mode' | 'webUi'> & { readonly baseUrl: string },
): readonly OwnPlan[] {
  const isConfigured = declared !== undefined || listedIn(env) !== null
  const isOffered = service.mode === 'production' && service.webUi && takesPasskeys(service.baseUrl)
  return isConfigured || !isOffered ? [] : [{ ...passkeyPlan, isDefault: true }]
}

/** @throws ConfigError */
function refuseSettings(name: string, settings: Partial<Record<ProviderOptionName, string>> = {}): void {
  const option = (Object.keys(settings) as ProviderOptionName[]).find((each) => each !== 'deepLink')
  if (option !== undefined)
    throw new ConfigError(
      `${providerVariables.of(name, option)} has no effect: the only setting of the provider ${name} is ${providerVariables.of(name, 'deepLink')}.`,
    )
}

/** Reads `TROUPE_PROVIDERS`. Null when it is not set. @throws ConfigError */
function listedIn(env: Environment): readonly string[] | null {
  const names = providerVariables.names(env)
  const twice = names?.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new ConfigError(`${providerVariables.list} names ${twice} twice.`)
  return names
}

/** Rejects settings of an unknown provider, because they are a typing error. */
function refuseStrays(given: Iterable<string>, known: readonly string[], env: Environment): void {
  for (const name of given) {
    if (known.includes(name)) continue
    const options = Object.keys(providerOptions) as ProviderOptionName[]
    const variable = options
      .flatMap((option) => [providerVariables.of(name, option), fileVariable(providerVariables.of(name, option))])
      .find((text) => env[text] !== undefined)
    throw new ConfigError(`${variable} belongs to an unknown provider: TROUPE_PROVIDERS does not name ${name}.`)
  }
}

function typeOf(name: string): ProviderType {
  const kind = providerKindOf(name)
  return Object.hasOwn(plans, kind) ? (kind as ProviderType) : 'openid'
}

class CheckedSettings implements Settings {
  readonly name: string
  readonly #code: AnySettings
  readonly #env: Readonly<Partial<Record<ProviderOptionName, string>>>
  readonly #allowHttp: boolean

  constructor(
    name: string,
    code: AnySettings,
    env: Readonly<Partial<Record<ProviderOptionName, string>>>,
    allowHttp: boolean,
  ) {
    this.name = name
    this.#code = code
    this.#env = env
    this.#allowHttp = allowHttp
  }

  text(setting: TextSetting): string | undefined {
    const text: unknown = this.#env[setting] ?? this.#code[setting]
    if (text === undefined || text === '') return undefined
    if (typeof text !== 'string') return this.refuse(setting, 'must be a string')
    // Only a private key in PEM has line breaks.
    if (setting !== 'privateKey' && /\p{Cc}/u.test(text)) this.refuse(setting, 'must not contain control characters')
    return text.trim()
  }

  required(setting: TextSetting): string {
    const text = this.text(setting)
    if (text !== undefined) return text
    throw new ConfigError(
      `The provider ${this.name} needs ${setting}: give it in code, or as ${providerVariables.of(this.name, setting)}.`,
    )
  }

  address(setting: TextSetting): string | undefined {
    const text = this.text(setting)
    if (text === undefined) return undefined
    const complaint = addressComplaint(text, isOurs.has(setting), this.#allowHttp)
    return complaint === null ? text : this.refuse(setting, complaint)
  }

  get audiences(): readonly string[] {
    const inEnv = this.#env.audiences
    const given: unknown = inEnv === undefined ? (this.#code.audiences ?? []) : inEnv.split(',')
    if (!Array.isArray(given) || !given.every((one) => typeof one === 'string')) {
      return this.refuse('audiences', 'must be a list of client ids')
    }
    return given.map((one) => one.trim()).filter((one) => one !== '')
  }

  get authorizationParameters(): Readonly<Record<string, string>> {
    return this.#code.authorizationParameters ?? {}
  }

  refuse(setting: keyof AnySettings, complaint: string): never {
    const option = Object.keys(providerOptions).find((name) => name === setting) as ProviderOptionName | undefined
    const isFromEnv = option !== undefined && this.#env[option] !== undefined
    throw new ConfigError(
      `${isFromEnv ? providerVariables.of(this.name, option) : `Option signIn, ${this.name}: ${setting}`} ${complaint}.`,
    )
  }
}

/** URLs that lead back to this service or to its mobile application, which may have its own scheme. */
const isOurs: ReadonlySet<TextSetting> = new Set(['redirectUri', 'deepLink'])

/** Schemes that a browser would run or display. */
const scripts = new Set(['javascript:', 'data:', 'vbscript:', 'blob:', 'file:', 'about:'])

function addressComplaint(text: string, isForUs: boolean, allowHttp: boolean): string | null {
  const url = URL.parse(text)
  if (url === null || scripts.has(url.protocol)) return 'must be an absolute address'
  if (url.protocol === 'http:' ? !allowHttp : url.protocol !== 'https:' && !isForUs) return 'must be an https address'
  if (url.username !== '' || url.password !== '') return 'must not carry a user name or password'
  return url.hash === '' ? null : 'must not have a fragment'
}

export class ConfiguredProviders implements Providers {
  readonly all: readonly OAuthProvider[]

  constructor(configured: readonly ProviderPlan[], deps: OAuthProviderDeps) {
    this.all = configured.map((plan) => new OAuthProvider(plan, deps))
  }

  find(name: string): Provider | null {
    const named = (asked: string): OAuthProvider | undefined => this.all.find((provider) => provider.name === asked)
    const kind = providerKindOf(name)
    // A variant has exactly one platform suffix.
    return named(name) ?? (isForPlatform(kind) ? undefined : named(kind)?.variant(name)) ?? null
  }

  /** Discovers the endpoints of all providers. A provider that fails is discovered again when it is needed. */
  async ready(): Promise<void> {
    await Promise.allSettled(this.all.map((provider) => provider.ready()))
  }

  async problems(): Promise<readonly ProviderProblem[]> {
    const found = await Promise.all(
      this.all.map(async (provider) => ({ provider: provider.name, reason: await provider.problem() })),
    )
    return found.flatMap(({ provider, reason }) => (reason === null ? [] : [{ provider, reason }]))
  }
}
