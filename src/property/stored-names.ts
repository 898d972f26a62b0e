/** The names that requests mean. New names are stored in the Unicode form NFC; older names keep their form. */
import { isPropertyName } from '../actor/property-name.ts'
import { toNfc } from '../json/nfc.ts'
import type { Reads } from '../store/read-replicas.ts'
import type { DeclaredKinds } from './declared-kinds.ts'
import { findKinds } from './property-store.ts'

export interface StoredNamesDeps {
  readonly store: Reads
  readonly declared: Pick<DeclaredKinds, 'ofActor'>
}

export class StoredNames {
  readonly #deps: StoredNamesDeps

  constructor(deps: StoredNamesDeps) {
    this.#deps = deps
  }

  /**
   * The name that a request means: an existing or declared property of exactly this name, and otherwise the name in the form
   * NFC. Only a name in another form needs statements: the kind of the actor, and the stored names.
   */
  of(actorId: string, name: string): Promise<string> | string {
    return toNfc(name) === name ? name : this.all(actorId, [name]).then((names) => names.get(name) ?? name)
  }

  /** The same for many names, by two statements at most. */
  async all(actorId: string, names: Iterable<string>): Promise<ReadonlyMap<string, string>> {
    const { store, declared } = this.#deps
    const unusual = [...names].filter((name) => toNfc(name) !== name)
    if (unusual.length === 0) return new Map()
    const data = await store.read((q) => declared.ofActor(q, actorId))
    const others = unusual.filter((name) => data.declarationOf(name) === undefined)
    // A name that no property can have, such as one with NUL, would fail the statement.
    const possible = others.filter(isPropertyName)
    const stored = possible.length === 0 ? new Map() : await store.read((q) => findKinds(q, actorId, possible))
    return new Map(others.flatMap((name) => (stored.has(name) ? [] : [[name, toNfc(name)] as const])))
  }
}
