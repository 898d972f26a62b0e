/** Values of the page of the members of a group. */
import type { PeerName, RoleRow } from '../../../pages/relationships/values.ts'
import type { Paging } from '../../../pages/properties/values.ts'
import type { Moment } from '../../../pages/shared/time.ts'
import type { ActorPageValues } from '../../../pages/shared/values.ts'

export interface MemberRow {
  readonly peer: PeerName
  /** Empty for an actor that waits for a role. */
  readonly role: string
  readonly since: Moment
  /** Who gave the role, in words. Empty for an actor that waits for one. */
  readonly by: string
  /** True for the only member with a role that manages, who keeps it. */
  readonly is_last_manager: boolean
}

export interface TypedMember {
  readonly role: string
  readonly nickname: string
  /** One of `invitationDays`; other text is refused. */
  readonly days: string
}

export interface MembersValues extends ActorPageValues {
  readonly form_action: string
  /** The declared roles, in the order of their declaration. */
  readonly roles: readonly (RoleRow & { readonly manages: boolean })[]
  /** The members on this page, by role. */
  readonly members: readonly MemberRow[]
  /** Actors that wait for a role. */
  readonly requests: readonly MemberRow[]
  readonly paging: Paging
  /** True when the page shows one member alone. */
  readonly is_one: boolean
  /** The invitation that the form created. Only this page shows its link. */
  readonly created: { readonly url: string; readonly level: string; readonly ends: Moment } | null
  /** Input of the refused invitation, or the first values. */
  readonly typed: TypedMember
}
