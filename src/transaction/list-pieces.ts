/**
 * The order of a list in a transaction: ranges of stored items, and new items between them. It holds no stored item, so its
 * size depends on the changes and not on the length of the list.
 */
import type { JsonText } from '../json/json.ts'

/** A position of the list: an item of the stored list, or an item that is not stored yet. */
export type PiecePlace = { readonly stored: number } | { readonly item: JsonText }

/** `count` items of the stored list from the position `stored`, or one item that is not stored yet. */
type Piece = { readonly stored: number; readonly count: number } | ({ readonly count: 1 } & Written)

interface Written {
  readonly item: JsonText
  /** Identifies the write of the item in this process. */
  readonly write: number
  /** The stored item that the item replaces, or how many new items the list had before it. */
  readonly origin: { readonly stored: number } | { readonly added: number }
}

/** An item that is not stored yet, at its position. */
export interface WrittenItem extends Written {
  readonly position: number
}

export class ListPieces {
  static #writes = 0
  #pieces: Piece[]
  #length: number
  #added = 0

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

  /** True while the list has an item of the stored list. */
  get hasStored(): boolean {
    return this.#pieces.some((piece) => 'stored' in piece)
  }

  /** The items that are not stored yet, in their order. */
  written(): WrittenItem[] {
    const written: WrittenItem[] = []
    let position = 0
    for (const piece of this.#pieces) {
      if ('item' in piece) written.push({ ...piece, position })
      position += piece.count
    }
    return written
  }

  /** The positions of stored items that were replaced or removed, up to the last position of `storedLength`. */
  gone(storedLength: number): number[] {
    const gone: number[] = []
    let next = 0
    const addUpTo = (end: number): void => {
      for (; next < end; next++) gone.push(next)
    }
    // Changes keep the order of the stored items.
    for (const piece of this.#pieces) {
      if (!('stored' in piece)) continue
      addUpTo(piece.stored)
      next = piece.stored + piece.count
    }
    addUpTo(storedLength)
    return gone
  }

  /** The position of the item of a write. Null when the item was replaced or removed. */
  positionOfWrite(write: number): number | null {
    return this.written().find((item) => item.write === write)?.position ?? null
  }

  /** Inserts an item before the position. The length as the position appends. */
  insert(position: number, item: JsonText): void {
    const at = this.#splitAt(position)
    this.#pieces.splice(at, 0, { item, count: 1, write: ListPieces.#writes++, origin: { added: this.#added++ } })
    this.#length += 1
  }

  replace(position: number, item: JsonText): void {
    const at = this.#isolate(position)
    const piece = this.#pieces[at]
    if (piece === undefined) throw new Error('Cannot replace an item in a transaction: it is not in the list')
    const origin = 'stored' in piece ? { stored: piece.stored } : piece.origin
    this.#pieces[at] = { item, count: 1, write: ListPieces.#writes++, origin }
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
