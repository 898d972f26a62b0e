/**
 * The store port: what the domain needs from a database. SQL is written once for both drivers.
 *
 * Parameters are `$1 … $n`. The drivers translate the differences between the databases when they first prepare a
 * statement (`store/portable.ts`):
 * - `rows($3, item BIGINT, value TEXT)` is a table made of parameter 3, the JSON text of an array of arrays.
 * - `FOR UPDATE` and `FOR KEY SHARE`, with `OF alias` and `SKIP LOCKED`, lock rows on PostgreSQL. SQLite has one writer,
 *   so the clause is dropped there.
 * - `TRANSACTION_LOCK($1)` in a SELECT list waits for other transactions with the same value (PostgreSQL).
 * - `column IN ARRAY (SELECT …)` is `column IN (SELECT …)` as an array, for which PostgreSQL always uses the index. With a
 *   join the planner may choose to read the whole list.
 * - In migrations only: the type `TEXT_KEY`, table options of SQLite, and `/*sqlite: … *\/` or `/*postgres: … *\/` around
 *   text for one database.
 *
 * Rules for statements:
 * - `INSERT … SELECT … FROM rows(…) AS r` needs a `WHERE true` before `ON CONFLICT`: SQLite reads the ON as one of a join.
 * - Columns are named, never `*`: a release that is still running may meet the columns of the next. What is read takes
 *   the name of its field, `peer_id AS "peerId"`, so that a row is the record.
 * - A duplicate key or a missing parent is a ServiceError `conflict`. Like every failed statement it fails the whole
 *   transaction, so what may happen belongs into `ON CONFLICT`.
 * - Rows come back with integers and truth values as numbers.
 */
export type Param = string | number | null

/** A record as its row comes back. */
export type Row<T> = { readonly [K in keyof T]: T[K] extends boolean ? number : T[K] }

export interface Queries {
  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]>
  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined>
}

export interface Transaction extends Queries {
  /** Who makes the change, for the rows that it writes: text of `origin.ts`, empty for imports and repairs. */
  readonly origin: string
  /** Runs a change and returns the number of rows it touched. */
  run(sql: string, ...params: Param[]): Promise<number>
}

/** The actor's row under its lock. */
export interface LockedActor {
  readonly id: string
  readonly creator: string
  /** Number of subscriptions that peers hold at the actor. */
  readonly subscriptionCount: number
  /** 1 if one of these subscriptions covers a key of a property, else 0. */
  readonly hasKeySubscriptions: number
  /** A page or client watches the actor until then (Unix milliseconds). */
  readonly watchedUntil: number
}

export interface Store {
  readonly dialect: 'sqlite' | 'postgres'
  /**
   * The time (Unix milliseconds) by which everything is judged that is due, held, expired or within its grace: one clock
   * for all processes on this store. PostgreSQL: the server's, told without asking each time and wrong by less than a
   * round trip; SQLite: this machine's. Inside a transaction it is read after the turn was taken, where that matters.
   */
  readonly now: () => number
  /** Each statement sees what was committed before it. */
  read<T>(work: (q: Queries) => Promise<T>): Promise<T>
  /** All statements see one moment. */
  snapshot<T>(work: (q: Queries) => Promise<T>): Promise<T>
  /**
   * Atomic, and durable before it resolves. On PostgreSQL other writes go on beside it (READ COMMITTED): what was read
   * without a lock may have changed by the time it is written, which a constraint, a condition in the statement or
   * `writeActor` has to exclude. Runs again on a serialization conflict, so `work` touches nothing but `tx`
   * and waits for nothing else.
   *
   * @throws ServiceError `store_unavailable` when the database cannot take the change now; nothing was changed, except
   *   when the connection broke during the commit, where the outcome is unknown and the message says so.
   */
  write<T>(work: (tx: Transaction) => Promise<T>, how?: WriteOptions): Promise<T>
  /**
   * As `write`, with the actor's row locked first: the changes of one actor happen one after another.
   *
   * @param origin `Transaction.origin`; empty unless given.
   * @throws ServiceError `actor_not_found` when there is no such actor (any more).
   */
  writeActor<T>(actorId: string, work: (tx: Transaction, actor: LockedActor) => Promise<T>, origin?: string): Promise<T>
  /** Resolves when a statement can be answered now; throws `store_unavailable` otherwise. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface WriteOptions {
  /**
   * Names what many callers may fight for at once, such as one creator: within this process they wait for each other
   * without holding a connection. It spares retries; it decides nothing.
   */
  readonly turn?: string | undefined
  readonly durability?: Durability | undefined
}

/**
 * `full`: the write waits for the disk. `relaxed`: it does not, and a power loss may undo it. Use it only for records that
 * are harmless to lose. A later write is never on the disk without it. Default: `full`.
 */
export type Durability = 'full' | 'relaxed'

/** What follows from a change. It may not fail: the change is made, whatever comes after it. */
export type Follow = () => Promise<void> | void
/** Runs `follow` once the transaction is durable, and before the call that made it resolves. */
export type AfterCommit = (tx: Transaction, follow: Follow) => void

/** Told of every statement of the domain, once per execution (not of BEGIN, SAVEPOINT and the like). */
export type QueryObserver = (sql: string) => void

/** What the operator is told. `cause` is for the log alone. */
export type StoreLog = (level: 'warn' | 'error', message: string, cause?: unknown) => void
