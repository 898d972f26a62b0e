/** I4 for the copies of the Python actor, as far as its rules let any publisher bring them there. */
import { partlyWritten, type SubscriptionView, type Workload } from '../workload.ts'
import type { SimActor, World } from '../world.ts'
import type { PythonHost } from './python-host.ts'

/** The values that a publisher shows, and its lists as `{ list: items }`. */
type Shown = ReadonlyMap<string, unknown>

export interface PythonJudgement {
  readonly shownTo: (publisher: SimActor, secret: string) => Promise<Shown>
  readonly canonical: (value: unknown) => string
  /** Skips copies with missing diffs, and those that only further callbacks can repair. */
  readonly mayBeBehind: boolean
}

/** Returns the number of copies that were compared. */
export async function judgePythonCopies(world: World, workload: Workload, judgement: PythonJudgement): Promise<number> {
  const { python } = world
  let compared = 0
  if (python === null || workload.pythonWork === null) return 0
  for (const actor of world.actors) {
    const trust = python.trustIn(actor.id)
    if (actor.isGone || actor.mayBeGone || trust === undefined) continue
    const own = await workload.pythonWork.ownSideOf(actor)
    if (own?.secret !== trust.secret) {
      world.violation(`PEER-05: ${actor.id} and the Python actor have two secrets`)
      continue
    }
    const all = await workload.subscriptionsOf(actor)
    for (const id of python.subscriber.subscriptions) {
      if (python.subscriber.peerOf(id) !== actor.id) continue
      // The relationship had ended at the publisher, and only a sync of the Python application would notice (WIRE-RESTORE-15).
      const published = all.find(({ subscriptionid, callback }) => subscriptionid === id && !callback)
      if (published === undefined || !isComparable(python, actor, published, judgement.mayBeBehind)) continue
      compared += 1
      compare(world, { python, actor, id }, await judgement.shownTo(actor, trust.secret), judgement)
    }
  }
  return compared
}

function isComparable(
  { subscriber, wasRestored }: PythonHost,
  { id }: SimActor,
  { subscriptionid, sequence }: SubscriptionView,
  mayBeBehind: boolean,
): boolean {
  // The failed fetch was acknowledged, and no later diff of a list makes up for it (WIRE-RESTORE-08, WIRE-ADDRESS-04).
  if (subscriber.lost.has(id)) return false
  if (subscriber.doubled.has(id)) return false
  // A gap, also the one of a restore, ends with the second callback behind it (WIRE-RESTORE-19, WIRE-RESTORE-23).
  return !mayBeBehind || (!wasRestored && subscriber.last(subscriptionid) === sequence)
}

function compare(
  world: World,
  { python, actor, id }: { readonly python: PythonHost; readonly actor: SimActor; readonly id: string },
  shown: Shown,
  { canonical, mayBeBehind }: PythonJudgement,
): void {
  const { values, lists } = python.subscriber.copyOf(actor.id)
  const copy = new Map<string, unknown>(lists.entries().map(([name, items]) => [name, { list: items }]))
  for (const [name, value] of values) copy.set(name, value)
  // A sync that applies polled diffs stores their time as a property (WIRE-RESTORE-22).
  copy.delete('timestamp')
  for (const name of new Set([...shown.keys(), ...copy.keys()])) {
    const [has, sees] = [copy.get(name), shown.get(name)]
    // It stores what was written below a property in place of the property, until the next write of the whole (WIRE-SUB-14).
    if (mayBeBehind && partlyWritten.includes(name)) continue
    // The creation of an empty list is a change of its metadata, which it ignores (WIRE-LIST-02).
    if (has === undefined && sees !== undefined && canonical(sees) === '{"list":[]}') continue
    if (sees === undefined && world.watch.isLate(actor.id, python.id, name)) continue
    // The restored copy has a name that was withdrawn meanwhile, and no resync deletes it (WIRE-RESTORE-09).
    if (sees === undefined && python.wasRestored) continue
    // The full state after a lost deletion lacked the name, and deletes nothing (WIRE-RESTORE-08, WIRE-RESTORE-09).
    if (python.subscriber.isLeft(actor.id, name)) continue
    // A list with this name was created again, and its items follow those that the restored copy kept (WIRE-RESTORE-09).
    if (python.wasRestored && python.subscriber.isStale(actor.id, name)) continue
    const [one, other] = [has, sees].map((value) => (value === undefined ? 'nothing' : canonical(value)))
    if (one !== other)
      world.violation(
        `I4: the Python actor, listening to ${actor.id} as ${id}, has ${name} = ${one} and may see ${other}`,
      )
  }
}
