/** The requested page of a long list. */
import type { Paging } from '../properties/values.ts'
import { optional, stringField, type ValuesOf } from '../../json/fields.ts'

export const partQuery = { page: optional(stringField('Which part, from 1')) }
export type PartQuery = ValuesOf<typeof partQuery>

/** Returns the requested page, or the last page when the number is too high. */
export function pagingOf({ page }: PartQuery, total: number, size: number): Paging {
  const pages = Math.max(1, Math.ceil(total / size))
  const wanted = page !== undefined && /^[0-9]{1,9}$/.test(page) ? Number(page) : 1
  return { page: Math.min(Math.max(wanted, 1), pages), pages, total }
}

export function partOf<T>(all: readonly T[], { page }: Paging, size: number): readonly T[] {
  return all.slice((page - 1) * size, page * size)
}
