/** Runs an application's property hooks around the accesses to lists: the list as a whole, and each item under its position. */
import { setImmediate } from 'node:timers/promises'
import type { PropertyOperation } from '../app/declarations.ts'
import { array, elements, type JsonText, known } from '../json/json.ts'
import type { Store } from '../store/store.ts'
import { absent } from '../json/absent.ts'
import { type Access, listAddress } from './access.ts'
import type { PropertyGate } from './property-hooks.ts'
import * as list from '../list/list.ts'
import { rejectedDelete, rejectedWrite } from './property-errors.ts'

/** Items whose hooks run before other work of the process gets its turn. */
const itemsPerTurn = 64

interface FromEnd {
  readonly fromEnd?: boolean
}

export class ListHooks {
  readonly #store: Store
  readonly #gate: PropertyGate

  constructor(store: Store, gate: PropertyGate) {
    this.#store = store
    this.#gate = gate
  }

  isOpen(access: Access, operation: PropertyOperation, name: string): boolean {
    return this.#gate.isOpen(access, operation, name)
  }

  /** Null when a hook hides it. */
  async passRead(access: Access, path: readonly string[], item: JsonText): Promise<JsonText | null> {
    return this.#gate.pass(access, 'get', path, item)
  }

  /**
   * Whether the hook of the list shows that there is one. It receives the facts of the list in place of the items, which
   * are not read, and may hide the list.
   */
  async showsFacts(access: Access, name: string, metadata: list.ListMetadata | 'damaged'): Promise<boolean> {
    if (this.isOpen(access, 'get', name)) return true
    const facts = metadata === 'damaged' ? known('{"_list":true,"count":null}') : list.factsOf(metadata)
    return (await this.passRead(access, [name], facts)) !== null
  }

  /**
   * The list-wide hook sees the items that are read as one array and may hide them; then each item passes under its own
   * index. Null when the list-wide hook hides them.
   */
  async passItems(
    access: Access,
    name: string,
    items: readonly list.IndexedItem[],
  ): Promise<readonly list.IndexedItem[] | null> {
    if (this.isOpen(access, 'get', name)) return items
    const whole = array(items.map(({ item }) => item))
    const passed = await this.passRead(access, [name], whole)
    if (passed === null) return null
    const replaced = passed === whole ? null : elements(passed)
    const current = replaced === null ? items : replaced.map((item, at) => ({ index: items[at]?.index ?? at, item }))
    const shown: list.IndexedItem[] = []
    for (let from = 0; from < current.length; from += itemsPerTurn) {
      if (from > 0) await setImmediate()
      shown.push(...(await this.#gate.passItems(access, name, current.slice(from, from + itemsPerTurn))))
    }
    return shown
  }

  async passWrite(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    value: JsonText,
  ): Promise<JsonText> {
    const passed = await this.#gate.pass(access, operation, path, value)
    if (passed === null) throw rejectedWrite(path)
    return passed
  }

  async passDelete(access: Access, path: readonly string[], value: JsonText): Promise<void> {
    if ((await this.#gate.pass(access, 'delete', path, value)) === null) throw rejectedDelete(path)
  }

  async passItemDelete(access: Access, name: string, index: number, options: FromEnd = {}): Promise<void> {
    if (this.isOpen(access, 'delete', name)) return
    const item = await this.#store.snapshot((q) => list.readItem(q, listAddress(access, name), index, options))
    if (item !== null) await this.passDelete(access, [name, String(index)], item)
  }

  /** As `passItemDelete` for many items of one list, which are read at once. */
  async passItemDeletes(access: Access, name: string, indices: readonly number[]): Promise<void> {
    if (indices.length === 0 || this.isOpen(access, 'delete', name)) return
    const items = await this.#store.snapshot((q) => list.readItemsAt(q, listAddress(access, name), indices))
    const found = new Map(items.map(({ index, item }) => [index, item]))
    for (const index of indices) {
      const item = found.get(index)
      if (item !== undefined) await this.passDelete(access, [name, String(index)], item)
    }
  }

  /** The hook sees all items of a short list as one array, and the facts of a longer one. */
  async passListDelete(access: Access, name: string): Promise<void> {
    if (this.isOpen(access, 'delete', name)) return
    const value = await this.#store.snapshot(async (q) => {
      const at = listAddress(access, name)
      const facts = await list.readFacts(q, at)
      if (facts === null) return absent
      if (!list.isShort(facts)) return list.factsOf(facts.metadata)
      const page = await list.readItems(q, at)
      return array((page?.items ?? []).map(({ item }) => item))
    })
    await this.passDelete(access, [name], value)
  }

  /** Hooks know items by their position: an index from the end is turned into the one that it means now. */
  async positionOf(access: Access, operation: PropertyOperation, name: string, index: number): Promise<number> {
    if (index >= 0 || this.isOpen(access, operation, name)) return index
    const metadata = await this.#store.read((q) => list.readMetadata(q, listAddress(access, name)))
    const position = (metadata?.length ?? 0) + index
    return position < 0 ? index : position
  }
}
