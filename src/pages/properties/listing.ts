/** The part of all properties that the listing shows: search, types and order. */
import { hintField, optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { kindOf } from '../../json/json.ts'
import { valueOf } from '../../property/kinds.ts'
import type { StoredProperty } from '../../property/property-store.ts'
import { addressFor, filtersFor, type ListingColumn } from '../listing/choices.ts'
import type { Messages } from '../languages/language.ts'
import { compareNames } from '../languages/language-data.ts'
import { partQuery } from '../shared/paging.ts'
import { previewOf } from '../shared/value-tree.ts'
import type { PropertiesValues, PropertyType } from './values.ts'

/** Types in the order of the filter. */
const types = ['text', 'number', 'boolean', 'object', 'array', 'list'] as const satisfies readonly PropertyType[]

export const listingQuery = {
  ...partQuery,
  q: optional(stringField('Part of a name, or of the first 200 characters of a value')),
  type: hintField('Only properties of this type', types),
  sort: hintField('The column to sort by', ['name', 'type']),
  order: hintField('The order of the column', ['ascending', 'descending']),
}
export type ListingQuery = ValuesOf<typeof listingQuery>

/** Names of properties, in the order of the names. They are collected in pages, because an actor may have very many. */
export class FoundNames {
  readonly #search: string
  /** The names that the search finds. */
  readonly all: string[] = []
  readonly byType = new Map<PropertyType, string[]>()
  /** Number of properties, with those that the search does not find. */
  total = 0

  constructor({ q = '' }: ListingQuery) {
    this.#search = q.trim().toLowerCase()
  }

  add(page: readonly StoredProperty[]): void {
    this.total += page.length
    for (const property of page) {
      if (!fits(property, this.#search)) continue
      const { name } = property
      const type = typeOf(property)
      const names = this.byType.get(type)
      this.all.push(name)
      if (names === undefined) this.byType.set(type, [name])
      else names.push(name)
    }
  }
}

/** The properties that fit the search and the type, sorted; and the links that change the selection. */
export interface SelectedProperties extends Pick<PropertiesValues, 'search' | 'types' | 'columns'> {
  readonly selected: readonly string[]
  /** The address of the selection, to which a page number is added. */
  readonly address: string
}

/** @param page Path of the page. */
export function selectProperties(
  { all, byType }: FoundNames,
  { q, type, sort = 'name', order = 'ascending' }: ListingQuery,
  page: string,
  messages: Messages,
): SelectedProperties {
  const search = (q ?? '').trim()
  const chosen: NamesByType = type === undefined ? byType : new Map([[type, byType.get(type) ?? []]])
  const current = { q: search, type: type ?? '', sort, order }
  const addressOf = (change: Partial<typeof current>): string => addressFor(page, { ...current, ...change }, standard)
  return {
    search,
    selected: sorted(type === undefined ? all : (byType.get(type) ?? []), chosen, sort, order),
    address: addressOf({}),
    types: filtersFor(types, {
      chosen: type,
      all: { name: messages.properties.allTypes, count: all.length },
      labels: messages.types,
      countOf: (each) => byType.get(each)?.length ?? 0,
      hrefOf: (each) => addressOf({ type: each }),
    }),
    columns: (['name', 'type'] as const).map((column): ListingColumn<'name' | 'type'> => {
      const isSorted = column === sort
      const next = isSorted && order === 'ascending' ? 'descending' : 'ascending'
      return { name: column, order: isSorted ? order : null, href: addressOf({ sort: column, order: next }) }
    }),
  }
}

export function typeOf(property: StoredProperty): PropertyType {
  const value = valueOf(property)
  if (value === null) return 'list'
  const kind = kindOf(value)
  return kind === 'string' ? 'text' : kind === 'null' ? 'object' : kind
}

function fits(property: StoredProperty, search: string): boolean {
  if (search === '') return true
  if (property.name.toLowerCase().includes(search)) return true
  const value = valueOf(property)
  return value !== null && previewOf(value).toLowerCase().includes(search)
}

/** More names than this stay in the order of the database, because the order of a language takes long. */
const maxCompared = 2000

type NamesByType = ReadonlyMap<PropertyType, readonly string[]>

function sorted(
  names: readonly string[],
  byType: NamesByType,
  sort: 'name' | 'type',
  order: 'ascending' | 'descending',
): readonly string[] {
  const byName = (some: readonly string[]): readonly string[] =>
    names.length > maxCompared ? some : some.toSorted(compareNames)
  const ascending = sort === 'name' ? byName(names) : types.flatMap((type) => byName(byType.get(type) ?? []))
  return order === 'ascending' ? ascending : ascending.toReversed()
}

const standard = { q: '', type: '', sort: 'name', order: 'ascending' }
