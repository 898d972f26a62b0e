/** Why somebody may or may not do something: which rule, from where, and what would change it. */
import {
  judgeRule,
  mergeRules,
  operationsOf,
  type OverrideRules,
  type Rule,
  type RuledCategory,
  ruledCategories,
  type Rules,
} from './rules.ts'

export interface Explanation {
  readonly operation: string
  readonly category: RuledCategory
  readonly target: string
  readonly allowed: boolean
  /** In one sentence. */
  readonly because: string
  readonly rule: {
    readonly part: string
    readonly pattern: string | null
    /** Where the deciding pattern stands. */
    readonly source: 'approval' | 'trust_type' | 'override' | 'none'
  }
  /** What the owner can do to turn the answer round; in one sentence. */
  readonly to_change: string
}

export interface ExplainSubject {
  readonly approved: boolean
  readonly relationship: string
  readonly base: Rules
  readonly override: OverrideRules | null
}

/** `<operation>:<target>`, the category named by the operation: `read:notes/1`, `call:get_weather`; or with it: `resources.read:x`. */
export function parseQuestion(text: string): { category: RuledCategory; operation: string; target: string } | null {
  const [, named, operation = '', target = ''] = /^(?:([a-z]+)\.)?([a-z]+):(.*)$/s.exec(text) ?? []
  const category = ruledCategories.find(
    (name) => (named === undefined || named === name) && (operationsOf[name] as readonly string[]).includes(operation),
  )
  return category === undefined ? null : { category, operation, target }
}

export function explain(
  subject: ExplainSubject,
  { category, operation, target }: { category: RuledCategory; operation: string; target: string },
): Explanation {
  const rules = mergeRules(subject.base, subject.override ?? {})
  const verdict = judgeRule(rules[category], operation, target)
  const answer = { operation, category, target }
  if (!subject.approved) {
    return {
      ...answer,
      allowed: false,
      because: 'the relationship is not approved, so nothing is allowed',
      rule: { part: 'approved', pattern: null, source: 'approval' },
      to_change: 'approve the relationship',
    }
  }
  const source = verdict.pattern === null ? 'none' : sourceOf(subject, category, verdict.by, verdict.pattern)
  return {
    ...answer,
    allowed: verdict.allowed,
    because: because(subject.relationship, category, verdict.by, verdict.pattern, source, operation),
    rule: { part: verdict.by, pattern: verdict.pattern, source },
    to_change: toChange(category, operation, target, verdict.by, source, rules[category]),
  }
}

function sourceOf(
  { override }: ExplainSubject,
  category: RuledCategory,
  by: string,
  pattern: string,
): 'trust_type' | 'override' {
  const given = override?.[category]
  const part = by === 'operations' ? given?.operations : given?.[by as keyof Rule]
  return (by === 'operations' ? part !== undefined : part?.includes(pattern) === true) ? 'override' : 'trust_type'
}

function because(
  relationship: string,
  category: RuledCategory,
  by: string,
  pattern: string | null,
  source: string,
  operation: string,
): string {
  if (by === 'nothing') return `no rule of ${relationship} for ${category} covers it, and what nothing grants is denied`
  const where = source === 'override' ? 'your override' : `the trust type ${relationship}`
  if (by === 'operations') return `${where} does not list ${operation} for ${category}`
  return `${JSON.stringify(pattern)} in ${by} of ${where} covers it`
}

function toChange(
  category: RuledCategory,
  operation: string,
  target: string,
  by: string,
  source: string,
  rule: Rule | undefined,
): string {
  const name = JSON.stringify(target)
  switch (by) {
    case 'patterns':
      return `add ${name} to ${category}.excluded_patterns in an override to deny it`
    case 'allowed':
      return `add ${name} to ${category}.denied in an override to deny it`
    case 'operations':
      return `list ${operation} in ${category}.operations of an override to allow it`
    case 'denied':
    case 'excluded_patterns':
      return source === 'override'
        ? `take the pattern out of ${category}.${by} in your override to allow it`
        : 'give the peer another trust type: exclusions of a type cannot be lifted'
    default:
      return rule?.operations === undefined &&
        (category === 'methods' || category === 'actions' || category === 'tools' || category === 'prompts')
        ? `add ${name} to ${category}.allowed in an override to allow it`
        : `add ${name} to ${category}.patterns and ${operation} to ${category}.operations in an override to allow it`
  }
}
