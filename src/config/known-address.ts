/** The base URL that the peers of the service know. It differs from `BASE_URL` until `troupe readdress` has informed them. */
import type { Queries, Store, Transaction } from '../store/store.ts'

export interface KnownAddress {
  readonly url: string
  /** Whether peers that cannot follow a statement are asked to connect again from this address. */
  readonly asksAgain: boolean
}

interface Warns {
  warn(facts: object, message: string): void
}

const name = 'address'

export async function findKnownAddress(q: Pick<Queries, 'get'>): Promise<KnownAddress | null> {
  const row = await q.get<{ value: string }>('SELECT value FROM setting WHERE name = $1', name)
  return row === undefined ? null : (JSON.parse(row.value) as KnownAddress)
}

export async function setKnownAddress(tx: Transaction, known: KnownAddress): Promise<void> {
  await tx.run(
    'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    name,
    JSON.stringify(known),
  )
}

/** The base URL that peers know, when it is not this one. Null: it is, or there are no peers. */
export async function otherKnownAddress(store: Store, baseUrl: string): Promise<string | null> {
  const known = await store.read(findKnownAddress)
  if (known === null || known.url === baseUrl) return null
  const peers = await store.readAllServers(`/* address */ SELECT actor_id FROM trust WHERE baseuri <> '' LIMIT 1`)
  return peers.length === 0 ? null : known.url
}

/** Stores the base URL at the start of a service, or warns when peers know another one. */
export async function startAddress(store: Store, baseUrl: string, log: Warns): Promise<void> {
  const known = await store.read(findKnownAddress)
  if (known?.url === baseUrl) return
  const other = await otherKnownAddress(store, baseUrl)
  if (other === null) return store.write((tx) => setKnownAddress(tx, { url: baseUrl, asksAgain: false }))
  log.warn({ baseUrl, known: other }, addressWarning(baseUrl, other))
}

export function addressWarning(baseUrl: string, known: string): string {
  return `Peers know this service as ${known}, and BASE_URL is ${baseUrl}: large changes do not reach them. Set TROUPE_FORMER_BASE_URLS=${known} and run troupe readdress ${baseUrl}, or set BASE_URL back.`
}
