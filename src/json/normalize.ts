/** Parses untrusted JSON (strict RFC 8259) and writes its stored form in one pass. */
import { ServiceError } from '../errors.ts'
import { endOfString } from './scan.ts'
import { halfPair, hasLoneSurrogate } from './surrogates.ts'
import { defaultMaxDepth, known, type JsonText } from './text.ts'

const quote = 0x22
const backslash = 0x5c

/** A number without an exponent and with at most this many characters is a finite double. */
const finiteDigits = 308

/** Up to this many keys, a linear search is faster than a set. */
const fewKeys = 8

/**
 * Half of a surrogate pair, which no UTF-8 text can have (RFC 7493, 2.1). `refuse`: for what clients and people write.
 * `replace`: with U+FFFD, for messages and imports that must not be lost. `keep`: for readers that judge each member.
 */
export type LoneSurrogates = 'refuse' | 'replace' | 'keep'

/**
 * The same value in stored form: minified, with numbers and the order of keys as written. Strings have the spelling of
 * `JSON.stringify`, which escapes NUL. A duplicate key keeps the last value at its first position.
 *
 * @param maxDepth the highest number of nested containers.
 * @param lone Default: `refuse`.
 * @throws ServiceError `invalid_json` with the position of the first error; `invalid_value` when it is nested too deeply, or has
 *   a number beyond the range of a double, or half of a surrogate pair.
 */
export function normalize(text: string, maxDepth: number = defaultMaxDepth, lone: LoneSurrogates = 'refuse'): JsonText {
  const reader = new Reader(text, maxDepth, lone)
  const minified = reader.read()
  return known(reader.duplicates ? new Rebuilder(minified).value() : minified)
}

/** Stored form with U+FFFD in place of lone surrogates. */
export function replaceLoneSurrogates(text: JsonText): JsonText {
  return hasLoneSurrogate(text) ? normalize(text, Number.MAX_SAFE_INTEGER, 'replace') : text
}

class Reader {
  /** True when an object contains a key twice. */
  duplicates = false
  private readonly text: string
  private readonly maxDepth: number
  private at = 0
  private depth = 0
  /** The output so far. The input from `copied` to the current position follows it unchanged. */
  private out = ''
  private copied = 0
  /** Where a number beyond the range of a double begins. */
  private beyond: number | null = null
  /** Where a string with a refused surrogate begins. */
  private half: number | null = null
  private readonly lone: LoneSurrogates

  constructor(text: string, maxDepth: number, lone: LoneSurrogates) {
    this.text = text
    this.maxDepth = maxDepth
    this.lone = lone
  }

  read(): string {
    this.space()
    this.value()
    this.space()
    if (this.at < this.text.length) this.unexpected()
    // Only now: a string such as `17e354d0`, which begins as such a number, is not JSON.
    if (this.beyond !== null) this.refuse(this.beyond)
    if (this.half !== null) throw halfPair(`The string at position ${this.half} has`)
    return this.copied === 0 ? this.text : this.out + this.text.slice(this.copied)
  }

