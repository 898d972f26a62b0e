/** What a change of rights does to what there is. */
import { judgeRule, operationsOf, type RuledCategory, type Rules } from '../permission/rules.ts'
import { verbOf } from '../ui/rights.ts'

type Names = { readonly [category in RuledCategory]?: readonly string[] }

/** Of many the first are named. */
const mostNamed = 200

/** By operation and name: `read “notes”`. */
export function differences(
  before: Rules,
  after: Rules,
  names: Names,
): { readonly gained: readonly string[]; readonly lost: readonly string[] } {
  const gained: string[] = []
  const lost: string[] = []
  for (const [category, all] of Object.entries(names) as [RuledCategory, readonly string[]][]) {
    for (const operation of operationsOf[category]) {
      for (const name of all) {
        const could = judgeRule(before[category], operation, name).allowed
        const can = judgeRule(after[category], operation, name).allowed
        if (could !== can) (can ? gained : lost).push(`${verbOf(operation)} “${name}”`)
      }
    }
  }
  return { gained: gained.slice(0, mostNamed), lost: lost.slice(0, mostNamed) }
}
