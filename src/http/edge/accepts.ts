/** Checks of the Accept header. */
import type { HttpRequest } from './request.ts'

/** Returns true for a browser that requests a page. */
export function acceptsPages(request: HttpRequest): boolean {
  return request.header('accept')?.includes('text/html') === true
}

/** Returns true when the header names JSON explicitly, not by `*\/*`. */
export function acceptsJsonByName(request: HttpRequest): boolean {
  return request.header('accept')?.includes('application/json') === true
}

/** Returns true when the header names JSON lines, one value on each. */
export function acceptsLines(request: HttpRequest): boolean {
  return request.header('accept')?.includes('application/x-ndjson') === true
}
