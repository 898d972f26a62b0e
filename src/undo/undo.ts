/**
 * Takes back changes of the history. An undo is an ordinary change: hooks, schemas, rights and diffs apply, and it has entries of
 * its own, so it can be taken back too. It never overwrites what others have changed since.
 */
import { absent } from '../json/absent.ts'
import { type JsonText, object } from '../json/json.ts'
import { isTemporary, ServiceError } from '../errors.ts'
import type { HistoryEntry } from '../history/entry.ts'
import type { History } from '../history/history.ts'
import { type EntryFilter, findLater } from '../history/history-store.ts'
import { findAdded, type KeptSteps, type ListStep, reverseSteps } from '../list/list.ts'
import type { Access } from '../property/access.ts'
import type { BulkWrite, PreparedEntry } from '../property/bulk-write.ts'
import type { ActorWriter, Record } from '../property/change.ts'
import type { DeclaredKinds } from '../property/declared-kinds.ts'
import type { ListHooks } from '../property/lists/list-hooks.ts'
import { recordAll } from '../property/lists/list-writer.ts'
import type { LockedActor, Store, Transaction } from '../store/store.ts'

export interface UndoDeps {
  readonly store: Pick<Store, 'snapshot'>
  readonly history: Pick<History, 'page'>
  readonly writer: ActorWriter
  readonly bulkWrite: BulkWrite
  readonly hooks: ListHooks
  readonly declared: DeclaredKinds
  /** Unix milliseconds. */
  readonly now: () => number
  /** Called when a change may have left rows to delete. */
  readonly deleteRemoved: (actorId: string) => void
}

/**
 * Why a property keeps its content. `changed`: others have changed it since. `too_long`: what the change replaced was too long to
 * keep. `refused`: a hook or the schema of the application does not accept the earlier content.
 */
export type UndoConflictReason = 'changed' | 'too_long' | 'refused'

export interface UndoConflict {
  readonly name: string
  readonly reason: UndoConflictReason
}

export interface UndoResult {
  /** The names of the properties that are as they were before. */
  readonly undone: readonly string[]
  readonly conflicts: readonly UndoConflict[]
}

export interface UndoOptions {
  /** Changes nothing. Default: false. */
  readonly preview?: boolean
  /** Sets values back also when others have changed them since. Default: false. */
  readonly overwrite?: boolean
}

/** The most changes that one undo takes back. */
const maxEntries = 1000
/** The most bytes that they replaced. */
const maxBytes = 16_777_216

/** The plan for a property. */
type Plan =
  | { readonly kind: 'value'; readonly name: string; readonly ids: ReadonlySet<number>; readonly entry: PreparedEntry }
  | {
      readonly kind: 'list'
      readonly name: string
      readonly ids: ReadonlySet<number>
      readonly kept: readonly KeptSteps[]
    }

/** The transaction of an undo. */
interface UndoWrite {
  readonly tx: Transaction
  readonly record: Record
  readonly actor: LockedActor
  readonly access: Access
}

/** Ends the transaction of a preview without its changes. */
class PreviewEnd extends Error {
  readonly result: UndoResult

  constructor(result: UndoResult) {
    super('the preview is complete')
    this.result = result
  }
}

/** A list whose items others have changed. The transaction runs again without it. */
class ListConflict extends Error {
  readonly list: string

  constructor(list: string) {
    super('the list was changed')
    this.list = list
  }
}

export class Undo {
  readonly #deps: UndoDeps

  constructor(deps: UndoDeps) {
    this.#deps = deps
  }

