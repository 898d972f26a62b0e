/** Finds the current position of an item. The search runs in steps, so that a long list does not block the event loop. */
import { setImmediate } from 'node:timers/promises'
import { damagedList } from './list-damage.ts'
import type { OpenList } from './open-list.ts'
import type { Span } from './order-branch.ts'

/** Positions per step. */
const searchItems = 4096

/**
 * The position of an existing item, searched from `near` outwards. Loads the nodes of that position.
 *
 * @param shrinking true when the caller will remove the item.
 * @throws ServiceError `list_corrupted`
 */
export async function findPosition(list: OpenList, item: number, near: number, shrinking = false): Promise<number> {
  const start = Math.max(0, Math.min(near, list.length - 1))
  for (let distance = 0; ; distance += searchItems) {
    const spans = around(start, distance, list.length)
    if (spans.length === 0) throw damagedList(list.address.list, `item ${item} is not in the order`)
    for (const span of spans) {
      await list.load([span], shrinking)
      const offset = list.order.items(span).indexOf(item)
      if (offset >= 0) return span.from + offset
    }
    await setImmediate()
  }
}

/** The positions at this distance, after and before `near`. */
function around(near: number, distance: number, length: number): Span[] {
  const behind = { from: Math.min(length, near + distance), to: Math.min(length, near + distance + searchItems) }
  const before = { from: Math.max(0, near - distance - searchItems), to: Math.max(0, near - distance) }
  return [behind, before].filter(({ from, to }) => from < to)
}
