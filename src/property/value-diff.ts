/** Converts changes of values to change records, with the states that subscriptions to a key need. */
import { present } from '../json/present.ts'
import { absent } from '../json/absent.ts'
import { type JsonText, object } from '../json/json.ts'
import type { LockedActor } from '../store/store.ts'
import type { Change, PropertyState } from './change.ts'
import type { DeclaredData } from './declared-data.ts'
import type { findBefore } from './property-store.ts'

export type PropertyStates = NonNullable<Change['states']>

/** The states before and after a write of these values, without values that replace one that cannot be read. */
export function statesFrom(
  declared: DeclaredData,
  stored: Awaited<ReturnType<typeof findBefore>>,
  values: ReadonlyMap<string, JsonText>,
): PropertyStates {
  const states = new Map<string, PropertyState>()
  for (const [name, value] of values) {
    const found = stored.get(name)
    const before = found === undefined ? null : declared.valueBefore(name, found)
    if (before !== undefined) states.set(name, { before, after: value === absent ? null : value })
  }
  return states
}

export function stateFor(
  { subscriptionCount }: LockedActor,
  name: string,
  state: PropertyState,
): PropertyStates | undefined {
  return subscriptionCount === 0 ? undefined : new Map([[name, state]])
}

/** The diff of a value that was set, or removed when `blob` is `absent`. */
export function wholeValue(name: string, blob: JsonText, states?: PropertyStates): Change {
  return present({ target: 'properties', subtarget: name, resource: null, blob, states })
}

/** The diff of a nested write. It begins at the first key below the name, for a write at any depth. */
export function partOfValue(
  name: string,
  below: readonly string[],
  value: JsonText,
  states: PropertyStates | undefined,
): Change {
  const [resource = '', ...deeper] = below
  const blob = deeper.reduceRight<JsonText>((inner, key) => object([[key, inner]]), value)
  return present({ target: 'properties', subtarget: name, resource, path: below, blob, states })
}
