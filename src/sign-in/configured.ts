/** Validates the providers that the application declares and the environment names. */
import { ConfigError, Problems } from '../config/config-error.ts'
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
  const problems = new Problems()
  for (const { name, type } of declared) {
    if (!isName(name) || isForPlatform(providerKindOf(name)))
      problems.add(
        `Option signIn: providers must have names such as google or acme-mobile; ${name} is not a valid name.`,
      )
    else if (ownNames.has(providerKindOf(name)) && type !== name)
      problems.add(`Option signIn: ${name} is a sign-in of this service; give the provider another name.`)
    if (declared.filter((other) => other.name === name).length > 1)
      problems.add(`Option signIn names the provider ${name} twice.`)
  }
  const fromEnv = problems.collect(() => providerVariables.read(env), null) ?? new Map<string, ProviderVariables>()
  const listed = problems.collect(() => listedIn(env), null)
  for (const name of listed ?? []) findMisnamed(name, problems)
  // With a wrong name, every further problem would be about another provider than the operator means.
  problems.requireNone()
  const names = listed ?? declared.map(({ name }) => name)
  const known = new Set([...names, ...declared.map(({ name }) => name)])
  for (const name of ownSignIns) {
    if (ownNames.has(name) || !known.has(name)) findNeedlessSettings(name, fromEnv.get(name), problems)
  }
  findStrays(fromEnv.keys(), [...known, ...ownSignIns], env, problems)
  const choices = names.flatMap((name) => {
    const own = declared.find((declaration) => declaration.name === name)
    const settings = new CheckedSettings(name, own?.settings ?? {}, fromEnv.get(name) ?? {}, rules.allowHttp)
    return settings.planOf(own?.type ?? typeOf(name), problems) ?? []
  })
  problems.requireNone()
  return choices
}

function findMisnamed(name: string, problems: Problems): void {
  const kind = providerKindOf(name)
  if (isForPlatform(kind)) problems.add(`TROUPE_PROVIDERS must contain names with at most one suffix; ${name} has two.`)
  else if (isForPlatform(name) && ownNames.has(kind))
    problems.add(`TROUPE_PROVIDERS must not contain ${name}: name ${kind}, and applications can begin at ${name}.`)
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
    const choice = new CheckedSettings(name, {}, fromEnv.get(name) ?? {}, allowHttp).planOf(
      typeOf(name),
      new Problems(),
    )
    if (choice === null) others.push(name)
    else choices.push(choice)
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
    const settings = new CheckedSettings(name, code, given, allowHttp)
    const link = settings.address('deepLink')
    settings.requireUsable()
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

function findNeedlessSettings(name: string, settings: ProviderVariables | undefined, problems: Problems): void {
  for (const option of Object.keys(settings ?? {}) as ProviderOptionName[]) {
    if (option !== 'deepLink')
      problems.add(
        `${providerVariables.of(name, option)} has no effect: the only setting of the provider ${name} is ${providerVariables.of(name, 'deepLink')}.`,
      )
  }
}

/** Reads `TROUPE_PROVIDERS`. Null when it is not set. @throws ConfigError */
function listedIn(env: Environment): readonly string[] | null {
  const names = providerVariables.names(env)
  const twice = names?.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new ConfigError(`${providerVariables.list} names ${twice} twice.`)
  return names
}

/** Finds settings of an unknown provider, because they are a typing error. */
function findStrays(given: Iterable<string>, known: readonly string[], env: Environment, problems: Problems): void {
  for (const name of given) {
    if (known.includes(name)) continue
    const options = Object.keys(providerOptions) as ProviderOptionName[]
    const variable = options
      .flatMap((option) => [providerVariables.of(name, option), fileVariable(providerVariables.of(name, option))])
      .find((text) => env[text] !== undefined)
    problems.add(`${variable} belongs to an unknown provider: TROUPE_PROVIDERS does not name ${name}.`)
  }
}

function typeOf(name: string): ProviderType {
  const kind = providerKindOf(name)
  return Object.hasOwn(plans, kind) ? (kind as ProviderType) : 'openid'
}

type ProviderVariables = Partial<Record<ProviderOptionName, string>>

/** The value of a missing or wrong setting, with which no plan is used. */
const unusable = 'https://unusable.invalid'

class CheckedSettings implements Settings {
  readonly name: string
  readonly #problems = new Problems()
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

  /** Makes the plan. Null: the settings have problems, and all of them were added. */
  planOf(type: ProviderType, problems: Problems): ProviderChoice | null {
    const plan = this.#problems.collect(() => plans[type](this), null)
    return problems.collect(() => {
      this.requireUsable()
      return plan
    }, null)
  }

  /** @throws ConfigError with all problems that were found so far. */
  requireUsable(): void {
    this.#problems.requireNone()
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
    this.#problems.add(
      `The provider ${this.name} needs ${setting}: give it in code, or as ${providerVariables.of(this.name, setting)}.`,
    )
    return unusable
  }

  address(setting: TextSetting): string | undefined {
    const text = this.text(setting)
    if (text === undefined) return undefined
    const complaint = addressComplaint(text, isOurs.has(setting), this.#allowHttp)
    if (complaint === null) return text
    this.#problems.collect(() => this.refuse(setting, complaint), undefined)
    return unusable
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
    // A missing setting is not wrong as well.
    if (option !== undefined && this.#env[option] === undefined && this.#code[setting] === undefined)
      this.requireUsable()
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
