/** Resolves the options from code and environment. An invalid value prevents the start with an error that names it. */
import { ConfigError } from './config-error.ts'
import type { Environment } from './env.ts'
import type { ConfigOf, Mode, Option, OptionTable } from './option.ts'
import { type Config, type GivenTimeouts, type OptionName, options } from './options.ts'
import { providerVariables } from './provider-options.ts'
import { fileVariable, settingIn } from './secret-file.ts'
import { serviceVariables } from './service-options.ts'

export { ConfigError }

/** Prefixes of variables for the test runner, which the service ignores. */
const foreignPrefixes = ['TROUPE_TEST_']

/**
 * Resolves and validates all options. The environment overrides code, so the operator has the final decision.
 *
 * @param more The options of features.
 * @throws ConfigError naming the setting.
 */
export function resolveOptions<More extends OptionTable>(
  more: More,
  code: Partial<Config> & Partial<ConfigOf<More>>,
  env: Environment,
): Config & ConfigOf<More> {
  const all: OptionTable = { ...options, ...more }
  refuseUnknown(all, code, env)
  const given: Readonly<Record<string, unknown>> = code
  const mode = resolve('mode', options.mode, code.mode, env, 'production')
  const config = Object.fromEntries(
    Object.entries(all).map(([name, option]) => [
      name,
      name === 'mode' ? mode : resolve(name, option, given[name], env, mode),
    ]),
  ) as unknown as Config & ConfigOf<More>
  refuseContradictions(config)
  return { ...config, ...sharedTimeouts(config.peerTimeoutSeconds, code, env) }
}

/** Applies `peerTimeoutSeconds` to each timeout that has no own value from the same or a stronger source. */
function sharedTimeouts(given: GivenTimeouts | null, code: Partial<Config>, env: Environment): Partial<Config> {
  if (given === null) return {}
  const [peerConnectSeconds, peerReadSeconds] = typeof given === 'number' ? [given, given] : given
  const isInEnv = (name: OptionName): boolean => (env[options[name].env] ?? '') !== ''
  const isOwn = (name: OptionName): boolean =>
    isInEnv(name) || (!isInEnv('peerTimeoutSeconds') && code[name] !== undefined)
  return {
    ...(isOwn('peerConnectSeconds') ? {} : { peerConnectSeconds }),
    ...(isOwn('peerReadSeconds') ? {} : { peerReadSeconds }),
  }
}

function resolve<T>(name: string, option: Option<T>, given: unknown, env: Environment, mode: Mode): T {
  const found = settingIn(env, option.env, option)
  const [source, read] =
    found === null
      ? [`Option ${name}`, () => (given === undefined ? defaultOf(option, mode) : option.check(given))]
      : [found.source, () => option.parse(found.text)]
  try {
    return read()
  } catch (error) {
    throw new ConfigError(`${source} ${(error as Error).message}.`)
  }
}

export function defaultOf<T>(option: Option<T>, mode: Mode): T {
  return typeof option.byDefault === 'function' ? (option.byDefault as (mode: Mode) => T)(mode) : option.byDefault
}

/** Every variable of an option. */
function variablesOf({ env, secret }: Option<unknown>): readonly string[] {
  return secret === true ? [env, fileVariable(env)] : [env]
}

function refuseUnknown(all: OptionTable, code: object, env: Environment): void {
  const known = new Set<string>(Object.values(all).flatMap(variablesOf))
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('TROUPE_') || known.has(name) || foreignPrefixes.some((prefix) => name.startsWith(prefix)))
      continue
    if (providerVariables.has(name) || serviceVariables.has(name) || isServiceLink(name, value ?? '')) continue
    throw new ConfigError(
      `Unknown environment variable ${name}: check its spelling in docs/configuration.md, or remove it.`,
    )
  }
  for (const name of Object.keys(code)) {
    if (!Object.hasOwn(all, name))
      throw new ConfigError(`Unknown option ${name}: check its spelling in docs/configuration.md, or remove it.`)
  }
}

/** Kubernetes sets such variables for every service in a namespace, also for one named "troupe" or "troupe-web". */
function isServiceLink(name: string, value: string): boolean {
  return (
    /_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/s.test(name) ||
    (/^TROUPE_(.+_)?PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value))
  )
}

function requireAccessKey(env: string, place: string | null, key: readonly (string | null)[]): void {
  if (place?.startsWith('s3:') === true && key.includes(null))
    throw new ConfigError(`${env} names an S3-compatible store: set ${env}_ACCESS_KEY_ID and ${env}_SECRET_ACCESS_KEY.`)
}

function refuseFormerAddress({ baseUrl, formerBaseUrls }: Config): void {
  const current = baseUrl?.replace(/(?<!\/)\/+$/, '')
  if (current !== undefined && formerBaseUrls.includes(current))
    throw new ConfigError(`TROUPE_FORMER_BASE_URLS names BASE_URL itself: remove ${current} from it.`)
}

function refuseContradictions(config: Config): void {
  requireAccessKey('TROUPE_FILES', config.files, [config.filesAccessKeyId, config.filesSecretAccessKey])
  requireAccessKey('TROUPE_EXPORTS', config.exports, [config.exportsAccessKeyId, config.exportsSecretAccessKey])
  refuseFormerAddress(config)
  if (config.mode === 'development') return
  if (config.secretKeys === null) {
    throw new ConfigError(
      'TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.',
    )
  }
  if (config.baseUrl === null)
    throw new ConfigError('BASE_URL is required in production: the public https address of the service.')
  if (!config.allowHttp && !config.baseUrl.startsWith('https:')) {
    throw new ConfigError(
      'BASE_URL must begin with https in production, unless TROUPE_ALLOW_HTTP=1 accepts unencrypted traffic.',
    )
  }
  if (config.localSignIn)
    throw new ConfigError('TROUPE_LOCAL_SIGN_IN cannot be on in production: it lets anyone sign in as any person.')
  if (config.devtest) throw new ConfigError('TROUPE_DEVTEST cannot be on in production: it exposes internal data.')
}
