/** Values of the page of connected apps. */
import type { Moment } from '../shared/time.ts'
import type { RightsLine } from '../shared/rights.ts'
import type { PeerName } from '../relationships/values.ts'
import type { ActorPageValues } from '../shared/values.ts'
import type { TypedKey } from './new-key.ts'

export interface SessionRow {
  readonly id: string
  readonly device: string
  /** How the session began, in words: `in a browser`. */
  readonly began_with: string
  readonly began: Moment
  readonly last_used: Moment
  readonly ends: Moment
  /** True for the session that displays the page. */
  readonly is_current: boolean
  /** True for a sign-in of the last seven days, after the one that displays the page, on a device without an older session. */
  readonly is_new: boolean
}

export interface ConnectedApp {
  readonly peer: PeerName
  readonly relationship_name: string
  readonly is_approved: boolean
  /** End of the approval; null without an end. */
  readonly approval_ends: Moment | null
  /** End of the program's access, which its application declared; null without an end. */
  readonly client_ends: Moment | null
  /** Whether that end has passed. */
  readonly has_ended: boolean
  /** The app's rights to properties, files and tools. */
  readonly rights: readonly RightsLine[]
  readonly first_used: Moment
  readonly last_used: Moment
  /** Whether the app has a valid token. */
  readonly has_access: boolean
  /** Requests in the last 7 days. Null: the audit log does not keep seven days. */
  readonly calls: number | null
  readonly can_pause: boolean
  readonly can_resume: boolean
}

/** Connections of one program, grouped by client name and redirect host. */
export interface AppGroup {
  readonly name: string
  /** Host of the redirect URI, such as `claude.ai`; empty if unknown. */
  readonly redirect_host: string
  /** True when the program runs on the machine of the browser. */
  readonly is_local: boolean
  readonly apps: readonly ConnectedApp[]
}

/** An API key. */
export interface KeyRow {
  readonly id: string
  readonly name: string
  /** The page of the key's relationship. */
  readonly href: string
  readonly is_approved: boolean
  /** The rights of the key, without the categories that it does not reach. */
  readonly rights: readonly RightsLine[]
  readonly created: Moment
  /** Null: the key was never used. */
  readonly last_used: Moment | null
  /** Null: the key has no end. */
  readonly ends: Moment | null
  /** Requests in the last 7 days. Null: the audit log does not keep seven days. */
  readonly calls: number | null
  readonly can_pause: boolean
  readonly can_resume: boolean
}

/** A key that was just created. No later page shows its secret. */
export interface ShownKey {
  readonly name: string
  readonly key: string
}

export interface AppsValues extends ActorPageValues {
  readonly sessions: readonly SessionRow[]
  readonly groups: readonly AppGroup[]
  readonly keys: readonly KeyRow[]
  /** The key that the form created; null on every other page. */
  readonly created_key: ShownKey | null
  /** The refused input of the form for a new key; null without one. */
  readonly typed_key: TypedKey | null
  /** URL at which AI apps connect; empty when the service serves no AI clients. */
  readonly mcp_url: string
  readonly form_action: string
}
