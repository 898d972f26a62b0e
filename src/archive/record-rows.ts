/** Reads and writes the rows of records. */
import { ServiceError } from '../errors.ts'
import {
  isNull,
  type JsonText,
  kindOf,
  known,
  object,
  replaceLoneSurrogates,
  stringText,
  stringValue,
} from '../json/json.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { bindingOf } from '../secret/sealed-columns.ts'
import { open, seal, type Sealed } from '../secret/sealed.ts'
import type { Param, Queries, Transaction } from '../store/store.ts'
import type { RecordKind, RecordMember, RecordRow } from '../table/record-kind.ts'
import { isStorable } from './member-checks.ts'

/** Rows of a page. */
const pageRows = 256
/** A page ends after the row whose long column reaches this number of bytes. */
const pageBytes = 1_048_576

export interface RowPage {
  readonly rows: readonly RecordRow[]
  /** True when no row followed at the time of the read. An actor that changes all the time has an end nevertheless. */
  readonly isLast: boolean
}

/** The next rows of a kind, after the row `after`, in the order of the key. */
export async function readRows(
  q: Queries,
  kind: RecordKind,
  actorId: string,
  after: RecordRow | null,
): Promise<RowPage> {
  const { table, owner = 'actor_id', key, members, where, longColumn } = kind
  const values: Param[] = [actorId]
  const columns = [...new Set([...key, ...members.map(({ column }) => column)])]
  const placeholders = after === null ? [] : key.map((column) => `$${values.push(after[column] ?? null)}`)
  const isAfter = placeholders.length === 0 ? '' : ` AND (${key.join(', ')}) > (${placeholders.join(', ')})`
  const order = key.length === 0 ? '' : ` ORDER BY ${key.join(', ')}`
  const page = (selected: string): string => `SELECT ${selected} FROM ${table}
    WHERE ${owner} = $1${where === undefined ? '' : ` AND ${where}`}${isAfter}${order} LIMIT ${pageRows}`
  if (longColumn === undefined) {
    const rows = await q.all<RecordRow>(page(columns.join(', ')), ...values)
    return { rows, isLast: rows.length < pageRows }
  }
  const rows = await q.all<RecordRow>(shortened(kind, page, columns, longColumn), ...values)
  const found = Number(rows[0]?.['page_rows'] ?? 0)
  return { rows, isLast: found < pageRows && rows.length === found }
}

/**
 * The first rows of a page, whose long columns are short enough together, with the number of rows of the page. The rows are
 * chosen by their sizes, because a database that sums up sizes keeps every column that it reads.
 */
function shortened(
  { table, owner = 'actor_id', key }: RecordKind,
  page: (selected: string) => string,
  columns: readonly string[],
  long: string,
): string {
  const names = key.join(', ')
  return `SELECT ${columns.map((column) => `stored.${column}`).join(', ')}, sized.page_rows FROM (
      SELECT ${names}, COUNT(*) OVER () AS page_rows, SUM(bytes) OVER (ORDER BY ${names}) - bytes AS bytes_before
      FROM (${page(`${names}, COALESCE(octet_length(${long}), 0) AS bytes`)}) AS page) AS sized
    CROSS JOIN ${table} AS stored
    WHERE stored.${owner} = $1 AND ${key.map((column) => `stored.${column} = sized.${column}`).join(' AND ')}
      AND sized.bytes_before < ${pageBytes}
    ORDER BY ${key.map((column) => `stored.${column}`).join(', ')}`
}

/** The record of a row. Without a key ring, it has no secrets. */
export function recordOf(kind: RecordKind, actorId: string, row: RecordRow, keyRing: KeyRing | null): JsonText {
  const shown = kind.members.filter(({ type }) => type !== 'secret' || keyRing !== null)
  return object([
    ['kind', stringText(kind.kind)],
    ...shown.map((member) => [member.name, valueOf(member, actorId, row, keyRing)] as const),
  ])
}

const nothing = known('null')

function valueOf(member: RecordMember, actorId: string, row: RecordRow, keyRing: KeyRing | null): JsonText {
  const stored = row[member.column] ?? null
  if (stored === null) return nothing
  switch (member.type) {
    case 'integer':
      // Archives have no lower integers. Those of repairs are states of this service (`Repair`).
      return known(String(Math.max(0, Number(stored))))
    case 'flag':
      return known(stored === 1 ? 'true' : 'false')
    case 'never':
      return stored === 0 ? nothing : timeText(stored)
    case 'time':
      return timeText(stored)
    case 'json':
      return stored === '' ? nothing : known(String(stored))
    case 'value':
      return known(String(stored))
    case 'secret': {
      const place = placeOf(member, actorId, (column) => String(row[column] ?? ''))
      return keyRing === null ? nothing : stringText(open(keyRing, String(stored) as Sealed, place))
    }
    default:
      return stringText(String(stored))
  }
}

function timeText(ms: string | number): JsonText {
  return stringText(new Date(Number(ms)).toISOString())
}

