/** The values of the access map: who has access, and what the permission checks decide about them. */
import type { CurrentAccess } from '../../authorization-server/apps/current-access.ts'
import { isObject, type JsonText } from '../../json/json.ts'
import type { Declared, DeclaredNames } from '../../mcp/catalogue/declared.ts'
import type { TrustTypes } from '../../permission/trust-types.ts'
import { holdsItems } from '../../property/kinds.ts'
import type { Access } from '../../property/access.ts'
import type { NamedProperty, Properties } from '../../property/properties.ts'
import type { Chain } from '../../token/chain.ts'
import { clientIdOf, isProgram, type Trust } from '../../trust/trust.ts'
import type { Messages } from '../languages/language.ts'
import type { Peers } from '../shared/peer-names.ts'
import { trustTypeName } from '../shared/trust-rows.ts'
import { kindInWords, listLengthInWords } from '../shared/value-tree.ts'
import { visible } from '../shared/visible.ts'
import { decideMap, type MapCall, type MapProperty, type OtherPlaces } from './access.ts'
import type { AccessMapValues, MapPerson, MapPlace } from './values.ts'

export interface AccessMapDeps {
  readonly currentAccess: CurrentAccess
  readonly properties: Pick<Properties, 'pages'>
  readonly relationships: { readonly types: TrustTypes }
  readonly declared: DeclaredNames
}

/** The data of the actor that the overview has read. */
interface MapData {
  readonly peers: Peers
  readonly properties: readonly MapDatum[]
  /** The number of all properties. */
  readonly total: number
  /** The tokens of clients, with their last use. */
  readonly chains: readonly Chain[]
}

/** The facts about a property by which the map chooses. */
export type MapDatum = Pick<MapProperty, 'name' | 'isList' | 'hasParts'>

/** The map chooses from this many properties, because it asks for the rights to each of them. */
export const maxMapped = 1000

interface MapContext {
  readonly access: Access
  readonly www: string
  readonly messages: Messages
}

const maxPeople = 8

/** Reads the rights of all people in the map with one statement. Null without people or without data. */
export async function accessMapOf(
  deps: AccessMapDeps,
  context: MapContext,
  data: MapData,
): Promise<AccessMapValues | null> {
  const trusts = mostActiveFirst(await deps.currentAccess.withAccess(data.peers.trusts), data.chains)
  const shown = trusts.slice(0, maxPeople)
  const subjects = (await deps.currentAccess.withRights(context.access.actor.id, shown)).map(({ trust, judge }) => ({
    judge,
    calls: callsOf(deps.declared.of(context.access.actor), clientIdOf(trust) !== null),
  }))
  const names = new Map<MapPlace, string>()
  const properties = data.properties.map((datum) => mapProperty(datum, context, names))
  const more = data.total - properties.length
  const { places, access } = await decideMap(
    subjects,
    properties,
    otherPlaces(deps.declared.of(context.access.actor), context, more),
  )
  if (shown.length === 0 || places.length === 0) return null
  const details = await detailsOf(deps, context, [...names.values()])
  const people = shown.map((trust) => personOf(deps, trust, data.peers))
  return {
    people,
    other_people: trusts.length - shown.length,
    places: places.map((place) => ({ ...place, detail: details.get(names.get(place) ?? '') ?? place.detail })),
    access,
  }
}

/** Describes the content of the properties in words. */
async function detailsOf(
  { properties }: AccessMapDeps,
  { access, messages }: MapContext,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const details = new Map<string, string>()
  if (names.length === 0) return details
  for await (const page of properties.pages(access, names))
    for (const property of page)
      details.set(
        property.name,
        holdsItems(property.kind) ? listLengthInWords(property, messages) : kindInWords(property.content, messages),
      )
  return details
}

function mostActiveFirst(trusts: readonly Trust[], chains: readonly Chain[]): readonly Trust[] {
  const used = new Map<string, number>()
  for (const { client, lastUsedAt } of chains)
    if (client !== null) used.set(client.peerId, Math.max(lastUsedAt, used.get(client.peerId) ?? 0))
  const lastUsed = ({ peerId, lastAccessed }: Trust): number => Math.max(lastAccessed, used.get(peerId) ?? 0)
  return trusts.toSorted((a, b) => lastUsed(b) - lastUsed(a))
}

function personOf({ relationships }: AccessMapDeps, trust: Trust, peers: Peers): MapPerson {
  const { peerid, name, host, href } = peers.nameOf(trust.peerId)
  const level = visible(trustTypeName(relationships.types, trust.relationship))
  return { peerid, name, detail: host === '' ? level : `${level} · ${host}`, href, is_app: isProgram(trust) }
}

export function mapDataOf({ name, kind, content }: NamedProperty): MapDatum {
  const isList = holdsItems(kind)
  // A long value may be an object, too.
  return { name, isList, hasParts: !isList && (content === null || isObject(content as JsonText)) }
}

function mapProperty(datum: MapDatum, { www }: MapContext, names: Map<MapPlace, string>): MapProperty {
  const { name } = datum
  const href = `${www}/properties/${encodeURIComponent(name)}`
  const place = (): MapPlace => {
    const made: MapPlace = { kind: 'property', name: visible(name), detail: '', href }
    names.set(made, name)
    return made
  }
  return { ...datum, place }
}

/** The operations that a person, or an app, could call. */
function callsOf(declared: Declared, isClient: boolean): readonly MapCall[] {
  const names = declared.names(isClient)
  return (['methods', 'actions', 'tools', 'prompts'] as const).flatMap((category) =>
    names[category].map((name) => ({ category, name, needsApproval: declared.needsApproval(category, name) })),
  )
}

/** @param more The number of properties from which the map does not choose. */
function otherPlaces(declared: Declared, { www, messages }: MapContext, more: number): OtherPlaces {
  const { accessMap: words } = messages
  const names = new Set(callsOf(declared, true).map(({ name }) => visible(name)))
  return {
    rest: (properties) => ({
      kind: 'rest',
      name: words.rest,
      detail: words.restDetail(properties + more),
      href: `${www}/properties`,
    }),
    calls: names.size === 0 ? null : { kind: 'calls', name: words.calls, detail: [...names].join(', '), href: '' },
  }
}
