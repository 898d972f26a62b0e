/** The log for people who develop: the lines of JSON as text, in color on a terminal. Production logs JSON. */
import { styleText } from 'node:util'
import { jsonEscape, replaceHidden } from './hidden-characters.ts'

export interface ReadableOutput {
  readonly write: (text: string) => unknown
  readonly isColored: boolean
}

type Style = Parameters<typeof styleText>[0]

const levels: ReadonlyMap<string, readonly [name: string, style: Style]> = new Map([
  ['trace', ['TRACE', 'gray']],
  ['debug', ['DEBUG', 'gray']],
  ['info', ['INFO ', 'green']],
  ['warn', ['WARN ', 'yellow']],
  ['error', ['ERROR', 'red']],
  ['fatal', ['FATAL', ['bold', 'red']]],
])

interface LoggedError {
  readonly message?: unknown
  readonly stack?: unknown
  readonly reason?: unknown
  readonly cause?: unknown
}

/** The context of an event outside of any request (`contextTag`). */
const noContext = '[-:-:-]'

/** Returns a destination for `createLog` that writes readable lines. */
export function readableLog({ write, isColored }: ReadableOutput): { write(line: string): void } {
  const paint = (style: Style, text: string): string =>
    isColored ? styleText(style, text, { validateStream: false }) : text
  return {
    write(line) {
      const event = eventIn(line)
      write(event === null ? line : `${readable(event, paint)}\n`)
    },
  }
}

/** The destination for standard error. Colors depend on the terminal, and on variables such as NO_COLOR. */
export function readableStandardError(): { write(line: string): void } {
  const { stderr } = process
  return readableLog({ write: (text) => stderr.write(text), isColored: stderr.isTTY && stderr.hasColors() })
}

function eventIn(line: string): Record<string, unknown> | null {
  try {
    const event: unknown = JSON.parse(line)
    return typeof event === 'object' && event !== null ? (event as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function readable(event: Record<string, unknown>, paint: (style: Style, text: string) => string): string {
  const { level, time, msg, context, error, ...fields } = event
  const [name, style] = levels.get(String(level)) ?? [String(level), 'gray']
  const facts = Object.entries(fields).map(([field, value]) => `${plain(field)}=${textOf(value)}`)
  if (typeof context === 'string' && context !== noContext) facts.push(context)
  const head = `${paint('gray', clockTime(time))} ${paint(style, name)} ${textOf(msg)}`
  const tail = facts.length === 0 ? '' : ` ${paint('gray', facts.join(' '))}`
  return [`${head}${tail}`, ...errorLines(error).map((line) => paint('gray', line))].join('\n')
}

/** The time of day on this machine. */
function clockTime(time: unknown): string {
  const date = new Date(String(time))
  if (Number.isNaN(date.getTime())) return String(time)
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  )
  return `${hours}:${minutes}:${seconds}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

function textOf(value: unknown): string {
  return plain(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Escapes hidden characters, which JSON escaped before: strings of others must not control the terminal. */
function plain(text: string): string {
  return replaceHidden(text, (character) => {
    const short = JSON.stringify(character).slice(1, -1)
    return short === character ? jsonEscape(character) : short
  })
}

function errorLines(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return []
  const { message, stack, reason, cause }: LoggedError = error
  const text = typeof stack === 'string' ? stack : String(message)
  const lines = text.split('\n').map((line) => `    ${plain(line)}`)
  if (typeof reason === 'string') lines.splice(1, 0, `    reason: ${plain(reason)}`)
  const [first, ...more] = errorLines(cause)
  return first === undefined ? lines : [...lines, `    caused by: ${first.trim()}`, ...more]
}
