/** The id of a request in responses and logs. */
import { randomUUID } from 'node:crypto'

/** Returns the client's id if it is short and safe in a header and a log line, else a new id. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[A-Za-z0-9._:-]{1,128}$/.test(given) ? given : randomUUID()
}
