/** What the sender says it wants to see. */
import type { Incoming } from './request.ts'

/** A browser that shows pages. */
export function acceptsPages(request: Incoming): boolean {
  return request.header('accept')?.includes('text/html') === true
}

/** JSON named as such, not by `*\/*`. */
export function acceptsJsonByName(request: Incoming): boolean {
  return request.header('accept')?.includes('application/json') === true
}
