/** What the pages of relationships are made from. */
import type { RuledCategory } from '../../permission/rules.ts'
import type { TrustRecord } from '../../app/trust-record.ts'
import type { Moment } from '../shared/time.ts'
import type { Paging } from '../properties/values.ts'
import type { RightsLine } from '../shared/rights.ts'
import type { ValueTree } from '../shared/value-tree.ts'
import type { ActorPageValues } from '../shared/values.ts'

/** Where a relationship stands, in the owner's view. */
export type TrustStanding = 'waiting' | 'asked' | 'approved-here' | 'mutual'

/** The other side, as it is called on pages. */
export interface PeerName {
  readonly peerid: string
  /** As it calls itself, or by its address. */
  readonly name: string
  /** Where it is, which it cannot make up; empty for an app. */
  readonly host: string
  /** Of its page. */
  readonly href: string
  readonly is_app: boolean
}

export interface TrustRow extends TrustRecord {
  readonly peer: PeerName
  readonly standing: TrustStanding
  /** In a few words, and in a sentence. */
  readonly standing_word: string
  readonly standing_text: string
  /** The trust type as people read it. */
  readonly relationship_name: string
  readonly relationship_description: string
  readonly since: Moment
  readonly last_contact: Moment
  readonly approveuri: string
  readonly has_custom_permissions: boolean
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

export interface TrustListValues extends ActorPageValues {
  /** Of this page, the last contact first. */
  readonly trusts: readonly TrustRow[]
  /** Those that wait for the owner, whichever page they are on. */
  readonly waiting: readonly TrustRow[]
  readonly oauth_clients: readonly OauthClient[]
  readonly trust_connections: readonly TrustConnection[]
  readonly paging: Paging
}

/** A trust type as forms offer it; in forms the types with least access come first. */
export interface TrustTypeChoice {
  readonly name: string
  readonly display_name: string
  readonly description: string
  /** What the type grants, in words, without the categories that it leaves closed. */
  readonly rights: readonly RightsLine[]
  /** What the type opens beside the data. */
  readonly reach: readonly string[]
  /** The owner types the peer's name or address before the type is given. */
  readonly needs_confirmation: boolean
}

/** What rules open of the account's present content: `read 2 of your 3 properties`. */
export interface DataAccess {
  readonly text: string
  /** The first of them. */
  readonly names: readonly string[]
  /** Number of names that are left out. */
  readonly more: number
}

/** What a peer will be able to do, shown before it is given. */
export interface AccessReview {
  /** Name of the peer, or the address while no name is known. */
  readonly who: string
  /** The trust type as people read it. */
  readonly level: string
  readonly rights: readonly RightsLine[]
  readonly reach: readonly string[]
  readonly now: readonly DataAccess[]
  /** The form has a field `confirmation` for the peer's name or address. */
  readonly needs_confirmation: boolean
  /** Hidden fields of the form that carries out what was reviewed. */
  readonly fields: Readonly<Record<string, string>>
}

export interface TrustNewValues extends ActorPageValues {
  readonly form_action: string
  readonly form_method: 'post'
  /** For people, least access first. Types that need a typed confirmation are only on the page of a connection. */
  readonly trust_types: readonly TrustTypeChoice[]
  readonly default_relationship: string
  /** The request as it was filled in, to be looked at before it is sent; null otherwise. */
  readonly review: AccessReview | null
  /** What was typed into the form; empty at first. */
  readonly typed: { readonly peer_url: string; readonly trust_type: string; readonly description: string }
}

/** The fields of the form for one category of rights, as texts of one pattern for each line. */
export interface RightsFields {
  readonly patterns: string
  readonly operations: readonly string[]
  readonly excluded_patterns: string
  readonly allowed: string
  readonly denied: string
  /** What the trust type grants does not count beside the patterns and names given here. */
  readonly only: boolean
}

export interface RightsFieldset {
  readonly category: RuledCategory
  readonly subject: string
  readonly fields: RightsFields
  readonly operations: readonly string[]
  /** What the trust type says by itself. */
  readonly by_type: readonly string[]
  /** Which fields there are beside those that belong to the kind of category. */
  readonly has_patterns: boolean
  readonly has_names: boolean
}

export interface RightsPreview {
  readonly lines: readonly RightsLine[]
  /** What it may do then and may not now, and the other way round: `read “notes”`. */
  readonly gained: readonly string[]
  readonly lost: readonly string[]
  /** Goes into the form that saves it. */
  readonly fields: Readonly<Record<string, string>>
}

export interface MayAnswer {
  readonly question: string
  readonly allowed: boolean
  readonly because: string
  readonly to_change: string
}

export interface TrustPeerValues extends ActorPageValues {
  readonly trust: TrustRow
  /** What the peer says of itself, by name. */
  readonly profile: readonly (readonly [name: string, text: string])[]
  readonly rights: readonly RightsLine[]
  readonly reach: readonly string[]
  readonly fieldsets: readonly RightsFieldset[]
  readonly preview: RightsPreview | null
  /** Where what the owner follows of the peer is shown; null for nothing. */
  readonly followed: string | null
  /** The form was sent and refused, or is being looked at before it is saved. */
  readonly is_editing: boolean
  readonly may: { readonly ask: string; readonly target: string; readonly answer: MayAnswer | null }
  readonly form_action: string
  /** Goes into forms about the connection as `version`: a connection that changed since then is shown again. */
  readonly version: string
  /** Goes into the rights form as `version`. */
  readonly rights_version: string
  /** What approval would open; null when the connection is approved. */
  readonly approval: AccessReview | null
  /** Change of the access level; null where the connection allows none. */
  readonly level: LevelForm | null
  /** What was typed into a form of the page that was refused; empty otherwise. */
  readonly typed: { readonly action: string; readonly confirmation: string; readonly trust_type: string }
}

export interface LevelForm {
  /** All types for people but the present one. */
  readonly choices: readonly TrustTypeChoice[]
  readonly chosen: string
  /** Shown before it is sent; null at first. */
  readonly review: AccessReview | null
}

export interface SeenProperty {
  readonly name: string
  readonly kind: string
  readonly tree: ValueTree | null
  /** Of a list: the first of its items, and how many more there are. */
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
  /** Parts of values that it may not read as a whole. */
  readonly parts: readonly SeenProperty[]
  readonly paging: Paging
  readonly methods: readonly SeenOperation[]
  readonly actions: readonly SeenOperation[]
  /** Null where they are not for this kind of peer. */
  readonly tools: readonly SeenOperation[] | null
}
