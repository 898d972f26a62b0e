/** The log: one line of JSON for each event, tagged with its request. */
import { type DestinationStream, type Logger, pino } from 'pino'
import { contextTag, currentTraceId } from './context.ts'
import { jsonEscape, replaceHidden } from './hidden-characters.ts'

export type Log = Logger
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Maximum length of a logged string, in characters, because others choose some of these strings. */
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
      // Also in names and in nested values. JSON itself escapes some control characters only.
      hooks: { streamWrite: (line) => `${replaceHidden(line.trimEnd(), jsonEscape)}\n` },
      serializers: { error: (error: unknown) => describeError(error) },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  )
}

/** Maximum depth of logged causes: an error may be its own cause. */
const maxCauses = 4

/** Returns an error with its causes, each truncated. It omits the values that the error concerns, which are user data. */
export function describeError(error: unknown, depth = 0): object {
  try {
    return describe(error, depth)
  } catch {
    // Any value can be thrown, even an object whose members throw when they are read.
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
    cause: cause === undefined || depth === maxCauses ? undefined : describeError(cause, depth + 1),
  }
}

/** Returns undefined, which the log omits, for any value except a string: an error may have members of any type. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? cut(value) : undefined
}

/** Truncates the strings of an event: strings from clients must not flood the log. */
export function plainTexts(event: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [name, typeof value === 'string' ? cut(value) : value]),
  )
}

function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}… (${text.length} characters)`
}
