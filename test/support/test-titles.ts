/** The titles of the tests of a file, read from its source without running it. */
import { parseSync } from 'rolldown/utils'
import { idForm, type Proof, withoutIds } from './catalogue.ts'

export interface TitledTest {
  /** The titles from the outermost group to the test. A part that differs from case to case is `…`. */
  readonly path: readonly string[]
}

export interface TitledFile {
  readonly tests: readonly TitledTest[]
  /** The strings outside of titles that end with ids, such as the names of cases in a table. */
  readonly cases: readonly string[]
}

interface SyntaxNode {
  readonly type: string
  readonly [member: string]: unknown
}

/** Reads the titles of each `it` below its groups. */
export function titlesOf(file: string, source: string): TitledFile {
  const tests: TitledTest[] = []
  const cases: string[] = []
  const visit = (value: unknown, groups: readonly string[]): void => {
    if (Array.isArray(value)) for (const one of value) visit(one, groups)
    if (!isNode(value)) return
    const name = value.type === 'CallExpression' ? nameOf(value['callee']) : ''
    const [titleNode, ...rest] = argumentsOf(value)
    if (titleNode !== undefined && (name === 'it' || name === 'describe')) {
      const path = [...groups, textOf(titleNode) ?? '…']
      if (name === 'it') tests.push({ path })
      visit(rest, name === 'describe' ? path : groups)
      return
    }
    const text = textOf(value)
    if (text !== null && withoutIds(text) !== text) cases.push(text)
    for (const member of Object.values(value)) visit(member, groups)
  }
  visit(parseSync(file, source).program, [])
  return { tests, cases }
}

/** Returns the ids that a test carries in its title and in the titles of its groups. */
export function idsOf({ path }: TitledTest): string[] {
  return path.join(' ').match(idForm) ?? []
}

/** Returns the tests that a proof can mean, each with the ids that it carries there. */
export function testsOf({ tests, cases }: TitledFile, { title }: Proof): { test: TitledTest; ids: string[] }[] {
  return tests.flatMap((test) => {
    const own = withoutIds(test.path.at(-1) ?? '')
    const named = [own, `${withoutIds(test.path.at(-2) ?? '')} › ${own}`]
    if (named.includes(title)) return { test, ids: idsOf(test) }
    // The proof names one case: each part that differs from case to case is a string of the file, with its ids.
    const pattern = new RegExp(
      `^${own
        .split('…')
        .map((part) => RegExp.escape(part))
        .join('(.+?)')}$`,
    )
    const parts = pattern.exec(title)?.slice(1)
    if (parts === undefined || parts.length === 0) return []
    const found = parts.map((part) => (part === '…' ? part : cases.find((one) => withoutIds(one) === part)))
    if (found.includes(undefined)) return []
    return { test, ids: [...idsOf(test), ...(found.join(' ').match(idForm) ?? [])] }
  })
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** The name of a called function: `it` of `it(…)` and of `it.only(…)`. */
function nameOf(callee: unknown): unknown {
  if (!isNode(callee)) return ''
  return callee.type === 'MemberExpression' ? nameOf(callee['object']) : callee['name']
}

function argumentsOf(node: SyntaxNode): readonly unknown[] {
  return Array.isArray(node['arguments']) ? (node['arguments'] as readonly unknown[]) : []
}

/** The text of a string or a template, or null for another node. */
function textOf(node: unknown): string | null {
  if (!isNode(node)) return null
  if (node.type === 'Literal') return typeof node['value'] === 'string' ? node['value'] : null
  if (node.type !== 'TemplateLiteral') return null
  const quasis = node['quasis'] as readonly { readonly value: { readonly cooked: string } }[]
  return quasis.map(({ value }) => value.cooked).join('…')
}
