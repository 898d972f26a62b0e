/**
 * Refuses changes that an actor has no room for. Triggers count the rows (store/migrations/0001-initial.sql), so the counts
 * are exact whatever changes the rows, and the lock of the actor reads them. While a change cannot reach a limit, the check
 * costs no statement: what a change adds is at most what its statements send.
 *
 * A sharded database has no triggers. There, the counts in the actor's row are upper bounds: each change adds the most that it
 * can have added, and only a change whose bound exceeds a limit counts the rows (bounds.ts).
 */
import type { LockedActor, Param, Queries, Store, Transaction, WriteOptions } from '../store/store.ts'
import { WrappedStore } from '../store/wrapped-store.ts'
import { raiseBounds, setBounds } from './bounds.ts'
import { keptOf, quotaCounts, type Quota, quotaExceeded, type Quotas } from './quota.ts'

/** The largest effect of a statement on the quotas of its actor. */
interface Effect {
  readonly quotas: readonly Quota[]
  /** Whether the statement inserts the rows of a parameter, and not just one. */
  readonly isMany: boolean
  /** Whether the statement copies stored rows, so that it may add as much as there is. */
  readonly copies: boolean
  /** The parameter with the id of the actor, from 0. */
  readonly actorAt: number
}

/** The share of a limit from which changes count as near. */
const nearShare = 0.9

interface QuotaEvents {
  /** Called with the quota of each refused change. */
  readonly refused: (quota: Quota) => void
  /**
   * Called after a change that may have come near a limit of the actor. On a sharded database, each change may, because the
   * bounds stay near a limit until they exceed it. The receiver counts the rows, rarely and behind the response.
   */
  readonly near: (actorId: string) => Promise<void>
}

/** A statement that is not in this many has its effect read again. */
const maxKnown = 2000
/** UTF-8 bytes of one character of a string, at most. */
const maxBytes = 3
/** Characters of a row in a JSON array of arrays, at least: `[1],`. */
const leastOfRow = 4

export class QuotaStore extends WrappedStore {
  readonly #quotas: Quotas
  readonly #events: QuotaEvents
  readonly #effects = new Map<string, Effect | null>()
  /** The most that earlier changes of the same transaction may have added since the row was read. */
  readonly #earlier = new WeakMap<LockedActor, Growth>()

  constructor(inner: Store, quotas: Quotas, events: QuotaEvents) {
    super(inner)
    this.#quotas = quotas
    this.#events = events
  }

  override write<T>(work: (tx: Transaction) => Promise<T>, how?: WriteOptions): Promise<T> {
    return this.#reporting((near) =>
      super.write(async (tx) => {
        near.clear()
        const metered = new Metered(tx, (sql) => this.#effectOf(sql))
        const result = await work(metered)
        for (const [actorId, growth] of metered.growths) await this.#requireRoom(tx, { actorId, growth, near }, null)
        return result
      }, how),
    )
  }

