/**
 * Places of the items of a copied list. An item keeps its place, a number, while items around it change. The order is a
 * list of runs of places. A change in the middle therefore writes only its own items.
 */
import type { JsonText } from '../../json/json.ts'

/** Items with consecutive places: the first place, and the place after the last. */
export type Run = readonly [from: number, to: number]

/** A run of stored items, or new ones. */
export type Piece = { readonly from: number; readonly to: number } | { readonly items: readonly JsonText[] }

export interface Layout {
  readonly runs: readonly Run[]
  /** Items to write: new ones, or ones that are stored at another place. */
  readonly writes: readonly { readonly place: number; readonly source: number | { readonly item: JsonText } }[]
}

/** Limit of runs. A list with more runs is rewritten as one run; the cost is spread over the changes that made the runs. */
function maxRuns(length: number): number {
  return 64 + Math.floor(length / 32)
}

export function layoutOf(pieces: readonly Piece[], length: number): Layout {
  const kept = pieces.flatMap((piece): Run[] => ('items' in piece ? [] : [[piece.from, piece.to]]))
  const taken = [...kept]
  const runs: Run[] = []
  const writes: { place: number; source: number | { item: JsonText } }[] = []
  for (const [index, piece] of pieces.entries()) {
    let run: Run
    if ('items' in piece) {
      const next = pieces[index + 1]
      run = roomFor(
        piece.items.length,
        taken,
        runs.at(-1)?.[1],
        next === undefined || 'items' in next ? null : next.from,
      )
      taken.push(run)
      for (const [offset, item] of piece.items.entries()) writes.push({ place: run[0] + offset, source: { item } })
    } else {
      run = [piece.from, piece.to]
    }
    const last = runs.at(-1)
    if (last !== undefined && last[1] === run[0]) runs[runs.length - 1] = [last[0], run[1]]
    else runs.push(run)
  }
  return runs.length > maxRuns(length) ? inOneRun(pieces, length) : { runs, writes }
}

/** Finds places directly after the previous run or before the next one, or else after all runs. */
function roomFor(count: number, taken: readonly Run[], after: number | undefined, before: number | null): Run {
  const isFree = (from: number): boolean =>
    from >= 0 && taken.every(([start, end]) => end <= from || start >= from + count)
  const beside = [after ?? null, before === null ? null : before - count].find((from) => from !== null && isFree(from))
  const from = beside ?? taken.reduce((end, run) => Math.max(end, run[1]), 0)
  return [from, from + count]
}

function inOneRun(pieces: readonly Piece[], length: number): Layout {
  const sources = [...sourcesIn(pieces)]
  return {
    runs: [[0, length]],
    writes: sources.flatMap((source, place) => (source === place ? [] : [{ place, source }])),
  }
}

/** Returns the runs of the items from position `from` up to but not including `to`. */
export function runsBetween(runs: readonly Run[], from: number, to: number): Run[] {
  const found: Run[] = []
  let position = 0
  for (const [first, last] of runs) {
    const start = first + Math.max(0, from - position)
    const end = Math.min(last, first + to - position)
    if (start < end) found.push([start, end])
    position += last - first
  }
  return found
}

/** Returns the places in `runs` that are not in `others`. */
export function placesWithout(runs: readonly Run[], others: readonly Run[]): number[] {
  const byPlace = (one: Run, other: Run): number => one[0] - other[0]
  const kept = others.toSorted(byPlace)
  const without: number[] = []
  let first = 0
  for (const [from, to] of runs.toSorted(byPlace)) {
    while ((kept[first]?.[1] ?? to) <= from) first += 1
    let at = from
    for (let index = first; at < to; index += 1) {
      const [start, end] = kept[index] ?? [to, to]
      without.push(...placesOf([at, Math.max(at, Math.min(start, to))]))
      at = Math.max(at, end)
      if (start >= to) break
    }
  }
  return without
}

export function placesOf([from, to]: Run): number[] {
  return Array.from({ length: to - from }, (_, offset) => from + offset)
}

export function replicaLengthOf(piece: Piece): number {
  return 'items' in piece ? piece.items.length : piece.to - piece.from
}

/** The pieces between two positions. */
export function cut(pieces: readonly Piece[], from: number, to: number): Piece[] {
  const found: Piece[] = []
  let start = 0
  for (const piece of pieces) {
    const count = replicaLengthOf(piece)
    const first = Math.max(from - start, 0)
    const last = Math.min(to - start, count)
    if (first < last) {
      found.push(
        'items' in piece
          ? { items: piece.items.slice(first, last) }
          : { from: piece.from + first, to: piece.from + last },
      )
    }
    start += count
  }
  return found
}

export function* sourcesIn(pieces: readonly Piece[]): Generator<number | { readonly item: JsonText }> {
  for (const piece of pieces) {
    if ('items' in piece) for (const item of piece.items) yield { item }
    else for (let index = piece.from; index < piece.to; index++) yield index
  }
}
