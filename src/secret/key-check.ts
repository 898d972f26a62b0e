/** Checks that the configured keys belong to the store. With other keys, every secret would fail to open. */
import { ServiceError } from '../errors.ts'
import type { Queries, Store } from '../store/store.ts'
import type { KeyRing } from './key-ring.ts'
import { findForgottenKeys } from './forgotten-keys.ts'
import { beginningWith, keyIdOf, open } from './sealed.ts'
import { actorPassphrase, sealedColumnsWith, type SealedTable } from './sealed-columns.ts'
import { findSecrets, type SealedPage, sealedPage, type StoredSecret } from './sealed-pages.ts'

/** Number of passphrases sampled from each end of the actor table. Every actor has a passphrase. */
const sampleRows = 8
/** Rows that the search tries per column and key id. They all fail only when many values are damaged. */
const searchedRows = 20

/**
 * Returns false when secrets are stored and the key ring opens none of them. An empty store fits every key ring. It reads
 * two samples by primary key. If they do not open, it searches all columns, because a store during a key rotation fits
 * each key that opens some of its secrets.
 */
export async function ringFits(store: Store, ring: KeyRing, tables: readonly SealedTable[]): Promise<boolean> {
  const opens = (secret: StoredSecret): boolean => canOpen(ring, secret)
  const q: Pick<Queries, 'all'> = { all: (sql, ...params) => store.readAllServers(sql, ...params) }
  const sample = await Promise.all(
    ['ASC', 'DESC'].map((order) => findSecrets(q, actorPassphrase, `ORDER BY id ${order} LIMIT ${sampleRows}`)),
  )
  const secrets = sample.flat()
  if (secrets.length === 0 || secrets.some(opens)) return true
  for (const column of sealedColumnsWith(tables)) {
    for (const id of ring.keys.keys()) {
      const beginning = beginningWith(id)
      const where = `WHERE SUBSTR(${column.column}, 1, $2) = $1 LIMIT ${searchedRows}`
      const found = await findSecrets(q, column, where, [beginning, beginning.length])
      if (found.some(opens)) return true
    }
  }
  return areAllForgotten(store, tables)
}

/** Whether every stored secret is of a forgotten key. The store then has no secret yet for the configured keys. */
async function areAllForgotten(store: Store, tables: readonly SealedTable[]): Promise<boolean> {
  const forgotten = [...(await store.read(findForgottenKeys))].map(beginningWith)
  if (forgotten.length === 0) return false
  const q: Pick<Queries, 'all'> = { all: (sql, ...params) => store.readAllServers(sql, ...params) }
  for (const column of sealedColumnsWith(tables)) {
    const others = forgotten.map((_, at) => `SUBSTR(${column.column}, 1, $${2 * at + 2}) <> $${2 * at + 1}`)
    const where = `WHERE ${column.column} <> '' AND ${others.join(' AND ')} LIMIT 1`
    const params = forgotten.flatMap((beginning) => [beginning, beginning.length])
    if ((await findSecrets(q, column, where, params)).length > 0) return false
  }
  return true
}

function canOpen(ring: KeyRing, secret: StoredSecret): boolean {
  return whyUnreadable(ring, secret) === null
}

function whyUnreadable(ring: KeyRing, { sealed, binding }: StoredSecret): string | null {
  try {
    open(ring, sealed, binding)
    return null
  } catch (error) {
    if (error instanceof ServiceError) return error.detail.reason ?? error.message
    throw error
  }
}

/**
 * Reads every stored secret in pages, and yields the reason for each secret that the key ring does not open, besides those of
 * forgotten keys.
 */
export async function* unreadableSecrets(
  store: Store,
  ring: KeyRing,
  tables: readonly SealedTable[],
): AsyncGenerator<string> {
  const forgotten = await store.read(findForgottenKeys)
  for await (const { keyId, reason } of unopenedSecrets(store, ring, tables))
    if (keyId === null || ring.keys.has(keyId) || !forgotten.has(keyId)) yield reason
}

export interface UnopenedSecret {
  /** Table and column, such as `trust.secret`. */
  readonly field: string
  /** Null: the value is not a sealed one. */
  readonly keyId: string | null
  readonly reason: string
}

/** Reads every stored secret in pages, and yields those that the key ring does not open. */
export async function* unopenedSecrets(
  store: Store,
  ring: KeyRing,
  tables: readonly SealedTable[],
): AsyncGenerator<UnopenedSecret> {
  for (const column of sealedColumnsWith(tables)) {
    let last: readonly string[] | null = null
    do {
      const after: readonly string[] | null = last
      const page: SealedPage = await store.read((q) => sealedPage(q, column, after))
      for (const secret of page.secrets) {
        const reason = whyUnreadable(ring, secret)
        const field = `${column.table}.${column.column}`
        if (reason !== null) yield { field, keyId: keyIdOf(secret.sealed), reason }
      }
      last = page.last
    } while (last !== null)
  }
}

/** Cache time of the result, because readiness probes arrive every few seconds. */
const checkEveryMs = 15_000
/** On a sharded database, the check asks every server. */
const checkShardedEveryMs = 600_000

/** `ringFits` for a running service: the store may be replaced, such as by a backup, while the service runs. */
export class KeyCheck {
  readonly #store: Store
  readonly #ring: KeyRing
  readonly #tables: readonly SealedTable[]
  readonly #now: () => number
  #checkedAt = Number.NEGATIVE_INFINITY
  #fits = false

  constructor(store: Store, ring: KeyRing, tables: readonly SealedTable[], now: () => number) {
    this.#store = store
    this.#ring = ring
    this.#tables = tables
    this.#now = now
  }

  async fits(): Promise<boolean> {
    const now = this.#now()
    const everyMs = this.#store.isSharded ? checkShardedEveryMs : checkEveryMs
    if (Math.abs(now - this.#checkedAt) < everyMs) return this.#fits
    this.#fits = await ringFits(this.#store, this.#ring, this.#tables)
    this.#checkedAt = now
    return this.#fits
  }

  /** @throws ServiceError `unavailable` */
  async require(): Promise<void> {
    if (!(await this.fits()))
      throw new ServiceError('unavailable', 'The configured keys open none of the stored secrets')
  }
}
