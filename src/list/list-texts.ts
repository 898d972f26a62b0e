/** The texts of a list as a body gives them. */
import { optional, parsedField, refusedField, readFields, type RequestField } from '../json/fields.ts'
import { isNull, type JsonText, stringValue } from '../json/json.ts'
import { present } from '../json/present.ts'
import type { ListTexts } from './open-list.ts'

export const listTextFields = {
  description: textOrNumber('What the list holds'),
  explanation: textOrNumber('More about the list'),
}

/** A number reads as its text, null as an empty one. */
function textOrNumber(description: string): RequestField<string | undefined> {
  const read = (value: JsonText): string => (isNull(value) ? '' : (stringValue(value) ?? value))
  return optional(parsedField({ description }, 'a text', read))
}

export function readTexts(fields: ReadonlyMap<string, JsonText>): ListTexts {
  return present(readFields(listTextFields, (name) => fields.get(name), refusedField('read the texts')))
}
