/** The handle by which applications use the third-party services that an actor connected. */
import type { ServicesHandle } from '../app/actor-handle.ts'
import type { Connections } from '../connection/connections.ts'

export function servicesHandle(connections: Connections, actorId: string, actorUrl: string): ServicesHandle {
  return {
    get(name) {
      const service = connections.require(name).name
      return {
        name: service,
        connectUrl: (redirect) =>
          `${actorUrl}/services/${service}/connect${redirect === undefined ? '' : `?redirect=${encodeURIComponent(redirect)}`}`,
        async connection() {
          const { connected } = await connections.find(actorId, service)
          return connected === null
            ? undefined
            : {
                connectedAt: new Date(connected.at),
                expiresAt: connected.expiresAt === null ? null : new Date(connected.expiresAt),
                scope: connected.scope,
              }
        },
        accessToken: () => connections.accessToken(actorId, service),
        fetch: (url, request) => connections.fetch(actorId, service, url, request),
        disconnect: () => connections.end(actorId, service),
      }
    },
    list: async () =>
      (await connections.list(actorId)).map(({ service, connected }) => ({
        name: service,
        connected: connected !== null,
      })),
  }
}
