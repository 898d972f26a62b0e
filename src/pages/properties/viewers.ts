/** Who can view a property: their number for the listing, and their names for the page of the property. */
import type { CurrentAccess, Judge } from '../../authorization-server/apps/current-access.ts'
import { isProgram } from '../../trust/trust.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { Messages } from '../languages/language.ts'
import { filterInTurns, mapInTurns } from '../../permission/in-turns.ts'
import { type PeerNameDeps, peersOf } from '../shared/peer-names.ts'
import type { PropertyRow, PropertyViewer } from './values.ts'

export interface ViewersDeps {
  readonly currentAccess: CurrentAccess
  readonly trusts: Trusts
}

export type ViewersOf = (property: string) => Pick<PropertyRow, 'visible_to' | 'is_private'>

/** The listing judges this many different sets of rights, so that many overrides do not delay it. */
const maxSets = 100

/** Reads the rights of all people and apps with three statements. */
export async function viewersFor(deps: ViewersDeps, actorId: string, messages: Messages): Promise<ViewersOf> {
  const { currentAccess, trusts } = deps
  const viewers = await currentAccess.withAccess(await trusts.list(actorId))
  const sets = Map.groupBy(await currentAccess.withRights(actorId, viewers), ({ judge }) => judge)
  const shown = [...sets].slice(0, maxSets).map(([judge, alike]) => {
    const apps = alike.filter(({ trust }) => isProgram(trust)).length
    return { judge, apps, people: alike.length - apps }
  })
  const isPart = sets.size > maxSets
  return (property) => {
    let people = 0
    let apps = 0
    for (const set of shown) {
      if (!views(set.judge, property)) continue
      apps += set.apps
      people += set.people
    }
    const words = messages.properties
    const said = people + apps === 0 ? words.onlyYou : words.visibleTo(people, apps)
    return isPart
      ? { visible_to: words.atLeast(people, apps), is_private: false }
      : { visible_to: said, is_private: people + apps === 0 }
  }
}

export interface PropertyViewers {
  /** At most 100, by name. */
  readonly viewers: readonly PropertyViewer[]
  /** Number of viewers that are left out. */
  readonly others: number
}

/** Maximum number of names: an owner could not review more. */
const maxNamed = 100

/** Names the people and apps that can view the property now. The number of statements does not depend on their number. */
export async function namedViewers(
  deps: ViewersDeps & PeerNameDeps,
  actorId: string,
  property: string,
  messages: Messages,
): Promise<PropertyViewers> {
  const peers = await peersOf(deps, actorId, messages)
  const withAccess = await deps.currentAccess.withAccess(peers.trusts)
  const sets = Map.groupBy(await deps.currentAccess.withRights(actorId, withAccess), ({ judge }) => judge)
  const viewing = await filterInTurns([...sets], ([judge]) => views(judge, property))
  const rights = await mapInTurns(viewing, ([judge, alike]) => ({ alike, canEdit: edits(judge, property) }))
  const found = await mapInTurns(
    rights.flatMap(({ alike, canEdit }) => alike.map(({ trust }) => ({ peerId: trust.peerId, canEdit }))),
    ({ peerId, canEdit }) => ({ peer: peers.nameOf(peerId), can_edit: canEdit }),
  )
  const viewers = found.toSorted((a, b) => (a.peer.name < b.peer.name ? -1 : 1)).slice(0, maxNamed)
  return { viewers, others: found.length - viewers.length }
}

/** True for the whole property, and for a part of it. */
function edits(judge: Judge, property: string): boolean {
  return (['write', 'append', 'delete'] as const).some((right) => {
    const operation = { category: 'properties', right } as const
    return (
      judge({ ...operation, target: property }).allowed ||
      judge({ ...operation, target: `${property}/`, isPrefix: true }).allowed
    )
  })
}

/** True for the whole property, and for a part of it. */
function views(judge: Judge, property: string): boolean {
  const read = { category: 'properties', right: 'read' } as const
  return (
    judge({ ...read, target: property }).allowed || judge({ ...read, target: `${property}/`, isPrefix: true }).allowed
  )
}
