/** Which of several actors with one creator gets the sign-in of the creator. */
import { lowerAscii } from '../actor/address.ts'
import { quoted, ServiceError } from '../errors.ts'

/** An actor whose creator has other actors too. */
export interface RivalActor {
  readonly id: string
  readonly creator: string
  /** Unix milliseconds. 0: unknown. */
  readonly createdAt: number
  /** Whether the creator signed in to the actor: with an address that is verified, or with one that is not. */
  readonly account: 'verified' | 'unverified' | 'none'
}

/** `choice`: by the operator. `account`: the only one with the best account. `age`: the oldest of several equal ones. */
export type AccountChoice = 'choice' | 'account' | 'age'

export interface SharedCreator {
  readonly creator: string
  /** The actor that gets the sign-in comes first. */
  readonly actors: readonly RivalActor[]
  readonly decidedBy: AccountChoice
}

const ranks = { verified: 0, unverified: 1, none: 2 } as const

/**
 * Anyone could create an actor under the address of another person, so an actor with an account comes before an older one.
 *
 * @param choices Actors by their creators in lower case.
 * @throws ServiceError `bad_request` for a choice that names no actor of its creator.
 */
export function decideCreators(
  rivals: readonly RivalActor[],
  choices: ReadonlyMap<string, string>,
): readonly SharedCreator[] {
  const groups = Map.groupBy(rivals, ({ creator }) => lowerAscii(creator))
  for (const [creator, actor] of choices) {
    if (groups.get(creator)?.some(({ id }) => id === actor) !== true)
      throw new ServiceError(
        'bad_request',
        `Cannot import: ${quoted(actor)} is not one of several actors with the creator ${quoted(creator)}`,
      )
  }
  return [...groups]
    .map(([creator, actors]) => decided(actors, choices.get(creator)))
    .toSorted((a, b) => Number(b.decidedBy === 'age') - Number(a.decidedBy === 'age') || compare(a.creator, b.creator))
}

function decided(rivals: readonly RivalActor[], choice: string | undefined): SharedCreator {
  const actors = rivals.toSorted(
    (a, b) =>
      Number(b.id === choice) - Number(a.id === choice) ||
      ranks[a.account] - ranks[b.account] ||
      ageOf(a) - ageOf(b) ||
      compare(a.id, b.id),
  )
  const [first, second] = actors
  const isAlone = first !== undefined && first.account !== second?.account
  return {
    creator: first?.creator ?? '',
    actors,
    decidedBy: choice !== undefined ? 'choice' : isAlone ? 'account' : 'age',
  }
}

function ageOf({ createdAt }: RivalActor): number {
  return createdAt === 0 ? Number.MAX_SAFE_INTEGER : createdAt
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
