/** Reads every stored value and reports values that do not match their checksum. */
import type { Queries, Store } from '../../store/store.ts'
import { checksumOf, itemName } from '../../store/checksum.ts'

export interface DamagedValue {
  readonly actorId: string
  /** The name of a property. For an item: its list, `#` and its number. */
  readonly name: string
}

interface Row {
  readonly actor_id: string
  readonly name: string
  /** The number of an item, from 1. Absent for a property. */
  readonly item?: number
  readonly value: string
  readonly checksum: number | null
}

type Page = (q: Queries, after: Row | undefined) => Promise<Row[]>

const pageRows = 500

const properties: Page = (q, after) =>
  q.all<Row>(
    `SELECT actor_id, name, value, checksum FROM property WHERE (actor_id, name) > ($1, $2)
     ORDER BY actor_id, name LIMIT ${pageRows}`,
    after?.actor_id ?? '',
    after?.name ?? '',
  )

const items: Page = (q, after) =>
  q.all<Row>(
    `SELECT actor_id, list AS name, item, value, checksum FROM list_item WHERE (actor_id, list, item) > ($1, $2, $3)
     ORDER BY actor_id, list, item LIMIT ${pageRows}`,
    after?.actor_id ?? '',
    after?.name ?? '',
    after?.item ?? 0,
  )

/** Yields damaged values. It reads in pages, so that it can run beside a service with any amount of data. */
export async function* damagedValues(store: Store): AsyncGenerator<DamagedValue> {
  for (const page of [properties, items]) {
    let rows: Row[] = []
    do {
      const last = rows.at(-1)
      rows = await store.read((q) => page(q, last))
      for (const row of rows) {
        const name = row.item === undefined ? row.name : itemName(row.name, row.item)
        const isIntact = row.checksum === null || row.checksum === checksumOf(row.actor_id, name, row.value)
        if (!isIntact) yield { actorId: row.actor_id, name }
      }
    } while (rows.length === pageRows)
  }
}
