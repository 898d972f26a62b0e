/** Ways to sign in that need no other service. */
import { emailLinkName } from '../email-link/names.ts'
import { passkeyDisplayName, passkeyProviderName } from '../passkey/names.ts'

export interface OwnPlan {
  readonly name: typeof passkeyProviderName | typeof emailLinkName
  readonly displayName: string
  /** True when no provider is configured, so that this one is the default. */
  readonly isDefault: boolean
}

export const passkeyPlan: OwnPlan = {
  name: passkeyProviderName,
  displayName: passkeyDisplayName,
  isDefault: false,
}
export const emailLinkPlan: OwnPlan = { name: emailLinkName, displayName: 'Email', isDefault: false }

/** The embedding program as a provider. */
export const hostProviderName = 'host'

/** The provider of development. */
export const localProviderName = 'local'

export function isOwnPlan(plan: object): plan is OwnPlan {
  return 'isDefault' in plan
}
