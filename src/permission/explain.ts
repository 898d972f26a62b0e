/** Explains why an operation is allowed or denied: which rule decides, where it is defined, and how to change the result. */
import { requiredOn } from './required-right.ts'
import { decide, type Decision } from './decision.ts'
import type { Category } from './operation.ts'
import { propertiesUri } from './property-address.ts'
import { rightsIn, roleTable } from './roles.ts'
import {
  endOfGrants,
  mergeRules,
  operationsOf,
  type OverrideRules,
  type EffectiveRules,
  type Rule,
  type RuledCategory,
  ruledCategories,
} from './rules.ts'

export interface Explanation {
  readonly operation: string
  readonly category: Category
  readonly target: string
  readonly allowed: boolean
  /** The reason in one sentence. */
  readonly because: string
  readonly rule: {
    readonly part: string
    readonly pattern: string | null
    /** Where the deciding pattern is defined. */
    readonly source: 'approval' | 'trust_type' | 'override' | 'grant' | 'none'
  }
  /** When the rule or the approval ends that allows the operation, in ISO 8601. Without it, neither ends. */
  readonly until?: string
  /** How the owner can reverse the result, in one sentence. */
  readonly to_change: string
  /** `<category>.<operation>:<target>`, when the route requires another right than the question names. */
  readonly decided_as?: string
  /** Present when the operation is allowed, but each call needs the owner's approval. */
  readonly needs_approval?: true
  /** Present when the application does not declare the target. */
  readonly exists?: false
}

export interface WideQuestion {
  readonly category: Category
  readonly operation: string
  readonly target: string
}

interface RuledQuestion extends WideQuestion {
  readonly category: RuledCategory
}

export interface ExplainSubject {
  readonly approved: boolean
  /** End of the approval, in Unix milliseconds. Null: no end. */
  readonly approvedUntil: number | null
  readonly relationship: string
  /** Only AI clients can access tools, prompts, and properties as resources. */
  readonly isClient: boolean
  readonly base: EffectiveRules
  readonly override: OverrideRules | null
}

/** Facts other than the rules on which the result depends. */
export interface ExplainFacts {
  /** True for a question about a list, or another kind that holds items. */
  readonly holdsItems: boolean
  /** False for an operation or a resource that the application does not declare. */
  readonly isDeclared: boolean
  /** True when each call needs the owner's approval. */
  readonly needsApproval: boolean
}

/** Categories that the role table alone decides. */
const tableCategories = ['actor', 'trust', 'subscriptions', 'callbacks', 'permissions', 'services', 'activity'] as const
const tableOperations: readonly string[] = ['read', 'write', 'delete']

/** Parses `read:notes/1` or `call:get_weather`, where the operation implies the category, or `resources.read:x`. */
export function parseQuestion(text: string): WideQuestion | null {
  const [, named, operation = '', target = ''] = /^(?:([a-z]+)\.)?([a-z]+):(.*)$/s.exec(text) ?? []
  const category = ruledCategories.find(
    (name) => (named === undefined || named === name) && (operationsOf[name] as readonly string[]).includes(operation),
  )
  if (category !== undefined) return { category, operation, target }
  const inTable = tableCategories.find((name) => name === named)
  return inTable !== undefined && tableOperations.includes(operation) ? { category: inTable, operation, target } : null
}

export function explain(subject: ExplainSubject, question: WideQuestion, facts: ExplainFacts): Explanation {
  const { until, ...answer } = explainRule(subject, question, facts)
  const ends = [until === undefined ? null : Date.parse(until), subject.approvedUntil].filter((end) => end !== null)
  return answer.allowed && ends.length > 0 ? { ...answer, until: new Date(Math.min(...ends)).toISOString() } : answer
}

function explainRule(subject: ExplainSubject, question: WideQuestion, facts: ExplainFacts): Explanation {
  const { category, operation, target } = question
  const asked = { operation, category, target }
  if (!subject.approved) {
    return {
      ...asked,
      allowed: false,
      because: 'the relationship is not approved, so nothing is allowed',
      rule: { part: 'approved', pattern: null, source: 'approval' },
      to_change: 'approve the relationship',
    }
  }
  if (!isRuled(question)) return { ...asked, ...byTable(subject, question) }
  if (!subject.isClient && isForClients(question)) {
    return {
      ...asked,
      allowed: false,
      because: `only AI clients reach this ${nouns[question.category]}, and this peer is another actor`,
      rule: { part: 'client', pattern: null, source: 'none' },
      to_change: 'nothing in its rights: no rule opens this to another actor',
    }
  }
  return { ...asked, ...byRules(subject, question, facts) }
}

type HttpResponse = Omit<Explanation, 'operation' | 'category' | 'target'>

function byTable({ relationship, isClient }: ExplainSubject, { category, operation }: WideQuestion): HttpResponse {
  const table = roleTable(isClient ? { program: true } : { relationship })
  const allowed = rightsIn(table, category).some((right) => right === operation)
  if (isClient && !allowed) {
    return {
      allowed: false,
      because: `programs do not reach ${category}, whatever their trust type is`,
      rule: { part: 'client', pattern: null, source: 'none' },
      to_change: 'nothing in its rights: no trust type opens this to a program',
    }
  }
  return {
    allowed,
    because: allowed
      ? `relationships of the type ${relationship} reach ${category}`
      : `relationships of the type ${relationship} reach ${category} only where the address names the peer itself`,
    rule: { part: 'trust_type', pattern: null, source: allowed ? 'trust_type' : 'none' },
    to_change: 'give the peer another trust type: no override decides this',
  }
}

