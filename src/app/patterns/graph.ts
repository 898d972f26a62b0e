/** A regular expression as a graph of the choices that a backtracking engine has, and the characters that it tells apart. */
import { type AST, RegExpParser } from '@eslint-community/regexpp'

/** A condition on a place of the text, which consumes nothing. */
export type Guard =
  | { readonly kind: 'start'; readonly multiline: boolean }
  | { readonly kind: 'end'; readonly multiline: boolean }
  | { readonly kind: 'word'; readonly negate: boolean }
  | { readonly kind: 'before' | 'after'; readonly negate: boolean; readonly set: number }

export type PatternStep =
  | { readonly kind: 'read'; readonly set: number; readonly next: number }
  /** `again` is the step that repeats a loop. */
  | { readonly kind: 'choose'; readonly next: readonly number[]; readonly again?: number }
  | { readonly kind: 'guard'; readonly guard: Guard; readonly next: number }
  | { readonly kind: 'accept' }

export interface Entry {
  readonly step: number
  /** True when the engine tries to match at every place of the text. */
  readonly isSearched: boolean
  /** True for a lookaround. The engine continues after its match. */
  readonly isInner: boolean
}

export interface PatternGraph {
  readonly steps: readonly PatternStep[]
  /** The first step of the pattern, and of each lookaround, which the engine matches separately. */
  readonly entries: readonly Entry[]
  /** One character of each kind that the pattern tells apart. */
  readonly characters: readonly string[]
  /** For each set, the indexes of its characters. */
  readonly sets: readonly ReadonlySet<number>[]
  readonly words: ReadonlySet<number>
  readonly lineEnds: ReadonlySet<number>
  /** True when a counted repetition of something empty has more outcomes than an engine can try. */
  readonly hasEmptyCopies: boolean
}

/** Repetitions up to this count become copies. More count as unlimited, because their product is too large. */
const maxCopies = 10
/** For single characters in a fixed number, such as `\d{32}`. */
const maxSingleCopies = 64
const maxSteps = 2000

/** @throws Error when the pattern is not valid, or too long. */
export function patternGraph(source: string, flags: string): PatternGraph {
  const unicode = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') }
  const pattern = new RegExpParser({ ecmaVersion: 2025 }).parsePattern(source, 0, source.length, unicode)
  return new Builder(flags).build(pattern)
}

interface Repetition {
  readonly copies: number
  readonly optional: number
  readonly isEndless: boolean
}

class Builder {
  readonly #steps: PatternStep[] = [{ kind: 'accept' }]
  readonly #entries: Entry[] = []
  readonly #sets = new Map<string, { readonly index: number; readonly matches: RegExp }>()
  readonly #flags: string
  readonly #isMultiline: boolean
  readonly #isSticky: boolean
  #hasEmptyCopies = false
  /** Adds the modifiers around an element, as in `(?i:a)`. */
  #inModifiers = (raw: string): string => raw

  constructor(flags: string) {
    this.#flags = flags.replace(/[dgmy]/g, '')
    this.#isMultiline = flags.includes('m')
    this.#isSticky = flags.includes('y')
  }

  build(pattern: AST.Pattern): PatternGraph {
    const step = this.#choice(pattern.alternatives, 0)
    this.#entries.unshift({ step, isSearched: !this.#isSticky, isInner: false })
    const { characters, kinds } = this.#characters(pattern.raw)
    return {
      steps: this.#steps,
      entries: this.#entries,
      characters,
      sets: [...this.#sets.values()].map(({ index }) => kinds((bits) => bits[index] === '1')),
      words: kinds((_bits, character) => /^\w$/.test(character)),
      lineEnds: kinds((_bits, character) => /^[\n\r\u2028\u2029]$/.test(character)),
      hasEmptyCopies: this.#hasEmptyCopies,
    }
  }

  #add(step: PatternStep): number {
    if (this.#steps.length >= maxSteps) throw new Error('the pattern is too long to be checked')
    return this.#steps.push(step) - 1
  }

  #choice(alternatives: readonly AST.Alternative[], next: number): number {
    const entries = alternatives.map(({ elements }) =>
      elements.reduceRight((then, one) => this.#element(one, then), next),
    )
    return entries.length === 1 ? (entries[0] ?? next) : this.#add({ kind: 'choose', next: entries })
  }

  #element(element: AST.Element, next: number): number {
    switch (element.type) {
      case 'Assertion':
        return this.#assertion(element, next)
      case 'Quantifier':
        return this.#repetition(element, next)
      case 'Group':
        return this.#group(element, next)
      case 'CapturingGroup':
        return this.#choice(element.alternatives, next)
      case 'Backreference':
        return this.#backreference(element, next)
      default:
        return this.#add({ kind: 'read', set: this.#set(element.raw), next })
    }
  }

