/** Values of the sign-in pages. Templates rely on these names (WIRE-SIGNIN-06). */
import type { SiteValues } from '../shared/values.ts'

export interface EmailValues extends SiteValues {
  /** Form field `session`. */
  readonly session_id: string
  readonly action: string
  readonly method: 'POST'
  /** Kind of the provider; `provider_display` is its display name. */
  readonly provider: string
  readonly provider_display: string
  readonly message: string
  readonly error: string | null
  /** The refused input; empty otherwise. */
  readonly email: string
  /** Addresses to choose from: always empty, because a verified address needs no page. */
  readonly verified_emails: readonly string[]
  readonly show_dropdown: boolean
}

export interface VerificationValues extends SiteValues {
  /** `confirm`: the address is not verified yet. */
  readonly status: 'confirm' | 'verified'
  readonly message: string
  readonly actor_id: string
  readonly email: string
  readonly action: string
  /** Form field `verify`. */
  readonly token: string
  readonly redirect_url: string
}

export interface ClaimValues extends SiteValues {
  /** Form field `claim` of both forms. Their field `choice` says whether to join the actor (with `passphrase`). */
  readonly claim: string
  readonly action: string
  /** The proven identity: an email address, or the provider's id of the person. */
  readonly email: string
  /** Whether the passphrase of the existing actor lets the person join it. */
  readonly can_join: boolean
  readonly error: string | null
}
