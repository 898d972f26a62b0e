/**
 * The archives of actors that other services announce. They are files until the old address has published its notice, so an
 * announcement that leads nowhere costs the database nothing.
 */
import { isDeclaredKind, undeclaredKind } from '../actor/declared-kinds.ts'
import { normalizeCreator } from '../actor/actor.ts'
import { readRecords, RecordReader } from '../archive/archive-reader.ts'
import { headerOf } from '../archive/archived-content.ts'
import { checkArchive } from '../archive/check-archive.ts'
import { unzippedArchive } from '../archive/gzip.ts'
import { limited } from '../archive/limited.ts'
import type { Config } from '../config/options.ts'
import { ServiceError } from '../errors.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { abandon } from '../object/abandon-object.ts'
import { insertObject, keepObject, type ObjectKey, releaseObject } from '../object/object-store.ts'
import { leased } from '../object/object-lease.ts'
import { objectLeaseMs } from '../object/unused-objects.ts'
import type { Log } from '../observe/log.ts'
import type { Quotas } from '../quota/quota.ts'
import { randomId } from '../secret/random.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { WithTables } from '../table/table.ts'
import type { Timers } from '../timers.ts'

export interface SpoolDeps extends WithTables {
  readonly store: Store
  readonly bytes: FileBytes
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly config: Pick<Config, 'maxImportBytes'>
  /** The limit that an option has, by its name in code. */
  readonly limitIn: (setting: string) => number
  readonly quotas: Pick<Quotas, 'declared' | 'limitOf'>
  /** Deletes the bytes of archives that are not needed any longer. */
  readonly wakeUnused: (actorId: string) => void
}

const cannotTake = 'Cannot take the account:'

export class Spool {
  readonly #deps: SpoolDeps

  constructor(deps: SpoolDeps) {
    this.#deps = deps
  }

  /**
   * Stores and checks an archive, unpacked, and passes its object to `keep` in the transaction that stores it.
   *
   * @throws ServiceError `invalid_value` for what is not the complete archive of the actor; `payload_too_large` beyond a limit;
   *   `insufficient_storage`; what `content` throws. Then nothing is left.
   */
  async take(
    actorId: string,
    content: AsyncIterable<Uint8Array>,
    keep: (tx: Transaction, object: string) => Promise<boolean>,
  ): Promise<void> {
    const { store, bytes, now, config } = this.#deps
    const key = keyOf(actorId, randomId())
    await store.write((tx) => insertObject(tx, key, now() + objectLeaseMs))
    const release = leased(this.#deps, key)
    try {
      const unpacked = limited(unzippedArchive(content), config.maxImportBytes, `${cannotTake} its archive`)
      await bytes.put(key.object, unpacked)
      await this.#check(actorId, key.object)
      await store.write(async (tx) => {
        if (!(await keepObject(tx, key)) || !(await keep(tx, key.object)))
          throw new ServiceError('conflict', `${cannotTake} its move was announced again, or has ended`)
      })
    } catch (error) {
      await abandon(this.#deps, key, 'a refused archive')
      throw error
    } finally {
      release()
    }
  }

  /** The archive. Null: the storage has lost it. */
  async open(object: string): Promise<AsyncIterable<Uint8Array> | null> {
    return (await this.#deps.bytes.open(object, null))?.bytes ?? null
  }

  /** Makes the deletion of an archive due. */
  async release(tx: Transaction, actorId: string, object: string): Promise<void> {
    if (object !== '') await releaseObject(tx, keyOf(actorId, object), this.#deps.now())
  }

  wakeUnused(actorId: string): void {
    this.#deps.wakeUnused(keyOf(actorId, '').actorId)
  }

  async #check(actorId: string, object: string): Promise<void> {
    const content = await this.open(object)
    if (content === null) throw new ServiceError('file_missing', `${cannotTake} the storage has lost its archive`)
    const records = new RecordReader(readRecords(content))
    try {
      const first = await records.peek()
      const { id, creator, kind } = headerOf(first)
      if (id !== actorId) throw new ServiceError('invalid_value', `${cannotTake} this is the archive of another actor`)
      normalizeCreator(creator)
      if (!(await this.#deps.store.read((q) => isDeclaredKind(q, kind))))
        throw new ServiceError('invalid_value', `${cannotTake} ${undeclaredKind(kind)}`)
      const { contents, rows, bytes } = await checkArchive(records, this.#deps.tables)
      for (const [{ content: declared }, totals] of contents)
        for (const { of, setting, unit } of declared.limits) this.#requireAtMost(totals[of], setting, unit)
      this.#requireRoom(rows, bytes)
    } finally {
      await records.close()
    }
  }

  #requireAtMost(count: number, setting: string, unit: string): void {
    const most = this.#deps.limitIn(setting)
    if (count > most)
      throw new ServiceError('payload_too_large', `${cannotTake} it has ${count} ${unit}; at most ${most} are allowed`)
  }

  /**
   * The old service still has the actor, so it stays there. After the notice, only the exact counts could refuse it.
   *
   * @throws ServiceError `payload_too_large` for an archive with more than an actor may store here.
   */
  #requireRoom(rows: ReadonlyMap<string, number>, bytes: number): void {
    const { quotas } = this.#deps
    for (const quota of quotas.declared) {
      const used = quota.isSize === true ? bytes : quota.tables.reduce((sum, table) => sum + (rows.get(table) ?? 0), 0)
      const limit = quotas.limitOf(quota)
      if (quota.tables.length > 0 && used > limit)
        throw new ServiceError(
          'payload_too_large',
          `${cannotTake} it has ${used} ${quota.unit}; at most ${limit} are allowed. ${quota.counts}`,
        )
    }
  }
}

/** Not the key of the actor's own files, which are deleted with an earlier attempt. No actor has such an id. */
function keyOf(actorId: string, object: string): ObjectKey {
  return { actorId: `~arrival~${actorId}`, object }
}
