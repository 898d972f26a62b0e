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
  const never = denied.length > 0 ? [`Never ${both(denied.map(patternInWords))}.`] : []
  const byPattern =
    operations.length === 0
      ? []
      : [
          `May ${both(operations.map(verbOf))} ${both(patterns.map(patternInWords))}${
            excluded.length === 0 ? '' : `, but not ${either(excluded.map(patternInWords))}`
          }.`,
        ]
  const byName = allowed.length === 0 ? [] : [`May ${both(known.map(verbOf))} ${both(allowed.map(patternInWords))}.`]
  const missing = known.filter((operation) => operation !== 'subscribe' && !operations.includes(operation))
  const besides = missing.length > 0 && allowed.length === 0 ? [`May not ${either(missing.map(verbOf))} anything.`] : []
  return { ...line, sentences: [...byPattern, ...byName, ...never, ...besides], is_granted: true }
}

/** `*` is any run of characters, `?` is one (`permission/pattern.ts`). */
export function patternInWords(pattern: string): string {
  if (pattern === '*') return 'everything'
  const rest = pattern.replace(/\*$/, '')
  if (/[*?]/.test(rest)) return `what looks like “${pattern}”`
  if (pattern.endsWith('/*')) return `everything in “${rest.slice(0, -1)}”`
  if (rest !== pattern || pattern.endsWith('://')) return `what begins with “${rest}”`
  return `“${pattern}”`
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
