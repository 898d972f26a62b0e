/** A store that requests the query plan of each statement before it runs the statement. */
import type { Param, Queries, Store, Transaction } from '../../src/store/store.ts'
import { bound } from './stores.ts'

export interface Plan {
  readonly sql: string
  /** The lines of the plan, as the database returns them. */
  readonly lines: readonly string[]
}

export function explained(store: Store, onPlan: (plan: Plan) => void): Store {
  const wrap = <Q extends Queries>(inner: Q): Transaction => {
    const explain = async (sql: string, params: Param[]): Promise<void> => {
      const keyword = store.dialect === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
      const rows = await inner.all<Record<string, string>>(`${keyword} ${sql}`, ...params)
      onPlan({ sql, lines: rows.map((row) => (row['detail'] ?? row['QUERY PLAN'] ?? '').trim()) })
    }
    return {
      isSharded: inner.isSharded,
      origin: 'origin' in inner ? (inner as Queries as Transaction).origin : '',
      async all(sql, ...params) {
        await explain(sql, [...params])
        return inner.all(sql, ...params)
      },
      async get(sql, ...params) {
        await explain(sql, [...params])
        return inner.get(sql, ...params)
      },
      async run(sql, ...params) {
        await explain(sql, [...params])
        if (!('run' in inner)) throw new Error('Cannot change data outside a transaction')
        return (inner as Queries as Transaction).run(sql, ...params)
      },
    }
  }
  return {
    ...bound(store),
    read: (work) => store.read((q) => work(wrap(q))),
    snapshot: (work) => store.snapshot((q) => work(wrap(q))),
    write: (work, turn) => store.write((tx) => work(wrap(tx)), turn),
    writeActor: (actorId, work, origin) => store.writeActor(actorId, (tx, actor) => work(wrap(tx), actor), origin),
  }
}
