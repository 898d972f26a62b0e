/** The rules of a relationship, and what they say about one target. */
import { covers, coversAbove, coversAllOf, coversSomeOf, reachesBelow } from './pattern.ts'

/** Categories that are granted by rules. */
export const ruledCategories = ['properties', 'methods', 'actions', 'tools', 'resources', 'prompts'] as const
export type RuledCategory = (typeof ruledCategories)[number]

/** The operations of each category, in the words that rules use. */
export const operationsOf = {
  properties: ['read', 'append', 'write', 'delete', 'subscribe'],
  methods: ['call'],
  actions: ['execute'],
  tools: ['use'],
  resources: ['read', 'write', 'delete'],
  prompts: ['invoke'],
} as const satisfies Record<RuledCategory, readonly string[]>

/** Those that a rule can grant by listing them: the pages offer these. */
export const grantableOf = {
  ...operationsOf,
  properties: ['read', 'append', 'write', 'delete'],
} as const satisfies Record<RuledCategory, readonly string[]>

/** Operations that another one of the rule grants as well, or alone. `subscribe` is accepted in a rule and grants nothing. */
const grantedBy: Readonly<Record<string, readonly string[]>> = {
  append: ['append', 'write'],
  // A peer may subscribe to anything and is sent what it may read.
  subscribe: ['read'],
}

export interface Rule {
  readonly patterns?: readonly string[]
  readonly operations?: readonly string[]
  readonly excluded_patterns?: readonly string[]
  readonly allowed?: readonly string[]
  readonly denied?: readonly string[]
}

export type Rules = { readonly [category in RuledCategory]?: Rule }

/** Which part of a rule decided, and by which of its patterns. */
export type DecidedBy = 'denied' | 'allowed' | 'operations' | 'excluded_patterns' | 'patterns' | 'nothing'

export interface RuleVerdict {
  readonly allowed: boolean
  readonly by: DecidedBy
  readonly pattern: string | null
}

/** Operations on what has parts. */
const holdsParts: ReadonlySet<string> = new Set([...operationsOf.properties, ...operationsOf.resources])

const nothing: RuleVerdict = { allowed: false, by: 'nothing', pattern: null }

/** `denied` before `allowed` before patterns with their operations and exclusions; what nothing grants is denied. */
export function judgeRule(rule: Rule | undefined, operation: string, target: string): RuleVerdict {
  if (rule === undefined) return nothing
  const denied = findKeeping(rule.denied, operation, target)
  if (denied !== null) return { allowed: false, by: 'denied', pattern: denied }
  const allowed = find(rule.allowed, target)
  if (allowed !== null) return { allowed: true, by: 'allowed', pattern: allowed }
  const granted = find(rule.patterns, target)
  if (granted === null || rule.operations === undefined) return nothing
  if (!lists(rule.operations, operation)) return { allowed: false, by: 'operations', pattern: granted }
  const excluded = findKeeping(rule.excluded_patterns, operation, target)
  if (excluded !== null) return { allowed: false, by: 'excluded_patterns', pattern: excluded }
  return { allowed: true, by: 'patterns', pattern: granted }
}

/** The refusal of a rule that speaks of the target; null where the rule grants, and where it says nothing. */
export function refusalBy(rule: Rule | undefined, operation: string, target: string): RuleVerdict | null {
  const verdict = judgeRule(rule, operation, target)
  if (verdict.allowed) return null
  if (verdict.by !== 'nothing') return verdict
  const excluded = findKeeping(rule?.excluded_patterns, operation, target)
  return excluded === null ? null : { allowed: false, by: 'excluded_patterns', pattern: excluded }
}

