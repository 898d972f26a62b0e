/** Which properties a change of rights takes from the copy of a subscriber, and which it adds. */
import { type JsonText, members, object, stringValue } from '../json/json.ts'
import { decide } from '../permission/decision.ts'
import type { EffectiveRules } from '../permission/rules.ts'
import { kinds } from '../property/kinds.ts'
import type { UnreadProperty } from '../property/property-store.ts'
import type { Scope } from '../subscription/scope.ts'
import type { ChangedRights } from '../trust/permissions.ts'
import type { NamedDeletion, ScopedDeletion } from './missed-store.ts'
import { projectDiff } from './project-diff.ts'
import { type MayRead, visiblePart } from './visibility.ts'

type Named = Pick<UnreadProperty, 'name' | 'kind'>

export interface ChangedCopy {
  /** The deletions of what the peer may no longer read. */
  readonly lost: readonly NamedDeletion[]
  /** The peer may read more, or a part of what is deleted, so it needs the full state. */
  readonly needsState: boolean
}

/** The part of a projected diff that deletes names. */
export function deletionsIn(data: JsonText, { subtarget }: Scope): NamedDeletion[] {
  // Most diffs delete nothing, and are not parsed for that.
  if (!data.includes('""') && !data.includes('"delete_all"')) return []
  const all = members(data)
  if (subtarget === '')
    return [...(all ?? [])].flatMap(([name, change]) => (deletes(change) ? [{ name, data: change }] : []))
  // The change of a list has the name of the list around it, also in a scope with one property.
  const list = all?.get(subtarget)
  return data === gone || (list !== undefined && deletesList(list)) ? [{ name: subtarget, data }] : []
}

/**
 * The part of a stored diff that the peer may be shown. Null: none. A diff has only what the peer was allowed to read when it was
 * made, so its copy may have what the diff deletes, also after its rights became narrower.
 */
export function shownPart(data: JsonText, scope: Scope, mayRead: MayRead): JsonText | null {
  const deleted = new Set(deletionsIn(data, scope).map(({ name }) => name))
  return visiblePart(data, scope, deleted.size === 0 ? mayRead : (path) => deleted.has(path) || mayRead(path))
}

/** The diff that makes these deletions, the last one of each name. Null: none. */
export function deletionDiff(deletions: readonly NamedDeletion[], { subtarget }: Scope): JsonText | null {
  const byName = new Map(deletions.map(({ name, data }) => [name, data]))
  const [only] = byName.values()
  if (only === undefined) return null
  return subtarget === '' ? object([...byName]) : only
}

const gone = '""'

/** Whether the change of a property or list in a diff deletes it. */
function deletes(change: JsonText): boolean {
  return change === gone || deletesList(change)
}

function deletesList(change: JsonText): boolean {
  const operation = members(change)?.get('operation')
  return operation !== undefined && stringValue(operation) === 'delete_all'
}

/** Gives a deletion to all subscriptions. */
export function inEachScope({ name, data }: NamedDeletion): ScopedDeletion {
  const ofTarget = object([[name, data]])
  return { name, ofTarget, ofName: data === gone ? data : ofTarget, hasParts: data === gone }
}

/** Judges by the rules which names in the scope the peer may read. */
export function readerBy(rules: EffectiveRules, { subtarget, resource }: Scope): (name: string) => boolean {
  const may = (path: string): boolean =>
    decide(rules, { category: 'properties', operation: 'read', target: path }).allowed
  return (name) => may(name) || (subtarget !== '' && resource !== '' && may(`${name}/${resource}`))
}

/** Compares the properties that exist, so the deletions have only names that the peer might read before. */
export function changedCopy({ before, after }: ChangedRights, scope: Scope, present: readonly Named[]): ChangedCopy {
  const { subtarget } = scope
  const [mayBefore, mayAfter] = [readerBy(before, scope), readerBy(after, scope)]
  const inScope = subtarget === '' ? present : present.filter(({ name }) => name === subtarget)
  const lost = inScope.filter(({ name }) => mayBefore(name) && !mayAfter(name))
  return {
    lost: lost.flatMap(({ name, kind }) => {
      const removal = projectDiff(kinds[kind].removal(name), scope)
      return removal === null ? [] : deletionsIn(removal.data, scope)
    }),
    // A peer may keep the right to read single keys of the property.
    needsState: inScope.some(({ name }) => !mayBefore(name) && mayAfter(name)) || (subtarget !== '' && lost.length > 0),
  }
}
