/** The SQL of imports into actors: one row of background work for each actor, which stays until the next import. */
import type { ClaimedJob } from '../job/job-store.ts'
import type { Queries, Transaction } from '../store/store.ts'
import type { Existing, MergeProgress } from './merge-archive.ts'

export interface ImportState extends MergeProgress {
  readonly id: string
  /** The archive in the storage for files. */
  readonly object: string
  readonly existing: Existing
  /** The session of the owner who began it. */
  readonly session?: string | undefined
  /** Records of the archive. */
  readonly records: number
  /** `running` until one of the others. */
  state: 'running' | 'done' | 'failed' | 'stopped'
  /** Unix milliseconds. */
  readonly startedAt: number
  endedAt: number | null
  /** Why it failed. */
  reason: string
}

/** Stores a new import, in the place of an ended one. False: an import runs. */
export async function insertImport(tx: Transaction, actorId: string, state: ImportState): Promise<boolean> {
  const changed = await tx.run(
    `INSERT INTO job (actor_id, kind, id, last, due_at, created_at, data, entry_id)
     VALUES ($1, 'import', '', 1, $2, $2, $3, $4)
     ON CONFLICT (actor_id, kind, id) DO UPDATE SET done = 0, due_at = excluded.due_at, lease = '', state = 'live',
       attempts = 0, failing_since = NULL, reason = '', created_at = excluded.created_at, data = excluded.data,
       entry_id = excluded.entry_id
     WHERE job.done = 1`,
    actorId,
    state.startedAt,
    JSON.stringify(state),
    state.id,
  )
  return changed > 0
}

export async function findImport(q: Pick<Queries, 'get'>, actorId: string): Promise<ImportState | null> {
  const row = await q.get<{ data: string }>(
    `SELECT data FROM job WHERE actor_id = $1 AND kind = 'import' AND id = ''`,
    actorId,
  )
  return row === undefined ? null : (JSON.parse(row.data) as ImportState)
}

/** Stores the progress under the lease. False: the import was stopped, or another process has it. */
export function updateImport(
  tx: Transaction,
  claim: Pick<ClaimedJob, 'actorId' | 'lease'>,
  state: ImportState,
): Promise<boolean> {
  return storeState(tx, claim, 'data = $2', state)
}

/** Ends the import. Without a lease, also one that a worker has: the worker notices that its lease is gone. */
export function endImport(
  tx: Transaction,
  claim: { readonly actorId: string; readonly lease: string | null },
  state: ImportState,
): Promise<boolean> {
  return storeState(tx, claim, `data = $2, done = 1, due_at = NULL, lease = ''`, state)
}

async function storeState(
  tx: Transaction,
  { actorId, lease }: { readonly actorId: string; readonly lease: string | null },
  assignments: string,
  state: ImportState,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE job SET ${assignments}
     WHERE actor_id = $1 AND kind = 'import' AND id = '' AND done = 0${lease === null ? '' : ' AND lease = $3'}`,
    actorId,
    JSON.stringify(state),
    ...(lease === null ? [] : [lease]),
  )
  return changed > 0
}
