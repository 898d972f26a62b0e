/** Pages of list methods. A cursor is sealed for one caller and one method, so no other call can read or use it. */
import type { KeyRing } from '../../secret/key-ring.ts'
import { open, seal, type Sealed } from '../../secret/sealed.ts'
import type { McpRequest } from '../call/call.ts'
import { McpFailure } from './failure.ts'

const pageSize = 100

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
  return { items, nextCursor: seal(ring, nameOf(last), bindingOf(call)) }
}

/** The index after the last item of the previous page, even when other items were added or removed since. */
function startOf<T>(ring: KeyRing, call: McpRequest, all: readonly T[], nameOf: (item: T) => string): number {
  const { cursor } = call.params
  if (cursor === undefined) return 0
  const after = typeof cursor === 'string' ? opened(ring, call, cursor) : null
  if (after === null) throw new McpFailure('invalid_params', 'Invalid cursor: request the first page again')
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
