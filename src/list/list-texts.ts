/** Reads the description and explanation of a list from a request body. */
import { optional, parsedField, refusedField, readFields, type RequestField } from '../json/fields.ts'
import { isNull, type JsonText, stringValue } from '../json/json.ts'
import { present } from '../json/present.ts'
import type { ListTexts } from './open-list.ts'

export const listTextFields = {
  description: textOrNumber('Description of the list'),
  explanation: textOrNumber('Further explanation of the list'),
}

/** A string field that reads a number as its digits and null as an empty string. */
function textOrNumber(description: string): RequestField<string | undefined> {
  const read = (value: JsonText): string => (isNull(value) ? '' : (stringValue(value) ?? value))
  return optional(parsedField({ description }, 'a string', read))
}

export function readTexts(fields: ReadonlyMap<string, JsonText>): ListTexts {
  return present(readFields(listTextFields, (name) => fields.get(name), refusedField('read the list metadata')))
}
