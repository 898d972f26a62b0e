/** The changes of properties and lists, and how the owner takes them back. */
import type { ChangeSelection, HistoryHandle } from '../app/history/history-handle.ts'
import type { Json } from '../json/json.ts'
import type { RequestSender } from './connection.ts'

/** A change with what it replaced, as the service sends it. @experimental */
export interface ClientChange {
  /** Later changes have higher numbers. */
  readonly id: number
  readonly at: string
  /** The property or list. */
  readonly name: string
  readonly kind: 'value' | 'list'
  readonly operation: 'set' | 'delete' | 'create' | 'add' | 'remove' | 'update' | 'texts' | 'change'
  /** The value before. Absent when there was none, and for a list. */
  readonly before?: Json
  /** True when what the change replaced was too long to keep. */
  readonly too_long?: boolean
  /** True when the application decides what the owner sees. */
  readonly hidden?: boolean
  /** Number of items that the change of a list concerned. */
  readonly items?: number
  readonly caller_kind: 'creator' | 'peer' | 'client' | 'trustee' | 'anonymous' | 'application'
  readonly caller?: string
  readonly request_id?: string
}

/** The changes of the actor that can be taken back. @experimental */
export interface ClientHistory {
  /** The changes, newest first. `next` is for `before` of the next page, and null on the last one. */
  list(
    which?: Pick<ChangeSelection, 'name' | 'caller' | 'callerKind' | 'since'> & {
      readonly limit?: number
      readonly before?: number
    },
  ): Promise<{ readonly changes: readonly ClientChange[]; readonly next: number | null }>
  /**
   * Takes changes back, in one transaction. A property that others have changed since keeps its content, unless `overwrite`.
   * With `preview`, nothing changes.
   *
   * @throws RequestFailed `not_found` when no change fits; `conflict` when none can be taken back; `bad_request` without
   *   a member that selects changes.
   */
  readonly undo: HistoryHandle['undo']
}

export function clientHistory(connection: RequestSender): ClientHistory {
  return {
    async list({ name, caller, callerKind, since, limit, before } = {}) {
      const given = { name, caller, caller_kind: callerKind, since: since?.toISOString(), limit, before }
      const query = new URLSearchParams(
        Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
      ).toString()
      const response = await connection.request('GET', `/history${query === '' ? '' : `?${query}`}`)
      const { history, next } = (await response.json()) as {
        readonly history: readonly ClientChange[]
        readonly next: number | null
      }
      return { changes: history, next }
    },
    async undo({ id, requestId, name, caller, callerKind, since }, how = {}) {
      const selected = { id, request_id: requestId, name, caller, caller_kind: callerKind, since: since?.toISOString() }
      const body = { ...selected, ...how }
      const response = await connection.request('POST', '/history/undo', { body })
      return (await response.json()) as Awaited<ReturnType<HistoryHandle['undo']>>
    },
  }
}
