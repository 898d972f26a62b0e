/** Which properties a change of rights takes from a peer, and which it gives. */
import { type JsonText, members, object } from '../json/json.ts'
import { decide } from '../permission/decision.ts'
import type { EffectiveRules } from '../permission/rules.ts'
import { kinds } from '../property/kinds.ts'
import type { UnreadProperty } from '../property/property-store.ts'
import type { Scope } from '../subscription/scope.ts'
import type { ChangedRights } from '../trust/permissions.ts'
import { projectDiff } from './project-diff.ts'

type Named = Pick<UnreadProperty, 'name' | 'kind'>

export interface AffectedProperties {
  readonly lost: readonly Named[]
  readonly gained: readonly Named[]
}

export function affectedBy({ before, after }: ChangedRights, present: readonly Named[]): AffectedProperties {
  const may = (rules: EffectiveRules, { name }: Named): boolean =>
    decide(rules, { category: 'properties', operation: 'read', target: name }).allowed
  return {
    lost: present.filter((one) => may(before, one) && !may(after, one)),
    gained: present.filter((one) => !may(before, one) && may(after, one)),
  }
}

/** The diff that deletes the properties from a copy. Null: none is in the scope. */
export function erasureOf(lost: readonly Named[], scope: Scope): JsonText | null {
  const removals = lost.flatMap(({ name, kind }) => projectDiff(kinds[kind].removal(name), scope)?.data ?? [])
  const [only] = removals
  if (only === undefined) return null
  return scope.subtarget === '' ? object(removals.flatMap((data) => [...(members(data) ?? [])])) : only
}
