/** The addresses at which AI clients read properties and lists: `actingweb://properties/<name>`. */
import { toNfc } from '../json/nfc.ts'

export const propertiesUri = 'actingweb://properties/'
/** The address of the values of all properties. */
export const everything = `${propertiesUri}all`
/** The template for a page of items of a long list. */
export const itemsTemplate = `${propertiesUri}{list}/items/{from}`

export interface PropertyPlace {
  readonly name: string
  /** Index of the first requested item. Null for the property itself. */
  readonly from: number | null
}

export function uriOf(name: string): string {
  // The address of a property with the name "all" must differ from the address of all properties.
  return name === 'all' ? `${propertiesUri}%61ll` : `${propertiesUri}${encodeURIComponent(name)}`
}

/** The property at the address. Null for the collection and for every other address. */
export function propertyAt(uri: string): PropertyPlace | null {
  if (!uri.startsWith(propertiesUri) || uri === everything) return null
  const [, name = '', from] = /^([^/]+)(?:\/items\/(\d{1,15}))?$/.exec(uri.slice(propertiesUri.length)) ?? []
  if (name === '') return null
  try {
    return { name: decodeURIComponent(name), from: from === undefined ? null : Number(from) }
  } catch {
    return null
  }
}

/** Every spelling that a rule may use for the address: as requested, percent-encoded in both Unicode forms, and with the plain name. */
export function spellingsOf(uri: string, { name, from }: PropertyPlace): readonly string[] {
  const items = from === null ? '' : `/items/${from}`
  const plain = `${propertiesUri}${name}${items}`
  const encoded = [name, toNfc(name), name.normalize('NFD')].map((form) => `${uriOf(form)}${items}`)
  const spellings = [uri, ...encoded, ...(plain === everything ? [] : [plain])]
  return [...new Set(spellings)]
}
