/** Which properties a change of rights takes from the copy of a subscriber, and which it adds. */
import { type JsonText, members, object, stringValue } from '../json/json.ts'
import { decide } from '../permission/decision.ts'
import type { EffectiveRules } from '../permission/rules.ts'
import { kinds } from '../property/kinds.ts'
import type { UnreadProperty } from '../property/property-store.ts'
import type { Scope } from '../subscription/scope.ts'
import type { ChangedRights } from '../trust/permissions.ts'
import { projectDiff } from './project-diff.ts'

type Named = Pick<UnreadProperty, 'name' | 'kind'>

export interface ChangedCopy {
  /** The diff that deletes what the peer may no longer read. Null: nothing. */
  readonly erasure: JsonText | null
  /** The peer may read more, or a part of what is deleted, so it needs the full state. */
  readonly needsState: boolean
}

/**
 * The deletions in diffs that did not arrive, besides those of properties that the peer may read now. Null: none.
 *
 * @param missed Projected diffs, ascending.
 */
export function missedErasure(
  missed: readonly JsonText[],
  { subtarget }: Scope,
  isShown: (name: string) => boolean,
): JsonText | null {
  const isWhole = subtarget === ''
  const changes = missed.flatMap((data) => (isWhole ? [...(members(data) ?? [])] : [[subtarget, data] as const]))
  const left = [...new Map(changes)].filter(([name, data]) => {
    // The change of a list in a scope with one property has the name of the list around it.
    const change = isWhole ? data : (members(data)?.get(subtarget) ?? data)
    return deletes(change) && !isShown(name)
  })
  const [only] = left
  if (only === undefined) return null
  return isWhole ? object(left) : only[1]
}

/** Whether the change of a property or list in a diff deletes it. */
function deletes(change: JsonText): boolean {
  const operation = members(change)?.get('operation')
  return change === '""' || (operation !== undefined && stringValue(operation) === 'delete_all')
}

/** Compares the properties that exist, so an erasure has only names that the peer might read before. */
export function changedCopy(
  { before, after }: ChangedRights,
  { target, subtarget, resource }: Scope,
  present: readonly Named[],
): ChangedCopy {
  const may = (rules: EffectiveRules, path: string): boolean =>
    decide(rules, { category: 'properties', operation: 'read', target: path }).allowed
  const mayRead = (rules: EffectiveRules, { name }: Named): boolean =>
    may(rules, name) || (subtarget !== '' && resource !== '' && may(rules, `${name}/${resource}`))
  const inScope = subtarget === '' ? present : present.filter(({ name }) => name === subtarget)
  const lost = inScope.filter((one) => mayRead(before, one) && !mayRead(after, one))
  const hasGained = inScope.some((one) => !mayRead(before, one) && mayRead(after, one))
  const removals = lost.flatMap(
    ({ name, kind }) => projectDiff(kinds[kind].removal(name), { target, subtarget, resource })?.data ?? [],
  )
  const [only = null] = removals
  const isWhole = subtarget === ''
  return {
    erasure: isWhole && only !== null ? object(removals.flatMap((data) => [...(members(data) ?? [])])) : only,
    // A peer may keep the right to read single keys of the property.
    needsState: hasGained || (!isWhole && lost.length > 0),
  }
}
