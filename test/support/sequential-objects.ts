/** Sequential models of the objects whose histories tests record. */
import type { Parts, Sequential } from './serial-order.ts'

/** A value that each write replaces: a property, or a key inside a property. */
export type RegisterInput =
  | { readonly do: 'write'; readonly value: string }
  | { readonly do: 'remove' }
  | { readonly do: 'read' }

/** @param removal Whether a removal always succeeds, or reports that no value existed. */
export function register(removal: 'always done' | 'tells'): Sequential<string | null, RegisterInput> {
  return {
    initial: null,
    apply(state, input) {
      switch (input.do) {
        case 'write':
          return { state: input.value, answer: 'done' }
        case 'remove':
          return { state: null, answer: removal === 'always done' || state !== null ? 'done' : 'none' }
        case 'read':
          return { state, answer: state }
      }
    },
  }
}

export type ListInput =
  | { readonly do: 'append'; readonly item: string }
  | { readonly do: 'put'; readonly index: number; readonly item: string }
  | { readonly do: 'update'; readonly index: number; readonly item: string }
  | { readonly do: 'delete'; readonly index: number }
  | { readonly do: 'insert'; readonly index: number; readonly item: string }
  | { readonly do: 'pop'; readonly index: number }
  | { readonly do: 'remove'; readonly item: string }
  | { readonly do: 'replace'; readonly item: string; readonly by: string }
  | { readonly do: 'clear' }
  | { readonly do: 'bulk'; readonly entries: readonly BulkInput[] }
  | { readonly do: 'read' }

/** An update of one item, or its deletion when `item` is absent. */
export interface BulkInput {
  readonly index: number
  readonly item?: string
}

type Items = readonly string[]

/** A list that exists. Its answer to an index beyond the end is `beyond`. */
export function list(initial: Items): Sequential<Items, ListInput> {
  return { initial, apply: applyToList, parts: items }
}

/** Each item is a text that one call creates. */
const items: Parts<Items, ListInput> = {
  of: (state) => state,
  readBy: (input, answer) => (input.do === 'read' ? (answer as Items) : null),
  createdBy(input) {
    switch (input.do) {
      case 'append':
      case 'put':
      case 'update':
      case 'insert':
        return [input.item]
      case 'replace':
        return [input.by]
      case 'bulk':
        return input.entries.flatMap(({ item }) => item ?? [])
      default:
        return []
    }
  },
}

function applyToList(items: Items, input: ListInput): { state: Items; answer: unknown } {
  const beyond = { state: items, answer: 'beyond' }
  switch (input.do) {
    case 'append':
      return { state: [...items, input.item], answer: items.length }
    case 'put':
      if (input.index === items.length) return { state: [...items, input.item], answer: 'done' }
      return input.index > items.length ? beyond : { state: items.with(input.index, input.item), answer: 'done' }
    case 'update':
      return input.index >= items.length ? beyond : { state: items.with(input.index, input.item), answer: 'done' }
    case 'delete':
      return input.index >= items.length ? beyond : { state: items.toSpliced(input.index, 1), answer: 'done' }
    case 'insert':
      if (input.index > items.length) return beyond
      return { state: items.toSpliced(input.index, 0, input.item), answer: 'done' }
    case 'pop': {
      const index = input.index < 0 ? items.length + input.index : input.index
      const item = items[index]
      return item === undefined ? { state: items, answer: null } : { state: items.toSpliced(index, 1), answer: item }
    }
    case 'remove': {
      const index = items.indexOf(input.item)
      return index < 0 ? { state: items, answer: 0 } : { state: items.toSpliced(index, 1), answer: 1 }
    }
    case 'replace': {
      const index = items.indexOf(input.item)
      return index < 0 ? { state: items, answer: 0 } : { state: items.with(index, input.by), answer: 1 }
    }
    case 'clear':
      return { state: [], answer: 'done' }
    case 'bulk':
      return applyBatch(items, input.entries)
    case 'read':
      return { state: items, answer: items }
  }
}

/** Applies updates in the given order, then deletions from the highest index down. An update at the length appends. */
function applyBatch(before: Items, entries: readonly BulkInput[]): { state: Items; answer: unknown } {
  const items = [...before]
  let updates = 0
  for (const { index, item } of entries) {
    if (item === undefined) continue
    if (index > items.length) return { state: before, answer: 'beyond' }
    items[index] = item
    updates++
  }
  const gone = new Set(
    entries.filter(({ index, item }) => item === undefined && index < items.length).map((e) => e.index),
  )
  for (const index of [...gone].sort((a, b) => b - a)) items.splice(index, 1)
  return { state: items, answer: `${updates} items updated, ${gone.size} items deleted` }
}

/** The calls of an actor that is deleted permanently at some time. */
export type PassingInput =
  | { readonly do: 'put'; readonly name: string; readonly value: string }
  | { readonly do: 'append'; readonly item: string }
  | { readonly do: 'delete' }
  | { readonly do: 'read' }

export interface PassingState {
  readonly values: Readonly<Record<string, string>>
  readonly items: Items
}

/** An actor with values and an empty list. Its state is null after its deletion, and every answer is then `gone`. */
export const passingActor: Sequential<PassingState | null, PassingInput> = {
  initial: { values: {}, items: [] },
  apply(state, input) {
    if (state === null) return { state, answer: 'gone' }
    switch (input.do) {
      case 'put': {
        const values = { ...state.values, [input.name]: input.value }
        return { state: { ...state, values: sorted(values) }, answer: 'done' }
      }
      case 'append':
        return { state: { ...state, items: [...state.items, input.item] }, answer: state.items.length }
      case 'delete':
        return { state: null, answer: 'done' }
      case 'read':
        return { state, answer: state }
    }
  },
}

/** Sorts members by name, so that equal objects have equal JSON. */
export function sorted(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)))
}
