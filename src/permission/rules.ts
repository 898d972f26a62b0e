/** The rules of a relationship, and their verdict about one target. */
import { covers, coversAbove, coversAllOf, coversInAnyForm, coversSomeOf, reachesBelow } from './pattern.ts'

/** Categories that are granted by rules. */
export const ruledCategories = ['properties', 'files', 'methods', 'actions', 'tools', 'resources', 'prompts'] as const
export type RuledCategory = (typeof ruledCategories)[number]

/** The operations of each category, as rules name them. */
export const operationsOf = {
  properties: ['read', 'append', 'write', 'delete', 'subscribe'],
  files: ['read', 'write', 'delete'],
  methods: ['call'],
  actions: ['execute'],
  tools: ['use'],
  resources: ['read', 'write', 'delete'],
  prompts: ['invoke'],
} as const satisfies Record<RuledCategory, readonly string[]>

export type OperationOf<Category extends RuledCategory> = (typeof operationsOf)[Category][number]

/** The operations that a rule can grant, which pages offer. */
export const grantableOf = {
  ...operationsOf,
  properties: ['read', 'append', 'write', 'delete'],
} as const satisfies Record<RuledCategory, readonly string[]>

/** Operations that other operations of a rule grant. A rule may list `subscribe`, but it grants nothing. */
const grantedBy: ReadonlyMap<string, readonly string[]> = new Map([
  ['append', ['append', 'write']],
  // A peer may subscribe to anything, but receives only what it may read.
  ['subscribe', ['read']],
])

export interface Rule<Operation extends string = string> {
  readonly patterns?: readonly string[]
  readonly operations?: readonly Operation[]
  readonly excluded_patterns?: readonly string[]
  readonly allowed?: readonly string[]
  readonly denied?: readonly string[]
}

/** Rules as an application declares them. @public */
export type Rules = { readonly [Category in RuledCategory]?: Rule<OperationOf<Category>> }

/** Operations on the targets of one pattern, in addition to the rule. */
export interface PatternGrant {
  readonly pattern: string
  readonly operations: readonly string[]
  /** End of the grant, in Unix milliseconds. Default: no end. */
  readonly until?: number
}

/** A rule that applies to one peer. */
export interface EffectiveRule extends Rule {
  readonly grants?: readonly PatternGrant[]
}

export type EffectiveRules = { readonly [Category in RuledCategory]?: EffectiveRule }

/** The part of a rule that decided. */
export type DecidedBy = 'denied' | 'allowed' | 'operations' | 'excluded_patterns' | 'patterns' | 'grants' | 'nothing'

export interface RuleVerdict {
  readonly allowed: boolean
  readonly by: DecidedBy
  readonly pattern: string | null
}

/** Operations on targets that have parts. */
const holdsParts: ReadonlySet<string> = new Set([
  ...operationsOf.properties,
  ...operationsOf.files,
  ...operationsOf.resources,
])

const nothing: RuleVerdict = { allowed: false, by: 'nothing', pattern: null }

/**
 * Applies a rule: first `denied`, then `allowed`, then patterns with operations, or grants, and exclusions. The default is
 * to deny.
 */
export function judgeRule(rule: EffectiveRule | undefined, operation: string, target: string): RuleVerdict {
  if (rule === undefined) return nothing
  const denied = findKeeping(rule.denied, operation, target)
  if (denied !== null) return { allowed: false, by: 'denied', pattern: denied }
  const allowed = find(rule.allowed, target)
  if (allowed !== null) return { allowed: true, by: 'allowed', pattern: allowed }
  const ruled = rule.operations === undefined ? null : find(rule.patterns, target)
  const isListed = ruled !== null && lists(rule.operations ?? [], operation)
  const granted = isListed ? ruled : find(grantedPatterns(rule, operation), target)
  if (granted === null) return ruled === null ? nothing : { allowed: false, by: 'operations', pattern: ruled }
  const excluded = findKeeping(rule.excluded_patterns, operation, target)
  if (excluded !== null) return { allowed: false, by: 'excluded_patterns', pattern: excluded }
  return { allowed: true, by: isListed ? 'patterns' : 'grants', pattern: granted }
}

/** The latest end of the grants that allow the operation, in Unix milliseconds. Null: one of them has no end. */
export function endOfGrants({ grants = [] }: EffectiveRule, operation: string, target: string): number | null {
  const ends = grants
    .filter(({ pattern, operations }) => lists(operations, operation) && covers(pattern, target))
    .map(({ until }) => until ?? Number.POSITIVE_INFINITY)
  const latest = Math.max(...ends)
  return Number.isFinite(latest) ? latest : null
}

/** The patterns of the grants that list the operation. */
export function grantedPatterns({ grants = [] }: EffectiveRule, operation: string): readonly string[] {
  return grants.filter(({ operations }) => lists(operations, operation)).map(({ pattern }) => pattern)
}