  /** @throws ServiceError `quota_exceeded`, as do changes in `write` */
  override writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#reporting((near) =>
      super.writeActor(
        actorId,
        async (tx, actor) => {
          near.clear()
          const before = await this.#before(tx, actor)
          const metered = new Metered(tx, (sql) => this.#effectOf(sql))
          const result = await work(metered, actor)
          for (const [id, growth] of metered.growths)
            await this.#requireRoom(tx, { actorId: id, growth, near }, id === actorId ? before : null)
          const growth = metered.growths.get(actorId)
          if (growth !== undefined) this.#remember(actor, growth)
          return result
        },
        origin,
      ),
    )
  }

  /** Reports the actors that a change brought near a limit, after its commit. */
  async #reporting<T>(change: (near: Set<string>) => Promise<T>): Promise<T> {
    const near = new Set<string>()
    const result = await change(near)
    for (const actorId of near) await this.#events.near(actorId)
    return result
  }

  /**
   * The counts before a change. Changes that share a transaction also share the row as it was before all of them; the counts
   * are read again when the earlier changes may have reached a limit.
   */
  async #before(tx: Queries, actor: LockedActor): Promise<Before> {
    const earlier = this.#earlier.get(actor)
    if (tx.isSharded) return this.#beforeByBounds(tx, actor, earlier)
    if (earlier === undefined) return { of: (quota) => keptOf(actor, quota), slack: null }
    const kept = this.#quotas.declared.filter((quota) => keptOf(actor, quota) !== null)
    const mayBeFull = kept.some(
      (quota) => earlier.after(quota, keptOf(actor, quota) ?? 0) > this.#quotas.limitOf(quota),
    )
    if (!mayBeFull) return { of: (quota) => keptOf(actor, quota), slack: earlier }
    const counts = await quotaCounts(tx, actor.id, kept)
    return { of: (quota) => counts.get(quota) ?? null, slack: null }
  }

  /** An actor that had more than a limit may keep as much. Below the limits, the counts before a change decide nothing. */
  async #beforeByBounds(tx: Queries, actor: LockedActor, earlier: Growth | undefined): Promise<Before> {
    const mayBeAbove = this.#quotas.declared.filter((quota) => {
      const bound = keptOf(actor, quota) ?? 0
      return (earlier?.after(quota, bound) ?? bound) > this.#quotas.limitOf(quota)
    })
    const counts = await quotaCounts(tx, actor.id, mayBeAbove)
    return { of: (quota) => counts.get(quota) ?? null, slack: null }
  }

  #remember(actor: LockedActor, growth: Growth): void {
    const earlier = this.#earlier.get(actor)
    if (earlier === undefined) this.#earlier.set(actor, growth)
    else earlier.addAll(growth)
  }

  async #requireRoom(tx: Transaction, grown: Grown, before: Before | null): Promise<void> {
    const { actorId, growth, near } = grown
    if (this.#quotas.isExempt(actorId)) return
    if (tx.isSharded) return this.#requireRoomByBounds(tx, grown, before)
    const inDoubt = [...growth.most.keys()].filter((quota) => {
      const had = before?.of(quota) ?? null
      if (had === null) return true
      const most = growth.after(quota, before?.slack?.after(quota, had) ?? had)
      if (this.#isNear(quota, most)) near.add(actorId)
      return most > this.#quotas.limitOf(quota)
    })
    // Changes without the lock must not count at the same time. The lock of a foreign key does not exclude this one.
    if (before === null && inDoubt.length > 0)
      await tx.run('UPDATE actor SET used_bytes = used_bytes WHERE id = $1', actorId)
    this.#requireWithin(await quotaCounts(tx, actorId, inDoubt), grown, before)
  }

  async #requireRoomByBounds(tx: Transaction, grown: Grown, before: Before | null): Promise<void> {
    const { actorId, growth, near } = grown
    // This locks the actor, so that changes without its lock do not count at the same time.
    const bounds = await raiseBounds(tx, actorId, growth)
    const inDoubt = [...growth.most.keys()].filter(
      (quota) => quota.kept === undefined || bounds[quota.kept] > this.#quotas.limitOf(quota),
    )
    if (this.#quotas.declared.some((quota) => quota.kept !== undefined && this.#isNear(quota, bounds[quota.kept])))
      near.add(actorId)
    const counts = await quotaCounts(tx, actorId, inDoubt)
    this.#requireWithin(counts, grown, before)
    await setBounds(tx, actorId, counts)
  }

  #isNear(quota: Quota, count: number): boolean {
    return count >= this.#quotas.limitOf(quota) * nearShare
  }

  #requireWithin(counts: ReadonlyMap<Quota, number>, { actorId, near }: Grown, before: Before | null): void {
    for (const [quota, used] of counts) {
      const limit = this.#quotas.limitOf(quota)
      if (this.#isNear(quota, used)) near.add(actorId)
      // An actor that has more than the limit, because it was lowered, may still change what it has.
      if (used <= Math.max(limit, before?.of(quota) ?? 0)) continue
      this.#events.refused(quota)
      throw quotaExceeded({ quota, used, limit })
    }
  }

  #effectOf(sql: string): Effect | null {
    const known = this.#effects.get(sql)
    if (known !== undefined) return known
    const effect = effectOf(sql, this.#quotas)
    if (this.#effects.size < maxKnown) this.#effects.set(sql, effect)
    return effect
  }
}

