/** Computes what a change of rights opens and closes of the current content. */
import { decide } from '../../permission/decision.ts'
import { propertyAt } from '../../permission/property-address.ts'
import { grantableOf, type RuledCategory, type EffectiveRules } from '../../permission/rules.ts'
import type { Messages } from '../languages/language.ts'
import { verbOf } from '../shared/rights.ts'

type Names = { readonly [category in RuledCategory]: readonly string[] }

/** Maximum number of named differences. */
const maxNamed = 200

/**
 * Returns the differences by operation and name, such as `read “notes”`.
 *
 * @param own The names in the account. `lists` has the properties that are lists, because only lists accept items.
 */
export function differences(
  before: EffectiveRules,
  after: EffectiveRules,
  { names, lists }: { readonly names: Names; readonly lists: ReadonlySet<string> },
  messages: Messages,
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
        // Write access to a list includes adding items, so only one of the two is listed.
        if (operation === 'append' && (!lists.has(name) || changed(category, 'write', name) === can)) continue
        const place = category === 'resources' ? propertyAt(name) : null
        if (place !== null && changed('properties', 'read', place.name) === can) continue
        ;(can ? gained : lost).push(messages.rights.act(verbOf(operation, messages), name))
      }
    }
  }
  return { gained: gained.slice(0, maxNamed), lost: lost.slice(0, maxNamed) }
}
