/** Records when and how a peer last called. Written after the response. */
import { LastUse } from '../auth/last-use.ts'
import type { Caller } from '../caller.ts'
import type { Trust } from './trust.ts'
import { touchTrust } from './trust-store.ts'

export type ConnectedVia = 'trust' | 'subscription' | 'mcp'

type Met = Pick<Trust, 'actorId' | 'peerId' | 'lastAccessed'>

export class LastSeen extends LastUse {
  /** Callers whose last contact is old enough to be written again. */
  readonly #due = new WeakMap<Caller, Met>()

  /** Registers a caller that was authenticated as this peer. */
  expect(caller: Caller, trust: Met): void {
    if (this.isDue(trust.lastAccessed)) this.#due.set(caller, trust)
  }

  /** Records the contact after the caller received its response. */
  answered(caller: Caller, via: ConnectedVia): void {
    const met = this.#due.get(caller)
    if (met === undefined) return
    this.touch({
      key: `${met.actorId} ${met.peerId}`,
      lastAt: met.lastAccessed,
      write: (tx, now, before) => touchTrust(tx, met, { via, now, before }),
      failure: 'Cannot record the last contact of a peer',
    })
  }
}
