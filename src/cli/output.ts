/** The output of commands on a terminal. */
import { jsonEscape, replaceHidden } from '../observe/hidden-characters.ts'

type Stream = Pick<NodeJS.WriteStream, 'write'>

/**
 * Prints one line. Commands print with the functions of this file only: names, messages and archives come from others, and
 * a terminal acts on control characters in them.
 */
export function print(line: string, to: Stream = process.stdout): void {
  to.write(`${printable(line)}\n`)
}

/** Prints text with line breaks that the command wrote itself. */
export function printText(text: string, to: Stream = process.stdout): void {
  to.write(text.split('\n').map(printable).join('\n'))
}

export function printError(line: string): void {
  print(line, process.stderr)
}

export function printJson(value: object): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`)
}

/** Escapes hidden characters, because others chose the text: a terminal acts on some, and a reader is misled by others. */
export function printable(text: string): string {
  return replaceHidden(text.toWellFormed(), (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Like `printable`, for JSON: the value stays the same. Line breaks stay, because JSON has them only between its tokens. */
export function printableJson(json: string): string {
  return replaceHidden(json, (character) => (character === '\n' ? character : jsonEscape(character)))
}

/** @param ms Unix milliseconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}

/** `property 3, item 12` */
export function counts(found: Readonly<Record<string, number>>): string {
  const parts = Object.entries(found).map(([kind, number]) => `${kind} ${number}`)
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** A size with three digits at most: `1.2 MB`. */
export function sizeText(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000
    unit += 1
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1
  return `${size.toFixed(digits)} ${unit === 0 && bytes === 1 ? 'byte' : units[unit]}`
}

/** @param total The number at the end. Absent: unknown. */
export type ReportProgress = (done: number, total?: number) => void

const progressEveryMs = 5000

/** Prints a line of progress every five seconds: the number of things, their rate, and the time left when the total is known. */
export function progressTo(
  stream: Stream,
  things: string,
  now: () => number = () => performance.now(),
): ReportProgress {
  const begunAt = now()
  let printedAt = begunAt
  return (done, total) => {
    const at = now()
    if (at - printedAt < progressEveryMs) return
    printedAt = at
    const perSecond = (done * 1000) / (at - begunAt)
    const rate = `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)} per second`
    const left = total === undefined || done === 0 ? '' : `, ${durationText((total - done) / perSecond)} left`
    print(`${done}${total === undefined ? '' : ` of ${total}`} ${things}, ${rate}${left}`, stream)
  }
}

/** `48 s`, `12 min` or `3.5 h`. */
function durationText(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`
  if (seconds < 6000) return `${Math.ceil(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

/** The peers that learn an address of this service, by state. */
export function peersLine({
  informed = 0,
  waiting = 0,
  asked = 0,
  kept = 0,
  failed = 0,
}: Readonly<Partial<Record<'informed' | 'waiting' | 'asked' | 'kept' | 'failed', number>>>): string {
  return `peers     ${informed} informed, ${waiting} waiting, ${asked} asked, ${kept} with the former address, ${failed} failed`
}
