/** Resolves the options from code and environment. Each invalid value is a problem that names it. */
import { ConfigError, Problems } from './config-error.ts'
import type { Environment } from './env.ts'
import type { ConfigOf, Mode, Option, OptionTable } from './option.ts'
import { type Config, type GivenTimeouts, type OptionName, options } from './options.ts'
import { providerVariables } from './provider-options.ts'
import { fileVariable, settingIn } from './secret-file.ts'
import { serviceVariables } from './service-options.ts'

export { ConfigError, Problems }

/** Prefixes of variables for the test runner, which the service ignores. */
const foreignPrefixes = ['TROUPE_TEST_']

/**
 * Resolves and validates all options. The environment overrides code, so the operator has the final decision. An option with
 * a problem has its default.
 *
 * @param more The options of features.
 * @param problems Receives each problem, which names the setting.
 */
export function readOptions<More extends OptionTable>(
  more: More,
  code: Partial<Config> & Partial<ConfigOf<More>>,
  env: Environment,
  problems: Problems,
): Config & ConfigOf<More> {
  const all: OptionTable = { ...options, ...more }
  findUnknown(all, code, env, problems)
  const given: Readonly<Record<string, unknown>> = code
  const wrong = new Set<string>()
  const read = <T>(name: string, option: Option<T>, mode: Mode): T => {
    const found = problems.collect(() => ({ value: resolve(name, option, given[name], env, mode) }), null)
    if (found !== null) return found.value
    wrong.add(name)
    return defaultOf(option, mode)
  }
  const mode = read('mode', options.mode, 'production')
  const config = Object.fromEntries(
    Object.entries(all).map(([name, option]) => [name, name === 'mode' ? mode : read(name, option, mode)]),
  ) as unknown as Config & ConfigOf<More>
  // A wrong value leads to one problem.
  for (const { names, problem } of contradictions(all, config))
    if (problem !== null && ![...names, 'mode'].some((name) => wrong.has(name))) problems.add(problem)
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

function findUnknown(all: OptionTable, code: object, env: Environment, problems: Problems): void {
  const known = new Set<string>(Object.values(all).flatMap(variablesOf))
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('TROUPE_') || known.has(name) || foreignPrefixes.some((prefix) => name.startsWith(prefix)))
      continue
    if (providerVariables.has(name) || serviceVariables.has(name) || isServiceLink(name, value ?? '')) continue
    problems.add(`Unknown environment variable ${name}: check its spelling in docs/configuration.md, or remove it.`)
  }
  for (const name of Object.keys(code)) {
    if (!Object.hasOwn(all, name))
      problems.add(`Unknown option ${name}: check its spelling in docs/configuration.md, or remove it.`)
  }
}

/** Kubernetes sets such variables for every service in a namespace, also for one named "troupe" or "troupe-web". */
function isServiceLink(name: string, value: string): boolean {
  return (
    /_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/s.test(name) ||
    (/^TROUPE_(.+_)?PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value))
  )
}

/** Each place of objects that may be an S3-compatible store has an access key: `files` has `filesAccessKeyId`. */
function accessKeyRules(all: OptionTable, config: Config): readonly Contradiction[] {
  const values: Readonly<Record<string, unknown>> = { ...config }
  return Object.entries(all).flatMap(([name, { env }]) => {
    const key = [`${name}AccessKeyId`, `${name}SecretAccessKey`]
    if (!key.every((part) => Object.hasOwn(all, part))) return []
    const place = values[name]
    const isMissing = typeof place === 'string' && place.startsWith('s3:') && key.some((part) => values[part] === null)
    const problem = `${env} names an S3-compatible store: set ${env}_ACCESS_KEY_ID and ${env}_SECRET_ACCESS_KEY.`
    return [{ names: [name, ...key], problem: isMissing ? problem : null }]
  })
}

function formerAddressProblem({ baseUrl, formerBaseUrls }: Config): string | null {
  const current = baseUrl?.replace(/(?<!\/)\/+$/, '')
  return current !== undefined && formerBaseUrls.includes(current)
    ? `TROUPE_FORMER_BASE_URLS names BASE_URL itself: remove ${current} from it.`
    : null
}

function baseUrlProblem({ baseUrl, allowHttp }: Config): string | null {
  if (baseUrl === null) return 'BASE_URL is required in production: the public https address of the service.'
  return allowHttp || baseUrl.startsWith('https:')
    ? null
    : 'BASE_URL must begin with https in production, unless TROUPE_ALLOW_HTTP=1 accepts unencrypted traffic.'
}

/** A rule about several settings. */
interface Contradiction {
  /** The settings that the rule reads. */
  readonly names: readonly string[]
  /** Null: the settings fit together. */
  readonly problem: string | null
}

function contradictions(all: OptionTable, config: Config): readonly Contradiction[] {
  const always: readonly Contradiction[] = [
    ...accessKeyRules(all, config),
    { names: ['baseUrl', 'formerBaseUrls'], problem: formerAddressProblem(config) },
  ]
  if (config.mode === 'development') return always
  return [
    ...always,
    {
      names: ['secretKeys'],
      problem:
        config.secretKeys === null
          ? 'TROUPE_SECRET_KEYS is required in production: run `troupe keys new` and keep its output safe.'
          : null,
    },
    { names: ['baseUrl', 'allowHttp'], problem: baseUrlProblem(config) },
    {
      names: ['localSignIn'],
      problem: config.localSignIn
        ? 'TROUPE_LOCAL_SIGN_IN cannot be on in production: it lets anyone sign in as any person.'
        : null,
    },
    {
      names: ['devtest'],
      problem: config.devtest ? 'TROUPE_DEVTEST cannot be on in production: it exposes internal data.' : null,
    },
  ]
}
