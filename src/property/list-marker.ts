/** Refuses values that peers would read as a list or as the change of a list. */
import { ServiceError } from '../errors.ts'
import { absent } from '../json/absent.ts'
import { type JsonText, members, stringValue } from '../json/json.ts'
import { listOperations } from '../list/list-change.ts'
import { quote } from './property-errors.ts'

/**
 * Requires a value that is not the description or the change of a list, as listings and diffs contain it.
 *
 * @param before The value that a write below the name changes. An older version may have stored a description in it.
 * @throws ServiceError `invalid_value`
 */
export function requireNoList(path: readonly string[], value: JsonText, before?: JsonText): void {
  const [name = ''] = path
  const marks = marksOfList(name, value)
  if (marks === null || (before !== undefined && marksOfList(name, before) !== null)) return
  throw new ServiceError(
    'invalid_value',
    `Cannot set ${quote(path)}: ${marks}, so peers would read the value as a list. ` +
      'Create a list with POST /properties and {"<name>":{"_type":"list"}}, and add its items, or rename the member',
  )
}

function marksOfList(name: string, value: JsonText): string | null {
  // Most values have neither member, and a search is faster than reading all members.
  if (!value.includes('"_list"') && !value.includes('"operation"')) return null
  const given = members(value)
  if (given === null) return null
  const marker = given.get('_list') ?? 'false'
  if (marker !== 'false' && marker !== 'null') return 'the member "_list" marks a list'
  const textOf = (member: string): string | null => stringValue(given.get(member) ?? absent)
  const operation = textOf('operation')
  const isChange = textOf('list') === name && listOperations.some((known) => known === operation)
  return isChange ? 'the members "list" and "operation" describe the change of a list' : null
}
