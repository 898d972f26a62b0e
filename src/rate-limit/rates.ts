/** Every limiter of the service, and what it lets through unless the operator says otherwise. */
import { ConfigError } from '../config/config.ts'
import type { Config } from '../config/options.ts'
import type { Rate } from './gcra.ts'

/**
 * Whose bucket it is: the sender's, that of what is asked for, the sender's at that target, everybody's; or that of a
 * client that an owner let in, which each process counts by itself.
 */
export type Per = 'source' | 'target' | 'pair' | 'total' | 'client'

const minute = 60
const hour = 3600

/** `<what>/<per>`. Failures alone count for `passphrase` and `secret`; of the others every request does. */
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
  // Each may send a mail; the target is the address.
  'email_entry/source': { count: 10, seconds: 10 * minute },
  'email_entry/target': { count: 3, seconds: hour },
  'email_entry/total': { count: 1000, seconds: hour },
  'email_verification/source': { count: 30, seconds: 10 * minute },
  'email_verification/target': { count: 10, seconds: 10 * minute },
  'email_verification/total': { count: 3000, seconds: 10 * minute },
  'trust_request/source': { count: 30, seconds: 10 * minute },
  'trust_request/target': { count: 100, seconds: hour },
  'trust_request/total': { count: 3000, seconds: 10 * minute },
  'register_client/source': { count: 10, seconds: hour },
  'register_client/total': { count: 1000, seconds: hour },
  'authorize/source': { count: 60, seconds: minute },
  'authorize/total': { count: 3000, seconds: minute },
  'client_token/source': { count: 120, seconds: minute },
  'client_token/total': { count: 6000, seconds: minute },
  // Messages of one AI client of one actor.
  'mcp/client': { count: 6000, seconds: minute },
} as const satisfies Record<`${string}/${Per}`, Rate>

export type LimitKey = keyof typeof defaultRates
export type ClientLimit = LimitKey & `${string}/client`
export type LimitName = LimitKey extends `${infer N}/${string}` ? N : never

/** Null where a limiter is off. */
export type Rates = { readonly [K in LimitKey]: Rate | null }

/** While developing nobody wants to meet one, and everything comes from one address. */
const developmentFactor = 100

/** `*` stands for every limiter that is not named itself. @throws ConfigError for a limiter that does not exist. */
export function ratesOf({ mode, rateLimits: given }: Pick<Config, 'mode' | 'rateLimits'>): Rates {
  const unknown = Object.keys(given).find((key) => key !== '*' && !Object.hasOwn(defaultRates, key))
  if (unknown !== undefined)
    throw new ConfigError(`TROUPE_RATE_LIMITS names a limiter that does not exist: ${unknown}.`)
  const factor = mode === 'development' ? developmentFactor : 1
  const rateOf = (key: string, byDefault: Rate): Rate | null =>
    given[key] !== undefined
      ? given[key]
      : given['*'] !== undefined
        ? given['*']
        : { count: byDefault.count * factor, seconds: byDefault.seconds }
  return Object.fromEntries(Object.entries(defaultRates).map(([key, rate]) => [key, rateOf(key, rate)])) as Rates
}

/** The limiters of one name, the narrowest first: whom it refuses does not count against everybody. */
export function limitersOf(name: LimitName): readonly LimitKey[] {
  return narrowestFirst(
    (Object.keys(defaultRates) as LimitKey[]).filter((key) => key.slice(0, key.indexOf('/')) === name),
  )
}

const order: readonly Per[] = ['client', 'pair', 'source', 'target', 'total']

export function narrowestFirst(keys: readonly LimitKey[]): readonly LimitKey[] {
  return keys.toSorted((a, b) => order.indexOf(perOf(a)) - order.indexOf(perOf(b)))
}

export function limitName(key: LimitKey): LimitName {
  return key.slice(0, key.indexOf('/')) as LimitName
}

export function perOf(key: LimitKey): Per {
  return key.slice(key.indexOf('/') + 1) as Per
}
