/** Acts of an owner about third-party services. */
import { ServiceError } from '../errors.ts'
import { type Acting, noteIfOwner } from '../observe/own-acts.ts'
import type { Connections } from './connections.ts'

export class ConnectionActs {
  readonly #connections: Pick<Connections, 'end'>

  constructor(connections: Pick<Connections, 'end'>) {
    this.#connections = connections
  }

  /** Ends the connection and revokes the token. @throws ServiceError `not_found`, and like `Connections.end` */
  async disconnect(by: Acting, service: string): Promise<void> {
    if (!(await this.#connections.end(by.actor.id, service)))
      throw new ServiceError('not_found', `Cannot disconnect ${service}: the actor is not connected with it`)
    noteIfOwner(by, 'service.disconnect', { service })
  }
}
