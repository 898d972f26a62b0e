/**
 * The store port: what the domain needs from a database. SQL is written once for both drivers.
 *
 * Parameters are `$1 … $n`. The drivers translate the following notation when they first prepare a statement
 * (`store/portable.ts`):
 * - `rows($3, item BIGINT, value TEXT)` is a table built from parameter 3, the JSON of an array of arrays.
 * - `FOR UPDATE` and `FOR KEY SHARE`, with `OF alias` and `SKIP LOCKED`, lock rows on PostgreSQL. SQLite has one writer,
 *   so the clause is dropped there.
 * - `column IN ARRAY (SELECT …)` is `column IN (SELECT …)` as an array, for which PostgreSQL always uses the index. With a
 *   join the planner may choose to read the whole list.
 * - In migrations only: the type `TEXT_KEY`, table options of SQLite, and `/*sqlite: … *\/` or `/*postgres: … *\/` around
 *   text for one database.
 *
 * Rules for statements:
 * - `INSERT … SELECT … FROM rows(…) AS r` needs a `WHERE true` before `ON CONFLICT`: SQLite reads the ON as one of a join.
 * - `INSERT … SELECT … ON CONFLICT` that may leave out rows returns them (`RETURNING`). Its number of rows on Citus includes
 *   those that it left out.
 * - Statements name their columns, never `*`: an older release that still runs may see the columns of the next one. Columns
 *   are renamed to the field, as in `peer_id AS "peerId"`, so that a row is the record.
 * - A duplicate key or a missing parent is a ServiceError `conflict`. Like every failed statement, it fails the whole
 *   transaction, so handle expected duplicates with `ON CONFLICT`.
 * - Rows contain integers and booleans as numbers.
 */
export type Param = string | number | null

/** The row of a record: booleans are numbers. */
export type Row<T> = { readonly [K in keyof T]: T[K] extends boolean ? number : T[K] }

export interface Queries {
  /** Whether the tables are distributed over servers. A statement then names the actor, or the key, whose server it needs. */
  readonly isSharded: boolean
  all<R extends object>(sql: string, ...params: Param[]): Promise<R[]>
  get<R extends object>(sql: string, ...params: Param[]): Promise<R | undefined>
}

export interface Transaction extends Queries {
  /** Origin of the change, stored in the rows that it writes (`origin.ts`); empty for imports and repairs. */
  readonly origin: string
  /** Runs a write and returns the number of affected rows. */
  run(sql: string, ...params: Param[]): Promise<number>
}

/**
 * Where an actor lives (docs/spec/moving.md): at this service; on its way to another one, and frozen; at another one; not yet
 * completely here; here and closed, while an archive replaces its content (archive/replace-actor.ts); or here and suspended by an operator
 * (operator/suspension.ts).
 */
export type Residence = 'here' | 'moving' | 'moved' | 'arriving' | 'replacing' | 'suspended'

/** The members of the actor's row that quotas limit. */
export type KeptCount = 'usedBytes' | 'usedNames' | 'usedItems'

/** The actor's row under its lock. */
export interface LockedActor {
  readonly id: string
  readonly creator: string
  /** Number of subscriptions that peers hold at the actor. */
  readonly subscriptionCount: number
  /** How many of these subscriptions cover a key of a property. */
  readonly keySubscriptionCount: number
  /** Number of changes whose diffs are not written yet. */
  readonly waitingChanges: number
  /** Until this time, a page or client watches the actor (Unix milliseconds). */
  readonly watchedUntil: number
  /** Number of rows of features that receive every change of the actor. */
  readonly observerCount: number
  /** Bytes of its names, values, items and copies of peers' data. */
  readonly usedBytes: number
  /** Number of its properties. */
  readonly usedNames: number
  /** Number of its items, and of the entries of copies. */
  readonly usedItems: number
  /** `here`, because others cannot be locked for a change. */
  readonly residence: Residence
  /** Chooses the declarations of the application. */
  readonly kind: string
}

