/**
 * The rows that a database returned since its last change, for all processes of its host. Processes poll for hours of
 * virtual time, and between two changes each poll reads the same rows.
 */
import type { Param, Queries } from '../../src/store/store.ts'

export class ReadCache {
  readonly #found = new Map<string, unknown>()
  #writes = 0
  #version = 0

  /** The number of changes so far. Null while a change is under way. */
  get version(): number | null {
    return this.#writes === 0 ? this.#version : null
  }

  /** Runs a change. Returns its own promise, because a further step would change the order of the run. */
  change<T>(write: () => Promise<T>): Promise<T> {
    this.#writes++
    this.#version++
    this.#found.clear()
    const done = write()
    const end = (): void => {
      this.#writes--
    }
    done.then(end, end)
    return done
  }

  over(inner: Queries): Queries {
    return {
      isSharded: inner.isSharded,
      all: <R extends object>(sql: string, ...params: Param[]) =>
        this.#read<R[]>(keyOf('all', sql, params), () => inner.all(sql, ...params), copyRows),
      get: <R extends object>(sql: string, ...params: Param[]) =>
        this.#read<R | undefined>(keyOf('get', sql, params), () => inner.get(sql, ...params), copyRow),
    }
  }

  #read<T>(key: string, read: () => Promise<T>, copy: (found: T) => T): Promise<T> {
    const { version } = this
    if (version !== null && this.#found.has(key)) return Promise.resolve(copy(this.#found.get(key) as T))
    const found = read()
    const keep = (value: T): void => {
      if (version !== null && this.version === version) this.#found.set(key, copy(value))
    }
    found.then(keep, () => {})
    return found
  }
}

function keyOf(method: string, sql: string, params: readonly Param[]): string {
  return `${method} ${JSON.stringify(params)} ${sql}`
}

/** Callers may change their rows, whose members are strings, numbers and null. */
function copyRow<R extends object | undefined>(row: R): R {
  return row === undefined ? row : { ...row }
}

function copyRows<R extends object>(rows: R[]): R[] {
  return rows.map((row) => ({ ...row }))
}
