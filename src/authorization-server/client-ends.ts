/**
 * Deletion of clients. It ends all relationships of owners with the client, and notifies the application of each one
 * after the commit.
 */
import type { Actor } from '../actor/actor.ts'
import type { Log } from '../observe/log.ts'
import type { AfterCommit, Transaction } from '../store/store.ts'
import { deleteTrustsOfClients } from '../trust/trust-store.ts'
import type { Trust } from '../trust/trust.ts'
import { deleteClients, type EndingClient, holdClient, holdClientsOf, holdUnusedClients } from './client-store.ts'
import { ownClientOf } from './client-trust.ts'

export interface ClientEndsDeps {
  readonly afterCommit: AfterCommit
  readonly findActor: (actorId: string) => Promise<Actor | null>
  /** Notifies the application and live watchers. `byPeer`: another actor deleted the client. */
  readonly notify: (actor: Actor, trust: Trust, byPeer: boolean) => Promise<void>
  /** Returns whether the application handles `trust_deleted`. */
  readonly isHeard: () => boolean
  readonly log: Log
}

interface Ended {
  readonly trust: Trust
  readonly byPeer: boolean
}

export class ClientEnds {
  readonly #deps: ClientEndsDeps

  constructor(deps: ClientEndsDeps) {
    this.#deps = deps
  }

  /** Deletes a client. Returns false when the client does not belong to the actor. */
  async end(tx: Transaction, clientId: string, actorId: string): Promise<boolean> {
    const client = await holdClient(tx, clientId, actorId)
    if (client === null) return false
    this.#follow(tx, await endAll(tx, [client]))
    return true
  }

  /** Deletes expired clients. */
  async endUnused(tx: Transaction, now: number): Promise<void> {
    const clients = await holdUnusedClients(tx, now)
    if (clients.length > 0) this.#follow(tx, await endAll(tx, clients))
  }

  /**
   * Deletes a client when the relationship with its own actor ends. The caller notifies the application of that
   * relationship.
   */
  async endWithOwnTrust(tx: Transaction, actorId: string, peerId: string): Promise<void> {
    const clientId = ownClientOf(peerId)
    const client = clientId === null ? null : await holdClient(tx, clientId, actorId)
    if (client === null) return
    const ended = await endAll(tx, [client])
    this.#follow(
      tx,
      ended.filter(({ trust }) => trust.actorId !== actorId || trust.peerId !== peerId),
    )
  }

  /** Deletes the clients of actors before the actors, to notify the application of relationships with other actors. */
  async endWithActors(tx: Transaction, actorIds: readonly string[]): Promise<void> {
    // On a plain database, foreign keys delete the clients that no event is about.
    if (actorIds.length === 0 || (!this.#deps.isHeard() && !tx.isSharded)) return
    const clients = await holdClientsOf(tx, actorIds)
    if (clients.length === 0) return
    const ended = await endAll(tx, clients)
    this.#follow(
      tx,
      ended.filter(({ trust }) => !actorIds.includes(trust.actorId)),
    )
  }

  #follow(tx: Transaction, ended: readonly Ended[]): void {
    if (ended.length > 0) this.#deps.afterCommit(tx, () => this.#notify(ended))
  }

  async #notify(ended: readonly Ended[]): Promise<void> {
    const { findActor, notify, log } = this.#deps
    for (const { trust, byPeer } of ended) {
      try {
        const actor = await findActor(trust.actorId)
        if (actor !== null) await notify(actor, trust, byPeer)
      } catch (error) {
        // The deletion is already committed.
        log.error({ error, actorId: trust.actorId }, 'Cannot notify that a relationship ended with its client')
      }
    }
  }
}

/** Deletes the relationships before the clients: a cascade would delete them without a notification. */
async function endAll(tx: Transaction, clients: readonly EndingClient[]): Promise<Ended[]> {
  const owners = new Map(clients.map(({ clientId, ownerId }) => [clientId, ownerId]))
  const ids = [...owners.keys()]
  const ended = await deleteTrustsOfClients(tx, ids)
  await deleteClients(tx, ids)
  return ended.map(({ trust, clientId }) => ({ trust, byPeer: owners.get(clientId) !== trust.actorId }))
}
