/** Who has access to the data of an actor at this moment, and what the permission checks decide about them. */
import { hasEnded } from '../client.ts'
import type { Clients } from '../clients.ts'
import { filterInTurns, mapInTurns } from '../../permission/in-turns.ts'
import type { Operation } from '../../permission/operation.ts'
import type { Permission, Related } from '../../permission/permission.ts'
import type { Store } from '../../store/store.ts'
import { clientIdOf, isApprovedAt, type Trust } from '../../trust/trust.ts'

interface CurrentAccessDeps {
  readonly store: Pick<Store, 'read'>
  readonly permission: Permission
  readonly clients: Pick<Clients, 'registered'>
  /** Unix milliseconds. */
  readonly now: () => number
}

/** The verdicts of the permission checks for one person or app. People with equal rights may share a function. */
export type Judge = (operation: Operation) => { readonly allowed: boolean }

/** Returns the caller of the peer's requests. Reads for a page are not recorded in the audit log. */
export function callerOf(trust: Trust): Related {
  const { peerId, relationship, approved } = trust
  const clientId = clientIdOf(trust)
  return clientId === null
    ? { kind: 'peer', peerId, relationship, approved, via: 'bearer' }
    : { kind: 'client', clientId, peerId, relationship: approved ? relationship : '', via: 'bearer' }
}

export interface TrustWithRights {
  readonly trust: Trust
  readonly judge: Judge
}

export class CurrentAccess {
  readonly #deps: CurrentAccessDeps

  constructor(deps: CurrentAccessDeps) {
    this.#deps = deps
  }

  /** The relationships that have access at this moment. Asks for all clients with one statement. */
  async withAccess(trusts: readonly Trust[]): Promise<readonly Trust[]> {
    const { clients, now } = this.#deps
    const at = now()
    const approved = await filterInTurns(trusts, (trust) => isApprovedAt(trust, at))
    const registered = await clients.registered(approved.flatMap(({ facts }) => facts.oauth_client_id ?? []))
    return filterInTurns(approved, ({ facts }) => {
      const client = registered.get(facts.oauth_client_id ?? '')
      return client === undefined || !hasEnded(client, at)
    })
  }

  /** Adds the verdicts to relationships that have access. Reads the rules of all with one statement. */
  async withRights(actorId: string, trusts: readonly Trust[]): Promise<readonly TrustWithRights[]> {
    const { store, permission } = this.#deps
    const relations = await mapInTurns(trusts, (trust) => ({
      trust,
      actorId,
      caller: callerOf({ ...trust, approved: true }),
    }))
    const judgeOf = await store.read((q) => permission.judgeEach(q, relations))
    return mapInTurns(relations, (relation) => ({ trust: relation.trust, judge: judgeOf(relation) }))
  }
}
