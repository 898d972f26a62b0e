/** Refuses misspelt names in the permissions that an owner sets for a peer. */
import { quoted, ServiceError } from '../errors.ts'
import { type JsonText, members, toPlain } from '../json/json.ts'
import { operationsOf, type RuledCategory, ruledCategories } from './rules.ts'

const ruleMembers = ['patterns', 'operations', 'excluded_patterns', 'allowed', 'denied', 'grants', 'merge'] as const
const grantMembers = ['pattern', 'operations', 'until'] as const

/**
 * Refuses a category, a member of a rule and an operation that does not exist. Other names are ignored, unless their value
 * can only be a rule: clients send the members of a response back, such as `updated_at`.
 *
 * @throws ServiceError `bad_request` whose message lists the valid names.
 */
export function requireKnownRights(body: JsonText): void {
  for (const [name, value] of members(body) ?? []) {
    const category = ruledCategories.find((each) => each === name)
    const rule: unknown = toPlain(value)
    if (category !== undefined) requireKnownRule(category, rule)
    else if (typeof rule === 'object' && rule !== null) throw unknownName('category', name, '', ruledCategories)
  }
}

function requireKnownRule(category: RuledCategory, rule: unknown): void {
  if (!isRecord(rule)) return
  requireMembers(category, rule, ruleMembers)
  requireOperations(category, rule['operations'])
  const grants: unknown = rule['grants']
  for (const grant of Array.isArray(grants) ? grants : []) {
    if (!isRecord(grant)) continue
    requireMembers(`${category}.grants`, grant, grantMembers)
    requireOperations(category, grant['operations'])
  }
}

function requireMembers(where: string, given: Readonly<Record<string, unknown>>, known: readonly string[]): void {
  const unknown = Object.keys(given).find((member) => !known.includes(member))
  if (unknown !== undefined) throw unknownName('member', unknown, where, known)
}

function requireOperations(category: RuledCategory, given: unknown): void {
  const known: readonly unknown[] = operationsOf[category]
  const unknown: unknown = Array.isArray(given) ? given.find((operation) => !known.includes(operation)) : undefined
  if (typeof unknown === 'string') throw unknownName('operation', unknown, category, operationsOf[category])
}

function unknownName(
  noun: 'category' | 'member' | 'operation',
  name: string,
  where: string,
  known: readonly string[],
): ServiceError {
  const plural = noun === 'category' ? 'categories' : `${noun}s`
  const of = where === '' ? '' : ` of ${where}`
  return new ServiceError(
    'bad_request',
    `Cannot set permissions: the ${noun} ${quoted(name)}${of} does not exist. The ${plural} are ${known.join(', ')}`,
    { field: where === '' ? name : where },
  )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
