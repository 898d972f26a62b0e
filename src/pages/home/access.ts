/** Chooses the places of the access map, and decides what each person or app can do with them. */
import type { Right } from '../../permission/operation.ts'
import type { Judge } from '../../authorization-server/apps/current-access.ts'
import { mapInTurns } from '../../permission/in-turns.ts'
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

export async function decideMap(
  subjects: readonly MapSubject[],
  properties: readonly MapProperty[],
  others: OtherPlaces,
): Promise<DecidedMap> {
  const room = maxPlaces - (others.calls === null ? 0 : 1)
  const decided = await decideAll(subjects, properties)
  const shown = decided.length <= room ? decided : mostAccessed(subjects, decided).slice(0, room - 1)
  const isShown = new Set(shown)
  const rest = decided.filter((each) => !isShown.has(each))
  const places = [
    ...shown.map(({ property }) => property.place()),
    ...(rest.length === 0 ? [] : [others.rest(rest.length)]),
    ...(others.calls === null ? [] : [others.calls]),
  ]
  const access = subjects.map(({ judge, calls }) => [
    ...shown.map(({ accessOf }) => accessOf.get(judge) ?? 'none'),
    ...(rest.length === 0 ? [] : [mostAccessTo(judge, rest)]),
    ...(others.calls === null ? [] : [accessToCalls(judge, calls)]),
  ])
  return { places, access }
}

interface DecidedProperty {
  readonly property: MapProperty
  readonly accessOf: ReadonlyMap<Judge, DataAccess>
}

/** Asks each set of rights once for each property. */
function decideAll(
  subjects: readonly MapSubject[],
  properties: readonly MapProperty[],
): Promise<readonly DecidedProperty[]> {
  const judges = [...new Set(subjects.map(({ judge }) => judge))]
  return mapInTurns(properties, (property) => ({
    property,
    accessOf: new Map(judges.map((judge) => [judge, accessTo(judge, property)])),
  }))
}

/** Sorts by the access that all people and apps together have, the most accessed first. */
function mostAccessed(
  subjects: readonly MapSubject[],
  properties: readonly DecidedProperty[],
): readonly DecidedProperty[] {
  const weightOf = ({ accessOf }: DecidedProperty): number =>
    subjects.reduce((sum, { judge }) => sum + weights[accessOf.get(judge) ?? 'none'], 0)
  return properties
    .map((decided) => ({ decided, weight: weightOf(decided) }))
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ decided }) => decided)
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
function mostAccessTo(judge: Judge, properties: readonly DecidedProperty[]): DataAccess {
  let most: DataAccess = 'none'
  for (const { accessOf } of properties) {
    const access = accessOf.get(judge) ?? 'none'
    if (weights[access] > weights[most]) most = access
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
