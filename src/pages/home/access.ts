/** Chooses the places of the access map, and decides what each person or app can do with them. */
import type { Right } from '../../permission/operation.ts'
import type { Judge } from '../../authorization-server/apps/current-access.ts'
import type { MapAccess, MapPlace } from './values.ts'

/** An operation that an application declares. */
export interface MapCall {
  readonly category: 'methods' | 'actions' | 'tools' | 'prompts'
  readonly name: string
  readonly needsApproval: boolean
}

export interface MapSubject {
  readonly judge: Judge
  /** The operations that a person, or an app, could call. */
  readonly calls: readonly MapCall[]
}

export interface MapProperty {
  readonly name: string
  readonly isList: boolean
  /** True for a value with keys, which have rights of their own. */
  readonly hasParts: boolean
  readonly place: () => MapPlace
}

/** The places besides single properties. Null: the application declares no operations. */
export interface OtherPlaces {
  readonly rest: (properties: number) => MapPlace
  readonly calls: MapPlace | null
}

export interface DecidedMap {
  readonly places: readonly MapPlace[]
  readonly access: readonly (readonly MapAccess[])[]
}

const maxPlaces = 8

const weights = { none: 0, part: 1, view: 2, edit: 3 } as const
type DataAccess = keyof typeof weights

export function decideMap(
  subjects: readonly MapSubject[],
  properties: readonly MapProperty[],
  others: OtherPlaces,
): DecidedMap {
  const room = maxPlaces - (others.calls === null ? 0 : 1)
  const shown = properties.length <= room ? properties : mostAccessed(subjects, properties).slice(0, room - 1)
  const isShown = new Set(shown)
  const rest = properties.filter((property) => !isShown.has(property))
  const places = [
    ...shown.map(({ place }) => place()),
    ...(rest.length === 0 ? [] : [others.rest(rest.length)]),
    ...(others.calls === null ? [] : [others.calls]),
  ]
  const access = subjects.map(({ judge, calls }) => [
    ...shown.map((property) => accessTo(judge, property)),
    ...(rest.length === 0 ? [] : [mostAccessTo(judge, rest)]),
    ...(others.calls === null ? [] : [accessToCalls(judge, calls)]),
  ])
  return { places, access }
}

/** Sorts by the access that all people and apps together have, the most accessed first. */
function mostAccessed(subjects: readonly MapSubject[], properties: readonly MapProperty[]): readonly MapProperty[] {
  const alike = Map.groupBy(subjects, ({ judge }) => judge)
  const weightOf = (property: MapProperty): number =>
    [...alike].reduce((sum, [judge, sharing]) => sum + weights[accessTo(judge, property)] * sharing.length, 0)
  return properties
    .map((property) => ({ property, weight: weightOf(property) }))
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ property }) => property)
}

function accessTo(judge: Judge, { name, isList, hasParts }: MapProperty): DataAccess {
  const may = (right: Right): boolean => judge({ category: 'properties', right, target: name }).allowed
  const reaches = (right: Right): boolean =>
    judge({ category: 'properties', right, target: `${name}/`, isPrefix: true }).allowed
  if (may('write')) return 'edit'
  if (may('read')) return 'view'
  if (isList) return may('append') ? 'part' : 'none'
  return hasParts && (reaches('read') || reaches('write')) ? 'part' : 'none'
}

/** The most access to any of the properties. */
function mostAccessTo(judge: Judge, properties: readonly MapProperty[]): DataAccess {
  let most: DataAccess = 'none'
  for (const property of properties) {
    const access = accessTo(judge, property)
    if (weights[access] > weights[most]) most = access
    if (most === 'edit') break
  }
  return most
}

function accessToCalls(judge: Judge, calls: readonly MapCall[]): MapAccess {
  const allowed = calls.filter(({ category, name }) => judge({ category, right: 'write', target: name }).allowed)
  if (allowed.length === 0) return 'none'
  const asking = allowed.filter(({ needsApproval }) => needsApproval).length
  if (asking === 0) return 'run'
  return asking === allowed.length ? 'ask' : 'both'
}
