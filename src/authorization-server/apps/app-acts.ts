/** Acts of an owner about the programs that act for the owner. */
import { ServiceError } from '../../errors.ts'
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import type { TrustTypes } from '../../permission/trust-types.ts'
import type { TrustActs } from '../../trust/acts/trust-acts.ts'
import { isApprovedAt, isProgram, type Trust } from '../../trust/trust.ts'
import { type ConnectedAppDeps, disconnectApp } from './connected-apps.ts'

export interface AppActsDeps {
  readonly apps: Pick<ConnectedAppDeps, 'trusts'>
  readonly trustActs: Pick<TrustActs, 'setApproval'>
  readonly types: Pick<TrustTypes, 'needsConfirmation'>
  /** Unix milliseconds. */
  readonly now: () => number
}

export class AppActs {
  readonly #deps: AppActsDeps

  constructor(deps: AppActsDeps) {
    this.#deps = deps
  }

  /** Ends the access of an app at once, with its relationship. @throws ServiceError `not_found` */
  async disconnect(by: Acting, peer: string): Promise<void> {
    if (!(await disconnectApp(this.#deps.apps, by.actor, peer)))
      throw new ServiceError('not_found', 'Cannot disconnect the app: it is not connected', {
        refusal: 'app_disconnected',
      })
    noteIfOwner(by, 'app.disconnect', { peer })
  }

  /**
   * Pauses a program or an API key: the owner takes the approval back for a time. It takes effect with the next request, in
   * every process.
   *
   * @throws ServiceError `not_found` without such a relationship, `conflict` when it cannot be paused.
   */
  async pause(by: Acting, peerId: string): Promise<void> {
    const { trustActs, now } = this.#deps
    await trustActs.setApproval(by, peerId, false, async (before) => {
      if (!isProgram(before) || !canPause(before, now())) throw stateChanged('pause')
    })
  }

  /** Gives the approval back that `pause` took. @throws ServiceError like `pause` */
  async resume(by: Acting, peerId: string): Promise<void> {
    const { trustActs, types } = this.#deps
    await trustActs.setApproval(by, peerId, true, async (before) => {
      if (!isProgram(before) || !canResume(types, before)) throw stateChanged('resume')
    })
  }
}

/** An approval with an end cannot be paused: the end would be lost. */
export function canPause(trust: Pick<Trust, 'approved' | 'approvedUntil'>, now: number): boolean {
  return isApprovedAt(trust, now) && trust.approvedUntil === null
}

/** Without the confirmation that its trust type needs, an approval cannot be given again by one click. */
export function canResume(
  types: AppActsDeps['types'],
  { approved, relationship }: Pick<Trust, 'approved' | 'relationship'>,
): boolean {
  return !approved && !types.needsConfirmation(relationship)
}

function stateChanged(what: 'pause' | 'resume'): ServiceError {
  return new ServiceError('conflict', `Cannot ${what} this access: its state has changed`)
}
