/** Rights in plain language: what rules let somebody do, in sentences that their owner can judge. */
import { roleTable } from '../permission/roles.ts'
import { operationsOf, type Rule, type RuledCategory, ruledCategories, type Rules } from '../permission/rules.ts'

export interface RightsLine {
  readonly category: RuledCategory
  /** What it is about: `Properties`. */
  readonly subject: string
  readonly sentences: readonly string[]
  /** False where nothing at all is granted. */
  readonly is_granted: boolean
}

export const subjects: Readonly<Record<RuledCategory, string>> = {
  properties: 'Properties',
  methods: 'Methods',
  actions: 'Actions',
  tools: 'Tools for AI apps',
  resources: 'Resources',
  prompts: 'Prompts for AI apps',
}

const verbs: Readonly<Record<string, string>> = {
  read: 'read',
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

/** One line for each category. */
export function rightsInWords(rules: Rules): readonly RightsLine[] {
  return ruledCategories.map((category) => lineOf(category, rules[category] ?? {}))
}

function lineOf(category: RuledCategory, rule: Rule): RightsLine {
  const known: readonly string[] = operationsOf[category]
  const { patterns = [], excluded_patterns: excluded = [], allowed = [], denied = [] } = rule
  const operations = patterns.length === 0 ? [] : known.filter((operation) => rule.operations?.includes(operation))
  const line = { category, subject: subjects[category] }
  const isDenied = denied.includes('*')
  if (isDenied || (operations.length === 0 && allowed.length === 0)) {
    return { ...line, sentences: [`May not ${either(known.map(verbOf))} any.`], is_granted: false }
  }
  const never = denied.length > 0 ? [`Never ${excludedInWords(denied)}.`] : []
  const byPattern =
    operations.length === 0
      ? []
      : [
          `May ${both(operations.map(verbOf))} ${grantedInWords(patterns)}${
            excluded.length === 0 ? '' : `, but not ${excludedInWords(excluded)}`
          }.`,
        ]
  const byName = allowed.length === 0 ? [] : [`May ${both(known.map(verbOf))} ${grantedInWords(allowed)}.`]
  const missing = known.filter((operation) => operation !== 'subscribe' && !operations.includes(operation))
  const besides = missing.length > 0 && allowed.length === 0 ? [`May not ${either(missing.map(verbOf))} anything.`] : []
  return { ...line, sentences: [...byPattern, ...byName, ...never, ...besides], is_granted: true }
}

/** `“search”, everything in “notes” and “shared” and what begins with “get_” or “list_”`. */
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

/** `what is in “private” or “security” or what begins with “oauth_”`. */
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

/** By what they cover, in quotation marks. `*` is any run of characters, `?` is one (`permission/pattern.ts`). */
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

/** What the name of the relationship opens beside the data, whatever its rules say. */
export function reachInWords(relationship: string): readonly string[] {
  const table = roleTable({ relationship })
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
