/** Reads queries of lists, as code and requests give them. */
import { quoted, ServiceError } from '../errors.ts'
import { integerField, optional, stringField } from '../json/fields.ts'
import {
  array,
  elements,
  type JsonText,
  kindOf,
  known,
  members,
  normalize,
  object,
  stringText,
  stringValue,
} from '../json/json.ts'
import {
  afterKey,
  afterPrefix,
  compareKeys,
  type FieldCondition,
  isOneKey,
  type IndexEntry,
  type ItemQuery,
  keyChars,
  noKey,
  type PageStart,
  pageStart,
  startAfter,
  valueKey,
} from '../list/list.ts'

/** The default and greatest number of items of a page. */
export const maxQueried = 1000
/** The most fields that a query compares. */
const maxConditions = 8
/** The most values of `in`. */
const maxValues = 100
const operatorNames: readonly string[] = ['gt', 'gte', 'lt', 'lte', 'startsWith', 'in']

export interface GivenQuery {
  /** The value that each field must have, or an object of operators. */
  readonly where: ReadonlyMap<string, JsonText>
  /** A field, after a minus for a descending order. */
  readonly sort?: string | undefined
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly after?: string | null | undefined
}

/** @throws ServiceError `bad_request` */
export function readItemQuery({ where, sort, limit = maxQueried, after }: GivenQuery): ItemQuery {
  if (!Number.isInteger(limit) || limit < 1 || limit > maxQueried)
    throw new ServiceError('bad_request', `Invalid limit: expected a whole number from 1 to ${maxQueried}.`)
  const isDescending = sort?.startsWith('-') === true
  const field = isDescending ? sort?.slice(1) : sort
  if (field === '') throw new ServiceError('bad_request', 'Invalid sort: expected the name of a field.')
  const conditions = readWhere(where)
  return {
    where: conditions,
    sort: field === undefined ? orderOf(conditions) : { field, isDescending },
    limit,
    after: after === undefined || after === null ? null : readCursor(after),
  }
}

/** Without one key to follow, the items come in the order of the first field that is compared. */
function orderOf(where: readonly FieldCondition[]): ItemQuery['sort'] {
  const [first] = where
  return first === undefined || where.some(isOneKey) ? null : { field: first.field, isDescending: false }
}

/** @throws ServiceError `bad_request` */
export function readWhere(where: ReadonlyMap<string, JsonText>): FieldCondition[] {
  if (where.size > maxConditions)
    throw new ServiceError('bad_request', `Invalid where: expected at most ${maxConditions} fields.`)
  return [...where].map(([field, value]) => {
    const operators = members(value)
    return operators === null ? { field, keys: [keyOf(field, value)] } : conditionOf(field, operators)
  })
}

/** The operators of a field: one range, or `in`. @throws ServiceError `bad_request` */
function conditionOf(field: string, operators: ReadonlyMap<string, JsonText>): FieldCondition {
  const unknown = [...operators.keys()].find((name) => !operatorNames.includes(name))
  if (unknown !== undefined)
    throw invalidWhere(field, `${quoted(unknown)} is not an operator. Use gt, gte, lt, lte, startsWith or in`)
  const given = operators.get('in')
  if (given !== undefined) {
    const values = elements(given)
    if (operators.size > 1 || values === null || values.length > maxValues)
      throw invalidWhere(field, `expected \`in\` alone, with at most ${maxValues} values`)
    const keys = new Set(values.map((value) => keyOf(field, value)))
    return { field, keys: [...keys].toSorted(compareKeys) }
  }
  const ranges = [...operators].map(([name, value]) => rangeOf(field, name, value))
  const [first] = ranges
  if (first === undefined) throw invalidWhere(field, 'expected an operator: gt, gte, lt, lte, startsWith or in')
  const from =
    ranges
      .map((range) => range.from)
      .toSorted(compareKeys)
      .at(-1) ?? first.from
  const to = ranges.map((range) => range.to).toSorted(compareKeys)[0] ?? first.to
  if (new Set(ranges.map((range) => range.from.charAt(0))).size > 1)
    throw invalidWhere(field, 'expected two strings or two numbers')
  return { field, from, to }
}

/** The keys of the values of the same type for which one operator holds. */
function rangeOf(field: string, operator: string, value: JsonText): { readonly from: string; readonly to: string } {
  const kind = kindOf(value)
  if (kind !== 'string' && (kind !== 'number' || operator === 'startsWith'))
    throw invalidWhere(field, operator === 'startsWith' ? 'expected a string' : 'expected a string or a number')
  const key = keyOf(field, value)
  const [from, to] = kind === 'string' ? ['4', '5'] : ['3', '4']
  switch (operator) {
    case 'gt':
      return { from: afterKey(key), to }
    case 'gte':
      return { from: key, to }
    case 'lt':
      return { from, to: key }
    case 'lte':
      return { from, to: afterKey(key) }
    default:
      return { from: key, to: afterPrefix(key) }
  }
}

/** @throws ServiceError `bad_request` */
function keyOf(field: string, value: JsonText): string {
  const key = valueKey(value)
  if (key === noKey) throw invalidWhere(field, 'expected a string, a number, true, false or null')
  if ((stringValue(value)?.length ?? 0) >= keyChars)
    throw invalidWhere(field, `expected fewer than ${keyChars} characters`)
  return key
}

function invalidWhere(field: string, reason: string): ServiceError {
  return new ServiceError('bad_request', `Invalid where of ${quoted(field)}: ${reason}.`)
}

