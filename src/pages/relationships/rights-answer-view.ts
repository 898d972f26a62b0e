/** Explains why a peer may or may not do something, in the terms of the rights form. */
import { type Explanation, parseQuestion } from '../../permission/explain.ts'
import type { RuledCategory } from '../../permission/rules.ts'
import { excludedInWords, grantedInWords, verbOf } from '../shared/rights.ts'
import type { MayAnswer } from './values.ts'

/** Labels of the fields in the form. */
export const fieldLabels = {
  patterns: 'Also',
  excluded_patterns: 'But not',
  allowed: 'Everything with',
  denied: 'Never',
} as const

const oneOf = {
  properties: 'property',
  files: 'file',
  methods: 'method',
  actions: 'action',
  tools: 'tool',
  resources: 'resource',
  prompts: 'prompt',
} as const satisfies Record<RuledCategory, string>

/** @param kind Display name of the trust type. */
export function answerInWords(explanation: Explanation, kind: string): MayAnswer {
  const { allowed, operation, target } = explanation
  // The routes check another operation for some requests: removing an item from a list is a write to the list.
  const decided = { ...explanation, ...parseQuestion(explanation.decided_as ?? '') }
  const because = becauseInWords(decided, kind)
  const isOther = explanation.exists !== false && (decided.operation !== operation || decided.target !== target)
  return {
    question: `${verbOf(operation)} “${target}”`,
    allowed,
    because: `${because}${isOther ? ` (this is decided as: ${verbOf(decided.operation)} “${decided.target}”)` : ''}${
      explanation.needs_approval === true ? '; each call waits for your approval' : ''
    }`,
    to_change: changeInWords(decided, kind),
  }
}

function becauseInWords({ allowed, category, operation, target, exists, rule }: Explanation, kind: string): string {
  const { part, pattern, source } = rule
  if (exists === false) return `the ${oneOf[category as RuledCategory]} “${target}” does not exist`
  if (part === 'client') return 'only AI apps reach this, and it is another actor'
  if (source === 'approval') return allowed ? 'it gets the part that it may read' : 'you have not approved it'
  if (source === 'none' || pattern === null) return `neither ${kind} nor you opened it`
  const who = source === 'override' ? 'you' : kind
  const verb = source === 'override' ? '' : 's'
  switch (part) {
    case 'grants':
      return `${grantedInWords([pattern])} is granted to it alone`
    case 'patterns':
    case 'allowed':
      return `${who} open${verb} ${grantedInWords([pattern])}`
    case 'operations':
      return `${who} ${source === 'override' ? 'do' : 'does'} not let it ${verbOf(operation)} anything of this kind`
    default:
      return `${who} exclude${verb} ${excludedInWords([pattern])}`
  }
}

function changeInWords(
  { allowed, category, operation, target, exists, rule: { part, source } }: Explanation,
  kind: string,
): string {
  if (exists === false) return 'the application would have to offer it'
  if (part === 'client') return 'no right opens it to another actor'
  const name = `“${target}”`
  const hasPatterns = category === 'properties' || category === 'resources'
  const closing = closingField(part, hasPatterns)
  if (closing !== null) return `under “Change these rights”, put ${name} into “${fieldLabels[closing]}”`
  switch (part) {
    case 'approved':
      return allowed ? 'take the approval back' : 'approve the relationship'
    case 'operations':
      return `under “Change these rights”, tick “${verbOf(operation)}”`
    case 'excluded_patterns':
    case 'denied':
      if (source === 'override') return `under “Change these rights”, take it out of “${fieldLabels[part]}”`
      if (part === 'denied') return `it takes a relationship of another kind: what ${kind} denies cannot be opened`
      return hasPatterns
        ? `it takes a relationship of another kind, or an application that opens ${name} for every operation`
        : `under “Change these rights”, put ${name} into “${fieldLabels.patterns}”`
    default:
      return hasPatterns
        ? `under “Change these rights”, put ${name} into “${fieldLabels.patterns}” and tick “${verbOf(operation)}”`
        : `under “Change these rights”, put ${name} into “${fieldLabels.patterns}”`
  }
}

/** The field that takes back what this part of a rule opens. Null: the part opens nothing. */
function closingField(part: string, hasPatterns: boolean): 'excluded_patterns' | 'denied' | null {
  if (part === 'patterns') return 'excluded_patterns'
  if (part === 'grants') return hasPatterns ? 'excluded_patterns' : 'denied'
  return part === 'allowed' ? 'denied' : null
}
