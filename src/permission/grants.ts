/** Grants to one peer: operations on the targets of patterns, in addition to its trust type and the owner's override. */
import { quoted, ServiceError } from '../errors.ts'
import {
  type OperationOf,
  operationsOf,
  type OverrideRules,
  type PatternGrant,
  type RuledCategory,
  ruledCategories,
} from './rules.ts'

/** The operations that a peer gets on the targets of the patterns. @public */
export type NewGrant = {
  readonly [Category in RuledCategory]?: {
    readonly patterns: readonly string[]
    readonly operations: readonly OperationOf<Category>[]
  }
} & {
  /** The time at which the grant ends, by the clock of the database. Default: no end. */
  readonly until?: Date
}

/** The grants that a peer loses. Without `operations`, every operation on the patterns. */
export type Withdrawal = {
  readonly [Category in RuledCategory]?: {
    readonly patterns: readonly string[]
    readonly operations?: readonly OperationOf<Category>[]
  }
}

/** The most grants of one category to one peer. */
export const maxGrants = 1000
export const longestPattern = 1024

type GrantsByCategory = ReadonlyMap<RuledCategory, readonly PatternGrant[]>

/** @throws ServiceError `bad_request` when a member, a pattern or an operation is not valid, or nothing is granted. */
export function readNewGrant(given: NewGrant, now: number): GrantsByCategory {
  if (!isObject(given)) throw refused('grant', 'it must be an object with one member per category')
  const { until, ...categories } = given
  const grants = readByCategory('grant', categories)
  if (grants.size === 0) throw refused('grant', 'it names no category')
  if (until === undefined) return grants
  const end = futureTime('grant permissions', until, now)
  return new Map(
    [...grants].map(([category, all]) => [category, all.map((grant) => ({ ...grant, until: end }))] as const),
  )
}

/**
 * The time of a date after `now`, in Unix milliseconds.
 *
 * @param what The action that fails otherwise, such as `grant permissions`.
 * @throws ServiceError `bad_request`
 */
export function futureTime(what: string, until: unknown, now: number): number {
  const time = until instanceof Date ? until.getTime() : Number.NaN
  if (Number.isNaN(time)) throw new ServiceError('bad_request', `Cannot ${what}: until must be a valid Date`)
  if (time <= now)
    throw new ServiceError(
      'bad_request',
      `Cannot ${what}: until must be in the future, not ${new Date(time).toISOString()}`,
    )
  return time
}

/** The earliest end of grants, in Unix milliseconds. Null: none ends. */
export function firstEnd(rules: OverrideRules): number | null {
  const ends = ruledCategories.flatMap((category) =>
    (rules[category]?.grants ?? []).flatMap(({ until }) => (until === undefined ? [] : [until])),
  )
  return ends.length === 0 ? null : Math.min(...ends)
}

/** The earlier of two ends, in Unix milliseconds. Null: no end. */
export function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}

/** The rules without the grants that have ended. */
export function unexpired(rules: OverrideRules, now: number): OverrideRules {
  const first = firstEnd(rules)
  if (first === null || now < first) return rules
  const all = new Map(ruledCategories.map((category) => [category, []]))
  return changed(rules, all, (_category, before) => before.filter(({ until }) => until === undefined || now < until))
}

/** @throws ServiceError `bad_request` like `readNewGrant`. */
export function readWithdrawal(given: Withdrawal): GrantsByCategory {
  return readByCategory('withdraw', given)
}

function readByCategory(verb: 'grant' | 'withdraw', given: unknown): GrantsByCategory {
  if (!isObject(given)) throw refused(verb, 'it must be an object with one member per category')
  return new Map(
    Object.entries(given).flatMap(([name, value]) => {
      if (value === undefined) return []
      const category = ruledCategories.find((each) => each === name)
      if (category === undefined)
        throw refused(
          verb,
          `the category ${quoted(name)} does not exist. The categories are ${ruledCategories.join(', ')}`,
        )
      return [[category, readCategory(verb, category, value)] as const]
    }),
  )
}

function readCategory(verb: 'grant' | 'withdraw', category: RuledCategory, given: unknown): readonly PatternGrant[] {
  if (!isObject(given)) throw refused(verb, `${category} must be an object with patterns and operations`)
  const unknown = Object.keys(given).find((member) => member !== 'patterns' && member !== 'operations')
  if (unknown !== undefined) throw refused(verb, `the member ${quoted(unknown)} of ${category} does not exist`)
  const { patterns, operations } = given
  const all = operations === undefined && verb === 'withdraw' ? operationsOf[category] : operations
  return readPatterns(verb, category, patterns).map((pattern) => ({
    pattern,
    operations: readOperations(verb, category, all),
  }))
}

