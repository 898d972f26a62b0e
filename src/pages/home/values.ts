/** Values of the overview. */
import type { Moment } from '../shared/time.ts'
import type { ActorPageValues, LinkedText } from '../shared/values.ts'

/**
 * The access of a person or app to a place of the access map.
 *
 * - `part`: neither view nor edit the property, but add items to the list, or perhaps access keys of the value.
 * - `run`: call operations. `ask`: each call needs owner approval. `both`: some calls need it.
 */
export type MapAccess = 'none' | 'part' | 'view' | 'edit' | 'run' | 'ask' | 'both'

/** A person or app in the access map. */
export interface MapPerson {
  readonly peerid: string
  readonly name: string
  /** Access level and host. */
  readonly detail: string
  readonly href: string
  readonly is_app: boolean
}

/** Data of the owner in the access map: a property, all other properties, or the operations of the application. */
export interface MapPlace {
  readonly kind: 'property' | 'rest' | 'calls'
  readonly name: string
  readonly detail: string
  /** Empty for the operations, which have no page. */
  readonly href: string
}

export interface AccessMapValues {
  /** The people and apps with approved access that were active most recently, at most 8. */
  readonly people: readonly MapPerson[]
  /** Number of people and apps with access that the map does not show. */
  readonly other_people: number
  /** At most 8, those with the most access first. */
  readonly places: readonly MapPlace[]
  /** The cells: one row for each person, one column for each place. */
  readonly access: readonly (readonly MapAccess[])[]
}

/** The requests of one day (UTC). */
export interface ActivityDay {
  /** ISO 8601 date. */
  readonly day: string
  readonly words: string
  readonly requests: number
  readonly denied: number
}

export interface NewDevice {
  /** `Firefox on Linux` */
  readonly device: string
  readonly began: Moment
}

export interface DashboardValues extends ActorPageValues {
  /** Empty without a recent sign-in. */
  readonly passphrase: string
  /** Number of properties that are not lists; `list_count` counts the lists. */
  readonly property_count: number
  readonly list_count: number
  readonly relationship_count: number
  /** Number of programs that act for the owner; they count as relationships too. */
  readonly app_count: number
  /** The latest use of such a program; null without one. */
  readonly app_last_used: Moment | null
  /** Number of devices on which the owner is signed in. */
  readonly device_count: number
  /** The device that displays the page; null when the passphrase opened it. */
  readonly device: string | null
  /** Sign-ins of the last seven days on devices that the owner may not know. */
  readonly new_devices: readonly NewDevice[]
  /** The first pending items, each with the page for the decision. */
  readonly waiting: readonly LinkedText[]
  /** Number of subscriptions of peers to the actor. */
  readonly subscriber_count: number
  /** Subscriptions of peers whose updates fail or wait for a retry, each with its state in words. */
  readonly undelivered: readonly LinkedText[]
  /** Null without anyone who has access, or without data. */
  readonly access_map: AccessMapValues | null
  /** The last 14 days, oldest first. Null: the audit log is off. */
  readonly activity: readonly ActivityDay[] | null
  /** URL at which AI apps connect; empty when the service serves no AI clients. */
  readonly mcp_url: string
}
