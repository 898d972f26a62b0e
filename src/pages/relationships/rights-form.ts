/** The form in which an owner overrides the rights of a peer's trust type. */
import type { JsonText } from '../../json/json.ts'
import { normalize } from '../../json/json.ts'
import {
  grantableOf,
  type OverrideRule,
  type OverrideRules,
  type Rule,
  type RuledCategory,
  ruledCategories,
  type EffectiveRules,
} from '../../permission/rules.ts'
import { covers, reachesBelow } from '../../permission/pattern.ts'
import type { Messages } from '../languages/language.ts'
import { filterInTurns } from '../../permission/in-turns.ts'
import { rightsInWords } from '../shared/rights.ts'
import type { RightsFields, RightsFieldset } from './values.ts'
import type { Params } from '../../http/edge/params.ts'

type Fields = Readonly<Record<RuledCategory, RightsFields>>

/** Returns the initial fields of the form. */
export function fieldsOf(base: EffectiveRules, override: OverrideRules): Fields {
  return byCategory((category) => {
    const given: OverrideRule = override[category] ?? {}
    return {
      patterns: lines(given.patterns),
      operations: grantable(category, given.operations ?? base[category]?.operations ?? []),
      excluded_patterns: lines(given.excluded_patterns),
      allowed: lines(given.allowed),
      denied: lines(given.denied),
      only: given.merge === false,
    }
  })
}

/** Returns the submitted fields. */
export function typedFields(form: Params): Fields {
  return byCategory((category) => {
    const text = (part: string): string => form.get(`${category}.${part}`)?.replaceAll('\r\n', '\n') ?? ''
    return {
      patterns: text('patterns'),
      operations: grantableOf[category].filter((operation) => form.has(`${category}.operations.${operation}`)),
      excluded_patterns: text('excluded_patterns'),
      allowed: text('allowed'),
      denied: text('denied'),
      only: form.has(`${category}.only`),
    }
  })
}

/** Returns the fields as hidden form fields. */
export function hiddenFieldsOf(fields: Fields): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ruledCategories.flatMap((category) => {
      const { operations, only, ...texts } = fields[category]
      const ticked = [...operations.map((operation) => `operations.${operation}`), ...(only ? ['only'] : [])]
      const given = [...Object.entries(texts), ...ticked.map((part) => [part, '1'] as const)]
      return given.flatMap(([part, value]) => (value === '' ? [] : [[`${category}.${part}`, value] as const]))
    }),
  )
}

/** Returns the override that the form describes; null when it adds nothing to the trust type. */
export function overrideIn(fields: Fields, base: EffectiveRules): OverrideRules | null {
  const rules = byCategory((category) => ruleIn(category, fields[category], base[category] ?? {}))
  return ruledCategories.every((category) => Object.keys(rules[category]).length === 0) ? null : rules
}

function ruleIn(category: RuledCategory, { only, operations, ...texts }: RightsFields, base: Rule): OverrideRule {
  const names = Object.entries(texts).map(([part, text]) => [part, namesIn(text)] as const)
  // An empty part in the override removes what the trust type grants.
  const replaces = (part: string): boolean =>
    only && ((part === 'patterns' && base.patterns !== undefined) || (part === 'allowed' && base.allowed !== undefined))
  const given = names.filter(([part, list]) => list.length > 0 || replaces(part))
  return {
    ...Object.fromEntries(given),
    ...(isSame(operations, grantable(category, base.operations ?? [])) ? {} : { operations }),
    ...(only ? { merge: false } : {}),
  }
}

/** Returns the JSON of an override. @throws ServiceError `invalid_json` for strings that no database can store. */
export function overrideBody(rules: OverrideRules): JsonText {
  return normalize(JSON.stringify({ ...rules, created_by: 'creator' }))
}

/** @param names The names in the account by category, which the patterns are compared with. */
export async function fieldsets(
  fields: Fields,
  base: EffectiveRules,
  names: Readonly<Record<RuledCategory, readonly string[]>>,
  messages: Messages,
): Promise<readonly RightsFieldset[]> {
  const byType = new Map(rightsInWords(base, messages).map((line) => [line.category, line.sentences]))
  const sets: RightsFieldset[] = []
  for (const category of ruledCategories) {
    const { patterns, excluded_patterns: excluded, allowed, denied } = fields[category]
    const isData = category === 'properties' || category === 'resources'
    sets.push({
      category,
      subject: messages.subjects[category],
      fields: fields[category],
      matches: await matchesOf(fields[category], names[category]),
      name_count: names[category].length,
      operations: grantableOf[category],
      by_type: byType.get(category) ?? [],
      has_patterns: isData || patterns !== '' || excluded !== '' || base[category]?.patterns !== undefined,
      has_names: !isData || allowed !== '' || denied !== '' || base[category]?.allowed !== undefined,
    })
  }
  return sets
}

/** Comparisons of a name with a pattern for one field. More would take too long. */
const maxCompared = 25_000

/** Counts the names that each field matches, as a whole or in part. */
async function matchesOf(fields: RightsFields, names: readonly string[]): Promise<RightsFieldset['matches']> {
  const count = async (text: string): Promise<number | null> => {
    const patterns = namesIn(text)
    if (patterns.length === 0) return 0
    if (patterns.length * names.length > maxCompared) return null
    const matches = (name: string): boolean =>
      patterns.some((pattern) => covers(pattern, name) || reachesBelow(pattern, name))
    return (await filterInTurns(names, matches)).length
  }
  const { patterns, excluded_patterns, allowed, denied } = fields
  return {
    patterns: await count(patterns),
    excluded_patterns: await count(excluded_patterns),
    allowed: await count(allowed),
    denied: await count(denied),
  }
}

function byCategory<T>(of: (category: RuledCategory) => T): Readonly<Record<RuledCategory, T>> {
  return Object.fromEntries(ruledCategories.map((category) => [category, of(category)])) as Record<RuledCategory, T>
}

/** Returns the operations that the form has a checkbox for; other operations in a rule grant nothing. */
function grantable(category: RuledCategory, operations: readonly string[]): readonly string[] {
  return grantableOf[category].filter((operation) => operations.includes(operation))
}

function lines(names: readonly string[] | undefined): string {
  return (names ?? []).join('\n')
}

function namesIn(text: string): string[] {
  return [
    ...new Set(
      text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    ),
  ]
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each) => b.includes(each))
}
