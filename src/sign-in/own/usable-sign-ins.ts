/** Checks of the settings for sign-ins of this service, before the database is opened. */
import type { Registry } from '../../app/registry.ts'
import { Problems } from '../../config/config-error.ts'
import type { Config } from '../../config/options.ts'
import { takesPasskeys } from '../passkey/passkey-plan.ts'
import { emailLinkPlan, passkeyPlan } from './own-plans.ts'

/**
 * Names the operators whose address no sign-in proves. Null: a sign-in proves each one, or none is an address. An account from before may still have proven
 * its address, so the service starts.
 *
 * @param plans The sign-ins besides the program that embeds the service and the one of development.
 */
export function unprovableOperators(
  admins: readonly string[],
  plans: readonly { readonly name: string }[],
): string | null {
  const addresses = admins.filter((name) => !/^[a-z][a-z0-9-]*:/.test(name))
  if (addresses.length === 0 || plans.some(({ name }) => name !== passkeyPlan.name)) return null
  return `TROUPE_ADMINS names ${addresses.join(', ')}, and no sign-in of this service proves an address: the pages at /admin stay closed. Sign in with a passkey and name it by the fingerprint that the page of passkeys shows (passkey:…), or add a sign-in that proves addresses to TROUPE_PROVIDERS, such as email or google.`
}

export interface ChosenSignIns {
  readonly config: Pick<Config, 'mode'>
  readonly plans: readonly { readonly name: string }[]
  readonly registry: Pick<Registry, 'eventHandlers'>
  readonly baseUrl: string
  /** Whether the service sends mail. */
  readonly sendsMail: boolean
}

/** @throws ConfigError for passkeys at an address without them, and for sign-in by email without a sender in production. */
export function requireUsableSignIns({ config, plans, registry, baseUrl, sendsMail }: ChosenSignIns): void {
  const problems = new Problems()
  const isChosen = (name: string): boolean => plans.some((plan) => plan.name === name)
  if (isChosen(passkeyPlan.name) && !takesPasskeys(baseUrl))
    problems.add(
      `Passkeys need a base URL with https and a host name, or localhost; ${new URL(baseUrl).origin} is not such an address. Set BASE_URL, or remove passkey from TROUPE_PROVIDERS.`,
    )
  const hasSender =
    sendsMail || config.mode === 'development' || registry.eventHandlers('sign_in_link_requested').length > 0
  if (isChosen(emailLinkPlan.name) && !hasSender)
    problems.add(
      'Sign-in by email needs a way to send mail: set TROUPE_SMTP_URL and TROUPE_MAIL_FROM, or send the emails in a handler of sign_in_link_requested: app.on("sign_in_link_requested", …)',
    )
  problems.requireNone()
}
