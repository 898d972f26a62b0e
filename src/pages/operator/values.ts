/** Values of the pages of operators. No page has a stored value of an actor. */
import type { QuotaRow } from '../settings/quotas.ts'
import type { RestoredData } from '../activity/restored-data.ts'
import type { Moment } from '../shared/time.ts'
import type { SiteValues } from '../shared/values.ts'

/** Values of every page of operators. */
export interface OperatorPageValues extends SiteValues {
  /** Verified address or provider id of the operator. */
  readonly operator: string
  /** Path of the operator's own pages: `/<prefix>/<actor>/www`. */
  readonly own_www: string
  /** Path of these pages: `/<prefix>/admin`. */
  readonly root: string
  /** Form field `csrf_token` of every form. */
  readonly csrf_token: string
  /** Flash message about the last form, shown once. */
  readonly notice: string | null
}

export interface CountedName {
  readonly name: string
  readonly count: number
}

export interface ProcessRow {
  /** Release, with the beginning of the commit. */
  readonly version: string
  /** Name of its machine or container. */
  readonly host: string
  readonly started: Moment
  /** Last sign of life. */
  readonly seen: Moment
  /** True without a sign of life for 90 seconds. */
  readonly is_silent: boolean
}

export interface WaitingWorkRow {
  /** `event`, `alarm`, or the queue of a feature, such as `mail`. */
  readonly kind: string
  readonly due: number
  /** Entries that wait for a retry by an operator. */
  readonly failed: number
}

export interface OperatorStatusValues extends OperatorPageValues {
  /** Problems that need attention, in words. */
  readonly findings: readonly string[]
  /** The processes that share the database, of `troupe serve`, `troupe dev` and `app.listen`. */
  readonly processes: readonly ProcessRow[]
  /** Null: the database is in memory, or distributed over servers. */
  readonly database_bytes: number | null
  /** Bytes that the disk of a SQLite database has left. Null: another database. */
  readonly free_bytes: number | null
  /** The newest complete scheduled backup. Null: none. */
  readonly backup: Moment | null
  /** True when backups are scheduled. */
  readonly has_backups: boolean
  /** Background work of all actors, by kind. */
  readonly work: readonly WaitingWorkRow[]
  /** Release of the service. */
  readonly version: string
  /** Version of Node.js, without the `v`. */
  readonly node: string
  readonly store: 'sqlite' | 'postgres'
  /** True on a database that is distributed over servers. */
  readonly is_sharded: boolean
  /** The database continues a copy of its data, for 30 days. Null: it does not. */
  readonly restored: RestoredData | null
  /** The start of the process. */
  readonly started: Moment
  /** Memory of the process (resident set), in bytes. */
  readonly memory: number
  /** Id of the key that encrypts new secrets. */
  readonly current_key: string
  /** Ids of the older keys, which only decrypt. */
  readonly older_keys: readonly string[]
  /** Requests of the process since its start, and how many of them had a status from 500. */
  readonly requests: number
  readonly failures: number
  /** Requests in progress. */
  readonly running: number
  /** Half and 99 % of the requests took at most this time, in milliseconds. Null: none, or over 10 seconds. */
  readonly median: number | null
  readonly slowest: number | null
  /** Refused requests of the process by rate limit. */
  readonly refusals: readonly CountedName[]
  /** Attempts of the process to deliver to peers, by outcome. */
  readonly deliveries: readonly CountedName[]
  /** Subscriptions with pending deliveries, of all actors. */
  readonly backlog: number
  /** The first ten failing deliveries: first those that stopped. */
  readonly failing: readonly FailingDeliveryRow[]
  /** Up to ten hosts of peers that take more than a second to answer this process, the slowest first. */
  readonly slow_hosts: readonly SlowHostRow[]
}

export interface SlowHostRow {
  /** Host of the peer; `other` for hosts that the process does not tell apart. */
  readonly host: string
  /** Mean duration of the last calls, in milliseconds. */
  readonly ms: number
  readonly calls: number
}

export interface ListedActorRow {
  readonly id: string
  readonly creator: string
  readonly href: string
  readonly created: Moment
  /** Null: never used, or deleted meanwhile. */
  readonly last_used: Moment | null
  readonly values: number
  readonly items: number
  /** Bytes of the values and items. */
  readonly bytes: number
  readonly file_bytes: number
  readonly relationships: number
  /** True when the counts and bytes are lower limits, because the actor has more rows than are counted. */
  readonly is_partial: boolean
  /** Bytes, or the number of the newest records, by which the page is sorted. Null: it shows the newest, or a search. */
  readonly amount: number | null
}

/** An order of the actors, as a link. */
export interface ActorOrderLink {
  readonly name: 'newest' | 'size' | 'activity'
  readonly href: string
  readonly is_current: boolean
}

