/** The texts of a list as a body gives them. */
import { isNull, type JsonText, stringValue } from '../json/json.ts'
import { present } from '../json/present.ts'
import type { ListTexts } from './open-list.ts'

/** A number reads as its text, null as an empty one. */
export function readTexts(fields: ReadonlyMap<string, JsonText>): ListTexts {
  const read = (name: string): string | undefined => {
    const value = fields.get(name)
    if (value === undefined) return undefined
    return isNull(value) ? '' : (stringValue(value) ?? value)
  }
  return present({ description: read('description'), explanation: read('explanation') })
}
