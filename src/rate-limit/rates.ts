/** The limiters of the service with their default rates. */
import { ConfigError } from '../config/config.ts'
import type { Config } from '../config/options.ts'
import type { Rate } from './gcra.ts'

/**
 * The owner of a bucket: the sender, the target, the pair of both, all requests together (`total`), a browser that has proven
 * the target before, or a caller of an actor, such as an AI client.
 *
 * A limit for a target has one for the pair, at most half as large: no sender can use up what others have at the target. A
 * known browser has only its own limit, so it passes when many senders have used up the target.
 */
export type Per = 'source' | 'target' | 'pair' | 'total' | 'browser' | 'client'

const minute = 60
const hour = 3600

/** Default rates by `<what>/<per>`. `passphrase` and `secret` count failures only; the others count every request. */
export const defaultRates = {
  'create_actor/source': { count: 30, seconds: 10 * minute },
  'create_actor/total': { count: 1000, seconds: 10 * minute },
  // Starts of a sign-in, and returns from a provider.
  'sign_in/source': { count: 60, seconds: minute },
  'sign_in/total': { count: 3000, seconds: minute },
  // The token endpoint of single-page and mobile applications.
  'token/source': { count: 120, seconds: minute },
  'token/total': { count: 6000, seconds: minute },
  'ticket/source': { count: 30, seconds: 5 * minute },
  'ticket/total': { count: 3000, seconds: 5 * minute },
  'passphrase/pair': { count: 10, seconds: 5 * minute },
  'passphrase/source': { count: 30, seconds: 5 * minute },
  'passphrase/target': { count: 50, seconds: 5 * minute },
  'secret/pair': { count: 60, seconds: minute },
  'secret/source': { count: 600, seconds: minute },
  'secret/target': { count: 600, seconds: minute },
  // Each request may send an email. The target is the email address.
  'sign_in_link/source': { count: 10, seconds: 10 * minute },
  'sign_in_link/browser': { count: 6, seconds: hour },
  'sign_in_link/pair': { count: 6, seconds: hour },
  'sign_in_link/target': { count: 20, seconds: hour },
  'sign_in_link/total': { count: 1000, seconds: hour },
  'email_entry/source': { count: 10, seconds: 10 * minute },
  'email_entry/browser': { count: 3, seconds: hour },
  'email_entry/pair': { count: 3, seconds: hour },
  'email_entry/target': { count: 10, seconds: hour },
  'email_entry/total': { count: 1000, seconds: hour },
  // Messages to an owner, each of one cause. Messages about security count against the pair alone.
  'mail/pair': { count: 10, seconds: hour },
  'mail/target': { count: 30, seconds: hour },
  'mail/total': { count: 5000, seconds: hour },
  'email_verification/source': { count: 30, seconds: 10 * minute },
  'email_verification/pair': { count: 10, seconds: 10 * minute },
  'email_verification/target': { count: 60, seconds: 10 * minute },
  'email_verification/total': { count: 3000, seconds: 10 * minute },
  'trust_request/source': { count: 30, seconds: 10 * minute },
  'trust_request/pair': { count: 30, seconds: hour },
  'trust_request/target': { count: 100, seconds: hour },
  'trust_request/total': { count: 3000, seconds: 10 * minute },
  // Moves of actors from other services, and statements about moves of peers. Each one causes calls.
  'move/source': { count: 30, seconds: 10 * minute },
  'move/pair': { count: 30, seconds: hour },
  'move/target': { count: 100, seconds: hour },
  'move/total': { count: 3000, seconds: 10 * minute },
  'register_client/source': { count: 10, seconds: hour },
  'register_client/total': { count: 1000, seconds: hour },
  // Codes of devices, which a person enters.
  'user_code/source': { count: 20, seconds: 10 * minute },
  'user_code/total': { count: 3000, seconds: 10 * minute },
  'authorize/source': { count: 60, seconds: minute },
  'authorize/total': { count: 3000, seconds: minute },
  'client_token/source': { count: 120, seconds: minute },
  'client_token/total': { count: 6000, seconds: minute },
  // Messages of one AI client of one actor.
  'mcp/client': { count: 6000, seconds: minute },
  // Requests with an Idempotency-Key of one caller of an actor, and the KiB of their responses, which are kept for a day.
  'kept_response/client': { count: 100_000, seconds: 24 * hour },
} as const satisfies Record<`${string}/${Per}`, Rate>

export type LimitKey = keyof typeof defaultRates
export type ClientLimit = LimitKey & `${string}/client`
export type LimitName = LimitKey extends `${infer N}/${string}` ? N : never

/** The rate of each limiter; null turns the limiter off. */
export type Rates = { readonly [K in LimitKey]: Rate | null }

/** Multiplies the rates in development, where all requests come from one address. */
const developmentFactor = 100

/** Returns the configured rates. `*` sets every limiter without its own rate. @throws ConfigError for an unknown limiter. */
export function ratesOf({ mode, rateLimits: given }: Pick<Config, 'mode' | 'rateLimits'>): Rates {
  const unknown = Object.keys(given).find((key) => key !== '*' && !Object.hasOwn(defaultRates, key))
  if (unknown !== undefined)
    throw new ConfigError(`Cannot use TROUPE_RATE_LIMITS: the limiter ${unknown} does not exist.`)
  const factor = mode === 'development' ? developmentFactor : 1
  const rateOf = (key: string, byDefault: Rate): Rate | null =>
    given[key] !== undefined
      ? given[key]
      : given['*'] !== undefined
        ? given['*']
        : { count: byDefault.count * factor, seconds: byDefault.seconds }
  return Object.fromEntries(Object.entries(defaultRates).map(([key, rate]) => [key, rateOf(key, rate)])) as Rates
}

/** Returns the limiters of one name, narrowest first, so that refused requests do not count against wider limits. */
export function limitersOf(name: LimitName): readonly LimitKey[] {
  return narrowestFirst(
    (Object.keys(defaultRates) as LimitKey[]).filter((key) => key.slice(0, key.indexOf('/')) === name),
  )
}

const order: readonly Per[] = ['client', 'browser', 'pair', 'source', 'target', 'total']

function narrowestFirst(keys: readonly LimitKey[]): readonly LimitKey[] {
  return keys.toSorted((a, b) => order.indexOf(perOf(a)) - order.indexOf(perOf(b)))
}

export function limitName(key: LimitKey): LimitName {
  return key.slice(0, key.indexOf('/')) as LimitName
}

export function perOf(key: LimitKey): Per {
  return key.slice(key.indexOf('/') + 1) as Per
}
