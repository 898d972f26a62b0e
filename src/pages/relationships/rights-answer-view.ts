/** Explains why a peer may or may not do something, in the terms of the rights form. */
import { type Explanation, parseQuestion } from '../../permission/explain.ts'
import type { RuledCategory } from '../../permission/rules.ts'
import type { Messages } from '../languages/language.ts'
import { coveredBy, verbOf } from '../shared/rights.ts'
import type { MayAnswer } from './values.ts'

/** The peer and its trust type, as pages name them. */
interface Asked {
  readonly who: string
  readonly level: string
  /** True when the rights of the peer follow from its role. */
  readonly isMember: boolean
}

export function answerInWords(
  explanation: Explanation,
  { who, level, isMember }: Asked,
  messages: Messages,
): MayAnswer {
  const { allowed, operation, target } = explanation
  const { rights, check, because } = messages
  const verb = verbOf(operation, messages)
  // The routes check another operation for some requests: removing an item from a list is a write to the list.
  const decided = { ...explanation, ...parseQuestion(explanation.decided_as ?? '') }
  const isOther = explanation.exists !== false && (decided.operation !== operation || decided.target !== target)
  return {
    question: rights.act(verb, target),
    allowed,
    sentence: (allowed ? check.can : check.cannot)(who, verb, target),
    because: [
      isMember && decided.rule.source === 'override'
        ? messages.membership.byRole(allowed)
        : reasonInWords(decided, level, messages),
      ...(isOther ? [because.decidedAs(verbOf(decided.operation, messages), decided.target)] : []),
      ...(explanation.needs_approval === true ? [because.needsApproval] : []),
    ].join(' '),
    to_change: isMember ? messages.membership.toChange : changeInWords(decided, level, messages),
  }
}

function reasonInWords(
  { allowed, category, operation, target, exists, rule }: Explanation,
  level: string,
  messages: Messages,
): string {
  const { because, missing } = messages
  const { part, pattern, source } = rule
  if (exists === false) return missing[category as RuledCategory](target)
  if (part === 'client') return because.onlyForApps
  if (source === 'approval') return allowed ? because.visibleParts : because.notApproved
  if (source === 'none' || pattern === null) return because.notGranted(level)
  const isOwn = source === 'override'
  const covered = coveredBy([pattern])
  switch (part) {
    case 'grants':
      return because.grantedAlone(covered)
    case 'patterns':
    case 'allowed':
      return isOwn ? because.youAllow(covered) : because.levelAllows(level, covered)
    case 'operations': {
      const verb = verbOf(operation, messages)
      return isOwn ? because.youOmit(verb) : because.levelOmits(level, verb)
    }
    default:
      return isOwn ? because.youBlock(covered) : because.levelBlocks(level, covered)
  }
}

function changeInWords(
  { allowed, category, operation, target, exists, rule: { part, source } }: Explanation,
  level: string,
  messages: Messages,
): string {
  const { toChange: words, editAccess: fields } = messages
  if (exists === false) return words.offer
  if (part === 'client') return words.onlyForApps
  const hasPatterns = category === 'properties' || category === 'resources'
  const closing = closingField(part, hasPatterns)
  if (closing !== null) return words.put(target, fields[closing])
  switch (part) {
    case 'approved':
      return allowed ? words.pause : words.approve
    case 'operations':
      return words.tick(verbOf(operation, messages))
    case 'excluded_patterns':
    case 'denied':
      if (source === 'override') return words.remove(fields[part])
      if (part === 'denied') return words.otherLevel(level)
      return hasPatterns ? words.otherLevelOrApp(level, target) : words.put(target, fields.patterns)
    default:
      return hasPatterns
        ? words.putAndTick(target, fields.patterns, verbOf(operation, messages))
        : words.put(target, fields.patterns)
  }
}

/** The field that takes back what this part of a rule opens. Null: the part opens nothing. */
function closingField(part: string, hasPatterns: boolean): 'excluded_patterns' | 'denied' | null {
  if (part === 'patterns') return 'excluded_patterns'
  if (part === 'grants') return hasPatterns ? 'excluded_patterns' : 'denied'
  return part === 'allowed' ? 'denied' : null
}
