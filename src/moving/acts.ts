/** Acts of an owner that move the actor to another service. */
import { ServiceError } from '../errors.ts'
import { type Acting, noteIfOwner } from '../observe/own-acts.ts'
import type { SignInAge } from '../permission/sign-in-age.ts'
import type { ArrivalClaims } from './claims.ts'
import type { Departures, ShownDeparture } from './departures.ts'

export interface MoveActsDeps {
  readonly departures: Pick<Departures, 'begin' | 'stop'>
  readonly arrivalClaims: Pick<ArrivalClaims, 'retry'>
  readonly signInAge: SignInAge
}

export class MoveActs {
  readonly #deps: MoveActsDeps

  constructor(deps: MoveActsDeps) {
    this.#deps = deps
  }

  /** @param to The URL of the other service. @throws ServiceError like `Departures.begin` */
  async begin(by: Acting, to: string): Promise<ShownDeparture> {
    this.#deps.signInAge.require(by.caller)
    const begun = await this.#deps.departures.begin(by.actor, to)
    noteIfOwner(by, 'move.begin')
    return begun
  }

  /** Gives the move up. The actor stays. @throws ServiceError `not_found` when the actor does not move, or has moved. */
  async stop(by: Acting): Promise<void> {
    if (!(await this.#deps.departures.stop(by.actor.id)))
      throw new ServiceError('not_found', 'The actor does not move', { refusal: 'move_ended' })
    noteIfOwner(by, 'move.stop')
  }

  /** Notifies the peers again that did not take the move. @returns their number. */
  retryPeers(by: Acting): Promise<number> {
    return this.#deps.arrivalClaims.retry(by.actor.id)
  }
}