  /**
   * Takes back the changes that fit the filter, in one transaction. A property with a conflict keeps its content.
   *
   * @throws ServiceError `not_found` when the history has no such change; `bad_request` for more than 1,000 changes
   *   or 16 MiB
   */
  async run(access: Access, which: EntryFilter, options: UndoOptions = {}): Promise<UndoResult> {
    const { entries, next } = await this.#deps.history.page(access.actor.id, {
      ...which,
      limit: maxEntries,
      maxBytes,
    })
    if (next !== null)
      throw new ServiceError(
        'bad_request',
        `Cannot undo more than ${maxEntries} changes, or more than 16 MiB, at once: choose a later time or a single property`,
      )
    if (entries.length === 0) throw new ServiceError('not_found', 'Cannot undo: the history has no such change')
    const { plans, conflicts } = await this.#plan(access, entries.toReversed())
    const result = await this.#apply(access, plans, conflicts, options)
    if (options.preview === true) return result
    this.#deps.deleteRemoved(access.actor.id)
    return result
  }

  async #plan(
    access: Access,
    oldestFirst: readonly HistoryEntry[],
  ): Promise<{ readonly plans: readonly Plan[]; readonly conflicts: readonly UndoConflict[] }> {
    const plans: Plan[] = []
    const conflicts: UndoConflict[] = []
    for (const [name, group] of Map.groupBy(oldestFirst, (entry) => entry.name)) {
      const plan = await this.#planOne(access, name, group)
      if (typeof plan === 'string') conflicts.push({ name, reason: plan })
      else plans.push(plan)
    }
    return { plans, conflicts }
  }

  async #planOne(access: Access, name: string, group: readonly HistoryEntry[]): Promise<Plan | UndoConflictReason> {
    const [first] = group
    if (first === undefined || group.some(({ kind }) => kind !== first.kind)) return 'changed'
    const ids = new Set(group.map(({ id }) => id))
    try {
      if (first.kind === 'list') {
        if (group.some(({ isTooLong }) => isTooLong)) return 'too_long'
        return { kind: 'list', name, ids, kept: await this.#passSteps(access, name, group) }
      }
      if (first.isTooLong) return 'too_long'
      const value = first.before === null ? absent : this.#current(access, first, first.before)
      const prepared = await this.#deps.bulkWrite.prepare(access, object([[name, value]]), 'put')
      return { kind: 'value', name, ids, entry: prepared.get(name) ?? absent }
    } catch (error) {
      if (!(error instanceof ServiceError) || isTemporary(error)) throw error
      return 'refused'
    }
  }

  /** The value in the declared version. */
  #current({ actor }: Access, { name, version }: HistoryEntry, value: JsonText): JsonText {
    return this.#deps.declared.of(actor).current({ name, kind: 'value', content: value, version }).content
  }

  /** Runs the hooks of the items that come back, change or go. */
  async #passSteps(access: Access, name: string, group: readonly HistoryEntry[]): Promise<readonly KeptSteps[]> {
    const { hooks, declared, store } = this.#deps
    const at = declared.of(access.actor).addressOf(access.actor.id, name)
    const kept = group.flatMap(({ steps, version }) => (steps === null ? [] : [{ ...steps, version }]))
    const isDeleteOpen = hooks.hasNoHooks(access, 'delete', name)
    const added = isDeleteOpen ? null : await store.snapshot((q) => findAdded(q, at, kept))
    const passed: KeptSteps[] = []
    for (const { listId, steps, version } of kept) {
      const current: ListStep[] = []
      for (const step of steps) {
        if (step.kind === 'remove' || step.kind === 'update') {
          const path = [name, String(step.index)]
          const item = at.format === null ? step.item : at.format.upgrade(step.item, version)
          const operation = step.kind === 'remove' ? 'post' : 'put'
          current.push({
            ...step,
            item: declared.of(access.actor).fitItem(path, await hooks.runWriteHooks(access, operation, path, item)),
          })
          continue
        }
        current.push(step)
        if (step.kind !== 'insert' || added === null) continue
        for (const n of step.after.keys()) {
          const item = added.get(step.row + n)
          if (item !== undefined) await hooks.runDeleteHooks(access, [name, String(step.index + n)], item)
        }
      }
      passed.push({ listId, steps: current })
    }
    return passed
  }

  /** Runs again without a list that turns out to be changed. Each attempt leaves out one list more. */
  async #apply(
    access: Access,
    plans: readonly Plan[],
    conflicts: readonly UndoConflict[],
    options: UndoOptions,
  ): Promise<UndoResult> {
    try {
      return await this.#deps.writer.change(access, async (tx, record, actor) => {
        const result = await this.#store({ tx, record, actor, access }, plans, options)
        const all = { undone: result.undone, conflicts: [...conflicts, ...result.conflicts] }
        if (options.preview === true) throw new PreviewEnd(all)
        return all
      })
    } catch (error) {
      if (error instanceof PreviewEnd) return error.result
      if (!(error instanceof ListConflict)) throw error
      const { list } = error
      const others = plans.filter(({ name }) => name !== list)
      return this.#apply(access, others, [...conflicts, { name: list, reason: 'changed' }], options)
    }
  }

  async #store(
    { tx, record, actor, access }: UndoWrite,
    plans: readonly Plan[],
    { overwrite = false }: UndoOptions,
  ): Promise<UndoResult> {
    if (plans.length === 0) return { undone: [], conflicts: [] }
    const from = Math.min(...plans.flatMap(({ ids }) => [...ids]))
    const names = plans.map(({ name }) => name)
    const later = Map.groupBy(await findLater(tx, actor.id, names, from), ({ name }) => name)
    const isCurrent = ({ name, ids }: Plan): boolean => {
      const first = Math.min(...ids)
      const found = (later.get(name) ?? []).map(({ seq }) => seq)
      // Entries that were deleted meanwhile may have taken the marks of later changes with them.
      return ids.isSubsetOf(new Set(found)) && found.every((seq) => seq < first || ids.has(seq))
    }
    const values = plans.filter((plan) => plan.kind === 'value')
    const current = values.filter((plan) => overwrite || isCurrent(plan))
    if (current.length > 0)
      await this.#deps.bulkWrite.store(
        tx,
        record,
        actor,
        access,
        new Map(current.map(({ name, entry }) => [name, entry])),
      )
    const lists = plans.filter((plan) => plan.kind === 'list')
    for (const { name, kept } of lists) {
      const reversal = await reverseSteps(
        tx,
        this.#deps.declared.of(access.actor).addressOf(actor.id, name),
        kept,
        this.#deps.now(),
      )
      if (reversal === 'conflict') throw new ListConflict(name)
      recordAll(record, name, reversal.changes)
    }
    return {
      undone: [...current, ...lists].map(({ name }) => name),
      conflicts: values.flatMap((plan) =>
        current.includes(plan) ? [] : [{ name: plan.name, reason: 'changed' } as const],
      ),
    }
  }
}

/** @throws ServiceError `bad_request` when no member selects changes. */
export function requireSelection({ seq, request, name, caller, callerKind, since }: EntryFilter): void {
  if ([seq, request, name, caller, callerKind, since].every((given) => given === undefined))
    throw new ServiceError(
      'bad_request',
      'Cannot undo: give an id, a request_id, a name, a caller, a caller_kind or a time',
    )
}

/** @throws ServiceError `conflict` when every property has a conflict. */
export function requireUndone({ undone, conflicts }: UndoResult): void {
  const [first] = conflicts
  if (undone.length === 0 && first !== undefined) throw refusedUndo(first)
}

function refusedUndo({ name, reason }: UndoConflict): ServiceError {
  const quoted = JSON.stringify(name)
  switch (reason) {
    case 'changed':
      return new ServiceError('conflict', `Cannot undo: ${quoted} was changed again since`)
    case 'too_long':
      return new ServiceError('conflict', `Cannot undo: what ${quoted} contained before was too long to keep`)
    case 'refused':
      return new ServiceError(
        'conflict',
        `Cannot undo: the application does not accept what ${quoted} contained before`,
      )
  }
}
