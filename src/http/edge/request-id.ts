/** The id that names one request in answers and logs. */
import { randomUUID } from 'node:crypto'

/** The sender's id when it is short and harmless in a header and a log line, else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[A-Za-z0-9._:-]{1,128}$/.test(given) ? given : randomUUID()
}
