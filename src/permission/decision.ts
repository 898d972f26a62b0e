/**
 * Decides one operation by the rules of a relationship. Enforcement, explanations, pages and listings all use these
 * functions, so that they always agree.
 */
import { propertiesUri, propertyAt, spellingsOf } from './property-address.ts'
import {
  judgeRule,
  reachesInto,
  refusalBy,
  refusesAllOf,
  type RuledCategory,
  type EffectiveRules,
  type RuleVerdict,
} from './rules.ts'

export interface Question {
  readonly category: RuledCategory
  readonly operation: string
  readonly target: string
}

/** A verdict, with the category of the rule that decided, and the name of the property, tool or other target. */
export interface Decision extends RuleVerdict {
  readonly category: RuledCategory
  readonly target: string
}

/**
 * Decides a question by the rules. The address of a property as a resource is checked twice: a refusal by the rules of
 * `resources` is final, and otherwise the rules of `properties` decide.
 */
export function decide(rules: EffectiveRules, { category, operation, target }: Question): Decision {
  const place = category === 'resources' && operation === 'read' ? propertyAt(target) : null
  if (place === null) return { ...judgeRule(rules[category], operation, target), category, target }
  for (const spelling of spellingsOf(target, place)) {
    const refusal = refusalBy(rules.resources, 'read', spelling)
    if (refusal !== null) return { ...refusal, category: 'resources', target }
  }
  return { ...judgeRule(rules.properties, 'read', place.name), category: 'properties', target: place.name }
}

/** True when a name that begins with the target may be allowed. It may err towards true: each name is checked later. */
export function mayReach(rules: EffectiveRules, { category, operation, target }: Question): boolean {
  if (reachesInto(rules[category], operation, target)) return true
  if (category !== 'resources' || operation !== 'read' || !propertiesUri.startsWith(target)) return false
  return !refusesAllOf(rules.resources, 'read', propertiesUri) && reachesInto(rules.properties, 'read', '')
}
