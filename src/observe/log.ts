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
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => ({ context: contextTag() }),
      serializers: { error: (error: unknown) => describeError(error) },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  )
}

/** An error with its causes, each cut to length. Never the values it was about: those are not ours to log. */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: cut(String(error)) }
  const code = (error as { code?: unknown }).code
  const reason = (error as { detail?: { reason?: unknown } }).detail?.reason
  return {
    name: error.name,
    message: cut(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof reason === 'string' ? { reason: cut(reason) } : {}),
    ...(error.stack === undefined ? {} : { stack: cut(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  }
}

export function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}… (${text.length} characters)`
}
