/**
 * A list of the copy while changes are applied: the stored items that stay, and new items between them. Only operations
 * that compare items read the stored ones. A stored item is identified by its place, a number
 * that it keeps while the order changes.
 */
import { equal, type JsonText } from '../../json/json.ts'
import type { ReplicaListOperation } from './replica-change.ts'
import { cut, type Layout, layoutOf, replicaLengthOf, type Piece, type Run, sourcesIn } from './replica-layout.ts'

/** Returns the stored item at a place. Undefined: it was not read. */
export type ReplicaItem = (place: number) => JsonText | undefined

/** Places of the stored items that must be read before the operation can be applied. */
export type Needs = { readonly places: readonly number[] } | 'all'

export type Applied =
  | { readonly kind: 'done' }
  /** The copy differs from the list that the operation expects. */
  | { readonly kind: 'diverged' }
  | { readonly kind: 'needs'; readonly needs: Needs }

const done: Applied = { kind: 'done' }
const diverged: Applied = { kind: 'diverged' }

export class ReplicaList {
  readonly stored: readonly Run[]
  #pieces: readonly Piece[]
  #length: number

  constructor(stored: readonly Run[]) {
    this.stored = stored
    this.#pieces = stored.map(([from, to]) => ({ from, to }))
    this.#length = this.#pieces.reduce((length, piece) => length + replicaLengthOf(piece), 0)
  }

  get length(): number {
    return this.#length
  }

  replaceAll(items: readonly JsonText[]): void {
    this.#pieces = items.length === 0 ? [] : [{ items }]
    this.#length = items.length
  }

  /** Applies an operation. Changes the list only when the result is `done`. */
  apply(operation: ReplicaListOperation, stored: ReplicaItem): Applied {
    const { item, items, index } = operation
    const added = item === undefined ? undefined : [item]
    switch (operation.operation) {
      case 'append':
        return this.#insert(this.#length, added)
      case 'extend':
        return this.#insert(this.#length, items)
      case 'insert':
        return this.#insert(this.#position(index, this.#length + 1), added)
      case 'update':
        return this.#update(operation, stored)
      case 'delete':
        return this.#remove(index, operation.oldItem ?? item, stored)
      case 'pop':
        return this.#replaceAt(this.#position(index ?? -1, this.#length), [])
      case 'remove':
        return this.#take(index, item, stored, 'first')
      case 'clear':
      case 'delete_all':
        this.replaceAll([])
        return done
      case 'metadata':
        return done
      default:
        return operation.operation satisfies never
    }
  }

  #insert(position: number | null, items: readonly JsonText[] | undefined): Applied {
    return position === null || items === undefined ? diverged : this.#splice(position, 0, items)
  }

  #replaceAt(position: number | null, by: readonly JsonText[]): Applied {
    return position === null ? diverged : this.#splice(position, 1, by)
  }

  #update({ index, item, oldItem }: ReplicaListOperation, stored: ReplicaItem): Applied {
    if (item === undefined) return diverged
    if (oldItem === undefined) return this.#replaceAt(this.#position(index, this.#length), [item])
    return this.#take(index, oldItem, stored, 'only', [item])
  }

  #remove(index: number | undefined, oldItem: JsonText | undefined, stored: ReplicaItem): Applied {
    const position = this.#position(index, this.#length)
    if (position !== null) return this.#splice(position, 1, [])
    return index === undefined ? this.#take(undefined, oldItem, stored, 'first') : diverged
  }

  /** Replaces one item that equals `wanted`: the one at `index` if it matches, or else the only match, or the first one. */
  #take(
    index: number | undefined,
    wanted: JsonText | undefined,
    stored: ReplicaItem,
    which: 'only' | 'first',
    by: readonly JsonText[] = [],
  ): Applied {
    if (wanted === undefined) return diverged
    const position = this.#position(index, this.#length)
    if (position !== null) {
      const source = this.#sourceOf(position)
      const value = typeof source === 'number' ? stored(source) : source.item
      if (value === undefined) return { kind: 'needs', needs: { places: typeof source === 'number' ? [source] : [] } }
      if (equal(value, wanted)) return this.#splice(position, 1, by)
    }
    const matches: number[] = []
    for (const [at, source] of this.#sources().entries()) {
      const value = typeof source === 'number' ? stored(source) : source.item
      if (value === undefined) return { kind: 'needs', needs: 'all' }
      if (equal(value, wanted)) matches.push(at)
    }
    const [first] = matches
    if (first === undefined || (which === 'only' && matches.length > 1)) return diverged
    return this.#splice(first, 1, by)
  }

  /** Negative indexes count from the end. Null: no index, or outside of `limit`. */
  #position(index: number | undefined, limit: number): number | null {
    if (index === undefined) return null
    const position = index < 0 ? this.#length + index : index
    return position >= 0 && position < limit ? position : null
  }

  #splice(index: number, removed: number, added: readonly JsonText[]): Applied {
    const pieces = [...cut(this.#pieces, 0, index)]
    if (added.length > 0) pieces.push({ items: added })
    pieces.push(...cut(this.#pieces, index + removed, this.#length))
    this.#pieces = joined(pieces)
    this.#length += added.length - removed
    return done
  }

  #sourceOf(index: number): number | { readonly item: JsonText } {
    const [source] = sourcesIn(cut(this.#pieces, index, index + 1))
    if (source === undefined) throw new RangeError(`Cannot read item ${index}: it does not exist`)
    return source
  }

  #sources(): (number | { readonly item: JsonText })[] {
    return [...sourcesIn(this.#pieces)]
  }

  /** Returns the places for the items. */
  layout(): Layout {
    return layoutOf(this.#pieces, this.#length)
  }
}

/** Joins adjacent new items into one piece, so that a long batch of additions stays cheap. */
function joined(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = []
  for (const piece of pieces) {
    const last = result.at(-1)
    if (last !== undefined && 'items' in last && 'items' in piece) {
      result[result.length - 1] = { items: [...last.items, ...piece.items] }
    } else {
      result.push(piece)
    }
  }
  return result
}
