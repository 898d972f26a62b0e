import type { History } from '../history/history.ts'
import type { PropertyModule } from '../property/create.ts'
import type { Runtime } from '../runtime.ts'
import { Undo } from './undo.ts'

interface UndoNeeds {
  readonly history: History
  readonly property: PropertyModule
}

export function createUndo({ store, now }: Runtime, { history, property }: UndoNeeds): Undo {
  const { writer, bulkWrite, hooks, declared, removedLists } = property
  return new Undo({ store, history, writer, bulkWrite, hooks, declared, now, deleteRemoved: removedLists.wake })
}
