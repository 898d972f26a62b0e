/** What a change of rights does to what there is. */
import { decide } from '../../permission/decision.ts'
import { propertyAt } from '../../permission/property-address.ts'
import { grantableOf, type RuledCategory, type Rules } from '../../permission/rules.ts'
import { verbOf } from '../shared/rights.ts'

type Names = { readonly [category in RuledCategory]: readonly string[] }

/** Of many the first are named. */
const mostNamed = 200

/**
 * By operation and name: `read “notes”`.
 *
 * @param lists The properties that are lists: items can be added to these alone.
 */
export function differences(
  before: Rules,
  after: Rules,
  names: Names,
  lists: ReadonlySet<string>,
): { readonly gained: readonly string[]; readonly lost: readonly string[] } {
  const gained: string[] = []
  const lost: string[] = []
  const changed = (category: RuledCategory, operation: string, target: string): boolean | null => {
    const could = decide(before, { category, operation, target }).allowed
    const can = decide(after, { category, operation, target }).allowed
    return could === can ? null : can
  }
  for (const [category, all] of Object.entries(names) as [RuledCategory, readonly string[]][]) {
    for (const operation of grantableOf[category]) {
      for (const name of all) {
        const can = changed(category, operation, name)
        if (can === null) continue
        // Changing a list covers adding to it, so that only one of the two is said.
        if (operation === 'append' && (!lists.has(name) || changed(category, 'write', name) === can)) continue
        const place = category === 'resources' ? propertyAt(name) : null
        if (place !== null && changed('properties', 'read', place.name) === can) continue
        ;(can ? gained : lost).push(`${verbOf(operation)} “${name}”`)
      }
    }
  }
  return { gained: gained.slice(0, mostNamed), lost: lost.slice(0, mostNamed) }
}
