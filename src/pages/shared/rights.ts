/** Describes the rights that rules grant in sentences that an owner can judge. */
import type { Covered } from '../languages/english.ts'
import type { Messages } from '../languages/language.ts'
import { roleTable } from '../../permission/roles.ts'
import {
  grantableOf,
  reachesInto,
  type EffectiveRule,
  type EffectiveRules,
  type RuledCategory,
  ruledCategories,
  type PatternGrant,
} from '../../permission/rules.ts'

export interface RightsLine {
  readonly category: RuledCategory
  /** Category, such as `Properties`. */
  readonly subject: string
  readonly sentences: readonly string[]
  /** False when nothing is granted. */
  readonly is_granted: boolean
}

export function verbOf(operation: string, { verbs }: Messages): string {
  return Object.hasOwn(verbs, operation) ? verbs[operation as keyof Messages['verbs']] : operation
}

/** Returns one line for each category. @param isClient Whether to include categories that only AI clients can use. */
export function rightsInWords(rules: EffectiveRules, messages: Messages, isClient = true): readonly RightsLine[] {
  return ruledCategories.map((category) =>
    !isClient && forClients.has(category)
      ? {
          category,
          subject: messages.subjects[category],
          sentences: [messages.rights.onlyForApps],
          is_granted: false,
        }
      : lineOf(category, rules[category] ?? {}, messages),
  )
}

/** The rights that a role grants at a group, whose data are its own. */
export function roleRights(rules: EffectiveRules, messages: Messages): readonly RightsLine[] {
  const { rights, membership } = messages
  const ofGroup = { ...messages, rights: { ...rights, mayChangeData: membership.mayChangeData } }
  return rightsInWords(rules, ofGroup, false).filter(({ is_granted: isGranted }) => isGranted)
}

const forClients: ReadonlySet<RuledCategory> = new Set(['tools', 'prompts'])

/** A warning in each line, for owners who read only that line. */
const mayChangeData: ReadonlySet<RuledCategory> = new Set(['methods', 'actions', 'tools'])

function lineOf(category: RuledCategory, rule: EffectiveRule, messages: Messages): RightsLine {
  const { rights } = messages
  const { excluded_patterns: excluded = [], allowed = [], denied = [], grants = [] } = rule
  const line = { category, subject: messages.subjects[category] }
  const verbsOf = (operations: readonly string[]): readonly string[] =>
    operations.map((operation) => verbOf(operation, messages))
  const reached = grantableOf[category].filter((operation) => reachesInto(rule, operation, ''))
  // The right to change includes the right to add, so only one of the two is listed.
  const known = grantableOf[category].filter(
    (operation) => operation !== 'append' || (reached.includes('append') && !reached.some((each) => each === 'write')),
  )
  if (reached.length === 0) return { ...line, sentences: [messages.noAccess[category]], is_granted: false }
  const { allowed: _byName, grants: _grants, ...byPatterns } = rule
  const listed = known.filter((operation) => reachesInto(byPatterns, operation, ''))
  const exceptions = excluded.length === 0 ? null : coveredBy(excluded)
  const byPattern =
    listed.length === 0 ? [] : [rights.can(verbsOf(listed), coveredBy(rule.patterns ?? []), exceptions, null)]
  const byGrant = grantsOf(category, grants, { excluded, denied }).map(({ operations, patterns, until }) =>
    rights.can(verbsOf(operations), coveredBy(patterns), exceptions, until),
  )
  const byName = reachesInto({ allowed, denied }, known[0] ?? '', '')
    ? [rights.can(verbsOf(known), coveredBy(allowed), null, null)]
    : []
  const never = denied.length > 0 ? [rights.blocked(coveredBy(denied))] : []
  const missing = known.filter((operation) => !(reached as readonly string[]).includes(operation))
  const besides = missing.length > 0 ? [rights.cannot(verbsOf(missing), category)] : []
  return {
    ...line,
    sentences: [...byPattern, ...byGrant, ...byName, ...never, ...besides, ...meaningOf(category, reached, messages)],
    is_granted: true,
  }
}

interface SameGrants {
  readonly operations: readonly string[]
  readonly patterns: readonly string[]
  readonly until: Date | null
}

/** Joins the patterns with the same operations and the same end. */
function grantsOf(
  category: RuledCategory,
  grants: readonly PatternGrant[],
  exceptions: { readonly excluded: readonly string[]; readonly denied: readonly string[] },
): readonly SameGrants[] {
  const reaching = grants.flatMap((grant) => {
    const rule = { grants: [grant], excluded_patterns: exceptions.excluded, denied: exceptions.denied }
    const operations = grantableOf[category].filter((operation) => reachesInto(rule, operation, ''))
    const shown: readonly string[] = operations.filter(
      (operation) => operation !== 'append' || !operations.some((each) => each === 'write'),
    )
    return shown.length === 0 ? [] : [{ operations: shown, until: grant.until ?? null, pattern: grant.pattern }]
  })
  const same = Map.groupBy(reaching, ({ operations, until }) => JSON.stringify([operations, until]))
  return [...same.values()].flatMap(([first, ...more]) =>
    first === undefined
      ? []
      : [
          {
            operations: first.operations,
            patterns: [first, ...more].map(({ pattern }) => pattern),
            until: first.until === null ? null : new Date(first.until),
          },
        ],
  )
}

function meaningOf(
  category: RuledCategory,
  reached: readonly string[],
  { rights }: Pick<Messages, 'rights'>,
): readonly string[] {
  if (category === 'properties') return reached.includes('write') ? [rights.editCoversItems] : []
  return mayChangeData.has(category) ? [rights.mayChangeData] : []
}

/** Sorts patterns by what they cover. `*` matches any string, `?` one character. */
export function coveredBy(patterns: readonly string[]): Covered {
  const [names, places, beginnings, shapes]: [string[], string[], string[], string[]] = [[], [], [], []]
  for (const pattern of patterns) {
    const rest = pattern.replace(/\*$/, '')
    if (/[*?]/.test(rest)) shapes.push(pattern)
    else if (pattern.endsWith('/*') && !pattern.endsWith('://*')) places.push(rest.slice(0, -1))
    else if (rest !== pattern || pattern.endsWith('://')) beginnings.push(rest)
    else names.push(pattern)
  }
  return { isAll: patterns.includes('*'), names, places, beginnings, shapes }
}

/** Returns what the trust type opens besides the data, independently of its rules. */
export function reachInWords(relationship: string, isClient: boolean, messages: Messages): readonly string[] {
  const table = roleTable(isClient ? { program: true } : { relationship })
  const { rights } = messages
  const sentences = {
    actor: rights.wholeAccount,
    trust: rights.allConnections,
    subscriptions: rights.allSubscriptions,
    services: rights.allServices,
  }
  return (['actor', 'trust', 'subscriptions', 'services'] as const).flatMap((category) => {
    const operations = table[category] ?? []
    return operations.length === 0
      ? []
      : [sentences[category](operations.map((operation) => verbOf(operation, messages)))]
  })
}
