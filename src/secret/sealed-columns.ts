/** All columns with sealed secrets, and the binding of their values. */

export interface SealedColumn {
  readonly table: string
  /** Columns of the primary key, which are all strings. The actor comes first. */
  readonly key: readonly [string, ...string[]]
  readonly column: string
  /** Names the secrets, for an operator who has lost their key. Those of the core: `cli/keys.ts`. */
  readonly meaning?: string
}

export const actorPassphrase = { table: 'actor', key: ['id'], column: 'passphrase' } as const satisfies SealedColumn
export const trustSecret = {
  table: 'trust',
  key: ['actor_id', 'peer_id'],
  column: 'secret',
} as const satisfies SealedColumn
export const trustToken = {
  table: 'trust',
  key: ['actor_id', 'peer_id'],
  column: 'verification_token',
} as const satisfies SealedColumn
export const noticeSecret = { table: 'notice', key: ['id'], column: 'secret' } as const satisfies SealedColumn
export const companionPassphrase = {
  table: 'companion',
  key: ['actor_id', 'kind'],
  column: 'passphrase',
} as const satisfies SealedColumn
export const accountTokens = {
  table: 'account',
  key: ['actor_id'],
  column: 'provider_tokens',
} as const satisfies SealedColumn
/** Values are bound to the hash of their record, because a record may have no actor yet. */
export const oneTimeData = { table: 'one_time', key: ['hash'], column: 'data' } as const satisfies SealedColumn
export const serviceTokens = {
  table: 'service_connection',
  key: ['actor_id', 'service'],
  column: 'tokens',
} as const satisfies SealedColumn
export const taskCall = {
  table: 'mcp_task',
  key: ['actor_id', 'task_id'],
  column: 'call',
} as const satisfies SealedColumn
export const taskOutcome = {
  table: 'mcp_task',
  key: ['actor_id', 'task_id'],
  column: 'outcome',
} as const satisfies SealedColumn
export const approvalArguments = {
  table: 'approval',
  key: ['actor_id', 'approval_id'],
  column: 'arguments',
} as const satisfies SealedColumn
export const onceAnswer = {
  table: 'idempotent_request',
  key: ['actor_id', 'key'],
  column: 'answer',
} as const satisfies SealedColumn
export const departureSecrets = {
  table: 'departure',
  key: ['actor_id'],
  column: 'secrets',
} as const satisfies SealedColumn
export const arrivalKey = {
  table: 'arrival',
  key: ['actor_id', 'origin_url'],
  column: 'private_key',
} as const satisfies SealedColumn
export const arrivalPeerSecret = {
  table: 'arrival_peer',
  key: ['actor_id', 'peer_id'],
  column: 'secret',
} as const satisfies SealedColumn

/** The columns of the core that a key rotation seals again. A missing column becomes unreadable when its old key is removed. */
const coreColumns: readonly SealedColumn[] = [
  actorPassphrase,
  trustSecret,
  trustToken,
  companionPassphrase,
  noticeSecret,
  accountTokens,
  oneTimeData,
  serviceTokens,
  taskCall,
  taskOutcome,
  approvalArguments,
  onceAnswer,
  departureSecrets,
  arrivalKey,
  arrivalPeerSecret,
]

/** A table of a feature, as far as it has secrets. */
export interface SealedTable {
  readonly sealed?: readonly SealedColumn[]
}

/** All columns with secrets: those of the core, and of these tables of features. */
export function sealedColumnsWith(tables: readonly SealedTable[]): readonly SealedColumn[] {
  return [...coreColumns, ...tables.flatMap(({ sealed = [] }) => sealed)]
}

/** Returns the binding of one value: its actor, its field, then the rest of its key. */
export function bindingOf(sealed: SealedColumn, actorId: string, ...rest: string[]): readonly string[] {
  return [actorId, `${sealed.table}.${sealed.column}`, ...rest]
}
