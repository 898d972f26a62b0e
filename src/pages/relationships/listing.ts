/** The part of all connections that the listing shows: search, kinds and order. */
import { hintField, optional, stringField, type ValuesOf } from '../../json/fields.ts'
import { addressFor, filtersFor, type ListingColumn } from '../listing/choices.ts'
import type { Messages } from '../languages/language.ts'
import { compareNames } from '../languages/language-data.ts'
import { partQuery } from '../shared/paging.ts'
import type { ConnectionColumn, TrustListValues, TrustRow } from './values.ts'

const kinds = ['people', 'apps', 'waiting', 'paused'] as const
type Kind = (typeof kinds)[number]

export const connectionsQuery = {
  ...partQuery,
  q: optional(stringField('Part of a name, an address or an access level')),
  kind: hintField('Only connections of this kind', kinds),
  sort: hintField('The column to sort by', ['name', 'level', 'state', 'active']),
  order: hintField('The order of the column', ['ascending', 'descending']),
}
export type ConnectionsQuery = ValuesOf<typeof connectionsQuery>

/** The connections that fit the search and the kind, sorted; and the links that change the selection. */
export interface SelectedConnections extends Pick<TrustListValues, 'search' | 'kinds' | 'columns' | 'address'> {
  readonly selected: readonly TrustRow[]
}

/** @param all In the order of their last contact, latest first. @param page Path of the page. */
export function selectConnections(
  all: readonly TrustRow[],
  { q, kind, sort = 'active', order = 'descending' }: ConnectionsQuery,
  page: string,
  messages: Messages,
): SelectedConnections {
  const search = (q ?? '').trim()
  const found = search === '' ? all : all.filter((row) => fits(row, search.toLowerCase()))
  const current = { q: search, kind: kind ?? '', sort, order }
  const addressOf = (change: Partial<typeof current>): string => addressFor(page, { ...current, ...change }, standard)
  const of = (each: Kind): readonly TrustRow[] => found.filter((row) => isOfKind(row, each))
  return {
    search,
    selected: sorted(kind === undefined ? found : of(kind), sort, order),
    address: addressOf({}),
    kinds: filtersFor(kinds, {
      chosen: kind,
      all: { name: messages.connections.allKinds, count: found.length },
      labels: messages.connections.kinds,
      countOf: (each) => of(each).length,
      hrefOf: (each) => addressOf({ kind: each }),
    }),
    columns: (['name', 'level', 'state', 'active'] as const).map((column): ListingColumn<ConnectionColumn> => {
      const isSorted = column === sort
      const next = isSorted ? opposite[order] : firstOrder[column]
      return { name: column, order: isSorted ? order : null, href: addressOf({ sort: column, order: next }) }
    }),
  }
}

const standard = { q: '', kind: '', sort: 'active', order: 'descending' }
const opposite = { ascending: 'descending', descending: 'ascending' } as const
const firstOrder = { name: 'ascending', level: 'ascending', state: 'ascending', active: 'descending' } as const

function isOfKind({ peer, standing, approved }: TrustRow, kind: Kind): boolean {
  switch (kind) {
    case 'people':
      return !peer.is_app
    case 'apps':
      return peer.is_app
    case 'waiting':
      return standing === 'waiting' && !peer.is_app
    case 'paused':
      return !approved && (standing !== 'waiting' || peer.is_app)
  }
}

function fits({ peer, relationship_name, baseuri }: TrustRow, search: string): boolean {
  return [peer.name, peer.own_name, baseuri, relationship_name].some((text) => text.toLowerCase().includes(search))
}

/** More rows than this are compared by their characters, because the order of a language takes long. */
const maxCompared = 2000

/** Sorts by the column, and then by the last contact, because the sort is stable. */
function sorted(
  rows: readonly TrustRow[],
  sort: ConnectionColumn,
  order: 'ascending' | 'descending',
): readonly TrustRow[] {
  const sign = order === 'ascending' ? 1 : -1
  const compare = sort === 'active' || rows.length > maxCompared ? byCharacters : compareNames
  return rows.toSorted((a, b) => sign * compare(comparedBy(a, sort), comparedBy(b, sort)))
}

function byCharacters(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function comparedBy({ peer, relationship_name, standing_word, last_contact }: TrustRow, by: ConnectionColumn): string {
  switch (by) {
    case 'name':
      return peer.name
    case 'level':
      return relationship_name
    case 'state':
      return standing_word
    case 'active':
      return last_contact.at
  }
}
