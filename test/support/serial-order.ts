/**
 * Decides whether a recorded history has a serial order (Wing and Gong, "Testing and Verifying Concurrent Objects", 1993): an
 * order of the calls, each at one moment between its beginning and its answer, in which a sequential object would give
 * the same answers.
 *
 * The search reads the history in the order of time (Lowe, "Testing for Linearizability", 2017). It follows one possible
 * order, in which few open calls have taken effect, and returns to the last choice when an answer contradicts it. It tries
 * no possibility twice at the same moment.
 */

/** The behavior of an object with one caller at a time. */
export interface Sequential<State, Input> {
  readonly initial: State
  /** Returns the state after the call, and the answer as JSON. It does not change the given state. */
  apply(state: State, input: Input): { readonly state: State; readonly answer: unknown }
  readonly parts?: Parts<State, Input>
}

/**
 * The parts of a state, such as the items of a list. One call creates a part, no call brings a removed part back, and the
 * parts keep their order. A search without this knowledge learns only at a later read that it removed the wrong part.
 */
export interface Parts<State, Input> {
  of(state: State): readonly string[]
  createdBy(input: Input): readonly string[]
  /** The parts of the whole state when the call has read it, otherwise null. */
  readBy(input: Input, answer: unknown): readonly string[] | null
}

export interface Call<Input> {
  readonly input: Input
  /** The time of the call, on a clock that all calls share. */
  readonly begun: number
  /** The time of the answer. Without an answer: the time from which the call can no longer take effect. */
  readonly ended: number
  /** `unknown` when no answer reported whether the call took effect. */
  readonly answer: { readonly value: unknown } | 'unknown'
}

export type Verdict<Input> =
  | { readonly ordered: true }
  /** The first call that no order explains, and the states that were possible before it. */
  | { readonly ordered: false; readonly call: Call<Input>; readonly possible: readonly string[] }

/** The search stops with an error, never with a verdict, after this number of possibilities. */
const maxPossibilities = 300_000

/** A state that the object may have at one moment. */
interface Possibility<State> {
  readonly state: State
  /** Open calls that have already taken effect. */
  readonly done: ReadonlySet<number>
}

/** A moment of the history: the end of one call. */
interface End {
  readonly index: number
  /** Calls that have begun and have not ended, this call included. */
  readonly open: readonly number[]
  /** The first call that begins after this end and reads the whole state. */
  nextRead: number | null
  /** The possibilities that were tried before this end, by their keys. */
  readonly tried: Map<string, string>
}

export function findSerialOrder<State, Input>(
  object: Sequential<State, Input>,
  calls: readonly Call<Input>[],
): Verdict<Input> {
  const answers = calls.map(({ answer }) => (answer === 'unknown' ? null : canonical(answer.value)))
  const { parts } = object
  const reads = new Map<number, readonly string[]>()
  const creators = new Map<string, number>()
  for (const [index, { input, answer }] of calls.entries()) {
    const read = answer === 'unknown' ? null : (parts?.readBy(input, answer.value) ?? null)
    if (read !== null) reads.set(index, read)
    for (const part of parts?.createdBy(input) ?? []) creators.set(part, index)
  }
  const ends = endsOf(calls, reads)
  let total = 0

  /** Whether the answer of a read that takes effect later is impossible after this possibility. */
  function contradicts({ index: ended, open, nextRead }: End, { state, done }: Possibility<State>): boolean {
    if (parts === undefined) return false
    const positions = new Map(parts.of(state).map((part, position) => [part, position]))
    const isLater = (index: number): boolean =>
      open.includes(index) ? !done.has(index) : (calls[index]?.begun ?? 0) > (calls[ended]?.ended ?? 0)
    return [...open, ...(nextRead === null ? [] : [nextRead])].some((read) => {
      if (!isLater(read)) return false
      let last = -1
      return reads.get(read)?.some((part) => {
        const position = positions.get(part)
        if (position === undefined) return !isLater(creators.get(part) ?? -1)
        const isOutOfOrder = position < last
        last = position
        return isOutOfOrder
      })
    })
  }

  /** Yields the possibilities after the end of a call, from a possibility before it. */
  function* after(end: End, from: Possibility<State>): Generator<Possibility<State>> {
    // A call with an unknown outcome may have had no effect.
    if (answers[end.index] === null && !from.done.has(end.index)) yield from
    // The possibilities with the fewest effects come first.
    const waiting = [from]
    const seen = new Set<string>()
    for (const next of waiting) {
      if (next.done.has(end.index)) {
        yield { state: next.state, done: without(next.done, end.index) }
        continue
      }
      for (const index of end.open) {
        const call = calls[index]
        if (call === undefined || next.done.has(index)) continue
        const { state, answer } = object.apply(next.state, call.input)
        const expected = answers[index]
        if (expected !== null && expected !== canonical(answer)) continue
        const possibility = { state, done: new Set(next.done).add(index) }
        const key = keyOf(possibility)
        if (seen.has(key)) continue
        seen.add(key)
        if (!contradicts(end, possibility)) waiting.push(possibility)
      }
    }
  }

  // Each element has the choices that are left before one end.
  const path: Iterator<Possibility<State>, void>[] = [[{ state: object.initial, done: new Set<number>() }].values()]
  for (let choices = path.at(-1); choices !== undefined; choices = path.at(-1)) {
    const choice = choices.next()
    const end = ends[path.length - 1]
    if (choice.done === true) {
      path.pop()
      continue
    }
    if (end === undefined) return { ordered: true }
    const key = keyOf(choice.value)
    if (end.tried.has(key)) continue
    if (++total > maxPossibilities) throw new Error('The history has too many possible orders to decide')
    end.tried.set(key, canonical(choice.value.state))
    path.push(after(end, choice.value))
  }

  const last = ends.findLast(({ tried }) => tried.size > 0)
  const call = calls[last?.index ?? -1]
  if (last === undefined || call === undefined) throw new Error('A history without calls has an order')
  return { ordered: false, call, possible: [...new Set(last.tried.values())].slice(0, 20) }
}

/** Returns the ends of all calls in the order of time. A call that may still take effect at any time has no end. */
function endsOf(calls: readonly Call<unknown>[], reads: ReadonlyMap<number, unknown>): End[] {
  const events = calls.flatMap((call, index) => [
    { at: call.begun, index, isEnd: false },
    ...(call.ended === Infinity ? [] : [{ at: call.ended, index, isEnd: true }]),
  ])
  // At equal times, beginnings come before ends, because the calls overlap.
  events.sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd))
  const open = new Set<number>()
  const ends: End[] = []
  for (const { index, isEnd } of events) {
    if (isEnd) {
      ends.push({ index, open: [...open], nextRead: null, tried: new Map() })
      open.delete(index)
      continue
    }
    open.add(index)
    if (!reads.has(index)) continue
    for (const end of ends.slice(ends.findLastIndex(({ nextRead }) => nextRead !== null) + 1)) end.nextRead = index
  }
  return ends
}

function keyOf<State>({ state, done }: Possibility<State>): string {
  return `${[...done].sort((a, b) => a - b).join(',')} ${canonical(state)}`
}

function without(done: ReadonlySet<number>, index: number): ReadonlySet<number> {
  const rest = new Set(done)
  rest.delete(index)
  return rest
}

/** Returns the JSON of a value, with undefined as null. */
function canonical(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}