  private space(): void {
    const { text } = this
    const start = this.at
    let at = start
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
      at++
    }
    if (at === start) return
    this.at = at
    this.replace(start, '')
  }

  /** Replaces the input from `start` to the current position with `by`. */
  private replace(start: number, by: string): void {
    this.out += this.text.slice(this.copied, start) + by
    this.copied = this.at
  }

  private value(): void {
    switch (this.text.charCodeAt(this.at)) {
      case quote:
        this.string()
        return
      case 0x7b: // {
        this.object()
        return
      case 0x5b: // [
        this.array()
        return
      case 0x74: // t
        this.literal('true')
        return
      case 0x66: // f
        this.literal('false')
        return
      case 0x6e: // n
        this.literal('null')
        return
      default:
        this.number()
    }
  }

  private literal(word: string): void {
    if (!this.text.startsWith(word, this.at)) this.unexpected()
    this.at += word.length
  }

  private open(): void {
    if (++this.depth > this.maxDepth) {
      // Not `invalid_json`: callers store a body with that error as plain text.
      throw new ServiceError('invalid_value', `The value is nested deeper than ${this.maxDepth} levels`)
    }
    this.at++
    this.space()
  }

  private close(): void {
    this.depth--
    this.at++
  }

  private array(): void {
    this.open()
    if (this.text.charCodeAt(this.at) === 0x5d) {
      this.close()
      return
    }
    for (;;) {
      this.value()
      this.space()
      const code = this.text.charCodeAt(this.at)
      if (code === 0x5d) {
        this.close()
        return
      }
      if (code !== 0x2c) this.unexpected()
      this.at++
      this.space()
    }
  }

  private object(): void {
    this.open()
    if (this.text.charCodeAt(this.at) === 0x7d) {
      this.close()
      return
    }
    const few: string[] = []
    let many: Set<string> | null = null
    for (;;) {
      if (this.text.charCodeAt(this.at) !== quote) this.unexpected()
      // The quote keeps a key from looking like an integer, whose hash in the runtime is predictable (CVE-2026-21717).
      const key = this.string()
      if (many !== null) {
        const before = many.size
        if (many.add(key).size === before) this.duplicates = true
      } else if (few.includes(key)) {
        this.duplicates = true
      } else if (few.push(key) > fewKeys) {
        many = new Set(few)
      }
      this.space()
      if (this.text.charCodeAt(this.at) !== 0x3a) this.unexpected()
      this.at++
      this.space()
      this.value()
      this.space()
      const code = this.text.charCodeAt(this.at)
      if (code === 0x7d) {
        this.close()
        return
      }
      if (code !== 0x2c) this.unexpected()
      this.at++
      this.space()
    }
  }

  /** Reads a string and returns it in its stored spelling, quotes included. */
  private string(): string {
    const { text } = this
    const start = this.at
    let at = start + 1
    let respell = false
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === quote) break
      if (code === backslash) {
        respell ||= !isShortEscape(text.charCodeAt(at + 1))
        at = this.escape(at)
      } else if (code >= 0xd800 && code <= 0xdfff) {
        const next = text.charCodeAt(at + 1)
        if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
          at += 2
        } else {
          respell = true
          at++
        }
      } else if (code >= 0x20) {
        at++
      } else {
        this.at = at
        this.unexpected()
      }
    }
    this.at = at + 1
    const raw = text.slice(start, this.at)
    return respell ? this.respelled(raw, start) : raw
  }

  private respelled(raw: string, start: number): string {
    let value = JSON.parse(raw) as string
    if (this.lone !== 'keep' && !value.isWellFormed()) {
      if (this.lone === 'refuse') this.half ??= start
      value = value.toWellFormed()
    }
    const stored = JSON.stringify(value)
    if (stored !== raw) this.replace(start, stored)
    return stored
  }

  /** Reads an escape, and returns the position of the next character. */
  private escape(at: number): number {
    const { text } = this
    const escaped = text.charCodeAt(at + 1)
    if (isShortEscape(escaped) || escaped === 0x2f) return at + 2
    if (escaped !== 0x75) {
      this.at = at + 1
      this.unexpected()
    }
    for (let digit = at + 2; digit < at + 6; digit++) {
      if (isHex(text.charCodeAt(digit))) continue
      this.at = digit
      this.unexpected()
    }
    return at + 6
  }

  private number(): void {
    const { text } = this
    const start = this.at
    if (text.charCodeAt(this.at) === 0x2d) this.at++
    if (text.charCodeAt(this.at) === 0x30) this.at++
    else this.digits()
    if (text.charCodeAt(this.at) === 0x2e) {
      this.at++
      this.digits()
    }
    const code = text.charCodeAt(this.at)
    if (code === 0x65 || code === 0x45) {
      this.at++
      const sign = text.charCodeAt(this.at)
      if (sign === 0x2b || sign === 0x2d) this.at++
      this.digits()
      this.requireFinite(start)
    } else if (this.at - start > finiteDigits) {
      this.requireFinite(start)
    }
  }

  /** A reader that parses the number would get an infinity, which JSON cannot express. */
  private requireFinite(start: number): void {
    if (!Number.isFinite(Number(this.text.slice(start, this.at)))) this.beyond ??= start
  }

  private refuse(start: number): never {
    throw new ServiceError(
      'invalid_value',
      `The number at position ${start} is beyond the range of a double (1.8e308): send it as a string`,
    )
  }

  /** Reads one or more digits. */
  private digits(): void {
    const { text } = this
    let at = this.at
    for (;;) {
      const code = text.charCodeAt(at)
      if (!(code >= 0x30 && code <= 0x39)) break
      at++
    }
    if (at === this.at) this.unexpected()
    this.at = at
  }

  private unexpected(): never {
    const code = this.text.codePointAt(this.at)
    if (code === undefined) this.fail('unexpected end')
    this.fail(`unexpected ${JSON.stringify(String.fromCodePoint(code))}`)
  }

  private fail(what: string): never {
    throw new ServiceError('invalid_json', `The input is not valid JSON: ${what} at position ${this.at}`, {
      position: this.at,
    })
  }
}

/** True for `"`, `\`, b, f, n, r and t, which `JSON.stringify` also writes with a backslash. */
function isShortEscape(code: number): boolean {
  switch (code) {
    case quote:
    case backslash:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true
    default:
      return false
  }
}

function isHex(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66)
}

/** Rewrites minified JSON with each key once. It visits each character once, at any depth, so its time is linear. */
class Rebuilder {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  value(): string {
    const { text } = this
    const start = this.at
    switch (text.charCodeAt(start)) {
      case 0x7b:
        return this.object()
      case 0x5b:
        return this.array()
      case quote:
        this.at = endOfString(text, start)
        break
      default: {
        let at = start
        for (;;) {
          const code = text.charCodeAt(at)
          if (code !== code || code === 0x2c || code === 0x5d || code === 0x7d) break
          at++
        }
        this.at = at
      }
    }
    return text.slice(start, this.at)
  }

  private object(): string {
    const { text } = this
    const members = new Map<string, string>()
    this.at++
    while (text.charCodeAt(this.at) !== 0x7d) {
      if (text.charCodeAt(this.at) === 0x2c) this.at++
      const start = this.at
      const end = endOfString(text, start)
      this.at = end + 1
      members.set(text.slice(start, end), this.value())
    }
    this.at++
    let out = ''
    for (const [key, value] of members) out += `${out === '' ? '{' : ','}${key}:${value}`
    return out === '' ? '{}' : `${out}}`
  }

  private array(): string {
    const { text } = this
    let out = '['
    this.at++
    while (text.charCodeAt(this.at) !== 0x5d) {
      if (text.charCodeAt(this.at) === 0x2c) {
        this.at++
        out += ','
      }
      out += this.value()
    }
    this.at++
    return `${out}]`
  }
}
