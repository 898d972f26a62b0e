import type { PropertyModule } from '../property/create.ts'
import type { Runtime } from '../runtime.ts'
import { Transactions } from './transactions.ts'

export function createTransactions(runtime: Runtime, property: PropertyModule): Transactions {
  const { store, now, timers, random } = runtime
  const { writer, values, gate, hooks, declared, listIndexes, removedLists } = property
  return new Transactions({
    store,
    writer,
    values,
    gate,
    hooks,
    declared,
    listIndexes,
    now,
    timers,
    random,
    deleteRemoved: removedLists.wake,
  })
}
