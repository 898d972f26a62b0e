/**
 * Upgrades stored values and items to the versions that the application declares. It works in bounded batches, beside running
 * processes. What is upgraded has the new version, so an interrupted run continues with the next one.
 */
import { setImmediate } from 'node:timers/promises'
import type { Indexes } from '../../actor/indexes.ts'
import { ServiceError } from '../../errors.ts'
import { countOlder, keepUpBatch } from '../../list/list.ts'
import type { Store } from '../../store/store.ts'
import type { DeclaredData } from '../declared-data.ts'
import type { DeclaredKinds } from '../declared-kinds.ts'
import {
  findNamedProperties,
  findVersions,
  putUpgradedValues,
  type UnreadProperty,
  type VersionRow,
} from '../property-store.ts'

export interface DataMigrationDeps {
  readonly store: Store
  readonly declared: Pick<DeclaredKinds, 'ofActor' | 'versioned'>
  readonly indexes: Pick<Indexes, 'update'>
  /** Receives each property that cannot be upgraded. It stays as it is; the items of a list before it may be upgraded. */
  readonly failed: (actorId: string, name: string, error: ServiceError) => void
}

export interface MigrationCount {
  readonly values: number
  readonly items: number
  /** The properties that cannot be upgraded. */
  readonly failures: number
}

/** An actor, and the declarations for its kind. */
interface Upgrading {
  readonly actorId: string
  readonly declared: DeclaredData
}

/** Rows per search. */
const pageRows = 500

export class DataMigration {
  readonly #deps: DataMigrationDeps
  #count = { values: 0, items: 0, failures: 0 }

  constructor(deps: DataMigrationDeps) {
    this.#deps = deps
  }

  /** Upgrades everything. A dry run upgrades in memory only, so that it finds the same failures. */
  async run({ isDry }: { readonly isDry: boolean }): Promise<MigrationCount> {
    const { store, declared } = this.#deps
    this.#count = { values: 0, items: 0, failures: 0 }
    const versioned = new Set(declared.versioned())
    if (versioned.size === 0) return this.#count
    let rows: readonly VersionRow[] = []
    do {
      const last = rows.at(-1)
      rows = await store.read((q) => findVersions(q, last, pageRows))
      const byActor = Map.groupBy(
        rows.filter(({ name }) => versioned.has(name)),
        ({ actorId }) => actorId,
      )
      for (const [actorId, named] of byActor) await this.#upgradeActor(actorId, named, isDry)
    } while (rows.length === pageRows)
    return this.#count
  }

  async #upgradeActor(actorId: string, rows: readonly VersionRow[], isDry: boolean): Promise<void> {
    const { store, declared: kinds } = this.#deps
    let declared: DeclaredData
    try {
      declared = await store.read((q) => kinds.ofActor(q, actorId))
    } catch (error) {
      for (const { name } of rows) this.#note(actorId, name, error)
      return
    }
    const older = rows.filter(({ kind, name, version }) => kind === 'value' && version < declared.versionOf(name))
    if (older.length > 0) await this.#upgradeValues({ actorId, declared }, namesOf(older), isDry)
    for (const { name, kind } of rows) {
      if (kind !== 'list') continue
      try {
        await this.#upgradeList({ actorId, declared }, name, isDry)
      } catch (error) {
        this.#note(actorId, name, error)
      }
    }
  }

  /** Upgrades values of one actor in one transaction. The values that cannot be upgraded stay. */
  async #upgradeValues({ actorId, declared }: Upgrading, names: readonly string[], isDry: boolean): Promise<void> {
    const { store, indexes } = this.#deps
    let outcome: Upgraded
    try {
      outcome = isDry
        ? this.#upgraded(declared, [...(await store.read((q) => findNamedProperties(q, actorId, names))).values()])
        : await store.writeActor(actorId, async (tx) => {
            const upgraded = this.#upgraded(declared, [...(await findNamedProperties(tx, actorId, names)).values()])
            const values = upgraded.rows.map(({ name, content }) => declared.newValue(name, content))
            await putUpgradedValues(tx, actorId, values)
            await indexes.update(tx, actorId, new Map(values.map(({ name, value }) => [name, value])))
            return upgraded
          })
    } catch (error) {
      for (const name of names) this.#note(actorId, name, error)
      return
    }
    this.#count.values += outcome.rows.length
    for (const { name, error } of outcome.failures) this.#note(actorId, name, error)
  }

  #upgraded(declared: DeclaredData, rows: readonly UnreadProperty[]): Upgraded {
    const upgraded: ReturnType<DeclaredData['current']>[] = []
    const failures: { name: string; error: unknown }[] = []
    for (const row of rows) {
      if (row.kind !== 'value' || row.version >= declared.versionOf(row.name)) continue
      try {
        upgraded.push(declared.current(row))
      } catch (error) {
        failures.push({ name: row.name, error })
      }
    }
    return { rows: upgraded, failures }
  }

  async #upgradeList({ actorId, declared }: Upgrading, name: string, isDry: boolean): Promise<void> {
    const { store } = this.#deps
    const at = declared.addressOf(actorId, name)
    let counted = await store.snapshot((q) => countOlder(q, at, 0))
    if (counted !== null && !isDry) return this.#writeList({ actorId, declared }, name)
    while (counted !== null) {
      this.#count.items += counted.older
      const { next } = counted
      await setImmediate()
      counted = next === null ? null : await store.snapshot((q) => countOlder(q, at, next))
    }
  }

  async #writeList({ actorId, declared }: Upgrading, name: string): Promise<void> {
    const { store } = this.#deps
    const at = declared.addressOf(actorId, name)
    let isMore = true
    while (isMore) {
      const done = await store.writeActor(actorId, (tx) => keepUpBatch(tx, at, []))
      this.#count.items += done.upgraded
      isMore = done.isMore
      await setImmediate()
    }
  }

  /** Notes a failure. An actor that was deleted meanwhile has nothing to upgrade. */
  #note(actorId: string, name: string, error: unknown): void {
    if (!(error instanceof ServiceError) || error.code === 'store_unavailable') throw error
    if (error.code === 'actor_not_found') return
    this.#count.failures += 1
    this.#deps.failed(actorId, name, error)
  }
}

interface Upgraded {
  readonly rows: readonly ReturnType<DeclaredData['current']>[]
  readonly failures: readonly { readonly name: string; readonly error: unknown }[]
}

function namesOf(rows: readonly VersionRow[]): readonly string[] {
  return rows.map(({ name }) => name)
}