/**
 * Whether a request names items by their fields. Any other one names a range, by `start` or by `after`.
 *
 * @throws ServiceError `bad_request` for `start` together with another choice.
 */
export function isQuery(
  {
    start,
    sort,
    after,
  }: { readonly start?: number | undefined; readonly sort?: string | undefined; readonly after?: string | undefined },
  where: ReadonlyMap<string, JsonText>,
): boolean {
  const hasFields = where.size > 0 || sort !== undefined
  if (start !== undefined && (hasFields || after !== undefined))
    throw new ServiceError('bad_request', 'Cannot give both start and a query: use after with the `next` of a page.')
  return hasFields
}

/** Where the page of a range begins. Null for the beginning. @throws ServiceError `bad_request` */
export function rangeStart(after: string | undefined): PageStart | null {
  return after === undefined ? null : pageStart(readCursor(after))
}

/** `after` of the page behind a range. */
export function rangeEnd(end: number, numbers: readonly number[], start: PageStart | null): string {
  return writeCursor(startAfter(end, numbers, start))
}

/** Where the next page begins, as an opaque string. */
export function writeCursor(next: IndexEntry): string
export function writeCursor(next: IndexEntry | null): string | null
export function writeCursor(next: IndexEntry | null): string | null {
  return next === null ? null : Buffer.from(JSON.stringify([next.item, next.key])).toString('base64url')
}

function readCursor(text: string): IndexEntry {
  const [item = known('null'), key = known('null'), ...others] = elementsOf(Buffer.from(text, 'base64url').toString())
  const given = stringValue(key)
  // A key has no NUL (`valueKey`).
  if (!/^\d{1,16}$/.test(item) || given === null || given.includes('\0') || others.length > 0)
    throw new ServiceError('bad_request', 'Invalid after: expected `next` of the page before.')
  return { item: Number(item), key: given }
}

/** The elements of an array that a client wrote. Empty for any other text. */
function elementsOf(text: string): readonly JsonText[] {
  const json = parsed(text)
  return json === null ? [] : (elements(json) ?? [])
}

/** Null: the text of a client is not JSON. */
function parsed(text: string): JsonText | null {
  try {
    return normalize(text)
  } catch {
    return null
  }
}

export const itemsSchema = {
  type: 'object',
  properties: {
    items: { type: 'array', items: { type: 'object', properties: { index: { type: 'integer' }, item: {} } } },
    count: { type: 'integer', description: 'The length of the entire list. Absent for a query' },
    next: { description: 'The next page: its `start`, or `after` for a query. Absent on the last page' },
    after: {
      type: 'string',
      description: '`after` of the next page of a range. It skips no item when others are deleted meanwhile',
    },
  },
}

export const listPartQuery = {
  start: optional(integerField('The index of the first item. Default: 0')),
  limit: optional(
    integerField('Maximum number of items. Default: 1000 with `start` or in a query, otherwise all', {
      least: 1,
      most: maxQueried,
    }),
  ),
  sort: optional(stringField('A field to sort by, after `-` for a descending order')),
  after: optional(stringField('`after` of the page before, or `next` of a page of a query')),
}

export const whereGroup = {
  where:
    'The value that a field must have: a string, a number, `true`, `false` or `null`. With an operator behind the field, ' +
    'such as `where[due][gte]`: `gt`, `gte`, `lt`, `lte`, `startsWith`, or `in` with values between commas',
}

/**
 * The parameters `where[<field>]` and `where[<field>][<operator>]`. A value is JSON, and otherwise a string.
 *
 * @throws ServiceError `bad_request`
 */
export function whereOf(query: string): ReadonlyMap<string, JsonText> {
  const where = new Map<string, JsonText>()
  const compared = new Map<string, Map<string, JsonText>>()
  for (const [name, value] of new URLSearchParams(query)) {
    const [, field, operator] = /^where\[(.+?)\](?:\[([^\]]*)\])?$/s.exec(name) ?? []
    if (field === undefined) continue
    const operators = compared.get(field)
    if (where.has(field) ? operators === undefined || operator === undefined || operators.has(operator) : false)
      throw invalidWhere(field, 'expected it once')
    const given = givenOf(field, operator, value)
    if (operator === undefined) where.set(field, given)
    else {
      const all = new Map([...(operators ?? []), [operator, given]])
      compared.set(field, all)
      where.set(field, object(all))
    }
  }
  return where
}

function givenOf(field: string, operator: string | undefined, value: string): JsonText {
  if (operator === 'in') return listOf(field, value)
  return operator === 'startsWith' ? quotedOr(value) : finite(field, scalarOf(value))
}

/** A JSON array, or values with commas between them. */
function listOf(field: string, text: string): JsonText {
  if (!text.startsWith('[')) return array(text.split(',').map((value) => finite(field, scalarOf(value))))
  const json = parsed(text)
  if (json === null) throw invalidWhere(field, 'expected a JSON array')
  return json
}

/** @throws ServiceError `bad_request` */
function finite(field: string, value: JsonText): JsonText {
  if (kindOf(value) !== 'number' || Number.isFinite(Number(value))) return value
  throw invalidWhere(field, 'the number is beyond the range of a double (1.8e308)')
}

function scalarOf(text: string): JsonText {
  return /^(?:null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.test(text) ? known(text) : quotedOr(text)
}

/** A string in double quotes, for a string that looks like another value. */
function quotedOr(text: string): JsonText {
  return (text.startsWith('"') ? parsed(text) : null) ?? stringText(text)
}
