/** Values of the pages of relationships. */
import type { RuledCategory } from '../../permission/rules.ts'
import type { TrustRecord } from '../../app/trust-record.ts'
import type { Moment } from '../shared/time.ts'
import type { ListingColumn, ListingFilter } from '../listing/choices.ts'
import type { Paging } from '../properties/values.ts'
import type { RightsLine } from '../shared/rights.ts'
import type { ValueTree } from '../shared/value-tree.ts'
import type { ActorPageValues, LinkedText } from '../shared/values.ts'

/** State of a relationship from the owner's view. */
export type TrustStanding = 'waiting' | 'asked' | 'approved-here' | 'mutual'

/** A peer or app as pages name it. */
export interface PeerName {
  readonly peerid: string
  /** The owner's nickname for the peer, or the name that the peer chose itself, or its address. */
  readonly name: string
  /** The name that the peer chose itself, when `name` is a nickname; empty otherwise. */
  readonly own_name: string
  /** The name that an app claims now, when the owner consented to another one; empty otherwise. */
  readonly claimed_name: string
  /** Host of the peer, which it cannot forge. Host to which an app's access was sent; empty for an app without one. */
  readonly host: string
  /** Link to the peer's page. */
  readonly href: string
  readonly is_app: boolean
}

export interface TrustRow extends TrustRecord {
  readonly peer: PeerName
  /** The owner's name for the peer; empty for none. */
  readonly nickname: string
  readonly standing: TrustStanding
  /** The state in a few words; `standing_text` describes it in a sentence. */
  readonly standing_word: string
  readonly standing_text: string
  /** Display name of the trust type. */
  readonly relationship_name: string
  readonly relationship_description: string
  readonly since: Moment
  readonly last_contact: Moment
  readonly approveuri: string
  readonly has_custom_permissions: boolean
  /** End of the owner's approval; null without an end. */
  readonly approval_ends: Moment | null
}

export interface OauthClient {
  readonly client_id: string
  readonly client_name: string
  readonly trust_type: string
  readonly created_at: string
  readonly status: 'active' | 'inactive'
}

export interface TrustConnection {
  readonly peerid: string
  readonly established_via: string
  readonly created_at: string
  readonly last_connected_at: string
  readonly last_connected_via: string
}

export type ConnectionColumn = 'name' | 'level' | 'state' | 'active'

export interface TrustListValues extends ActorPageValues {
  /** Relationships on this page, by default with the latest contact first. */
  readonly trusts: readonly TrustRow[]
  /** Relationships that wait for approval, from all pages of the list. */
  readonly waiting: readonly TrustRow[]
  readonly oauth_clients: readonly OauthClient[]
  readonly trust_connections: readonly TrustConnection[]
  readonly paging: Paging
  /** Path of this page with its search, kind and order, without the page number. */
  readonly address: string
  /** The text that names, addresses or access levels contain; empty without a search. */
  readonly search: string
  /** Number of all relationships. `paging.total` is the number of those that fit the search and the kind. */
  readonly connection_count: number
  /** True for a group, which has members. */
  readonly is_group: boolean
  /** The relationships with the latest contact, for the picture. */
  readonly latest: readonly TrustRow[]
  readonly kinds: readonly ListingFilter[]
  readonly columns: readonly ListingColumn<ConnectionColumn>[]
}

/** A trust type that a form offers. Forms list the types with the least access first. */
export interface TrustTypeChoice {
  readonly name: string
  readonly display_name: string
  readonly description: string
  /** The rights of the type, in words, without categories that grant nothing. */
  readonly rights: readonly RightsLine[]
  /** Additional access that the type gives besides the data. */
  readonly reach: readonly string[]
  /** True when the owner must type the peer's name or address to give this type. */
  readonly needs_confirmation: boolean
}

/** The current content that rules open, such as `read 2 of your 3 properties`. */
export interface DataAccess {
  readonly text: string
  /** The first names. */
  readonly names: readonly string[]
  /** Number of omitted names. */
  readonly more: number
}

