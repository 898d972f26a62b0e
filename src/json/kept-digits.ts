/** Numbers of a stored value that a rewritten value keeps. JavaScript rounds a number with more digits than a double has. */
import { equal } from './equal.ts'
import { elements, members } from './members.ts'
import { endOfString } from './scan.ts'
import { kindOf, known, type JsonText } from './text.ts'

export class KeptDigits {
  readonly #stored: JsonText | undefined
  readonly #rounded: ReadonlyMap<number, JsonText | null>
  #members: ReadonlyMap<string | number, JsonText> | undefined

  private constructor(stored: JsonText | undefined, rounded: ReadonlyMap<number, JsonText | null>) {
    this.#stored = stored
    this.#rounded = rounded
  }

  static in(stored: JsonText): KeptDigits {
    return new KeptDigits(stored, roundedIn(stored))
  }

  /** The digits for the value of a member or an element. */
  at(place: string | number): KeptDigits {
    this.#members ??= partsOf(this.#stored)
    return new KeptDigits(this.#members.get(place), this.#rounded)
  }

  /**
   * The stored digits of a number. The number at the same place comes first. A number that moved keeps its digits when a single
   * stored number has its double.
   */
  of(number: number): JsonText | undefined {
    const stored = this.#stored
    if (stored !== undefined && kindOf(stored) === 'number' && Object.is(Number(stored), number)) return stored
    return this.#rounded.get(number) ?? undefined
  }
}

function partsOf(text: JsonText | undefined): ReadonlyMap<string | number, JsonText> {
  if (text === undefined) return new Map()
  return members(text) ?? new Map((elements(text) ?? []).entries())
}

/** The numbers that are no double, by the double that they round to. Null: several numbers round to it. */
function roundedIn(text: JsonText): ReadonlyMap<number, JsonText | null> {
  const found = new Map<number, JsonText | null>()
  for (const token of numbersIn(text)) {
    const number = Number(token)
    if (equal(token, known(String(number)))) continue
    const other = found.get(number)
    found.set(number, other === undefined || other === token ? token : null)
  }
  return found
}

function* numbersIn(text: JsonText): Generator<JsonText> {
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      at = endOfString(text, at)
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const start = at
      while (/[-+.\deE]/.test(text.charAt(at))) at++
      yield known(text.slice(start, at))
    } else {
      at++
    }
  }
}
