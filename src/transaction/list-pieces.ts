/**
 * The order of a list in a transaction: ranges of stored items, and new items between them. It holds no stored item, so its
 * size depends on the changes and not on the length of the list.
 */
import type { JsonText } from '../json/json.ts'

/** A position of the list: an item of the stored list, or an item that is not stored yet. */
export type PiecePlace = { readonly stored: number } | { readonly item: JsonText }

/** `count` items of the stored list from the position `stored`, or one new item. */
type Piece = { readonly stored: number; readonly count: number } | { readonly item: JsonText; readonly count: 1 }

export class ListPieces {
  #pieces: Piece[]
  #length: number

  constructor(storedLength: number) {
    this.#pieces = storedLength === 0 ? [] : [{ stored: 0, count: storedLength }]
    this.#length = storedLength
  }

  get length(): number {
    return this.#length
  }

  /** The places from `from` up to but not including `to`. Both are within the list. */
  span(from: number, to: number): PiecePlace[] {
    const places: PiecePlace[] = []
    let start = 0
    for (const piece of this.#pieces) {
      if (start >= to) break
      for (let at = Math.max(from, start); at < Math.min(to, start + piece.count); at++) {
        places.push('item' in piece ? { item: piece.item } : { stored: piece.stored + at - start })
      }
      start += piece.count
    }
    return places
  }

  /** The position of an item of the stored list. Null when the item was replaced or removed. */
  positionOf(stored: number): number | null {
    let start = 0
    for (const piece of this.#pieces) {
      if ('stored' in piece && stored >= piece.stored && stored < piece.stored + piece.count)
        return start + stored - piece.stored
      start += piece.count
    }
    return null
  }

  /** Inserts an item before the position. The length as the position appends. */
  insert(position: number, item: JsonText): void {
    this.#pieces.splice(this.#splitAt(position), 0, { item, count: 1 })
    this.#length += 1
  }

  replace(position: number, item: JsonText): void {
    const at = this.#isolate(position)
    this.#pieces[at] = { item, count: 1 }
  }

  remove(position: number): void {
    this.#pieces.splice(this.#isolate(position), 1)
    this.#length -= 1
  }

  clear(): void {
    this.#pieces = []
    this.#length = 0
  }

  /** Makes the position a piece of its own, and returns the index of the piece. */
  #isolate(position: number): number {
    const at = this.#splitAt(position)
    this.#splitAt(position + 1)
    return at
  }

  /** Makes a piece begin at the position, and returns the index of the piece. */
  #splitAt(position: number): number {
    if (position === this.#length) return this.#pieces.length
    let start = 0
    for (const [at, piece] of this.#pieces.entries()) {
      if (position === start) return at
      const end = start + piece.count
      if (position < end && 'stored' in piece) {
        const before = position - start
        const halves = [
          { stored: piece.stored, count: before },
          { stored: piece.stored + before, count: piece.count - before },
        ]
        this.#pieces.splice(at, 1, ...halves)
        return at + 1
      }
      start = end
    }
    throw new Error('Cannot change a list in a transaction: the position is beyond its end')
  }
}