/** A role of the members of a group, with its rights at the group. */
export interface RoleRow {
  readonly name: string
  /** In one phrase; empty without one. */
  readonly description: string
  /** The rights that the role grants. */
  readonly rights: readonly RightsLine[]
}

/** A membership that an invitation offers. */
export interface OfferedMembership {
  /** Name of the group, or its address without a name. */
  readonly group: string
  /** The kind of the group, such as `Sports club`. */
  readonly kind: string
  readonly role: RoleRow
}

/** The rights that a peer would get, shown before the owner gives them. */
export interface AccessReview {
  /** Name of the peer, or its address while the name is unknown. */
  readonly who: string
  /** Display name of the trust type. */
  readonly level: string
  readonly rights: readonly RightsLine[]
  readonly reach: readonly string[]
  readonly now: readonly DataAccess[]
  /** The membership that the peer gives in return; null for another relationship. */
  readonly membership: OfferedMembership | null
  /** True when the form has a field `confirmation` for the peer's name or address. */
  readonly needs_confirmation: boolean
  /** Hidden fields of the form that executes the reviewed change. */
  readonly fields: Readonly<Record<string, string>>
}

export interface TrustNewValues extends ActorPageValues {
  readonly form_action: string
  readonly form_method: 'post'
  /** Trust types for people, least access first. Types with a typed confirmation appear only on the page of a connection. */
  readonly trust_types: readonly TrustTypeChoice[]
  readonly default_relationship: string
  /** Review of the request before sending; null without one. */
  readonly review: AccessReview | null
  /** Input of the form; empty at first. */
  readonly typed: { readonly peer_url: string; readonly trust_type: string; readonly description: string }
}

/** Fields of the form for one category of rights. Each string contains one pattern per line. */
export interface RightsFields {
  readonly patterns: string
  readonly operations: readonly string[]
  readonly excluded_patterns: string
  readonly allowed: string
  readonly denied: string
  /** True when the patterns and names replace those of the trust type. */
  readonly only: boolean
}

export interface RightsFieldset {
  readonly category: RuledCategory
  readonly subject: string
  readonly fields: RightsFields
  /** Number of names in the account that each field matches, as a whole or in part. Null: too many to compare. */
  readonly matches: Readonly<Record<'patterns' | 'excluded_patterns' | 'allowed' | 'denied', number | null>>
  /** Number of all names of the category in the account. */
  readonly name_count: number
  readonly operations: readonly string[]
  /** The rights of the trust type without the override. */
  readonly by_type: readonly string[]
  /** Which additional fields this category has. */
  readonly has_patterns: boolean
  readonly has_names: boolean
}

export interface RightsPreview {
  readonly lines: readonly RightsLine[]
  /** Rights that the peer would gain, such as `read “notes”`; `lost` lists those that it would lose. */
  readonly gained: readonly string[]
  readonly lost: readonly string[]
  /** Hidden fields of the form that saves the rights. */
  readonly fields: Readonly<Record<string, string>>
}

export interface MayAnswer {
  /** The action and the name, such as `view “notes”`. */
  readonly question: string
  readonly allowed: boolean
  /** The answer: `Grace Hopper can view “notes”.` */
  readonly sentence: string
  /** The reason, in whole sentences. */
  readonly because: string
  /** How to change the answer, in whole sentences. */
  readonly to_change: string
}

/** Operations on the targets of one pattern that this peer has in addition to its trust type. */
export interface GrantRow {
  readonly category: RuledCategory
  /** Category, such as `Properties`. */
  readonly subject: string
  readonly pattern: string
  /** The operations in words, such as `read and add to`. */
  readonly may: string
  /** End of the grant; null without an end. */
  readonly ends: Moment | null
}

/** `default` follows the access level. `allow` and `block` are rules about exactly one name. */
export const accessChoices = ['default', 'allow', 'block'] as const
export type AccessChoice = (typeof accessChoices)[number]

