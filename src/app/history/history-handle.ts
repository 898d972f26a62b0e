/** The history of an actor, as applications see it. */
import type { Json } from '../../json/json.ts'

/** A change of a property or list, with what it replaced. @experimental */
export interface PastChange {
  /** Later changes have higher numbers. */
  readonly id: number
  readonly at: Date
  readonly name: string
  readonly kind: 'value' | 'list'
  readonly operation: 'set' | 'delete' | 'create' | 'add' | 'remove' | 'update' | 'texts' | 'change'
  /** The value before. Undefined when there was none, when it was too long to keep, and for a list. */
  readonly before: Json | undefined
  /** True when the change cannot be taken back, because what it replaced was too long to keep. */
  readonly isTooLong: boolean
  readonly callerKind: 'creator' | 'peer' | 'client' | 'trustee' | 'anonymous' | 'application'
  /** The peer or client; for the owner, the session. */
  readonly caller: string | undefined
  readonly requestId: string | undefined
}

/** Which changes: those that fit all given members. */
export interface ChangeSelection {
  readonly id?: number
  readonly requestId?: string
  /** The name of a property or list. */
  readonly name?: string
  /** The id of a peer or client. */
  readonly caller?: string
  readonly callerKind?: PastChange['callerKind']
  /** Changes at or after this time. */
  readonly since?: Date
}

/** The changes of an actor that can be taken back. @experimental */
export interface HistoryHandle {
  /**
   * The changes, newest first, at most 4 MiB or one change. `next` is for `before` of the next page, and null on the last one.
   *
   * @throws ServiceError `bad_request` for a limit outside 1 to 1000 (default: 100).
   */
  list(
    which?: ChangeSelection & { readonly limit?: number; readonly before?: number },
  ): Promise<{ readonly changes: readonly PastChange[]; readonly next: number | null }>
  /**
   * Takes changes back, in one transaction. A property that others have changed since keeps its content, unless `overwrite`.
   * With `preview`, nothing changes.
   *
   * @throws ServiceError `not_found` when no change fits; `conflict` when none can be taken back; `bad_request` without
   *   a member that selects changes, or for more than 1,000 changes or 16 MiB.
   */
  undo(
    which: ChangeSelection,
    how?: { readonly preview?: boolean; readonly overwrite?: boolean },
  ): Promise<{
    /** The names of the properties that are as before. */
    readonly undone: readonly string[]
    readonly conflicts: readonly { readonly name: string; readonly reason: 'changed' | 'too_long' | 'refused' }[]
  }>
}
