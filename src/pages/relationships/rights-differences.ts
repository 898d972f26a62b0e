/** Computes what a change of rights opens and closes of the current content. */
import { decide } from '../../permission/decision.ts'
import { propertyAt } from '../../permission/property-address.ts'
import { grantableOf, type RuledCategory, type EffectiveRules } from '../../permission/rules.ts'
import type { Messages } from '../languages/language.ts'
import { eachInTurns } from '../../permission/in-turns.ts'
import { verbOf } from '../shared/rights.ts'
import type { OwnNames } from './access-review.ts'

/** Maximum number of named differences. */
const maxNamed = 200

interface Differences {
  readonly gained: readonly string[]
  readonly lost: readonly string[]
}

/**
 * Returns the differences by operation and name, such as `read “notes”`.
 *
 * @param own The names in the account. Only lists accept items.
 */
export async function differences(
  before: EffectiveRules,
  after: EffectiveRules,
  { names, lists }: OwnNames,
  messages: Messages,
): Promise<Differences> {
  const gained: string[] = []
  const lost: string[] = []
  const changed = (category: RuledCategory, operation: string, target: string): boolean | null => {
    const could = decide(before, { category, operation, target }).allowed
    const can = decide(after, { category, operation, target }).allowed
    return could === can ? null : can
  }
  const compare = (category: RuledCategory, operation: string, name: string): void => {
    const can = changed(category, operation, name)
    if (can === null) return
    const found = can ? gained : lost
    if (found.length === maxNamed) return
    // Write access to a list includes adding items, so only one of the two is listed.
    if (operation === 'append' && (!lists.has(name) || changed(category, 'write', name) === can)) return
    const place = category === 'resources' ? propertyAt(name) : null
    if (place !== null && changed('properties', 'read', place.name) === can) return
    found.push(messages.rights.act(verbOf(operation, messages), name))
  }
  for (const [category, all] of Object.entries(names) as [RuledCategory, readonly string[]][])
    for (const operation of grantableOf[category]) await eachInTurns(all, (name) => compare(category, operation, name))
  return { gained, lost }
}
