/** The SQL that lists the connected programs of all actors. API keys are left out: each belongs to one actor. */
import type { Store } from '../store/store.ts'

export interface ConnectedProgram {
  /** Id of the registered client, or the URL of its metadata document. */
  readonly clientId: string
  /** Name that the program gave itself. Null for a client that is identified by a URL. */
  readonly name: string | null
  /** Connections that have not ended, of all actors. */
  readonly connections: number
  /** Unix milliseconds. */
  readonly lastUsedAt: number
}

/** Reads up to `most` programs after this client id, in the order of their ids. It asks every server. */
export async function findConnectedPrograms(
  store: Pick<Store, 'readAllServers'>,
  after: string,
  most: number,
): Promise<ConnectedProgram[]> {
  const found = await store.readAllServers<{ readonly id: string }>(
    `/* operator */ SELECT DISTINCT client_id AS id FROM token_chain WHERE client_id > $1 AND began_with <> 'key'
     ORDER BY client_id LIMIT $2`,
    after,
    most,
  )
  // A server that is asked alone returns its own first programs.
  const ids = [...new Set(found.map(({ id }) => id))].toSorted().slice(0, most)
  const asked = JSON.stringify(ids.map((id) => [id]))
  const [counts, names] = await Promise.all([
    store.readAllServers<{ readonly id: string; readonly connections: number; readonly lastUsedAt: number }>(
      `/* operator */ SELECT client_id AS id, count(*) AS connections, max(last_used_at) AS "lastUsedAt" FROM token_chain
       WHERE client_id IN (SELECT asked.id FROM rows($1, id TEXT) AS asked) GROUP BY client_id`,
      asked,
    ),
    store.readAllServers<{ readonly id: string; readonly name: string }>(
      `/* operator */ SELECT client_id AS id, name FROM oauth_client
       WHERE client_id IN (SELECT asked.id FROM rows($1, id TEXT) AS asked)`,
      asked,
    ),
  ])
  const nameOf = new Map(names.map(({ id, name }) => [id, name]))
  const countsOf = Map.groupBy(counts, ({ id }) => id)
  return ids.map((clientId) => {
    const parts = countsOf.get(clientId) ?? []
    return {
      clientId,
      name: nameOf.get(clientId) ?? null,
      connections: parts.reduce((sum, { connections }) => sum + connections, 0),
      lastUsedAt: parts.reduce((last, { lastUsedAt }) => Math.max(last, lastUsedAt), 0),
    }
  })
}
