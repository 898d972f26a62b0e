/**
 * How deep a value may be nested for a plain JSON Schema that names itself. With two branches of `anyOf` or `oneOf` that both
 * read the same member, each level of the value doubles the work of the validator.
 */

/** A schema that takes at most this many steps for the deepest value that it accepts. */
const maxSteps = 1_000_000
/** The deepest JSON that the service reads. */
const maxLevels = 64

type Node = Readonly<Record<string, unknown>>

/** Keywords whose schemas apply to the value itself. */
const listsOfSame = ['allOf', 'anyOf', 'oneOf'] as const
const same = ['not', 'if', 'then', 'else'] as const

/** Returns the deepest nesting that takes few steps. Null: every nesting does. */
export function deepestFor(schema: Node): number | null {
  let steps: ReadonlyMap<Node, number> = new Map([[schema, 1]])
  for (let level = 1; level <= maxLevels; level += 1) {
    steps = stepsBelow(schema, steps)
    const total = sumOf(steps)
    if (total === 0) return null
    if (total > maxSteps) return level - 1
  }
  return null
}

function sumOf(steps: ReadonlyMap<Node, number>): number {
  return [...steps.values()].reduce((sum, count) => sum + count, 0)
}

/** The schemas that read one member or item of the value, for the member that takes most steps. */
function stepsBelow(root: Node, steps: ReadonlyMap<Node, number>): ReadonlyMap<Node, number> {
  const byMember = new Map<string, Map<Node, number>>()
  for (const [node, count] of steps)
    for (const [applied, times] of appliedBy(root, node))
      for (const [member, below] of membersOf(applied)) {
        const found = byMember.get(member) ?? new Map<Node, number>()
        byMember.set(member, found.set(below, (found.get(below) ?? 0) + count * times))
      }
  // Schemas for all members read a member with a schema of its own, too.
  const any = byMember.get('*')
  for (const [member, found] of byMember)
    if (member !== '*' && member !== '[]')
      for (const [node, count] of any ?? []) found.set(node, (found.get(node) ?? 0) + count)
  return [...byMember.values()].toSorted((a, b) => sumOf(b) - sumOf(a))[0] ?? new Map()
}

/** The schemas that apply to a value to which this one applies, and how often. */
function appliedBy(root: Node, node: Node): ReadonlyMap<Node, number> {
  const found = new Map<Node, number>()
  const add = (one: unknown, way: readonly Node[]): void => {
    if (!isNode(one) || way.includes(one) || sumOf(found) > maxSteps) return
    found.set(one, (found.get(one) ?? 0) + 1)
    const next = [...way, one]
    if (typeof one['$ref'] === 'string') add(targetOf(root, one['$ref']), next)
    for (const keyword of listsOfSame) for (const branch of listOf(one[keyword])) add(branch, next)
    for (const keyword of same) add(one[keyword], next)
    for (const branch of valuesOf(one['dependentSchemas'])) add(branch, next)
  }
  add(node, [])
  return found
}

/** The schemas of members and items. `*`: any member; `[]`: any item. */
function membersOf(node: Node): readonly (readonly [member: string, Node])[] {
  const named = Object.entries(isNode(node['properties']) ? node['properties'] : {}).map(
    ([name, one]) => [`.${name}`, one] as const,
  )
  const all = [...valuesOf(node['patternProperties']), node['additionalProperties'], node['unevaluatedProperties']]
  const items = [node['items'], node['contains'], node['unevaluatedItems'], ...listOf(node['prefixItems'])]
  const found: readonly (readonly [string, unknown])[] = [
    ...named,
    ...all.map((one) => ['*', one] as const),
    ...items.map((one) => ['[]', one] as const),
  ]
  return found.flatMap(([member, one]) => (isNode(one) ? [[member, one] as const] : []))
}

/** The schema of a pointer such as `#/$defs/node`. Undefined for all others, which belong to other documents. */
function targetOf(root: Node, reference: string): unknown {
  if (!/^#(?:\/|$)/.test(reference)) return undefined
  const parts = reference.slice(1).split('/').slice(1)
  return parts.reduce<unknown>((at, part) => {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(at)) return at[Number(name)] as unknown
    return isNode(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, root)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function valuesOf(value: unknown): readonly unknown[] {
  return isNode(value) ? Object.values(value) : []
}
