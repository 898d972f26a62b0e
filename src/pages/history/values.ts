/** Values of the pages of the history. */
import type { UndoConflictReason } from '../../undo/undo.ts'
import type { PeerName } from '../relationships/values.ts'
import type { Moment } from '../shared/time.ts'
import type { ActorPageValues, LinkedText } from '../shared/values.ts'

/** A difference between two states of a value: of the whole, or of one of its keys. */
export interface Difference {
  /** Empty for the whole value. */
  readonly key: string
  /** Shortened. Null: not there. */
  readonly before: string | null
  readonly after: string | null
}

export interface ChangeRow {
  readonly id: number
  readonly at: Moment
  /** Null for the owner and the application. */
  readonly peer: PeerName | null
  readonly who: string
  /** `changed “color”`. */
  readonly what: string
  readonly href: string
  /** The value before, shortened; null when there was none, or on the history of one property. */
  readonly before: string | null
  /** On the history of one property. */
  readonly differences: readonly Difference[]
  /** Items that the change removed or replaced, shortened. */
  readonly items: readonly string[]
  readonly can_undo: boolean
  /** The page that takes back everything that the same caller did since; null for the owner and the application. */
  readonly since_href: string | null
}

export interface HistoryValues extends ActorPageValues {
  /** The property whose history this is; null for the history of all. */
  readonly property: LinkedText | null
  /** The person or app whose changes are shown; null for all. */
  readonly who: string | null
  readonly rows: readonly ChangeRow[]
  readonly older_href: string | null
  readonly newest_href: string
  readonly is_first: boolean
  /** How many days changes are kept. 0: the history is off. */
  readonly days: number
  /** The page that takes back all changes that are shown and older; null when that needs a choice. */
  readonly all_href: string | null
}

export interface UndoneProperty {
  readonly name: string
  readonly href: string
}

export interface UndoValues extends ActorPageValues {
  readonly who: string
  readonly since: Moment | null
  readonly undone: readonly UndoneProperty[]
  readonly conflicts: readonly (UndoneProperty & { readonly reason: UndoConflictReason })[]
  /** Fields of the form that takes the changes back. */
  readonly fields: Readonly<Record<string, string>>
}
