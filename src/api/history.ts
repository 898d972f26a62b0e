/** The history of an actor, for application code. */
import type { ChangeSelection, HistoryHandle, PastChange } from '../app/history/history-handle.ts'
import type { HistoryEntry } from '../history/entry.ts'
import type { History } from '../history/history.ts'
import type { EntryFilter } from '../history/history-store.ts'
import { toPlain } from '../json/json.ts'
import type { Access } from '../property/access.ts'
import { requireUndone, requireSelection, type Undo } from '../undo/undo.ts'

export interface HistoryHandleDeps {
  readonly history: Pick<History, 'page'>
  readonly undo: Pick<Undo, 'run'>
}

export function historyHandle({ history, undo }: HistoryHandleDeps, access: Access): HistoryHandle {
  return {
    async list({ limit, before, ...which } = {}) {
      const paging = { before, ...(limit === undefined ? {} : { limit }) }
      const { entries, next } = await history.page(access.actor.id, { ...filterOf(which), ...paging })
      return { changes: entries.map(changeOf), next }
    },
    async undo(which, how = {}) {
      const filter = filterOf(which)
      requireSelection(filter)
      const result = await undo.run(access, filter, how)
      if (how.preview !== true) requireUndone(result)
      return result
    },
  }
}

function filterOf({ id, requestId, name, caller, callerKind, since }: ChangeSelection): EntryFilter {
  return { seq: id, request: requestId, name, caller, callerKind, since: since?.getTime() }
}

function changeOf({ id, at, name, kind, operation, before, isTooLong, origin }: HistoryEntry): PastChange {
  return {
    id,
    at: new Date(at),
    name,
    kind,
    operation,
    before: before === null ? undefined : toPlain(before),
    isTooLong,
    callerKind: origin.by,
    caller: origin.name,
    requestId: origin.request,
  }
}
