/** The log: one line of JSON for each event, tagged with its request. */
import { type DestinationStream, type Logger, pino } from 'pino'
import { contextTag } from './context.ts'

export type Log = Logger
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Texts that others chose are cut here, so that no event becomes a wall (in characters). */
const longestText = 2000

export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: plainTexts },
      mixin: () => ({ context: contextTag() }),
      serializers: { error: (error: unknown) => describeError(error) },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  )
}

/** Causes of causes are followed this far: an error may name itself as its cause. */
const mostCauses = 4

/** An error with its causes, each cut to length. Never the values it was about: those are not ours to log. */
export function describeError(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { message: typeof error === 'object' ? 'Not an error' : cut(String(error)) }
  const code = (error as { code?: unknown }).code
  const reason = (error as { detail?: { reason?: unknown } }).detail?.reason
  return {
    name: cut(String(error.name)),
    message: cut(String(error.message)),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof reason === 'string' ? { reason: cut(reason) } : {}),
    ...(typeof error.stack === 'string' ? { stack: cut(error.stack) } : {}),
    ...(error.cause === undefined || depth === mostCauses ? {} : { cause: describeError(error.cause, depth + 1) }),
  }
}

/** The fields of an event; a text that somebody else chose neither fills the log nor acts on a terminal that shows it. */
function plainTexts(event: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, typeof value === 'string' ? cut(value) : value]),
  )
}

/**
 * What JSON leaves as it is and a terminal or an editor acts on: the other control characters, line separators, and
 * marks that turn the direction of writing.
 */
const acting = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function cut(text: string): string {
  const short = text.length <= longestText ? text : `${text.slice(0, longestText)}… (${text.length} characters)`
  return short.replace(acting, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
