/** The output of commands on a terminal. */

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

export function printJson(value: object): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** Escapes characters that a terminal acts on, because others chose the text. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}

/** @param ms Unix milliseconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
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

/** Prints a line of progress after each `every` things. */
export function progressTo(stream: NodeJS.WriteStream, things: string, every = 100_000): (done: number) => void {
  let next = every
  return (done) => {
    if (done < next) return
    next = done + every
    stream.write(`${done} ${things}\n`)
  }
}
