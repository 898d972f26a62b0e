/** Quotas of an actor. The room that owns a table declares its quotas, and `quotas.ts` lists them. */
import { ServiceError } from '../errors.ts'
import type { KeptCount, LockedActor, Queries } from '../store/store.ts'

/** A limit on what one actor stores. */
export interface Quota {
  /** The name in errors, metrics and figures. */
  readonly name: string
  /** The option that has the limit, by its name in code. */
  readonly setting: string
  /** The counted things, as they follow a number: `list items`. */
  readonly unit: string
  /** The sentence that names the counted things. */
  readonly counts: string
  /** The sentence that says how the owner frees some of it. */
  readonly remedy: string
  /** The tables whose rows count when one is added or grows. Empty: the room checks the limit itself. */
  readonly tables: readonly string[]
  /** The count that the actor's row has. Default: the rows are counted when one is added. */
  readonly kept?: KeptCount
  /** Whether a longer row counts more. Default: the number of rows counts. */
  readonly isSize?: true
  /** Counts one actor, whose id is parameter 1, in a column `used`. */
  readonly sql: string
}

/** How much of a quota an actor uses. */
export interface QuotaUse {
  readonly quota: Quota
  readonly used: number
  readonly limit: number
}

/** The quotas of this service with their limits. */
export class Quotas {
  readonly #limitOf: (setting: string) => number
  readonly #byTable = new Map<string, Quota[]>()
  #declared: readonly Quota[] = []
  #exempt: readonly string[] = []

  constructor(limitOf: (setting: string) => number) {
    this.#limitOf = limitOf
  }

  /**
   * Sets what is counted, once, while the service is assembled. Before that, nothing is refused.
   *
   * @param exempt Ids of actors without quotas.
   */
  declare(quotas: readonly Quota[], exempt: readonly string[]): void {
    if (this.#declared.length > 0) throw new Error('Cannot declare the quotas: they are already declared')
    this.#declared = quotas
    this.#exempt = exempt
    for (const quota of quotas) for (const table of quota.tables) this.#byTable.set(table, [...this.of(table), quota])
  }

  get declared(): readonly Quota[] {
    return this.#declared
  }

  /** The quotas that count the rows of a table. */
  of(table: string): readonly Quota[] {
    return this.#byTable.get(table) ?? []
  }

  limitOf(quota: Quota): number {
    return this.#limitOf(quota.setting)
  }

  isExempt(actorId: string): boolean {
    return this.#exempt.includes(actorId)
  }

  /** Reads the use of each quota by the actor. */
  async usesOf(q: Queries, actorId: string): Promise<QuotaUse[]> {
    const used = await quotaCounts(q, actorId, this.#declared)
    return this.#declared.map((quota) => ({ quota, used: used.get(quota) ?? 0, limit: this.limitOf(quota) }))
  }
}

/** Returns the limits of these settings. @throws Error for a setting that is not a number. */
export function limitsIn(settings: Readonly<Record<string, unknown>>): (setting: string) => number {
  return (setting) => {
    const limit = settings[setting]
    if (typeof limit !== 'number') throw new Error(`Cannot limit what an actor stores: ${setting} is not a number`)
    return limit
  }
}

export const keptColumns: Readonly<Record<KeptCount, string>> = {
  usedBytes: 'used_bytes',
  usedNames: 'used_names',
  usedItems: 'used_items',
}

/**
 * Reads the use of some quotas: with one statement on a plain database. A sharded database counts the rows, because the
 * actor's row has upper bounds there, and rows of one actor may be on several servers.
 */
export async function quotaCounts(
  q: Pick<Queries, 'get' | 'isSharded'>,
  actorId: string,
  quotas: readonly Quota[],
): Promise<ReadonlyMap<Quota, number>> {
  const [apart, together] = q.isSharded ? [quotas, []] : [[], quotas]
  const columns = together.map(({ kept, sql }, n) => `${kept === undefined ? `(${sql})` : keptColumns[kept]} AS q${n}`)
  const [row, ...others] = await Promise.all([
    together.length === 0
      ? undefined
      : q.get<Record<string, number | null>>(`SELECT ${columns.join(', ')} FROM actor WHERE id = $1`, actorId),
    ...apart.map(({ sql }) => q.get<{ used: number }>(sql, actorId)),
  ])
  return new Map([
    ...together.map((quota, n) => [quota, row?.[`q${n}`] ?? 0] as const),
    ...apart.map((quota, n) => [quota, others[n]?.used ?? 0] as const),
  ])
}

/** Returns a count from the locked row of the actor, on a sharded database an upper bound. Null: the row does not have it. */
export function keptOf(actor: LockedActor, { kept }: Quota): number | null {
  return kept === undefined ? null : actor[kept]
}

/** The error of a change that an actor has no room for. */
export function quotaExceeded({ quota, used, limit }: QuotaUse): ServiceError {
  return new ServiceError(
    'quota_exceeded',
    `Cannot store the change: the actor would have ${used} ${quota.unit}, and at most ${limit} are allowed. ${quota.counts} ${quota.remedy}`,
    { members: { quota: quota.name, limit, used } },
  )
}
