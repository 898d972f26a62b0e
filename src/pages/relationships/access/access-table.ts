/** The access table of a connection, and the form that changes it. */
import type { Params } from '../../../http/edge/params.ts'
import type { RuledCategory } from '../../../permission/rules.ts'
import type { PermissionsView } from '../../../trust/permissions.ts'
import { isApprovedAt } from '../../../trust/trust.ts'
import type { Explanation, WideQuestion } from '../../../permission/explain.ts'
import { choiceOf, type ChosenAccess, isChoice, isExact } from './access-choice.ts'
import type { RelationshipPageDeps } from '../deps.ts'
import type { AccessCell, AccessRow, AccessTable } from '../values.ts'

/** The names in the account that the table has rows for. */
export interface AccessNames {
  readonly names: { readonly [category in RuledCategory]: readonly string[] }
  readonly lists: ReadonlySet<string>
}

/** Maximum number of rows for data, and of rows for operations. */
const maxRows = 100

const dataColumns = ['read', 'write', 'delete', 'subscribe'] as const

const callRights = { methods: 'call', actions: 'execute', tools: 'use', prompts: 'invoke' } as const
const callCategories = ['methods', 'actions', 'tools', 'prompts'] as const

/** Null when the relationship is not approved, and without any names. */
export async function accessTableOf(
  { permissions, now }: Pick<RelationshipPageDeps, 'permissions' | 'now'>,
  view: PermissionsView,
  { names, lists }: AccessNames,
  www: string,
): Promise<AccessTable | null> {
  if (!isApprovedAt(view.trust, now())) return null
  const properties = names.properties.slice(0, maxRows)
  const calls = callCategories.flatMap((category) => names[category].map((name) => ({ category, name })))
  const shownCalls = calls.slice(0, maxRows)
  if (properties.length + shownCalls.length === 0) return null
  const questions: readonly WideQuestion[] = [
    ...properties.flatMap((target) =>
      [...dataColumns, 'append'].map((operation) => ({ category: 'properties' as const, operation, target })),
    ),
    ...shownCalls.map(({ category, name }) => ({ category, operation: callRights[category], target: name })),
  ]
  const answers = await permissions.answers(view, questions)
  const width = dataColumns.length + 1
  const rules = view.override?.rules ?? {}
  const rowOf = (category: RuledCategory, name: string, of: readonly Explanation[]): Omit<AccessRow, 'cells'> => ({
    category,
    name,
    href: category === 'properties' ? `${www}/properties/${encodeURIComponent(name)}` : '',
    set_by: setBy(of),
    field: isExact(name) ? fieldFor(category, name) : '',
    choice: choiceOf(rules, category, name),
  })
  return {
    data: properties.map((name, at) => {
      const of = answers.slice(at * width, (at + 1) * width)
      return { ...rowOf('properties', name, of.slice(0, -1)), cells: dataCells(of, lists.has(name)) }
    }),
    calls: shownCalls.map(({ category, name }, at) => {
      const of = answers.slice(properties.length * width + at, properties.length * width + at + 1)
      return { ...rowOf(category, name, of), cells: of.map(cellOf) }
    }),
    more: names.properties.length - properties.length + calls.length - shownCalls.length,
  }
}

function dataCells(answers: readonly Explanation[], isList: boolean): readonly AccessCell[] {
  const mayAdd = isList && answers.at(-1)?.allowed === true
  return answers.slice(0, -1).map((answer) => {
    const cell = cellOf(answer)
    return cell.operation === 'write' && cell.result === 'no' && mayAdd ? { ...cell, result: 'add' } : cell
  })
}

function cellOf({ operation, allowed, needs_approval: asks }: Explanation): AccessCell {
  return { operation, result: allowed ? (asks === true ? 'ask' : 'yes') : 'no' }
}

function setBy(answers: readonly Explanation[]): AccessRow['set_by'] {
  const sources = answers.map(({ rule }) => rule.source)
  if (sources.some((source) => source === 'override' || source === 'grant')) return 'you'
  return sources.includes('trust_type') ? 'level' : 'no_rule'
}

const prefix = 'set:'

function fieldFor(category: RuledCategory, name: string): string {
  return `${prefix}${category}:${name}`
}

/** The choices of the submitted form. Null for an unknown category or choice. */
export function sentChoices(sent: Params): readonly ChosenAccess[] | null {
  const chosen: ChosenAccess[] = []
  for (const [field, choice] of sent.entries) {
    if (!field.startsWith(prefix)) continue
    const [, category = '', name = ''] = /^([a-z]+):(.+)$/s.exec(field.slice(prefix.length)) ?? []
    if (!isRowCategory(category) || !isExact(name) || !isChoice(choice)) return null
    chosen.push({ category, name, choice })
  }
  return chosen
}

function isRowCategory(text: string): text is 'properties' | (typeof callCategories)[number] {
  return text === 'properties' || callCategories.some((category) => category === text)
}
