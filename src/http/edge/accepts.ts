/** What the sender says it wants to see. */
import type { HttpRequest } from './request.ts'

/** A browser that shows pages. */
export function acceptsPages(request: HttpRequest): boolean {
  return request.header('accept')?.includes('text/html') === true
}

/** JSON named as such, not by `*\/*`. */
export function acceptsJsonByName(request: HttpRequest): boolean {
  return request.header('accept')?.includes('application/json') === true
}
