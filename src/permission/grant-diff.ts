/** Compares the rules that a peer grants to this actor before and after a change. Pure functions. */
import type { EffectiveRule, EffectiveRules } from './rules.ts'
import { grantedPatterns, judgeRule } from './rules.ts'

/** The changes as handlers receive them, with the names of the wire format. */
export interface PermissionChanges {
  readonly is_initial: boolean
  readonly granted_patterns: readonly string[]
  readonly revoked_patterns: readonly string[]
  readonly has_revocations: boolean
}

/** Compares the patterns for properties. A new exclusion revokes what it covers, and a removed exclusion grants it. */
export function changesOfGrants(before: EffectiveRules | null, after: EffectiveRules): PermissionChanges {
  const patterns = (rules: EffectiveRules | null): readonly string[] => readPatterns(rules?.properties ?? {})
  const excluded = (rules: EffectiveRules | null): readonly string[] => rules?.properties?.excluded_patterns ?? []
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
function readPatterns(rule: EffectiveRule): readonly string[] {
  const patterns = rule.operations?.includes('read') === true ? (rule.patterns ?? []) : []
  return [...new Set([...patterns, ...grantedPatterns(rule, 'read')])]
}

/** True when a copy of the property was granted before and is no longer granted. */
export function isRevoked(before: EffectiveRules, after: EffectiveRules, name: string): boolean {
  return judgeRule(before.properties, 'read', name).allowed && !judgeRule(after.properties, 'read', name).allowed
}