/** The access of the peer to one property, method, action, tool or prompt at this moment. */
export interface AccessRow {
  readonly category: RuledCategory
  readonly name: string
  /** Page of a property; empty for an operation. */
  readonly href: string
  /** In the order of the columns. */
  readonly cells: readonly AccessCell[]
  /** The owner or the access level set the access, or no rule mentions the name. */
  readonly set_by: 'you' | 'level' | 'no_rule'
  /** Name of the form field with the choice; empty when no rule can name exactly this name. */
  readonly field: string
  readonly choice: AccessChoice
}

export interface AccessCell {
  readonly operation: string
  /** `add`: the peer may only add items to the list. `ask`: the owner approves each call. */
  readonly result: 'yes' | 'add' | 'ask' | 'no'
}

export interface AccessTable {
  readonly data: readonly AccessRow[]
  readonly calls: readonly AccessRow[]
  /** Number of names beyond those in the table. */
  readonly more: number
}

export interface TrustPeerValues extends ActorPageValues {
  readonly trust: TrustRow
  /** True for a member of this group, whose permissions follow from the role alone. */
  readonly is_member: boolean
  /** The peer's profile by property name, in its own words. */
  readonly profile: readonly (readonly [name: string, text: string])[]
  readonly rights: readonly RightsLine[]
  /** Null when the connection is not approved, and when the account has nothing to access. */
  readonly access: AccessTable | null
  /** Whether the rows of the table have their choices. */
  readonly edits_access: boolean
  readonly reach: readonly string[]
  readonly fieldsets: readonly RightsFieldset[]
  readonly preview: RightsPreview | null
  /** The latest acts of the peer, at most three. */
  readonly recent: readonly RecentAct[]
  /** Subscriptions of the peer whose updates fail or wait for a retry, at most three, each with its state in words. */
  readonly undelivered: readonly LinkedText[]
  /** Link to the owner's subscriptions to the peer; null without any. */
  readonly followed: string | null
  /** True when the rights form was refused or is under review. */
  readonly is_editing: boolean
  readonly may: { readonly ask: string; readonly target: string; readonly answer: MayAnswer | null }
  readonly form_action: string
  /** Form field `version`, by which a form detects that the connection has changed. */
  readonly version: string
  /** Form field `version` of the rights form. */
  readonly rights_version: string
  /** The rights that approval would give; null when the connection is approved. */
  readonly approval: AccessReview | null
  readonly grants: readonly GrantRow[]
  /** Form for another access level; null when the connection does not allow a change. */
  readonly level: LevelForm | null
  /** Input of the refused form; empty otherwise. */
  readonly typed: TypedPeer
}

export interface RecentAct {
  readonly at: Moment
  /** `changed the property “color”` */
  readonly what: string
  readonly is_refused: boolean
}

export interface TypedPeer {
  readonly action: string
  readonly confirmation: string
  readonly trust_type: string
  readonly nickname: string
}

export interface LevelForm {
  /** All trust types for people except the current one. */
  readonly choices: readonly TrustTypeChoice[]
  readonly chosen: string
  /** Review before sending; null at first. */
  readonly review: AccessReview | null
}

export interface SeenProperty {
  readonly name: string
  readonly kind: string
  readonly tree: ValueTree | null
  /** First items of a list; `more` counts the others. */
  readonly items: readonly ValueTree[]
  readonly more: number
  /** `read`, `change` … */
  readonly may: readonly string[]
}

export interface SeenOperation {
  readonly name: string
  readonly description: string
  /** Present when the owner approves each call before it runs. */
  readonly confirm?: 'owner'
}

export interface TrustViewValues extends ActorPageValues {
  readonly trust: TrustRow
  readonly properties: readonly SeenProperty[]
  /** Parts of values that the peer may not read completely. */
  readonly parts: readonly SeenProperty[]
  readonly paging: Paging
  readonly methods: readonly SeenOperation[]
  readonly actions: readonly SeenOperation[]
  /** Tools of an AI client; null for other peers. */
  readonly tools: readonly SeenOperation[] | null
}