  #group({ alternatives, modifiers }: AST.Group, next: number): number {
    const outside = this.#inModifiers
    if (modifiers !== null) this.#inModifiers = (raw) => outside(`(?${modifiers.raw}:${raw})`)
    const entry = this.#choice(alternatives, next)
    this.#inModifiers = outside
    return entry
  }

  /** A back reference matches something that its group matches. */
  #backreference({ resolved }: AST.Backreference, next: number): number {
    const groups = Array.isArray(resolved) ? resolved : [resolved]
    const entries = groups.map((group: AST.CapturingGroup) => this.#choice(group.alternatives, next))
    return this.#add({ kind: 'choose', next: entries })
  }

  #repetition({ element, min, max, greedy }: AST.Quantifier, next: number): number {
    const { copies, optional, isEndless } = this.#copiesOf(element, min, max)
    const order = (again: number, on: number): number[] => (greedy ? [again, on] : [on, again])
    let then = next
    if (isEndless) {
      const loop = this.#add({ kind: 'choose', next: [] })
      const again = this.#element(element, loop)
      this.#steps[loop] = { kind: 'choose', next: order(again, next), again }
      then = loop
    }
    for (let copy = 0; copy < optional; copy++)
      then = this.#add({ kind: 'choose', next: order(this.#element(element, then), next) })
    for (let copy = 0; copy < copies; copy++) then = this.#element(element, then)
    return then
  }

  #copiesOf(element: AST.QuantifiableElement, min: number, max: number): Repetition {
    if (max !== Infinity && max > maxCopies && isNullable(element)) this.#hasEmptyCopies = true
    const most = isSingle(element) ? maxSingleCopies : maxCopies
    const copies = min <= most ? min : 1
    if (max - min <= maxCopies && min <= most) return { copies, optional: max - min, isEndless: false }
    return { copies, optional: 0, isEndless: true }
  }

  #assertion(assertion: AST.Assertion, next: number): number {
    if (assertion.kind === 'word') return this.#guard({ kind: 'word', negate: assertion.negate }, next)
    if (assertion.kind !== 'lookahead' && assertion.kind !== 'lookbehind')
      return this.#guard({ kind: assertion.kind, multiline: this.#isMultiline }, next)
    const [only, ...others] = assertion.alternatives.flatMap(({ elements }) => elements)
    if (only !== undefined && others.length === 0 && assertion.alternatives.length === 1 && isSingle(only)) {
      const kind = assertion.kind === 'lookahead' ? 'after' : 'before'
      return this.#guard({ kind, negate: assertion.negate, set: this.#set(only.raw) }, next)
    }
    const step = this.#choice(assertion.alternatives, 0)
    this.#entries.push({ step, isSearched: !isMatchedOnce(assertion), isInner: true })
    // Whether the lookaround matches is not known, so both outcomes count.
    return next
  }

  #guard(guard: Guard, next: number): number {
    return this.#add({ kind: 'guard', guard, next })
  }

  #set(inner: string): number {
    const raw = this.#inModifiers(inner)
    const known = this.#sets.get(raw)
    if (known !== undefined) return known.index
    const index = this.#sets.size
    this.#sets.set(raw, { index, matches: new RegExp(`^(?:${raw})$`, this.#flags) })
    return index
  }

  /** Finds characters that differ in the sets that contain them, among those that the pattern mentions and common ones. */
  #characters(raw: string): {
    readonly characters: string[]
    readonly kinds: (isIn: (bits: string, character: string) => boolean) => Set<number>
  } {
    const sets = [...this.#sets.values()]
    const found = new Map<string, string>()
    const bits: string[] = []
    for (const character of samplesFor(raw, this.#flags)) {
      const own = sets.map(({ matches }) => (matches.test(character) ? '1' : '0')).join('')
      const key = `${own}${/^\w$/.test(character)}${/^[\n\r\u2028\u2029]$/.test(character)}`
      if (found.has(key)) continue
      found.set(key, character)
      bits.push(own)
    }
    const characters = [...found.values()]
    const kinds = (isIn: (own: string, character: string) => boolean): Set<number> =>
      new Set(characters.flatMap((character, index) => (isIn(bits[index] ?? '', character) ? [index] : [])))
    return { characters, kinds }
  }
}

function isSingle(element: AST.Element): boolean {
  return ['Character', 'CharacterSet', 'CharacterClass', 'ExpressionCharacterClass'].includes(element.type)
}

function isNullable(element: AST.Element): boolean {
  if (element.type === 'Quantifier') return element.min === 0 || isNullable(element.element)
  if (element.type === 'Assertion' || element.type === 'Backreference') return true
  if (element.type !== 'Group' && element.type !== 'CapturingGroup') return false
  return element.alternatives.some(({ elements }) => elements.every(isNullable))
}

/** True when the engine matches the lookaround at a bounded number of places. */
function isMatchedOnce(assertion: AST.LookaroundAssertion): boolean {
  let node: AST.Element = assertion
  for (;;) {
    const alternative: AST.Node = node.parent
    if (alternative.type === 'Quantifier') {
      if (alternative.max > maxCopies) return false
      node = alternative
      continue
    }
    if (alternative.type !== 'Alternative') return false
    const before = alternative.elements.slice(0, alternative.elements.indexOf(node))
    const around: AST.Node = alternative.parent
    if (around.type === 'Pattern') return before.some(isStart) && before.every(isBounded)
    if (!before.every(isBounded) || (around.type !== 'Group' && around.type !== 'CapturingGroup')) return false
    node = around
  }
}

function isStart(element: AST.Element): boolean {
  return element.type === 'Assertion' && element.kind === 'start'
}

function isBounded(element: AST.Element): boolean {
  if (element.type === 'Quantifier') return element.max <= maxCopies && isBounded(element.element)
  if (element.type === 'Group' || element.type === 'CapturingGroup')
    return element.alternatives.every(({ elements }) => elements.every(isBounded))
  return element.type !== 'Backreference'
}

const common = Array.from(
  '\u00e9\u00df\u0130\u0131\u017f\u03c3\u0434\u05d0\u0639\u0e01\u3042\u4e2d\uac00\u0301\u200d\u2028\u2029\ufe0f\ufeff\u212a\u2160\u20ac\u2014\u00a0\u0660\u{1f600}\u{1f1e6}\u{20000}\u{e0001}\ud800',
)

function samplesFor(raw: string, flags: string): Set<string> {
  const samples = new Set(common)
  const isUnicode = /[uv]/.test(flags)
  const add = (code: number): void => {
    if (code >= 0 && code <= (isUnicode ? 0x10ffff : 0xffff)) samples.add(String.fromCodePoint(code))
  }
  for (let code = 0; code < 128; code++) add(code)
  const escaped = [...raw.matchAll(/\\(?:u\{([\da-f]{1,6})\}|u([\da-f]{4})|x([\da-f]{2}))/gi)]
  const mentioned = escaped.map(([, long, short, byte]) => Number.parseInt(long ?? short ?? byte ?? '0', 16))
  for (const character of isUnicode ? raw : raw.split('')) mentioned.push(character.codePointAt(0) ?? 0)
  for (const code of mentioned) for (const near of [code - 1, code, code + 1]) add(near)
  for (const sample of samples) for (const other of [sample.toLowerCase(), sample.toUpperCase()]) samples.add(other)
  return new Set([...samples].filter((sample) => (isUnicode ? Array.from(sample).length : sample.length) === 1))
}
