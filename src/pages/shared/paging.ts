/** Which part of something long is asked for. */
import type { Paging } from '../properties/values.ts'
import type { Params } from '../../http/edge/params.ts'

/** The last one for what lies behind it. */
export function pagingOf(query: Params, total: number, size: number): Paging {
  const pages = Math.max(1, Math.ceil(total / size))
  const wanted = /^[0-9]{1,9}$/.test(query.get('page') ?? '') ? Number(query.get('page')) : 1
  return { page: Math.min(Math.max(wanted, 1), pages), pages, total }
}

export function partOf<T>(all: readonly T[], { page }: Paging, size: number): readonly T[] {
  return all.slice((page - 1) * size, page * size)
}