function byRules(
  subject: ExplainSubject,
  question: RuledQuestion,
  { holdsItems, isDeclared, needsApproval }: ExplainFacts,
): HttpResponse {
  const required = requiredFor(question, holdsItems)
  const rules = mergeRules(subject.base, subject.override ?? {})
  const decision = decide(rules, required)
  const decidedAs = textOf({ ...required, category: decision.category, target: decision.target })
  const answer: HttpResponse = {
    allowed: decision.allowed,
    ...inWords(subject, rules, required.operation, decision),
    ...(decidedAs === textOf(question) ? {} : { decided_as: decidedAs }),
  }
  if (isDeclared) return decision.allowed && needsApproval ? { ...answer, needs_approval: true } : answer
  const missing = `the application has no ${nouns[question.category]} ${JSON.stringify(question.target)}`
  return {
    ...answer,
    allowed: false,
    because: decision.allowed ? `${missing}; its rights alone would allow it` : `${missing}, and ${answer.because}`,
    to_change: decision.allowed ? 'nothing in its rights: the application has to declare it' : answer.to_change,
    exists: false,
  }
}

/** The right that a route requires, in the terms of rules. */
function requiredFor(question: RuledQuestion, holdsItems: boolean): RuledQuestion {
  const { category, operation, target } = question
  if (category !== 'properties') return question
  const { right, path } = requiredOn(holdsItems, operation, target.split('/'))
  return { category, operation: right === 'subscribe' ? 'read' : right, target: path.join('/') }
}

function textOf({ category, operation, target }: RuledQuestion): string {
  return `${category}.${operation}:${target}`
}

/** The rule that decides, and where it is defined. */
interface DecidingRule extends Decision {
  readonly operation: string
  readonly source: 'trust_type' | 'override' | 'grant' | 'none'
}

function inWords(
  subject: ExplainSubject,
  rules: EffectiveRules,
  operation: string,
  decision: Decision,
): Pick<Explanation, 'because' | 'rule' | 'to_change' | 'until'> {
  const { by, pattern, category, target } = decision
  const end = by === 'grants' ? endOfGrants(rules[category] ?? {}, operation, target) : null
  const source = pattern === null ? 'none' : sourceOf(subject, category, by, pattern)
  const deciding: DecidingRule = { ...decision, operation, source }
  return {
    because: because(subject.relationship, deciding),
    rule: { part: by, pattern, source },
    to_change: toChange(deciding, rules[category]),
    ...(end === null ? {} : { until: new Date(end).toISOString() }),
  }
}

function isRuled(question: WideQuestion): question is RuledQuestion {
  return Object.hasOwn(operationsOf, question.category)
}

function isForClients({ category, target }: WideQuestion): boolean {
  return (
    category === 'tools' || category === 'prompts' || (category === 'resources' && target.startsWith(propertiesUri))
  )
}

const nouns = {
  properties: 'property',
  files: 'file',
  methods: 'method',
  actions: 'action',
  tools: 'tool',
  resources: 'resource',
  prompts: 'prompt',
} as const satisfies Record<RuledCategory, string>

function sourceOf(
  { override }: ExplainSubject,
  category: RuledCategory,
  by: string,
  pattern: string,
): 'trust_type' | 'override' | 'grant' {
  if (by === 'grants') return 'grant'
  const given = override?.[category]
  const part = by === 'operations' ? given?.operations : given?.[by as keyof Rule]
  return (by === 'operations' ? part !== undefined : part?.includes(pattern) === true) ? 'override' : 'trust_type'
}

function because(relationship: string, { category, by, pattern, source, operation }: DecidingRule): string {
  if (by === 'nothing') return `no rule of ${relationship} for ${category} covers it, and what nothing grants is denied`
  if (by === 'grants') return `a grant of ${operation} on ${JSON.stringify(pattern)} covers it`
  const where = source === 'override' ? 'your override' : `the trust type ${relationship}`
  if (by === 'operations') return `${where} does not list ${operation} for ${category}`
  return `${JSON.stringify(pattern)} in ${by} of ${where} covers it`
}

function toChange({ category, operation, target, by, source }: DecidingRule, rule: Rule | undefined): string {
  const name = JSON.stringify(target)
  switch (by) {
    case 'patterns':
      return `add ${name} to ${category}.excluded_patterns in an override to deny it`
    case 'grants':
      return `withdraw the grant, or add ${name} to ${category}.denied in an override to deny it`
    case 'allowed':
      return `add ${name} to ${category}.denied in an override to deny it`
    case 'operations':
      return `list ${operation} in ${category}.operations of an override to allow it`
    case 'denied':
    case 'excluded_patterns':
      if (source === 'override') return `take the pattern out of ${category}.${by} in your override to allow it`
      return by === 'denied'
        ? 'give the peer another trust type: an override cannot remove a denied pattern of the type'
        : `add ${name} to ${category}.allowed in an override to allow it with every operation`
    default:
      return rule?.operations === undefined &&
        (category === 'methods' || category === 'actions' || category === 'tools' || category === 'prompts')
        ? `add ${name} to ${category}.allowed in an override to allow it`
        : `add ${name} to ${category}.patterns and ${operation} to ${category}.operations in an override to allow it`
  }
}
