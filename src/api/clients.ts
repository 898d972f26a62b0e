/** The handle by which applications use the OAuth clients of an actor. */
import type { ActorClient, ClientsHandle } from '../app/actor-handle.ts'
import type { Client } from '../authorization-server/client.ts'
import type { Clients } from '../authorization-server/clients.ts'

export function clientsHandle(clients: Clients, actorId: string): ClientsHandle {
  return {
    async create(wanted) {
      const { client, secret } = await clients.create(actorId, wanted)
      return { client: actorClient(client), secret: secret ?? '' }
    },
    list: async () => (await clients.list(actorId)).map(actorClient),
    async get(clientId) {
      const client = await clients.findOf(actorId, clientId)
      return client === null ? undefined : actorClient(client)
    },
    rotateSecret: async (clientId) => (await clients.rotateSecret(actorId, clientId)) ?? undefined,
    moveEnd: async (clientId, until) => clients.moveEnd(actorId, clientId, until),
    delete: (clientId) => clients.delete(actorId, clientId),
    stats: () => clients.stats(actorId),
  }
}

function actorClient({ clientId, name, trustType, redirectUris, createdAt, lastUsedAt, until }: Client): ActorClient {
  return {
    clientId,
    name,
    trustType,
    redirectUris,
    createdAt: new Date(createdAt),
    lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt),
    until: until === null ? null : new Date(until),
  }
}
