/** A value for display: typed and nested, truncated to the size of a page. */
import { ServiceError } from '../../errors.ts'
import { kinds } from '../../property/kinds.ts'
import type { StoredProperty } from '../../property/property-store.ts'
import type { Messages } from '../languages/language.ts'
import { visible } from './visible.ts'
import { elements, type JsonText, kindOf, members, stringValue } from '../../json/json.ts'

export type ValueTree =
  | { readonly kind: 'text'; readonly text: string }
  /** The original spelling, so that big numbers keep their digits. */
  | { readonly kind: 'number' | 'word'; readonly text: string }
  | { readonly kind: 'object'; readonly members: readonly Member[]; readonly more: number }
  | { readonly kind: 'array'; readonly elements: readonly ValueTree[]; readonly more: number }

export interface Member {
  readonly name: string
  readonly value: ValueTree
}

/** Maximum number of parts of a value. */
const maxParts = 400
const maxCharacters = 20_000

export function treeOf(json: JsonText): ValueTree {
  return grow(json, { left: maxParts })
}

/** Returns the complete value with visible hidden characters, because a person decides by it. Its size is limited elsewhere. */
export function wholeTreeOf(json: JsonText): ValueTree {
  return grow(json, { left: Number.POSITIVE_INFINITY }, visible)
}

const asItIs = (text: string): string => text

function grow(json: JsonText, budget: { left: number }, shownAs: (text: string) => string = asItIs): ValueTree {
  const named = members(json)
  if (named !== null) {
    const shown: Member[] = []
    for (const [name, value] of named) {
      if (budget.left-- <= 0) break
      shown.push({ name: shownAs(name), value: grow(value, budget, shownAs) })
    }
    return { kind: 'object', members: shown, more: named.size - shown.length }
  }
  const listed = elements(json)
  if (listed !== null) {
    const shown: ValueTree[] = []
    for (const value of listed) {
      if (budget.left-- <= 0) break
      shown.push(grow(value, budget, shownAs))
    }
    return { kind: 'array', elements: shown, more: listed.length - shown.length }
  }
  const text = stringValue(json)
  if (text === null) return { kind: kindOf(json) === 'number' ? 'number' : 'word', text: json }
  return { kind: 'text', text: shownAs(text.length > maxCharacters ? `${startOf(text, maxCharacters)}…` : text) }
}

/** Returns the type of a value, in words. */
export function kindInWords(json: JsonText, { values }: Messages): string {
  switch (kindOf(json)) {
    case 'object':
      return values.object(members(json)?.size ?? 0)
    case 'array':
      return values.array(elements(json)?.length ?? 0)
    case 'string':
      return values.text
    case 'number':
      return values.number
    case 'boolean':
      return values.boolean
    case 'null':
      return values.null
  }
}

/** Describes the length. A damaged list is marked, so that the rest of a page stays readable. */
export function listLengthInWords(property: StoredProperty, { values }: Messages): string {
  try {
    return values.list(kinds[property.kind].itemCount(property))
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'list_corrupted') return values.damagedList
    throw error
  }
}

/** The start of a string, as a copy: a slice would keep the full string in memory. */
function startOf(text: string, characters: number): string {
  return text.length <= characters ? text : Buffer.from(text.slice(0, characters), 'utf16le').toString('utf16le')
}

/** Returns a preview in one line. */
export function previewOf(json: JsonText): string {
  const text = stringValue(json) ?? json
  const line = startOf(text, 200).replace(/\s+/g, ' ').trim()
  return text.length > 200 ? `${line}…` : line
}