export interface Store {
  readonly dialect: 'sqlite' | 'postgres'
  /**
   * Returns the time for all due dates, leases and expiries, in Unix milliseconds: one clock for all processes on the store.
   * PostgreSQL: the server's clock, estimated with an error below one round trip. SQLite: this machine's clock.
   * Where the order matters, transactions read it after they have taken the lock.
   */
  readonly now: () => number
  /** `Queries.isSharded` */
  readonly isSharded: boolean
  /** Runs reads; each statement sees everything committed before it. */
  read<T>(work: (q: Queries) => Promise<T>): Promise<T>
  /** Runs reads that all see the same snapshot. */
  snapshot<T>(work: (q: Queries) => Promise<T>): Promise<T>
  /**
   * Runs one read about the rows of all actors. A sharded database asks every server. It leaves out the rows of servers
   * that do not answer. The limit of the statement then applies to each part of a table.
   */
  readAllServers<R extends object>(sql: string, ...params: Param[]): Promise<R[]>
  /**
   * Runs an atomic write, durable before it resolves. PostgreSQL runs other writes concurrently (READ COMMITTED): a row read
   * without a lock may change before the write. Exclude that by a constraint, a condition in the statement or `writeActor`.
   * A serialization conflict runs `work` again, so it must use only `tx` and wait for nothing else.
   *
   * @throws ServiceError `store_unavailable` when the database cannot write now. Nothing was changed, unless the connection
   *   broke during the commit: then the outcome is unknown, and the message says so.
   */
  write<T>(work: (tx: Transaction) => Promise<T>, how?: WriteOptions): Promise<T>
  /**
   * Like `write`, but locks the actor's row first, so that writes to one actor run one after another.
   *
   * @param origin `Transaction.origin`. Default: empty.
   * @throws ServiceError `actor_not_found` when the actor does not exist or was deleted; `actor_moving`, `actor_moved` when
   *   another service has it.
   */
  writeActor<T>(actorId: string, work: (tx: Transaction, actor: LockedActor) => Promise<T>, origin?: string): Promise<T>
  /** Checks that the database answers. @throws ServiceError `store_unavailable` */
  ping(): Promise<void>
  /** Returns the space that the database takes, for operators. @throws ServiceError `store_unavailable` */
  usage(): Promise<StoreUsage>
  close(): Promise<void>
}

export interface StoreUsage {
  /** Bytes of the database with its log of changes. Null: it is in memory, or distributed over servers. */
  readonly bytes: number | null
  /** Bytes that the disk of a database file has left. Null: the database is not a file. */
  readonly freeBytes: number | null
  /** Changes and snapshots that wait for a connection. */
  readonly waiting: number
}

export interface WriteOptions {
  /**
   * Name of a contended object, such as a creator. Writes with the same name wait for each other within this process without
   * holding a connection. This avoids retries but guarantees nothing.
   */
  readonly turn?: string | undefined
  readonly durability?: Durability | undefined
  /** `Transaction.origin`. Default: empty. */
  readonly origin?: string | undefined
}

/**
 * `full`: the write waits for the disk. `relaxed`: it does not, and a power loss may undo it. Use it only for records that
 * are harmless to lose. A later write is never on the disk without it. Default: `full`.
 */
export type Durability = 'full' | 'relaxed'

/** An after-commit callback. It must not fail, because the change is already committed. */
export type Follow = () => Promise<void> | void
/** Registers `follow` to run after the transaction is durable and before the write resolves. */
export type AfterCommit = (tx: Transaction, follow: Follow) => void

/** Receives each executed statement, except BEGIN, SAVEPOINT and the like. */
export type QueryObserver = (sql: string) => void

/** Reports a problem to the operator. `cause` appears only in the log. */
export type StoreLog = (level: 'warn' | 'error', message: string, cause?: unknown) => void

/** A script that changes the tables. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  /** The feature of an application whose numbers these are. Default: the service. */
  readonly feature?: string
}
