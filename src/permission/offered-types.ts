/** Selects the trust types that a form for people offers, ordered by access, least first. */
import { reachesBeyondData } from './roles.ts'
import { grantableOf, lists, ruledCategories, type Rules } from './rules.ts'
import type { TrustType, TrustTypes } from './trust-types.ts'

/**
 * The types for people, without types for programs and for members, who have roles.
 *
 * @param clientTypes Names of the types that the consent page offers. A declared type with such a name counts as a type
 *   for programs unless its declaration says otherwise. Built-in types for people are always included.
 */
export function typesForPeople(types: TrustTypes, clientTypes: readonly string[]): readonly TrustType[] {
  return types
    .all()
    .filter(({ name, forClients, membersOf }) => {
      const isForClients = forClients ?? (clientTypes.includes(name) && !types.isBuiltIn(name))
      return !isForClients && membersOf === undefined
    })
    .toSorted(byAccess)
}

/** Orders by the access that rules grant: everything, then named targets, then fewer exclusions. Names break ties. */
function byAccess(a: TrustType, b: TrustType): number {
  const [one, other] = [accessOf(a), accessOf(b)]
  const at = one.findIndex((value, index) => value !== other[index])
  if (at !== -1) return (one[at] ?? 0) - (other[at] ?? 0)
  return a.name < b.name ? -1 : 1
}

function accessOf({ name, permissions }: TrustType): readonly number[] {
  const { everything, named, excluded } = sizeOf(permissions)
  return [reachesBeyondData(name) ? 1 : 0, everything, named, -excluded]
}

/** Weights that rank a write above reads, and a deletion above writes. */
const weights: Readonly<Record<string, number>> = { read: 1, append: 10, write: 100, delete: 10_000 }

function sizeOf(rules: Rules): { everything: number; named: number; excluded: number } {
  const size = { everything: 0, named: 0, excluded: 0 }
  for (const category of ruledCategories) {
    const { patterns = [], operations = [], allowed = [], denied = [], excluded_patterns = [] } = rules[category] ?? {}
    size.excluded += denied.length + excluded_patterns.length
    if (denied.includes('*')) continue
    for (const operation of grantableOf[category]) {
      const granted = [...(lists(operations, operation) ? patterns : []), ...allowed]
      const weight = weights[operation] ?? 1
      if (granted.includes('*')) size.everything += weight
      else size.named += weight * granted.length
    }
  }
  return size
}