function placeOf({ sealed }: RecordMember, actorId: string, keyOf: (column: string) => string): readonly string[] {
  if (sealed === undefined) throw new Error('A secret member needs a sealed column')
  const [, ...rest] = sealed.key
  return bindingOf(sealed, actorId, ...rest.map(keyOf))
}

/** The members of a record, as an archive has them. */
export type ArchiveMembers = ReadonlyMap<string, JsonText>

/** The row of a record. @throws ServiceError `invalid_value` */
export function rowOf(kind: RecordKind, actorId: string, given: ArchiveMembers, keyRing: KeyRing): RecordRow {
  const row: Record<string, Param> = {}
  for (const member of kind.members) if (member.type !== 'secret') row[member.column] = storedOf(kind, member, given)
  const misfit = kind.checkRow?.(actorId, row) ?? null
  if (misfit !== null) throw unfit(kind.kind, misfit.member, misfit.why)
  for (const member of kind.members) {
    if (member.type !== 'secret') continue
    const text = recordText(given, kind.kind, member.name)
    requireFit(kind, member, stringText(text))
    row[member.column] = seal(
      keyRing,
      text,
      placeOf(member, actorId, (column) => String(row[column] ?? '')),
    )
  }
  return row
}

function requireFit({ kind }: RecordKind, { name, check }: RecordMember, value: JsonText): void {
  const why = check?.(value) ?? null
  if (why !== null) throw unfit(kind, name, `it is not ${why}`)
}

function storedOf(ofKind: RecordKind, member: RecordMember, given: ArchiveMembers): Param {
  const { kind } = ofKind
  const { name, type } = member
  const value = given.get(name) ?? (member.isOptional === true ? nothing : undefined)
  if (value === undefined) throw unfit(kind, name, 'it is missing')
  if (type === 'value') return replaceLoneSurrogates(value)
  if (isNull(value)) {
    if (member.isNullable !== true) throw unfit(kind, name, 'it is null')
    return type === 'json' ? '' : type === 'never' ? 0 : null
  }
  requireFit(ofKind, member, value)
  if (type === 'json') return replaceLoneSurrogates(value)
  if (type === 'flag') return recordFlag(value, kind, name)
  if (type === 'integer') return recordInteger(given, kind, name, 0)
  const text = recordText(given, kind, name)
  return type === 'text' ? text : recordTime(text, kind, name)
}

function recordFlag(value: JsonText, kind: string, name: string): number {
  if (value !== 'true' && value !== 'false') throw unfit(kind, name, 'it is neither true nor false')
  return value === 'true' ? 1 : 0
}

function recordTime(text: string, kind: string, name: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw unfit(kind, name, 'it is not a time')
  return ms
}

/** A text of a record. @throws ServiceError `invalid_value` */
export function recordText(given: ArchiveMembers, kind: string, name: string): string {
  const value = given.get(name)
  const text = value === undefined ? null : stringValue(value)
  if (text === null) throw unfit(kind, name, 'it is not a string')
  if (!isStorable(text)) throw unfit(kind, name, 'it has a NUL or half a surrogate pair')
  return text
}

/** The service counts on from the numbers of an archive. Beyond 2^53 - 1, the actor could not be read again. */
const maxCounted = 1_000_000_000_000_000

/** A number of a record, of at least `least`. @throws ServiceError `invalid_value` */
export function recordInteger(given: ArchiveMembers, kind: string, name: string, least: number): number {
  const value = given.get(name) ?? nothing
  const number = kindOf(value) === 'number' ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number) || number < least) throw unfit(kind, name, `it is not an integer from ${least} on`)
  if (number > maxCounted) throw unfit(kind, name, `it is more than ${maxCounted}`)
  return number
}

export function unfit(kind: string, name: string, why: string): ServiceError {
  return new ServiceError(
    'invalid_value',
    `Cannot read ${JSON.stringify(name)} of a record of the kind ${kind}: ${why}`,
  )
}

/** Inserts the rows of records. `more` has columns that the record lacks. */
export async function insertRows(
  tx: Transaction,
  { table, members }: RecordKind,
  actorId: string,
  rows: readonly RecordRow[],
  more: readonly (readonly [column: string, type: 'BIGINT' | 'TEXT'])[] = [],
): Promise<void> {
  if (rows.length === 0) return
  const columns = [...members.map(({ column, type }) => [column, typeOf(type)] as const), ...more]
  const names = columns.map(([column]) => column)
  const declared = columns.map(([, type], n) => `v${n} ${type}`)
  await tx.run(
    `INSERT INTO ${table} (actor_id, ${names.join(', ')})
     SELECT $1, ${columns.map((_column, n) => `r.v${n}`).join(', ')} FROM rows($2, ${declared.join(', ')}) AS r`,
    actorId,
    JSON.stringify(rows.map((row) => names.map((name) => row[name] ?? null))),
  )
}

function typeOf(type: RecordMember['type']): 'BIGINT' | 'TEXT' {
  return ['integer', 'flag', 'time', 'never'].includes(type) ? 'BIGINT' : 'TEXT'
}
