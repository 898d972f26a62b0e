/** A handler's own HTTP response, in place of a JSON value. */

/**
 * True for a `Response` of the runtime or of a library. Naming the class would load the `fetch` of Node.js, which a service
 * may never need.
 */
export function isResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}

/** Ends the body of a response that is not sent, so that its source can free what it holds. */
export function discard({ body }: Response): void {
  // A source that cannot be canceled has nothing to free.
  if (body !== null && !body.locked) body.cancel().catch(() => {})
}
