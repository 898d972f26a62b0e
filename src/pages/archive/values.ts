/** Values of the page that imports an archive. */
import type { Moment } from '../shared/time.ts'
import type { ActorPageValues } from '../shared/values.ts'

/** A kind of records, with their numbers. */
export interface ImportedKind {
  readonly kind: 'property' | 'list' | 'item' | 'file'
  readonly imported: number
  readonly same: number
}

/** A property, list or file that needs a look. */
export interface NamedImport {
  readonly kind: ImportedKind['kind']
  readonly name: string
  /** Page of the property or list; null for a file. */
  readonly href: string | null
  /** Why the actor did not accept it. Empty for content that was kept. */
  readonly message: string
}

export interface ShownImport {
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  readonly position: number
  readonly records: number
  readonly started: Moment
  /** Null while it runs. */
  readonly ended: Moment | null
  readonly kinds: readonly ImportedKind[]
  readonly kept: readonly NamedImport[]
  readonly kept_count: number
  readonly refused: readonly NamedImport[]
  readonly refused_count: number
  /** Records that only an operator can import. */
  readonly left_out: number
}

export interface ImportValues extends ActorPageValues {
  /** The last import; null without one. */
  readonly last: ShownImport | null
  /** The largest archive, in words. */
  readonly largest: string
  /** Path of the history; null when the service keeps none. */
  readonly history_href: string | null
  readonly form_action: string
}