/** Whether the rule refuses everything that begins with `prefix`, as `refusalBy` would name by name. */
export function refusesAllOf(rule: Rule | undefined, operation: string, prefix: string): boolean {
  const { denied, allowed, patterns, operations, excluded_patterns: excluded } = rule ?? {}
  const isAllOf = (pattern: string): boolean => coversAllOf(pattern, prefix) || coversAbove(pattern, prefix)
  if (denied?.some(isAllOf) === true) return true
  if (allowed?.some((pattern) => coversSomeOf(pattern, prefix)) === true) return false
  if (excluded?.some(isAllOf) === true) return true
  // A grant, and with it the lack of an operation, does not reach below the name that it covers.
  const isGranted = patterns?.some((pattern) => coversAllOf(pattern, prefix)) === true
  return isGranted && operations !== undefined && !lists(operations, operation)
}

/**
 * Whether something that begins with `prefix` may be allowed, for saying what is followed: each name is still judged when
 * it comes. It errs towards yes.
 */
export function reachesInto(rule: Rule | undefined, operation: string, prefix: string): boolean {
  const { denied, allowed, patterns, operations, excluded_patterns: excluded } = rule ?? {}
  const isAllOf = (pattern: string): boolean =>
    coversAllOf(pattern, prefix) || (holdsParts.has(operation) && coversAbove(pattern, prefix))
  const isSomeOf = (pattern: string): boolean => coversSomeOf(pattern, prefix)
  if (denied?.some(isAllOf) === true) return false
  if (allowed?.some(isSomeOf) === true) return true
  if (operations === undefined || !lists(operations, operation) || excluded?.some(isAllOf) === true) return false
  return patterns?.some(isSomeOf) === true
}

/** Whether the operations of a rule grant this one. */
export function lists(operations: readonly string[], operation: string): boolean {
  return (grantedBy[operation] ?? [operation]).some((each) => operations.includes(each))
}

function find(patterns: readonly string[] | undefined, target: string): string | null {
  return patterns?.find((pattern) => covers(pattern, target)) ?? null
}

/** The exclusion that keeps the target: a part belongs to its whole, and giving the whole would give each of its parts. */
function findKeeping(patterns: readonly string[] | undefined, operation: string, target: string): string | null {
  // Names of what is called have no parts.
  const hasParts = holdsParts.has(operation)
  const keeps = (pattern: string): boolean =>
    covers(pattern, target) || (hasParts && (reachesBelow(pattern, target) || coversAbove(pattern, target)))
  return patterns?.find(keeps) ?? null
}

/** A category of an override; `merge: false` lets its grants stand in the place of the type's. */
export interface OverrideRule extends Rule {
  readonly merge?: false
}

export type OverrideRules = { readonly [category in RuledCategory]?: OverrideRule }

/**
 * The type's rules with the override's. Exclusions and denials of both hold, always: an override that is empty or
 * narrower never lifts one. Grants are united unless the override says `merge: false`.
 */
export function mergeRules(base: Rules, override: OverrideRules): Rules {
  const merged: { [category in RuledCategory]?: Rule } = { ...base }
  for (const category of ruledCategories) {
    const given = override[category]
    if (given !== undefined) merged[category] = mergeRule(base[category] ?? {}, given)
  }
  return merged
}

function mergeRule(base: Rule, { merge, ...given }: OverrideRule): Rule {
  const granted = (name: 'patterns' | 'allowed'): readonly string[] | undefined =>
    merge === false && given[name] !== undefined ? given[name] : union(base[name], given[name])
  return {
    ...defined('patterns', granted('patterns')),
    ...defined('operations', given.operations ?? base.operations),
    ...defined('excluded_patterns', union(base.excluded_patterns, given.excluded_patterns)),
    ...defined('allowed', granted('allowed')),
    ...defined('denied', union(base.denied, given.denied)),
  }
}

function union(a: readonly string[] | undefined, b: readonly string[] | undefined): readonly string[] | undefined {
  return a === undefined || b === undefined ? (a ?? b) : [...new Set([...a, ...b])]
}

function defined<K extends keyof Rule>(name: K, value: readonly string[] | undefined): Rule {
  return value === undefined ? {} : { [name]: value }
}
