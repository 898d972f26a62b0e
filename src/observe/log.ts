/** The log: one line of JSON for each event, tagged with its request. */
import { type DestinationStream, type Logger, pino } from 'pino'
import { contextTag, currentTraceId } from './context.ts'

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
      mixin: () => {
        const traceId = currentTraceId()
        return traceId === undefined ? { context: contextTag() } : { context: contextTag(), trace_id: traceId }
      },
      serializers: { error: (error: unknown) => describeError(error) },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  )
}

/** Causes of causes are followed this far: an error may name itself as its cause. */
const mostCauses = 4

/** An error with its causes, each cut to length. Never the values it was about: those are not ours to log. */
function describeError(error: unknown, depth = 0): object {
  try {
    return describe(error, depth)
  } catch {
    // An error may be anything, also something whose members throw when they are read.
    return { message: 'A thrown value that cannot be read' }
  }
}

function describe(error: unknown, depth: number): object {
  if (!(error instanceof Error)) return { message: textOf(error) ?? `A thrown ${typeof error}` }
  const { code, detail, cause } = error as { code?: unknown; detail?: { reason?: unknown }; cause?: unknown }
  return {
    name: textOf(error.name),
    message: textOf(error.message),
    code: typeof code === 'number' ? code : textOf(code),
    reason: textOf(detail?.reason),
    stack: textOf(error.stack),
    cause: cause === undefined || depth === mostCauses ? undefined : describeError(cause, depth + 1),
  }
}

/** Undefined, which is left out of the line, for what is no text: an error may hold anything in any place. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? cut(value) : undefined
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
