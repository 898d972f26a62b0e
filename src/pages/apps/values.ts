/** What the page of connected apps is made from. */
import type { Moment } from '../shared/time.ts'
import type { RightsLine } from '../shared/rights.ts'
import type { PeerName } from '../relationships/values.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface SessionRow {
  readonly id: string
  readonly device: string
  /** In words: `in a browser`. */
  readonly began_with: string
  readonly began: Moment
  readonly last_used: Moment
  readonly ends: Moment
  /** The one that looks at the page. */
  readonly is_current: boolean
}

export interface ConnectedApp {
  readonly peer: PeerName
  readonly relationship_name: string
  readonly is_approved: boolean
  /** What it may do with properties and tools. */
  readonly rights: readonly RightsLine[]
  readonly first_used: Moment
  readonly last_used: Moment
  /** Whether it has a token that is good now. */
  readonly has_access: boolean
}

/** The same program, as far as its name and the place that it sends people back to tell. */
export interface AppGroup {
  readonly name: string
  /** `claude.ai`; empty where it is not known. */
  readonly redirect_host: string
  readonly apps: readonly ConnectedApp[]
}

export interface AppsValues extends ActorPageValues {
  readonly sessions: readonly SessionRow[]
  readonly groups: readonly AppGroup[]
  /** Where AI apps connect; empty where the service takes none. */
  readonly mcp_url: string
  readonly form_action: string
}
