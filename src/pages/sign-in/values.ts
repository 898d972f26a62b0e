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

/** The page of a sign-in by email. */
export interface EmailLinkValues extends SiteValues {
  readonly action: string
  /** Form fields of every form. */
  readonly state: string
  readonly code_challenge: string
  /** The typed address, or the one that the sign-in must end with; empty otherwise. */
  readonly email: string
  /** The address to which a code was sent; null before. */
  readonly sent_to: string | null
  /** The code of the link that the person opened; empty otherwise. */
  readonly code: string
  readonly error: string | null
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