/** The refusal by a rule that covers the target. Null when the rule grants the target or does not cover it. */
export function refusalBy(rule: EffectiveRule | undefined, operation: string, target: string): RuleVerdict | null {
  const verdict = judgeRule(rule, operation, target)
  if (verdict.allowed) return null
  if (verdict.by !== 'nothing') return verdict
  const excluded = findKeeping(rule?.excluded_patterns, operation, target)
  return excluded === null ? null : { allowed: false, by: 'excluded_patterns', pattern: excluded }
}

/** True when `refusalBy` refuses every name that begins with `prefix`. */
export function refusesAllOf(rule: EffectiveRule | undefined, operation: string, prefix: string): boolean {
  const { denied, allowed, patterns, operations, excluded_patterns: excluded } = rule ?? {}
  const isAllOf = (pattern: string): boolean => coversAllOf(pattern, prefix) || coversAbove(pattern, prefix)
  if (denied?.some(isAllOf) === true) return true
  if (allowed?.some((pattern) => coversSomeOf(pattern, prefix)) === true) return false
  if (excluded?.some(isAllOf) === true) return true
  if (grantedPatterns(rule ?? {}, operation).some((pattern) => coversSomeOf(pattern, prefix))) return false
  // A pattern without the operation refuses the names that it covers, but not names below them.
  const isGranted = patterns?.some((pattern) => coversAllOf(pattern, prefix)) === true
  return isGranted && operations !== undefined && !lists(operations, operation)
}

/**
 * True when a name that begins with `prefix` may be allowed. It may err towards true, so it is for descriptions only:
 * each name is checked when it is used.
 */
export function reachesInto(rule: EffectiveRule | undefined, operation: string, prefix: string): boolean {
  const { denied, allowed, patterns, operations, excluded_patterns: excluded } = rule ?? {}
  const isAllOf = (pattern: string): boolean =>
    coversAllOf(pattern, prefix) || (holdsParts.has(operation) && coversAbove(pattern, prefix))
  const isSomeOf = (pattern: string): boolean => coversSomeOf(pattern, prefix)
  if (denied?.some(isAllOf) === true) return false
  if (allowed?.some(isSomeOf) === true) return true
  if (excluded?.some(isAllOf) === true) return false
  if (grantedPatterns(rule ?? {}, operation).some(isSomeOf)) return true
  return operations !== undefined && lists(operations, operation) && patterns?.some(isSomeOf) === true
}

/** True when the operations of a rule grant this operation. */
export function lists(operations: readonly string[], operation: string): boolean {
  return (grantedBy.get(operation) ?? [operation]).some((each) => operations.includes(each))
}

function find(patterns: readonly string[] | undefined, target: string): string | null {
  return patterns?.find((pattern) => covers(pattern, target)) ?? null
}

/** The exclusion that covers the target, its parent or one of its parts: access to a whole would disclose its parts. */
function findKeeping(patterns: readonly string[] | undefined, operation: string, target: string): string | null {
  // Names of operations that are called have no parts.
  const hasParts = holdsParts.has(operation)
  const keeps = (pattern: string): boolean =>
    coversInAnyForm(pattern, target) || (hasParts && (reachesBelow(pattern, target) || coversAbove(pattern, target)))
  return patterns?.find(keeps) ?? null
}

/** One category of an override. With `merge: false`, its grants replace the grants of the type. */
export interface OverrideRule extends EffectiveRule {
  readonly merge?: false
}

export type OverrideRules = { readonly [category in RuledCategory]?: OverrideRule }

/**
 * Merges the rules of a type with an override. Exclusions and denials of both always apply, so an override cannot remove
 * one. Patterns and names are united unless the override has `merge: false`.
 */
export function mergeRules(base: EffectiveRules, override: OverrideRules): EffectiveRules {
  const merged: { [category in RuledCategory]?: EffectiveRule } = { ...base }
  for (const category of ruledCategories) {
    const given = override[category]
    if (given !== undefined) merged[category] = mergeRule(base[category] ?? {}, given)
  }
  return merged
}

function mergeRule(base: EffectiveRule, { merge, ...given }: OverrideRule): EffectiveRule {
  const granted = (name: 'patterns' | 'allowed'): readonly string[] | undefined =>
    merge === false && given[name] !== undefined ? given[name] : union(base[name], given[name])
  return {
    ...defined('patterns', granted('patterns')),
    ...defined('operations', given.operations ?? base.operations),
    ...defined('excluded_patterns', union(base.excluded_patterns, given.excluded_patterns)),
    ...defined('allowed', granted('allowed')),
    ...defined('denied', union(base.denied, given.denied)),
    ...(given.grants === undefined ? {} : { grants: given.grants }),
  }
}

function union(a: readonly string[] | undefined, b: readonly string[] | undefined): readonly string[] | undefined {
  return a === undefined || b === undefined ? (a ?? b) : [...new Set([...a, ...b])]
}

function defined<K extends keyof Rule>(name: K, value: readonly string[] | undefined): Rule {
  return value === undefined ? {} : { [name]: value }
}
