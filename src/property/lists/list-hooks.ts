/** Runs the application's property hooks for accesses to lists: to the list itself, and to each item at its position. */
import { setImmediate } from 'node:timers/promises'
import type { PropertyOperation } from '../../app/declarations.ts'
import { array, elements, type JsonText, known } from '../../json/json.ts'
import type { Store } from '../../store/store.ts'
import { absent } from '../../json/absent.ts'
import type { Access } from '../access.ts'
import type { DeclaredKinds } from '../declared-kinds.ts'
import type { PropertyGate } from '../property-hooks.ts'
import * as list from '../../list/list.ts'
import { rejectedDelete, rejectedWrite } from '../property-errors.ts'

/** The number of items whose hooks run before the process yields to the event loop. */
const itemsPerTurn = 64

interface FromEnd {
  readonly fromEnd?: boolean
}

export class ListHooks {
  readonly #store: Store
  readonly #gate: PropertyGate
  readonly #declared: DeclaredKinds

  constructor(store: Store, gate: PropertyGate, declared: DeclaredKinds) {
    this.#store = store
    this.#gate = gate
    this.#declared = declared
  }

  #addressOf({ actor }: Access, name: string): list.ListAddress {
    return this.#declared.of(actor).addressOf(actor.id, name)
  }

  hasNoHooks(access: Access, operation: PropertyOperation, name: string): boolean {
    return this.#gate.hasNoHooks(access, operation, name)
  }

  /** The item after the hooks. Null when a hook hides it. */
  async runReadHooks(access: Access, path: readonly string[], item: JsonText): Promise<JsonText | null> {
    return this.#gate.runHooks(access, 'get', path, item)
  }

  /**
   * False when the hook of the list hides the list. The hook receives the metadata of the list, because the items are not
   * read.
   */
  async showsFacts(access: Access, name: string, metadata: list.ListMetadata | 'damaged'): Promise<boolean> {
    if (this.hasNoHooks(access, 'get', name)) return true
    const facts = metadata === 'damaged' ? known('{"_list":true,"count":null}') : list.factsOf(metadata)
    return (await this.runReadHooks(access, [name], facts)) !== null
  }

  /**
   * The items after the hooks. The hook of the list receives the items as one array and may hide them. Then the hooks run
   * for each item at its index. Null when the hook of the list hides the items.
   */
  async runItemHooks(
    access: Access,
    name: string,
    items: readonly list.IndexedItem[],
  ): Promise<readonly list.IndexedItem[] | null> {
    if (this.hasNoHooks(access, 'get', name)) return items
    const whole = array(items.map(({ item }) => item))
    const passed = await this.runReadHooks(access, [name], whole)
    if (passed === null) return null
    const replaced = passed === whole ? null : elements(passed)
    const current = replaced === null ? items : replaced.map((item, at) => ({ index: items[at]?.index ?? at, item }))
    const shown: list.IndexedItem[] = []
    for (let from = 0; from < current.length; from += itemsPerTurn) {
      if (from > 0) await setImmediate()
      shown.push(...(await this.#gate.runItemHooks(access, name, current.slice(from, from + itemsPerTurn))))
    }
    return shown
  }

  async runWriteHooks(
    access: Access,
    operation: PropertyOperation,
    path: readonly string[],
    value: JsonText,
  ): Promise<JsonText> {
    const passed = await this.#gate.runHooks(access, operation, path, value)
    if (passed === null) throw rejectedWrite(path)
    return passed
  }

  async runDeleteHooks(access: Access, path: readonly string[], value: JsonText): Promise<void> {
    if ((await this.#gate.runHooks(access, 'delete', path, value)) === null) throw rejectedDelete(path)
  }

  async runItemDeleteHooks(access: Access, name: string, index: number, options: FromEnd = {}): Promise<void> {
    if (this.hasNoHooks(access, 'delete', name)) return
    const item = await this.#store.snapshot((q) => list.readItem(q, this.#addressOf(access, name), index, options))
    if (item !== null) await this.runDeleteHooks(access, [name, String(index)], item)
  }

  /** Like `runItemDeleteHooks`, for many items of one list, which are read together. */
  async runItemsDeleteHooks(access: Access, name: string, indices: readonly number[]): Promise<void> {
    if (indices.length === 0 || this.hasNoHooks(access, 'delete', name)) return
    const items = await this.#store.snapshot((q) => list.readItemsAt(q, this.#addressOf(access, name), indices))
    const found = new Map(items.map(({ index, item }) => [index, item]))
    for (const index of indices) {
      const item = found.get(index)
      if (item !== undefined) await this.runDeleteHooks(access, [name, String(index)], item)
    }
  }

  /** Runs the hook for a deletion of the list. It receives all items of a short list, or the metadata of a longer one. */
  async runListDeleteHooks(access: Access, name: string): Promise<void> {
    if (this.hasNoHooks(access, 'delete', name)) return
    const value = await this.#store.snapshot(async (q) => {
      const at = this.#addressOf(access, name)
      const facts = await list.readFacts(q, at)
      if (facts === null) return absent
      if (!list.isShort(facts)) return list.factsOf(facts.metadata)
      const page = await list.readItems(q, at)
      return array((page?.items ?? []).map(({ item }) => item))
    })
    await this.runDeleteHooks(access, [name], value)
  }

  /** Converts an index from the end to a position, because hooks identify items by position. */
  async positionOf(access: Access, operation: PropertyOperation, name: string, index: number): Promise<number> {
    if (index >= 0 || this.hasNoHooks(access, operation, name)) return index
    const metadata = await this.#store.read((q) => list.readMetadata(q, this.#addressOf(access, name)))
    const position = (metadata?.length ?? 0) + index
    return position < 0 ? index : position
  }
}
