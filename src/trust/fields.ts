/** The members of a request that another service or a program sent. */
import { ServiceError } from '../errors.ts'
import { isObject, type JsonText, members, stringValue } from '../json/json.ts'

export type Fields = ReadonlyMap<string, JsonText>

/** @throws ServiceError `bad_request` for anything but an object. */
export function requestFieldsOf(body: JsonText, what: string): Fields {
  const fields = isObject(body) ? members(body) : null
  if (fields === null) throw new ServiceError('bad_request', `Cannot ${what}: the body must be a JSON object`)
  return fields
}

/** Undefined when it is absent. @throws ServiceError `bad_request` for anything but a text. */
export function textField(fields: Fields, name: string, what: string): string | undefined {
  const value = fields.get(name)
  if (value === undefined) return undefined
  const text = stringValue(value)
  if (text === null) throw new ServiceError('bad_request', `Cannot ${what}: ${name} must be a text`)
  return text
}

const longestText = 2000

/** A text for people: what no store can keep is taken out of it. @throws ServiceError `bad_request` when it is too long. */
export function plainText(fields: Fields, name: string, what: string): string | undefined {
  const text = textField(fields, name, what)?.toWellFormed().replaceAll('\0', '')
  if (text !== undefined && text.length > longestText) {
    throw new ServiceError('bad_request', `Cannot ${what}: ${name} is longer than ${longestText} characters`)
  }
  return text
}

/** The two texts that stand for truth values besides JSON's own. @throws ServiceError `bad_request` for anything else. */
export function truthField(fields: Fields, name: string, what: string): boolean | undefined {
  switch (fields.get(name)) {
    case undefined:
      return undefined
    case 'true':
    case '"true"':
      return true
    case 'false':
    case '"false"':
      return false
    default:
      throw new ServiceError('bad_request', `Cannot ${what}: ${name} must be true or false`)
  }
}
