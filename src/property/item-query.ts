/** Reads queries of lists, as code and requests give them. */
import { quoted, ServiceError } from '../errors.ts'
import { integerField, optional, stringField } from '../json/fields.ts'
import { elements, type JsonText, kindOf, known, stringText, stringValue } from '../json/json.ts'
import {
  type FieldKey,
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

export interface GivenQuery {
  /** The value that each field must have. */
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
  return {
    where: readWhere(where),
    sort: field === undefined ? null : { field, isDescending },
    limit,
    after: after === undefined || after === null ? null : readCursor(after),
  }
}

/** @throws ServiceError `bad_request` */
export function readWhere(where: ReadonlyMap<string, JsonText>): FieldKey[] {
  if (where.size > maxConditions)
    throw new ServiceError('bad_request', `Invalid where: expected at most ${maxConditions} fields.`)
  return [...where].map(([field, value]) => {
    const key = valueKey(value)
    if (key === noKey)
      throw new ServiceError(
        'bad_request',
        `Invalid where of ${quoted(field)}: expected a string, a number, true, false or null.`,
      )
    if ((stringValue(value)?.length ?? 0) >= keyChars)
      throw new ServiceError(
        'bad_request',
        `Invalid where of ${quoted(field)}: expected fewer than ${keyChars} characters.`,
      )
    return { field, key }
  })
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
  const json = Buffer.from(text, 'base64url').toString()
  const [item, key] = /^\[\d{1,16},".*"\]$/s.test(json) ? (elements(known(json)) ?? []) : []
  const given = key === undefined ? null : stringValue(key)
  if (item === undefined || given === null)
    throw new ServiceError('bad_request', 'Invalid after: expected `next` of the page before.')
  return { item: Number(item), key: given }
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

export const whereGroup = { where: 'The value that a field must have: a string, a number, `true`, `false` or `null`' }

/** The parameters `where[<field>]`. A value is JSON, and otherwise a string. @throws ServiceError `bad_request` */
export function whereOf(query: string): ReadonlyMap<string, JsonText> {
  const where = new Map<string, JsonText>()
  for (const [name, value] of new URLSearchParams(query)) {
    const [, field] = /^where\[(.+)\]$/s.exec(name) ?? []
    if (field === undefined) continue
    if (where.has(field)) throw new ServiceError('bad_request', `Invalid where of ${quoted(field)}: expected it once.`)
    const scalar = scalarOf(value)
    if (kindOf(scalar) === 'number' && !Number.isFinite(Number(scalar))) {
      throw new ServiceError(
        'bad_request',
        `Invalid where of ${quoted(field)}: the number is beyond the range of a double (1.8e308).`,
      )
    }
    where.set(field, scalar)
  }
  return where
}

function scalarOf(text: string): JsonText {
  return /^(?:null|true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.test(text) ? known(text) : quotedOr(text)
}

/** A string in double quotes, for a string that looks like another value. */
function quotedOr(text: string): JsonText {
  if (!/^".*"$/s.test(text)) return stringText(text)
  try {
    return stringText(String(JSON.parse(text)))
  } catch {
    return stringText(text)
  }
}
