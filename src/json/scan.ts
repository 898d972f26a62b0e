/** Finds values in JSON that is already in stored form, without validating it again. */
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c

/** The position after the string that begins at `start`. */
export function endOfString(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === quote) return at + 1
    if (code !== code) throw new RangeError('A JSON text ends inside a string')
    at += code === backslash ? 2 : 1
  }
}

/** The position after the value that begins at `start`. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === quote) return endOfString(text, start)
  const { length } = text
  if (first !== 0x7b && first !== 0x5b) {
    let at = start
    while (at < length) {
      const code = text.charCodeAt(at)
      if (code === comma || code === 0x7d || code === 0x5d) break
      at++
    }
    return at
  }
  let open = 0
  let at = start
  while (at < length) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = endOfString(text, at)
      continue
    }
    at++
    if (code === 0x7b || code === 0x5b) open++
    else if ((code === 0x7d || code === 0x5d) && --open === 0) return at
  }
  throw new RangeError('A JSON text ends inside a container')
}

/** Iterates over the direct members of the object at `start`, without decoding them. */
export class MemberWalk {
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0
  private readonly text: string
  private at: number

  constructor(text: string, start: number) {
    this.text = text
    this.at = start + 1
  }

  /** Moves to the next key. The caller then moves behind the value with `skipTo` or `pass`. */
  next(): boolean {
    const { text } = this
    if (text.charCodeAt(this.at) === comma) this.at++
    if (text.charCodeAt(this.at) !== quote) return false
    this.keyStart = this.at
    this.keyEnd = endOfString(text, this.at)
    this.valueStart = this.keyEnd + 1
    return true
  }

  /** Moves behind the value of the current member. */
  pass(): void {
    this.skipTo(endOfValue(this.text, this.valueStart))
  }

  skipTo(end: number): void {
    this.valueEnd = end
    this.at = end
  }

  /** The key with its quotes. Raw keys can be compared as strings, because stored keys have one spelling. */
  rawKey(): string {
    return this.text.slice(this.keyStart, this.keyEnd)
  }

  /** The position after the closing brace. Valid after `next` returned false. */
  end(): number {
    return this.at + 1
  }
}
