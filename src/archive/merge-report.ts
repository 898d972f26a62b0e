/** The result of an import into an existing actor. */
import { type ErrorCode, ServiceError } from '../errors.ts'

export interface NamedRecord {
  readonly kind: 'property' | 'list' | 'item' | 'file'
  /** The name of the property, list or file. */
  readonly name: string
}

export interface RefusedRecord extends NamedRecord {
  readonly error: ErrorCode
  readonly message: string
}

/** Numbers of records by kind, and the first names of those that need a look. */
export interface MergeReport {
  /** Records that the actor did not have, or has in the place of its own. */
  readonly imported: Record<string, number>
  /** Records that the actor had already. */
  readonly same: Record<string, number>
  /** Names under which the actor has another content, and kept it. */
  readonly kept: NamedRecord[]
  keptCount: number
  readonly refused: RefusedRecord[]
  refusedCount: number
  /** Records that only an operator can import. */
  readonly leftOut: Record<string, number>
}

/** Names in the report. Beyond them, only the numbers grow. */
const maxNames = 100

export function newReport(): MergeReport {
  return { imported: {}, same: {}, kept: [], keptCount: 0, refused: [], refusedCount: 0, leftOut: {} }
}

/** Different kinds in a report. Further ones are counted together. */
const maxKinds = 100
const furtherKinds = 'further kinds'

/** Counts records. The kind comes from an archive, so it may be the name of a member that every object inherits. */
export function count(counts: Record<string, number>, kind: string, more = 1): void {
  if (more === 0) return
  const isKnown = Object.hasOwn(counts, kind) || Object.keys(counts).length < maxKinds
  const name = isKnown ? kind : furtherKinds
  const before = Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0
  // An assignment to `__proto__` would be lost.
  Object.defineProperty(counts, name, { value: before + more, enumerable: true, writable: true, configurable: true })
}

export function keep(report: MergeReport, record: NamedRecord): void {
  report.keptCount += 1
  if (report.kept.length < maxNames) report.kept.push(record)
}

export function refuse(report: MergeReport, record: NamedRecord, error: unknown): void {
  report.refusedCount += 1
  if (report.refused.length >= maxNames) return
  const known = error instanceof ServiceError ? error : new ServiceError('server_error')
  report.refused.push({ ...record, error: known.code, message: known.message })
}
