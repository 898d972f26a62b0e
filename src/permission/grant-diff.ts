/** Compares the rules that a peer grants to this actor before and after a change. Pure functions. */
import type { Rules } from './rules.ts'
import { judgeRule } from './rules.ts'

/** The changes as handlers receive them, with the names of the wire format. */
export interface PermissionChanges {
  readonly is_initial: boolean
  readonly granted_patterns: readonly string[]
  readonly revoked_patterns: readonly string[]
  readonly has_revocations: boolean
}

/** Compares the patterns for properties. A new exclusion revokes what it covers, and a removed exclusion grants it. */
export function changesOfGrants(before: Rules | null, after: Rules): PermissionChanges {
  const patterns = (rules: Rules | null): readonly string[] => readPatterns(rules?.properties?.patterns, rules)
  const excluded = (rules: Rules | null): readonly string[] => rules?.properties?.excluded_patterns ?? []
  const without = (all: readonly string[], others: readonly string[]): string[] =>
    all.filter((pattern) => !others.includes(pattern))
  if (before === null) {
    return { is_initial: true, granted_patterns: patterns(after), revoked_patterns: [], has_revocations: false }
  }
  const revoked = [...without(patterns(before), patterns(after)), ...without(excluded(after), excluded(before))]
  return {
    is_initial: false,
    granted_patterns: [...without(patterns(after), patterns(before)), ...without(excluded(before), excluded(after))],
    revoked_patterns: revoked,
    has_revocations: revoked.length > 0,
  }
}

/** The patterns, or none without the right to read: a copy needs that right. */
function readPatterns(patterns: readonly string[] | undefined, rules: Rules | null): readonly string[] {
  return rules?.properties?.operations?.includes('read') === true ? (patterns ?? []) : []
}

/** True when a copy of the property was granted before and is no longer granted. */
export function isRevoked(before: Rules, after: Rules, name: string): boolean {
  return judgeRule(before.properties, 'read', name).allowed && !judgeRule(after.properties, 'read', name).allowed
}
