/** The owner's choice for one name in the access table, which is a rule about exactly this name. */
import type { OverrideRule, OverrideRules, RuledCategory } from '../../../permission/rules.ts'
import { accessChoices, type AccessChoice } from '../values.ts'

export interface ChosenAccess {
  readonly category: RuledCategory
  readonly name: string
  readonly choice: AccessChoice
}

/** The pattern that allows everything about a name. For data, it includes the parts and items. */
function allowing(category: RuledCategory, name: string): string {
  return category === 'properties' ? `${name}/*` : name
}

/** True when a pattern can name exactly this name. */
export function isExact(name: string): boolean {
  return !/[*?]|:\/\/$/.test(name)
}

export function choiceOf(rules: OverrideRules, category: RuledCategory, name: string): AccessChoice {
  const { denied = [], allowed = [] } = rules[category] ?? {}
  if (denied.includes(name)) return 'block'
  return allowed.includes(allowing(category, name)) ? 'allow' : 'default'
}

/** Returns the rules of the categories that the choices change. */
export function withChoices(rules: OverrideRules, chosen: readonly ChosenAccess[]): OverrideRules {
  const changed: { [category in RuledCategory]?: OverrideRule } = {}
  for (const { category, name, choice } of chosen) {
    if (choiceOf(rules, category, name) === choice) continue
    const { grants: _grants, ...rule } = changed[category] ?? rules[category] ?? {}
    const pattern = allowing(category, name)
    changed[category] = {
      ...rule,
      denied: [...(rule.denied ?? []).filter((each) => each !== name), ...(choice === 'block' ? [name] : [])],
      allowed: [...(rule.allowed ?? []).filter((each) => each !== pattern), ...(choice === 'allow' ? [pattern] : [])],
    }
  }
  return Object.fromEntries(Object.entries(changed).map(([category, rule]) => [category, withoutEmpty(rule)]))
}

/** With `merge: false`, an empty list of allowed names removes those of the trust type, so it stays. */
function withoutEmpty(rule: OverrideRule): OverrideRule {
  const { denied = [], allowed = [], ...others } = rule
  return {
    ...others,
    ...(denied.length === 0 ? {} : { denied }),
    ...(allowed.length === 0 && rule.merge !== false ? {} : { allowed }),
  }
}

export function isChoice(text: string | undefined): text is AccessChoice {
  return accessChoices.some((choice) => choice === text)
}