function readPatterns(verb: 'grant' | 'withdraw', category: RuledCategory, given: unknown): readonly string[] {
  if (!isNonEmptyArray(given)) throw refused(verb, `${category}.patterns must be a list of at least one pattern`)
  return [...new Set(given)].map((pattern) => {
    if (typeof pattern !== 'string' || pattern === '' || pattern.length > longestPattern)
      throw refused(verb, `a pattern of ${category} must be a string of 1 to ${longestPattern} characters`)
    return pattern
  })
}

function readOperations(verb: 'grant' | 'withdraw', category: RuledCategory, given: unknown): readonly string[] {
  if (!isNonEmptyArray(given)) throw refused(verb, `${category}.operations must be a list of at least one operation`)
  const known: readonly string[] = operationsOf[category]
  return [...new Set(given)].map((operation) => {
    if (typeof operation !== 'string' || !known.includes(operation))
      throw refused(
        verb,
        `the operation ${shown(operation)} of ${category} does not exist. The operations are ${known.join(', ')}`,
      )
    return operation
  })
}

/** A value of any type, for a message. `String` fails for an object of JSON with a member `toString`. */
function shown(value: unknown): string {
  return quoted(typeof value === 'string' ? value : (JSON.stringify(value) ?? typeof value))
}

/** Adds grants to an override. @throws ServiceError `bad_request` when a category would have too many. */
export function withGrants(rules: OverrideRules, added: GrantsByCategory): OverrideRules {
  return changed(rules, added, (category, before, grants) => {
    const after = [...without(before, grants), ...grants]
    if (after.length > maxGrants) throw refused('grant', `${category} would have more than ${maxGrants} grants`)
    return after
  })
}

/** Removes grants from an override. Null removes every grant. */
export function withoutGrants(rules: OverrideRules, removed: GrantsByCategory | null): OverrideRules {
  const all = removed ?? new Map(ruledCategories.map((category) => [category, []]))
  return changed(rules, all, (_category, before, grants) => (removed === null ? [] : without(before, grants)))
}

/** Moves the end of the grants on a pattern. Null: the grants get no end. */
export function withEnd(
  rules: OverrideRules,
  category: RuledCategory,
  pattern: string,
  until: number | null,
): OverrideRules {
  return changed(rules, new Map([[category, []]]), (_category, before) =>
    before.map((grant) => {
      if (grant.pattern !== pattern) return grant
      const { pattern: _pattern, operations } = grant
      return { pattern, operations, ...(until === null ? {} : { until }) }
    }),
  )
}

/** The rules of a new override with the grants of the old one, which an override changes only where it names them. */
export function keepingGrants(before: OverrideRules, after: OverrideRules): OverrideRules {
  const kept = Object.fromEntries(
    ruledCategories.flatMap((category) => {
      const grants = after[category]?.grants ?? before[category]?.grants
      return grants === undefined ? [] : [[category, { ...after[category], grants }] as const]
    }),
  )
  return { ...after, ...kept }
}

/** The grants of an override without its other rules. */
export function onlyGrants(rules: OverrideRules): OverrideRules {
  return keepingGrants(rules, {})
}

function changed(
  rules: OverrideRules,
  by: GrantsByCategory,
  change: (
    category: RuledCategory,
    before: readonly PatternGrant[],
    grants: readonly PatternGrant[],
  ) => readonly PatternGrant[],
): OverrideRules {
  const result: { [category in RuledCategory]?: OverrideRules[category] } = { ...rules }
  for (const [category, grants] of by) {
    const { grants: before = [], ...others } = rules[category] ?? {}
    const after = change(category, before, grants)
    if (after.length > 0) result[category] = { ...others, grants: after }
    else if (Object.keys(others).length > 0) result[category] = others
    else delete result[category]
  }
  return result
}

/** The grants without the operations that `removed` names on the same patterns. */
function without(grants: readonly PatternGrant[], removed: readonly PatternGrant[]): readonly PatternGrant[] {
  return grants.flatMap((grant) => {
    const names = removed.filter(({ pattern }) => pattern === grant.pattern).flatMap(({ operations }) => operations)
    const operations = grant.operations.filter((operation) => !names.includes(operation))
    return operations.length === 0
      ? []
      : [operations.length === grant.operations.length ? grant : { ...grant, operations }]
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNonEmptyArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0
}

function refused(verb: 'grant' | 'withdraw', reason: string): ServiceError {
  return new ServiceError('bad_request', `Cannot ${verb} permissions: ${reason}`)
}
