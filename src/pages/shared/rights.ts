/** Describes the rights that rules grant in sentences that an owner can judge. */
import { exactText } from './time.ts'
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

export const subjects: Readonly<Record<RuledCategory, string>> = {
  properties: 'Properties',
  files: 'Files',
  methods: 'Methods',
  actions: 'Actions',
  tools: 'Tools for AI apps',
  resources: 'Resources',
  prompts: 'Prompts for AI apps',
}

const verbs: Readonly<Record<string, string>> = {
  read: 'read',
  append: 'add to',
  write: 'change',
  delete: 'delete',
  subscribe: 'follow',
  call: 'call',
  execute: 'run',
  use: 'use',
  invoke: 'ask for',
}

export function verbOf(operation: string): string {
  return verbs[operation] ?? operation
}

/** Returns one line for each category. @param isClient Whether to include categories that only AI clients can use. */
export function rightsInWords(rules: EffectiveRules, isClient = true): readonly RightsLine[] {
  return ruledCategories.map((category) =>
    !isClient && forClients.has(category)
      ? {
          category,
          subject: subjects[category],
          sentences: ['For AI apps alone, and this is another actor.'],
          is_granted: false,
        }
      : lineOf(category, rules[category] ?? {}),
  )
}

const forClients: ReadonlySet<RuledCategory> = new Set(['tools', 'prompts'])

/** The object of a missing right. Never "anything", because a tool may do what a client may not do directly. */
const itself = {
  properties: 'any property or list itself',
  files: 'any file',
  methods: 'any method',
  actions: 'any action',
  tools: 'any tool',
  resources: 'any resource',
  prompts: 'any prompt',
} as const satisfies Record<RuledCategory, string>

/** A warning in each line, for owners who read only that line. */
const ofTheApplication = 'They do what the application says, and that may change and delete your data.'
const meanings: Readonly<Partial<Record<RuledCategory, string>>> = {
  methods: ofTheApplication,
  actions: ofTheApplication,
  tools: ofTheApplication,
}

function lineOf(category: RuledCategory, rule: EffectiveRule): RightsLine {
  const { excluded_patterns: excluded = [], allowed = [], denied = [], grants = [] } = rule
  const line = { category, subject: subjects[category] }
  const reached = grantableOf[category].filter((operation) => reachesInto(rule, operation, ''))
  // The right to change includes the right to add, so only one of the two is listed.
  const known = grantableOf[category].filter(
    (operation) => operation !== 'append' || (reached.includes('append') && !reached.some((each) => each === 'write')),
  )
  if (reached.length === 0)
    return { ...line, sentences: [`May not ${either(known.map(verbOf))} any.`], is_granted: false }
  const { allowed: _byName, grants: _grants, ...byPatterns } = rule
  const listed = known.filter((operation) => reachesInto(byPatterns, operation, ''))
  const exceptions = excluded.length === 0 ? '' : `, but not ${excludedInWords(excluded)}`
  const byPattern =
    listed.length === 0 ? [] : [`May ${both(listed.map(verbOf))} ${grantedInWords(rule.patterns ?? [])}${exceptions}.`]
  const byGrant = grantsInWords(category, grants, { excluded, denied }).map((text) => `May ${text}${exceptions}.`)
  const byName = reachesInto({ allowed, denied }, known[0] ?? '', '')
    ? [`May ${both(known.map(verbOf))} ${grantedInWords(allowed)}.`]
    : []
  const never = denied.length > 0 ? [`Never ${excludedInWords(denied)}.`] : []
  const missing = known.filter((operation) => !(reached as readonly string[]).includes(operation))
  const besides = missing.length > 0 ? [`May not ${either(missing.map(verbOf))} ${itself[category]}.`] : []
  return {
    ...line,
    sentences: [...byPattern, ...byGrant, ...byName, ...never, ...besides, ...meaningOf(category, reached)],
    is_granted: true,
  }
}

