/** Pages of list methods. A cursor is sealed for one caller and one method, so no other call can read or use it. */
import type { KeyRing } from '../../secret/key-ring.ts'
import { open, seal, type Sealed } from '../../secret/sealed.ts'
import type { McpRequest } from '../call/call.ts'
import { McpFailure } from './failure.ts'

export const pageSize = 100

export interface Page<T> {
  readonly items: readonly T[]
  /** Absent on the last page. */
  readonly nextCursor?: string
}

/** @throws McpFailure `invalid_params` for a cursor of another caller or method. */
export function pageOf<T>(ring: KeyRing, call: McpRequest, all: readonly T[], nameOf: (item: T) => string): Page<T> {
  const from = startOf(ring, call, all, nameOf)
  const items = all.slice(from, from + pageSize)
  const last = items.at(-1)
  if (last === undefined || from + pageSize >= all.length) return { items }
  return { items, nextCursor: cursorTo(ring, call, nameOf(last)) }
}

/** The cursor for the page after this place. */
export function cursorTo(ring: KeyRing, call: McpRequest, place: string): string {
  return seal(ring, place, bindingOf(call))
}

/** The last place of the previous page. Null: the call requests the first page. @throws McpFailure `invalid_params` */
export function lastPlace(ring: KeyRing, call: McpRequest): string | null {
  const { cursor } = call.params
  // Some clients send an empty cursor, or null, for the first page.
  if (cursor === undefined || cursor === null || cursor === '') return null
  const place = typeof cursor === 'string' ? opened(ring, call, cursor) : null
  if (place === null) throw new McpFailure('invalid_params', 'Invalid cursor: request the first page again')
  return place
}

/** The index after the last item of the previous page, even when other items were added or removed since. */
function startOf<T>(ring: KeyRing, call: McpRequest, all: readonly T[], nameOf: (item: T) => string): number {
  const after = lastPlace(ring, call)
  if (after === null) return 0
  const at = all.findIndex((item) => nameOf(item) === after)
  // When the last item of the page was removed, the client starts again at the first page, so that it misses no items.
  return at + 1
}

function opened(ring: KeyRing, call: McpRequest, cursor: string): string | null {
  try {
    return open(ring, cursor as Sealed, bindingOf(call))
  } catch {
    return null
  }
}

function bindingOf({ access, method }: McpRequest): readonly string[] {
  return [access.actor.id, 'mcp.cursor', access.caller.peerId, access.caller.clientId, method]
}
