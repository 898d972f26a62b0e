/**
 * Whether a recorded history has a serial order (Wing and Gong, "Testing and Verifying Concurrent Objects", 1993): some
 * order of the calls, each at one moment between its beginning and its answer, that a plain sequential object would have
 * answered in the same way.
 *
 * The history is read once in the order of time (Lowe, "Testing for Linearizability", 2017). What is carried along are
 * all the states the object may be in, each with those open calls that have had their moment already.
 */

/** What a thing does when it is used by one caller at a time. */
export interface Sequential<State, Input> {
  readonly initial: State
  /** The state afterwards, and the answer as JSON. The state that is given stays as it is. */
  apply(state: State, input: Input): { readonly state: State; readonly answer: unknown }
}

export interface Call<Input> {
  readonly input: Input
  /** A moment on a line that all calls share. */
  readonly begun: number
  /** When it was answered; of a call without an answer, when it can have had no effect any more. */
  readonly ended: number
  /** `unknown`: whether it had an effect was not told. */
  readonly answer: { readonly value: unknown } | 'unknown'
}

export type Verdict<Input> =
  | { readonly ordered: true }
  /** The first call that no order explains, and the states that were possible before it. */
  | { readonly ordered: false; readonly call: Call<Input>; readonly possible: readonly string[] }

/** Beyond this many possibilities at one moment the search is given up, as an error and never as a verdict. */
const mostPossibilities = 100_000

interface Possibility<State> {
  readonly state: State
  /** Open calls that have had their moment. */
  readonly done: ReadonlySet<number>
}

export function findSerialOrder<State, Input>(
  object: Sequential<State, Input>,
  calls: readonly Call<Input>[],
): Verdict<Input> {
  const events = calls.flatMap((call, index) => [
    { at: call.begun, index, isEnd: false },
    // What may still have its effect at any time never has to be accounted for.
    ...(call.ended === Infinity ? [] : [{ at: call.ended, index, isEnd: true }]),
  ])
  // At one moment beginnings come first: the calls overlap.
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
    // Of a call whose outcome nobody knows it may be that it had none.
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

/** Every possibility in which `target` has had its moment, with other open calls before it as needed. */
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

/** JSON text; undefined is nothing, as null is. */
function canonical(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}
