/** Who can view each property, for the listing. */
import { isProgram } from '../../trust/trust.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { Messages } from '../languages/language.ts'
import { type AudienceDeps, type Judge, withRights, withAccess } from '../relationships/access/audience.ts'
import type { PropertyRow } from './values.ts'

export interface ViewersDeps extends AudienceDeps {
  readonly trusts: Trusts
}

export type ViewersOf = (property: string) => Pick<PropertyRow, 'visible_to' | 'is_private'>

/** The listing judges this many different sets of rights, so that many overrides do not delay it. */
const mostSets = 100

/** Reads the rights of all people and apps with three statements. */
export async function viewersFor(deps: ViewersDeps, actorId: string, messages: Messages): Promise<ViewersOf> {
  const trusts = await withAccess(deps, await deps.trusts.list(actorId))
  const sets = Map.groupBy(await withRights(deps, actorId, trusts), ({ judge }) => judge)
  const shown = [...sets].slice(0, mostSets)
  const isPart = sets.size > mostSets
  return (property) => {
    let people = 0
    let apps = 0
    for (const [judge, alike] of shown) {
      if (!views(judge, property)) continue
      const programs = alike.filter(({ trust }) => isProgram(trust)).length
      apps += programs
      people += alike.length - programs
    }
    const words = messages.properties
    const said = people + apps === 0 ? words.onlyYou : words.visibleTo(people, apps)
    return isPart
      ? { visible_to: words.atLeast(people, apps), is_private: false }
      : { visible_to: said, is_private: people + apps === 0 }
  }
}

/** True for the whole property, and for a part of it. */
function views(judge: Judge, property: string): boolean {
  const read = { category: 'properties', right: 'read' } as const
  return (
    judge({ ...read, target: property }).allowed || judge({ ...read, target: `${property}/`, isPrefix: true }).allowed
  )
}
