/**
 * Decides whether a recorded history has a serial order (Wing and Gong, "Testing and Verifying Concurrent Objects", 1993): an
 * order of the calls, each at one moment between its beginning and its answer, in which a sequential object would give
 * the same answers.
 *
 * The search reads the history once in the order of time (Lowe, "Testing for Linearizability", 2017). It keeps all states
 * that the object may have, each with the open calls that have already taken effect.
 */

/** The behavior of an object with one caller at a time. */
export interface Sequential<State, Input> {
  readonly initial: State
  /** Returns the state after the call, and the answer as JSON. It does not change the given state. */
  apply(state: State, input: Input): { readonly state: State; readonly answer: unknown }
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

/** The search stops with an error, never with a verdict, above this number of possibilities at one moment. */
const mostPossibilities = 100_000

interface Possibility<State> {
  readonly state: State
  /** Open calls that have already taken effect. */
  readonly done: ReadonlySet<number>
}

export function findSerialOrder<State, Input>(
  object: Sequential<State, Input>,
  calls: readonly Call<Input>[],
): Verdict<Input> {
  const events = calls.flatMap((call, index) => [
    { at: call.begun, index, isEnd: false },
    // A call that may still take effect at any time has no end.
    ...(call.ended === Infinity ? [] : [{ at: call.ended, index, isEnd: true }]),
  ])
  // At equal times, beginnings come before ends, because the calls overlap.
  events.sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd))

  const answers = calls.map(({ answer }) => (answer === 'unknown' ? null : canonical(answer.value)))
  const open = new Set<number>()
  let possible: Possibility<State>[] = [{ state: object.initial, done: new Set() }]

  for (const { index, isEnd } of events) {
    if (!isEnd) {
      open.add(index)
      continue
    }
    const call = calls[index]
    if (call === undefined) continue
    const found = [...reachable(object, calls, answers, open, possible, index)]
    // A call with an unknown outcome may have had no effect.
    if (call.answer === 'unknown') found.push(...possible)
    open.delete(index)
    const after = distinct(found.map(({ state, done }) => ({ state, done: without(done, index) })))
    if (after.length === 0) {
      return {
        ordered: false,
        call,
        possible: [...new Set(possible.map(({ state }) => canonical(state)))].slice(0, 20),
      }
    }
    possible = after
  }
  return { ordered: true }
}

/** Yields every possibility in which `target` has taken effect, after other open calls as needed. */
function* reachable<State, Input>(
  object: Sequential<State, Input>,
  calls: readonly Call<Input>[],
  answers: readonly (string | null)[],
  open: ReadonlySet<number>,
  from: readonly Possibility<State>[],
  target: number,
): Generator<Possibility<State>> {
  const waiting = [...from]
  const seen = new Set(waiting.map(keyOf))
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.done.has(target)) {
      yield next
      continue
    }
    for (const index of open) {
      const call = calls[index]
      if (call === undefined || next.done.has(index)) continue
      const { state, answer } = object.apply(next.state, call.input)
      const expected = answers[index]
      if (expected !== null && expected !== canonical(answer)) continue
      const possibility = { state, done: new Set(next.done).add(index) }
      const key = keyOf(possibility)
      if (seen.has(key)) continue
      if (seen.size >= mostPossibilities) {
        const unknown = [...open].filter((each) => answers[each] === null).length
        throw new Error(
          `The history has too many possible orders to decide: ${from.length} states, ${open.size} open calls, ${unknown} of them without an answer`,
        )
      }
      seen.add(key)
      waiting.push(possibility)
    }
  }
}

function keyOf<State>({ state, done }: Possibility<State>): string {
  return `${[...done].sort((a, b) => a - b).join(',')} ${canonical(state)}`
}

function distinct<State>(possibilities: readonly Possibility<State>[]): Possibility<State>[] {
  return [...new Map(possibilities.map((one) => [keyOf(one), one])).values()]
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
