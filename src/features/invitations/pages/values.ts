/** Values of the pages of invitations. */
import type { RightsLine } from '../../../pages/shared/rights.ts'
import type { Moment } from '../../../pages/shared/time.ts'
import type { ActorPageValues, SiteValues } from '../../../pages/shared/values.ts'
import type { OfferedMembership, TrustTypeChoice } from '../../../pages/relationships/values.ts'

/** Days that the form offers. */
export const invitationDays = ['1', '7', '30'] as const

export interface OpenInvitation {
  readonly id: string
  /** Display name of the trust type. */
  readonly level: string
  /** Nickname that the connection will have; empty for none. */
  readonly nickname: string
  readonly ends: Moment
}

export interface TypedInvitation {
  /** Name of a trust type; empty for the default. */
  readonly trust_type: string
  readonly nickname: string
  /** One of `invitationDays`; other text is refused. */
  readonly days: string
}

export interface TrustInviteValues extends ActorPageValues {
  readonly form_action: string
  /** Trust types for people, least access first, without those that need a confirmation. */
  readonly trust_types: readonly TrustTypeChoice[]
  readonly default_relationship: string
  /** Name that the invited person sees; empty without a display name. */
  readonly inviter: string
  /** The invitation that the form created. Only this page shows its link. */
  readonly created: { readonly url: string; readonly level: string; readonly ends: Moment } | null
  /** The open invitations, newest first. */
  readonly invitations: readonly OpenInvitation[]
  /** Input of the refused form, or the first values. */
  readonly typed: TypedInvitation
}

/** Values of the page that an invited person opens. */
export interface InvitedValues extends SiteValues {
  /** Display name of the person who invites; empty without one. */
  readonly inviter: string
  /** Display name of the trust type. */
  readonly level: string
  /** The membership of the invited person; null for another relationship. */
  readonly membership: OfferedMembership | null
  /** The rights that the invited person gets. */
  readonly rights: readonly RightsLine[]
  /** Additional access that the type gives besides the data. */
  readonly reach: readonly string[]
  /** Link of the invitation, to paste at another service. */
  readonly link: string
  /** Creator of the account that the person is signed in to; null when signed out. */
  readonly signed_in_as: string | null
  /** True when the signed-in person created the invitation. */
  readonly is_own: boolean
  /** Link to the review of the connection, or to the sign-in; null when this service has no sign-in. */
  readonly continue_href: string | null
}
