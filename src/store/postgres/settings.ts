/** The settings of a session, and the statements that begin its transactions. */
import type pg from 'pg'
import type { Durability } from '../store.ts'
import { searchPath } from './database-schema.ts'
import type { Pooler } from './pooler.ts'

export interface SessionNeeds {
  /** The schema of the tables. */
  readonly schema: string
  /** Timeout for a row that another process has locked, in milliseconds. */
  readonly lockTimeoutMs: number
  /** Timeout of a statement, in milliseconds. */
  readonly statementTimeoutMs: number
}

/** Extra time for the server to report a statement timeout itself, before the client drops the connection. */
export const GRACE_MS = 1_000

/**
 * Planner settings that enforce index use. The planner assumes a hundred rows for every `rows(…)`, and would rather scan a
 * table of ten thousand rows than look up a hundred.
 */
const PLANNER = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'] as const
/** A setting that differs from the server's default, so its value shows whether the settings arrived. */
export const SENTINEL = PLANNER[0]

/** The settings for the startup message of a connection. Poolers refuse or ignore them. */
export function startupSettings({ schema, lockTimeoutMs, statementTimeoutMs }: SessionNeeds): pg.ClientConfig {
  return {
    options: [`search_path="${schema}"`, ...PLANNER.map((name) => `${name}=off`)].map((each) => `-c ${each}`).join(' '),
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs + GRACE_MS,
  }
}

/** The statements that begin transactions. */
export interface Begins {
  readonly write: Readonly<Record<Durability, string>>
  readonly snapshot: string
  /** Begins the transaction of one read. Undefined where a read needs no transaction. */
  readonly read: string | undefined
}

/**
 * Each is one message to the server. Behind a pooler, every transaction brings its settings, because it may run in any
 * session; so reads need a transaction too.
 */
export function beginsFor(pooler: Pooler, needs: SessionNeeds): Begins {
  const local = pooler === 'none' ? '' : localSettings(needs)
  return {
    write: {
      full: `BEGIN${local}`,
      // A power loss may undo the latest of these transactions, each completely.
      relaxed: `BEGIN; SET LOCAL synchronous_commit TO off${local}`,
    },
    snapshot: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY${local}`,
    read: pooler === 'none' ? undefined : `BEGIN READ ONLY${local}`,
  }
}

function localSettings({ schema, lockTimeoutMs, statementTimeoutMs }: SessionNeeds): string {
  const settings = [
    ...PLANNER.map((name) => [name, 'off'] as const),
    ['statement_timeout', statementTimeoutMs],
    ['lock_timeout', lockTimeoutMs],
    ['idle_in_transaction_session_timeout', statementTimeoutMs + GRACE_MS],
  ]
  return `; ${searchPath(schema)}${settings.map(([name, value]) => `; SET LOCAL ${name} TO ${value}`).join('')}`
}
