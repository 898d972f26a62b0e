/** Why a peer may or may not do something, in the words of the form in which the owner changes it. */
import type { Explanation } from '../permission/explain.ts'
import { excludedInWords, grantedInWords, verbOf } from './rights.ts'
import type { MayAnswer } from './trust-values.ts'

/** The fields of the form, as they are labelled. */
export const fieldLabels = {
  patterns: 'Also',
  excluded_patterns: 'But not',
  allowed: 'Everything with',
  denied: 'Never',
} as const

/** @param kind The kind of relationship, as people read it. */
export function answerInWords(explanation: Explanation, kind: string): MayAnswer {
  const { allowed, operation, target } = explanation
  return {
    question: `${verbOf(operation)} “${target}”`,
    allowed,
    because: becauseInWords(explanation, kind),
    to_change: changeInWords(explanation, kind),
  }
}

function becauseInWords({ operation, rule: { part, pattern, source } }: Explanation, kind: string): string {
  if (source === 'approval') return 'you have not approved it'
  if (source === 'none' || pattern === null) return `neither ${kind} nor you opened it`
  const who = source === 'override' ? 'you' : kind
  const verb = source === 'override' ? '' : 's'
  switch (part) {
    case 'patterns':
    case 'allowed':
      return `${who} open${verb} ${grantedInWords([pattern])}`
    case 'operations':
      return `${who} ${source === 'override' ? 'do' : 'does'} not let it ${verbOf(operation)} anything of this kind`
    default:
      return `${who} exclude${verb} ${excludedInWords([pattern])}`
  }
}

function changeInWords({ category, operation, target, rule: { part, source } }: Explanation, kind: string): string {
  const name = `“${target}”`
  const hasPatterns = category === 'properties' || category === 'resources'
  switch (part) {
    case 'approved':
      return 'approve the relationship'
    case 'patterns':
      return `under “Change these rights”, put ${name} into “${fieldLabels.excluded_patterns}”`
    case 'allowed':
      return `under “Change these rights”, put ${name} into “${fieldLabels.denied}”`
    case 'operations':
      return `under “Change these rights”, tick “${verbOf(operation)}”`
    case 'excluded_patterns':
    case 'denied':
      return source === 'override'
        ? `under “Change these rights”, take it out of “${fieldLabels[part]}”`
        : `it takes a relationship of another kind: what ${kind} excludes cannot be opened`
    default:
      return hasPatterns
        ? `under “Change these rights”, put ${name} into “${fieldLabels.patterns}” and tick “${verbOf(operation)}”`
        : `under “Change these rights”, put ${name} into “${fieldLabels.patterns}”`
  }
}
