/**
 * What the rules of a relationship say to one operation. Enforcement, explanations, pages and listings all ask here, so
 * that none of them can differ from the others.
 */
import { propertiesUri, propertyAt, spellingsOf } from './property-address.ts'
import {
  judgeRule,
  reachesInto,
  refusalBy,
  refusesAllOf,
  type RuledCategory,
  type Rules,
  type RuleVerdict,
} from './rules.ts'

export interface Question {
  readonly category: RuledCategory
  readonly operation: string
  readonly target: string
}

/** The verdict, with the category whose rule gave it and the name that the rule was asked about. */
export interface Decision extends RuleVerdict {
  readonly category: RuledCategory
  readonly target: string
}

/**
 * The address of a property as a resource is judged twice: what the rules of `resources` refuse is refused, and what they
 * leave open is for the rules of `properties` to grant.
 */
export function decide(rules: Rules, { category, operation, target }: Question): Decision {
  const place = category === 'resources' && operation === 'read' ? propertyAt(target) : null
  if (place === null) return { ...judgeRule(rules[category], operation, target), category, target }
  for (const spelling of spellingsOf(target, place)) {
    const refusal = refusalBy(rules.resources, 'read', spelling)
    if (refusal !== null) return { ...refusal, category: 'resources', target }
  }
  return { ...judgeRule(rules.properties, 'read', place.name), category: 'properties', target: place.name }
}

/** Whether anything that begins with the target may be allowed. Errs towards yes: each name is judged when it comes. */
export function mayReach(rules: Rules, { category, operation, target }: Question): boolean {
  if (reachesInto(rules[category], operation, target)) return true
  if (category !== 'resources' || operation !== 'read' || !propertiesUri.startsWith(target)) return false
  return !refusesAllOf(rules.resources, 'read', propertiesUri) && reachesInto(rules.properties, 'read', '')
}
