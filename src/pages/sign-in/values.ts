/** Values of the pages of a sign-in; the names are those that templates know (WIRE-SIGNIN-06). */
import type { SiteValues } from '../shared/values.ts'

export interface EmailValues extends SiteValues {
  /** Goes into the form, as `session`. */
  readonly session_id: string
  readonly action: string
  readonly method: 'POST'
  /** Kind of the provider, and its name for people. */
  readonly provider: string
  readonly provider_display: string
  readonly message: string
  readonly error: string | null
  /** What was typed and refused; empty otherwise. */
  readonly email: string
  /** Addresses to choose from: none, because one that the provider vouches for needs no page. */
  readonly verified_emails: readonly string[]
  readonly show_dropdown: boolean
}

export interface VerificationValues extends SiteValues {
  /** `confirm`: nothing happened yet. */
  readonly status: 'confirm' | 'verified'
  readonly message: string
  readonly actor_id: string
  readonly email: string
  readonly action: string
  /** Goes into the form, as `verify`. */
  readonly token: string
  readonly redirect_url: string
}

export interface ClaimValues extends SiteValues {
  /** Goes into both forms, as `claim`; beside it `choice`, which is `join` (with `passphrase`) or `anew`. */
  readonly claim: string
  readonly action: string
  /** What was proved: an address, or a provider's name for the person. */
  readonly email: string
  /** Whether there is an actor that a passphrase opens. */
  readonly can_join: boolean
  readonly error: string | null
}
