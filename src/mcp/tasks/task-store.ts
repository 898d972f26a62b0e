/** The SQL of tasks. Times are Unix milliseconds. */
import type { Sealed } from '../../secret/sealed.ts'
import { naming } from '../../store/by-key.ts'
import type { Queries, Transaction } from '../../store/store.ts'

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export interface TaskOwner {
  readonly actorId: string
  readonly peerId: string
  readonly clientId: string
}

export interface TaskRow extends TaskOwner {
  readonly taskId: string
  readonly tool: string
  readonly call: Sealed
  readonly status: TaskStatus
  readonly outcome: Sealed
  readonly createdAt: number
  readonly updatedAt: number
  readonly expiresAt: number
  readonly leasedUntil: number
}

const columns = `actor_id AS "actorId", task_id AS "taskId", peer_id AS "peerId", client_id AS "clientId", tool, call,
  status, outcome, created_at AS "createdAt", updated_at AS "updatedAt", expires_at AS "expiresAt",
  leased_until AS "leasedUntil"`

export async function insertTask(tx: Transaction, task: TaskRow): Promise<void> {
  await tx.run(
    `INSERT INTO mcp_task (actor_id, task_id, peer_id, client_id, tool, call, status, status_message, outcome,
       created_at, updated_at, expires_at, leased_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7, '', $8, $9, $10, $11, $12)`,
    task.actorId,
    task.taskId,
    task.peerId,
    task.clientId,
    task.tool,
    task.call,
    task.status,
    task.outcome,
    task.createdAt,
    task.updatedAt,
    task.expiresAt,
    task.leasedUntil,
  )
}

/** The task with this id. Null for a task of another client. */
export async function findTask(q: Queries, owner: TaskOwner, taskId: string): Promise<TaskRow | null> {
  const row = await q.get<TaskRow>(
    `SELECT ${columns} FROM mcp_task WHERE actor_id = $1 AND task_id = $2 AND peer_id = $3 AND client_id = $4`,
    owner.actorId,
    taskId,
    owner.peerId,
    owner.clientId,
  )
  return row ?? null
}

/** The given ids that belong to unexpired tasks of the client. */
export async function findTaskIds(
  q: Queries,
  owner: TaskOwner,
  taskIds: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> {
  const rows = await q.all<{ taskId: string }>(
    `SELECT t.task_id AS "taskId" FROM rows($4, id TEXT) AS r
     JOIN mcp_task t ON t.actor_id = $1 AND t.task_id = r.id AND t.peer_id = $2 AND t.client_id = $3
     WHERE t.expires_at >= $5`,
    owner.actorId,
    owner.peerId,
    owner.clientId,
    JSON.stringify(taskIds.map((id) => [id])),
    now,
  )
  return new Set(rows.map(({ taskId }) => taskId))
}

/** Sets the status and outcome. False when the task has ended, because a final status never changes. */
export async function setTask(
  tx: Transaction,
  { actorId, taskId }: Pick<TaskRow, 'actorId' | 'taskId'>,
  status: TaskStatus,
  outcome: Sealed,
  now: number,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE mcp_task SET status = $3, outcome = $4, updated_at = $5
     WHERE actor_id = $1 AND task_id = $2 AND status IN ('working', 'input_required')`,
    actorId,
    taskId,
    status,
    outcome,
    now,
  )
  return changed === 1
}

/** Extends the lease. False when the task has ended. */
export async function holdTask(
  tx: Transaction,
  { actorId, taskId }: Pick<TaskRow, 'actorId' | 'taskId'>,
  until: number,
): Promise<boolean> {
  const held = await tx.run(
    `UPDATE mcp_task SET leased_until = $3
     WHERE actor_id = $1 AND task_id = $2 AND status IN ('working', 'input_required')`,
    actorId,
    taskId,
    until,
  )
  return held === 1
}

/** Claims a dead task. True for exactly one process. */
export async function claimTask(tx: Transaction, task: TaskRow, now: number, until: number): Promise<boolean> {
  const claimed = await tx.run(
    `UPDATE mcp_task SET leased_until = $3, status = 'working'
     WHERE actor_id = $1 AND task_id = $2 AND status IN ('working', 'input_required') AND leased_until < $4`,
    task.actorId,
    task.taskId,
    until,
    now,
  )
  return claimed === 1
}

export async function countTasks(q: Queries, owner: TaskOwner): Promise<number> {
  const row = await q.get<{ tasks: number }>(
    'SELECT COUNT(*) AS tasks FROM mcp_task WHERE actor_id = $1 AND peer_id = $2 AND client_id = $3',
    owner.actorId,
    owner.peerId,
    owner.clientId,
  )
  return row?.tasks ?? 0
}

/** @param actorId Null: of all actors. */
export async function deleteExpiredTasks(tx: Transaction, now: number, actorId: string | null): Promise<void> {
  const named = naming(actorId, 'actor_id', 2)
  await tx.run(`DELETE FROM mcp_task WHERE expires_at < $1${named.sql}`, now, ...named.params)
}
