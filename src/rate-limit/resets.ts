/**
 * Resets of limits by an operator: the stored buckets of an account are deleted, and each process forgets the buckets that it
 * knows to be full.
 */
import type { Queries, Store, Transaction } from '../store/store.ts'
import { deleteBuckets, findLastReset, releaseActor, storeReset } from './limit-store.ts'
import { keyOf } from './limiter.ts'
import { defaultRates, type LimitKey, perOf } from './rates.ts'

/** The account whose limits are reset. */
export interface LimitedAccount {
  readonly actorId: string
  /** The names by which limits count it: its id, and the address of its owner. */
  readonly names: readonly string[]
  /** A sender in the form of `sourceOf`, whose own limits end too. Null: none. */
  readonly source: string | null
}

/** Deletes the buckets for the account as a target, and those of the sender. Returns how many had counted something. */
export async function resetLimits(tx: Transaction, account: LimitedAccount, now: number): Promise<number> {
  const deleted = await deleteBuckets(tx, keysOf(account))
  await releaseActor(tx, account.actorId)
  await storeReset(tx, now)
  return deleted
}

function keysOf({ names, source }: LimitedAccount): readonly string[] {
  const limits = Object.keys(defaultRates) as LimitKey[]
  const owners = (limit: LimitKey): readonly string[] => {
    switch (perOf(limit)) {
      case 'target':
        return names
      case 'pair':
        return source === null ? [] : names.map((name) => `${source}\n${name}`)
      case 'source':
        return source === null ? [] : [source]
      default:
        return []
    }
  }
  return limits.flatMap((limit) => owners(limit).map((of) => keyOf(limit, of)))
}

export interface ResetsDeps {
  readonly store: Pick<Store, 'read'>
  /** The buckets in the memory of this process. */
  readonly known: readonly { forget(): void }[]
}

/** Notices the resets of all processes. */
export class Resets {
  readonly #deps: ResetsDeps
  #last: number | null | undefined

  constructor(deps: ResetsDeps) {
    this.#deps = deps
  }

  /** Forgets the known buckets after a reset. The first call only remembers the last one. */
  async follow(): Promise<void> {
    const last = await this.#deps.store.read((q: Queries) => findLastReset(q))
    if (this.#last !== undefined && last !== this.#last) this.forget()
    this.#last = last
  }

  forget(): void {
    for (const each of this.#deps.known) each.forget()
  }
}