interface Before {
  /** Null: the actor's row does not have the count. */
  readonly of: (quota: Quota) => number | null
  /** The most by which the counts may have grown since. */
  readonly slack: Growth | null
}

/** The growth of an actor by a change. */
interface Grown {
  readonly actorId: string
  readonly growth: Growth
  /** Receives the actors that may be near a limit. */
  readonly near: Set<string>
}

/** The most that the quotas of an actor can have grown. */
class Growth {
  readonly most = new Map<Quota, number>()
  /** Whether stored rows were copied, which can add as much as there is. */
  copies = false

  add(quota: Quota, more: number): void {
    this.most.set(quota, (this.most.get(quota) ?? 0) + more)
  }

  addAll(other: Growth): void {
    for (const [quota, more] of other.most) this.add(quota, more)
    this.copies ||= other.copies
  }

  /** The largest count that there can be after a count. */
  after(quota: Quota, count: number): number {
    return (this.copies ? count * 2 : count) + (this.most.get(quota) ?? 0)
  }
}

/** A transaction that estimates what its statements add. */
class Metered implements Transaction {
  readonly #inner: Transaction
  readonly #effectOf: (sql: string) => Effect | null
  readonly growths = new Map<string, Growth>()

  constructor(inner: Transaction, effectOf: (sql: string) => Effect | null) {
    this.#inner = inner
    this.#effectOf = effectOf
  }

  get origin(): string {
    return this.#inner.origin
  }

  get isSharded(): boolean {
    return this.#inner.isSharded
  }

  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]> {
    this.#measure(sql, params)
    return this.#inner.all<R>(sql, ...params)
  }

  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined> {
    this.#measure(sql, params)
    return this.#inner.get<R>(sql, ...params)
  }

  run(sql: string, ...params: Param[]): Promise<number> {
    this.#measure(sql, params)
    return this.#inner.run(sql, ...params)
  }

  #measure(sql: string, params: readonly Param[]): void {
    const effect = this.#effectOf(sql)
    if (effect === null) return
    const actorId = params[effect.actorAt]
    if (typeof actorId !== 'string') throw new Error(`Cannot count a change: no parameter names its actor: ${sql}`)
    let characters = 0
    for (const param of params) if (typeof param === 'string') characters += param.length
    const growth = this.growths.get(actorId) ?? new Growth()
    this.growths.set(actorId, growth)
    const rows = effect.isMany ? Math.ceil(characters / leastOfRow) : 1
    for (const quota of effect.quotas) growth.add(quota, quota.isSize ? characters * maxBytes : rows)
    growth.copies ||= effect.copies
  }
}

/** Null: the statement adds nothing that a quota counts. */
export function effectOf(sql: string, quotas: Quotas): Effect | null {
  const [, verb = '', table = ''] = /^\s*(?:\/\*.*?\*\/\s*)?(INSERT INTO|UPDATE)\s+(\w+)/i.exec(sql) ?? []
  const isInsert = verb.toUpperCase() === 'INSERT INTO'
  const counted = quotas.of(table).filter(({ isSize }) => isInsert || isSize === true)
  if (counted.length === 0) return null
  return {
    quotas: counted,
    isMany: /\brows\(/.test(sql),
    copies: /\b(?:FROM|JOIN)\s+(?!rows\b)\w/i.test(sql),
    actorAt: isInsert ? insertedActor(sql) : Number(/\bactor_id = \$(\d+)/.exec(sql)?.[1] ?? 0) - 1,
  }
}

/** The parameter whose value an INSERT stores as `actor_id`, from 0. */
function insertedActor(sql: string): number {
  const [columns = '', rest = ''] = sql.slice(sql.indexOf('(') + 1).split(')', 2)
  const values = rest.replace(/^\s*(?:VALUES\s*\(|SELECT\b)/, '')
  const at = columns.split(',').findIndex((column) => column.trim() === 'actor_id')
  return Number(/^\s*\$(\d+)/.exec(values.split(',')[at] ?? '')?.[1] ?? 0) - 1
}