/** One text for the patterns with the same operations and the same end, such as `read and change “notes” and “photos”`. */
function grantsInWords(
  category: RuledCategory,
  grants: readonly PatternGrant[],
  exceptions: { readonly excluded: readonly string[]; readonly denied: readonly string[] },
): readonly string[] {
  const reaching = grants.flatMap((grant) => {
    const rule = { grants: [grant], excluded_patterns: exceptions.excluded, denied: exceptions.denied }
    const operations = grantableOf[category].filter((operation) => reachesInto(rule, operation, ''))
    const shown = operations.filter(
      (operation) => operation !== 'append' || !operations.some((each) => each === 'write'),
    )
    const until = grant.until === undefined ? '' : ` until ${exactText(grant.until)}`
    return shown.length === 0 ? [] : [{ verbs: both(shown.map(verbOf)), until, pattern: grant.pattern }]
  })
  return [...Map.groupBy(reaching, ({ verbs, until }) => JSON.stringify([verbs, until])).values()].map((same) => {
    const [first] = same
    return `${first?.verbs ?? ''} ${grantedInWords(same.map(({ pattern }) => pattern))}${first?.until ?? ''}`
  })
}

function meaningOf(category: RuledCategory, reached: readonly string[]): readonly string[] {
  if (category === 'properties')
    return reached.includes('write') ? ['Changing a list covers adding and removing its items.'] : []
  const meaning = meanings[category]
  return meaning === undefined ? [] : [meaning]
}

/** Returns `“search”, everything in “notes” and “shared” and what begins with “get_” or “list_”`. */
export function grantedInWords(patterns: readonly string[]): string {
  if (patterns.includes('*')) return 'everything'
  const { names, places, beginnings, shapes } = sorted(patterns)
  return both([
    ...names,
    ...(places.length === 0 ? [] : [`everything in ${both(places)}`]),
    ...(beginnings.length === 0 ? [] : [`what begins with ${either(beginnings)}`]),
    ...(shapes.length === 0 ? [] : [`what looks like ${either(shapes)}`]),
  ])
}

/** Returns `what is in “private” or “security” or what begins with “oauth_”`. */
export function excludedInWords(patterns: readonly string[]): string {
  if (patterns.includes('*')) return 'anything'
  const { names, places, beginnings, shapes } = sorted(patterns)
  return either([
    ...names,
    ...(places.length === 0 ? [] : [`what is in ${either(places)}`]),
    ...(beginnings.length === 0 ? [] : [`what begins with ${either(beginnings)}`]),
    ...(shapes.length === 0 ? [] : [`what looks like ${either(shapes)}`]),
  ])
}

/** Groups patterns by what they cover, in quotation marks. `*` matches any string, `?` one character. */
function sorted(patterns: readonly string[]) {
  const [names, places, beginnings, shapes]: [string[], string[], string[], string[]] = [[], [], [], []]
  for (const pattern of patterns) {
    const rest = pattern.replace(/\*$/, '')
    if (/[*?]/.test(rest)) shapes.push(`“${pattern}”`)
    else if (pattern.endsWith('/*') && !pattern.endsWith('://*')) places.push(`“${rest.slice(0, -1)}”`)
    else if (rest !== pattern || pattern.endsWith('://')) beginnings.push(`“${rest}”`)
    else names.push(`“${pattern}”`)
  }
  return { names, places, beginnings, shapes }
}

/** Returns what the trust type opens besides the data, independently of its rules. */
export function reachInWords(relationship: string, isClient: boolean): readonly string[] {
  const table = roleTable(isClient ? { program: true } : { relationship })
  return (['actor', 'trust', 'subscriptions', 'services'] as const).flatMap((category) => {
    const rights = table[category] ?? []
    return rights.length === 0 ? [] : [`May ${both(rights.map(verbOf))} ${reaches[category]}.`]
  })
}

const reaches = {
  actor: 'the actor itself',
  trust: 'its relationships, other people’s included',
  subscriptions: 'who listens to it',
  services: 'its connections to other services',
} as const

export function both(words: readonly string[]): string {
  return joined(words, 'and')
}

function either(words: readonly string[]): string {
  return joined(words, 'or')
}

function joined(words: readonly string[], last: 'and' | 'or'): string {
  return words.length <= 1 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}