export interface OperatorActorsValues extends OperatorPageValues {
  readonly actors: readonly ListedActorRow[]
  /** The text of the search; empty without one. */
  readonly search: string
  readonly orders: readonly ActorOrderLink[]
  /** The order of the page. Null: the newest first, or a search. */
  readonly sort: 'size' | 'activity' | null
  /** When the amounts were counted. Null: never yet, or without an order. */
  readonly counted: Moment | null
  /** True while the amounts are counted again. */
  readonly is_counting: boolean
  /** True when a search found more actors than the page shows. */
  readonly is_cut: boolean
  /** Null on the last page. */
  readonly older_href: string | null
  /** Null on the first page. */
  readonly newest_href: string | null
}

export interface OperatorActorValues extends OperatorPageValues {
  readonly id: string
  readonly creator: string
  /** True while every request of the actor is refused. */
  readonly is_suspended: boolean
  /** True for the actor of the operator. */
  readonly is_own: boolean
  /** True after a person proved the creator to a provider. */
  readonly is_proven: boolean
  readonly created: Moment
  /** Null: never. */
  readonly last_used: Moment | null
  /** Last use of the passphrase with Basic authentication. Null: never. */
  readonly basic_used: Moment | null
  readonly values: number
  readonly value_bytes: number
  readonly lists: number
  readonly items: number
  readonly list_bytes: number
  readonly relationships: number
  /** Subscriptions of peers at the actor, and of the actor at peers. */
  readonly subscribers: number
  readonly subscribed: number
  readonly sessions: number
  /** How much of each quota the actor uses. */
  readonly quotas: readonly QuotaRow[]
  /** A link that was just made, with which the owner signs in once. Null: none. */
  readonly sign_in_link: string | null
  /** The field that was refused: `sender` or `confirmation`. Null: none. */
  readonly error_field: string | null
  /** Why the field was refused. Null: it was not. */
  readonly error: string | null
  readonly form_action: string
}

/** Values of the page behind a sign-in link of an operator. */
export interface OwnerLinkValues extends SiteValues {
  /** Creator of the account. */
  readonly creator: string
  readonly code: string
  /** Target of the form. */
  readonly action: string
}

export interface FailingDeliveryRow {
  readonly actor: string
  readonly actor_href: string
  /** Host of the peer. */
  readonly host: string
  readonly is_stopped: boolean
  /** Null: unknown. */
  readonly since: Moment | null
  readonly attempts: number
  /** Why the last attempt failed, in English. Empty: unknown. */
  readonly reason: string
}

export interface StoppedWorkRow {
  readonly actor: string
  readonly actor_href: string
  /** `event`, `alarm`, or the queue of a feature. */
  readonly kind: string
  /** Null: unknown. */
  readonly since: Moment | null
}

export interface OperatorDeliveriesValues extends OperatorPageValues {
  readonly deliveries: readonly FailingDeliveryRow[]
  readonly work: readonly StoppedWorkRow[]
  /** True when more exist than the page shows. */
  readonly is_cut: boolean
}

export interface ConnectedProgramRow {
  /** Name that the program gave itself; else its host or id. */
  readonly name: string
  /** Id of the registered client, or the URL of its metadata document. */
  readonly client_id: string
  readonly connections: number
  readonly last_used: Moment
}

export interface OperatorProgramsValues extends OperatorPageValues {
  readonly programs: readonly ConnectedProgramRow[]
  /** Null on the last page. */
  readonly next_href: string | null
  readonly is_first: boolean
}

export interface StoredOperatorRow {
  /** A verified address, a provider id, or the fingerprint of a passkey. */
  readonly name: string
  readonly added: Moment
  /** Name of the operator who added this one; `link` for the link of the start, `command` for the command line. */
  readonly added_by: string
  /** False for the last operator. */
  readonly is_removable: boolean
}

export interface OperatorTeamValues extends OperatorPageValues {
  /** The operators whom `TROUPE_ADMINS` names. */
  readonly configured: readonly string[]
  readonly stored: readonly StoredOperatorRow[]
  /** Why the name was refused. Null: it was not. */
  readonly error: string | null
  /** The refused name; empty otherwise. */
  readonly typed: string
  readonly form_action: string
}

/** Values of the page behind the link of the first operator. */
export interface FirstOperatorValues extends SiteValues {
  /** `explain` before the sign-in, `confirm` after it, `unproven` after one that proves no identity. */
  readonly step: 'explain' | 'confirm' | 'unproven'
  /** The sign-in that becomes the operator; empty before the sign-in. */
  readonly candidate: string
  /** Target of the form. */
  readonly action: string
  /** Code of the link; empty after the first step. */
  readonly code: string
  /** Form field `csrf_token`; empty before the sign-in. */
  readonly csrf_token: string
  /** A sign-in of another person; empty before the sign-in. */
  readonly sign_in_href: string
}
