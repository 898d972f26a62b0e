/** Checks of the settings for sign-ins of this service, before the database is opened. */
import type { Registry } from '../../app/registry.ts'
import { Problems } from '../../config/config-error.ts'
import type { Config } from '../../config/options.ts'
import { takesPasskeys } from '../passkey/passkey-plan.ts'
import { emailLinkPlan, passkeyPlan } from './own-plans.ts'

export interface ChosenSignIns {
  readonly config: Pick<Config, 'mode'>
  readonly plans: readonly { readonly name: string }[]
  readonly registry: Pick<Registry, 'eventHandlers'>
  readonly baseUrl: string
}

/** @throws ConfigError for passkeys at an address without them, and for sign-in by email without a sender in production. */
export function requireUsableSignIns({ config, plans, registry, baseUrl }: ChosenSignIns): void {
  const problems = new Problems()
  const isChosen = (name: string): boolean => plans.some((plan) => plan.name === name)
  if (isChosen(passkeyPlan.name) && !takesPasskeys(baseUrl))
    problems.add(
      `Passkeys need a base URL with https and a host name, or localhost; ${new URL(baseUrl).origin} is not such an address. Set BASE_URL, or remove passkey from TROUPE_PROVIDERS.`,
    )
  const hasSender = config.mode === 'development' || registry.eventHandlers('sign_in_link_requested').length > 0
  if (isChosen(emailLinkPlan.name) && !hasSender)
    problems.add(
      'Sign-in by email needs a handler of sign_in_link_requested, which sends the emails: app.on("sign_in_link_requested", …)',
    )
  problems.requireNone()
}
