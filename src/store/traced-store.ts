/** Gives each statement a span within the recorded trace that asks for it. */
import type { Tracing } from '../observe/tracing.ts'
import type { LockedActor, Param, Queries, Store, Transaction, WriteOptions } from './store.ts'
import { WrappedStore } from './wrapped-store.ts'

const systems = { sqlite: 'sqlite', postgres: 'postgresql' }
/** A comment that names the work, and the verb. */
const opening = /^\s*(?:\/\*[^*]*\*\/\s*)?([A-Z]+)/

export class TracedStore extends WrappedStore {
  readonly #inner: Store
  readonly #tracing: Tracing

  constructor(inner: Store, tracing: Tracing) {
    super(inner)
    this.#inner = inner
    this.#tracing = tracing
  }

  override read: Store['read'] = (work) =>
    this.#inner.read(this.#tracing.isRecording() ? (q) => work(this.#of(q)) : work)
  override snapshot: Store['snapshot'] = (work) =>
    this.#inner.snapshot(this.#tracing.isRecording() ? (q) => work(this.#of(q)) : work)

  override write<T>(work: (tx: Transaction) => Promise<T>, how?: WriteOptions): Promise<T> {
    return this.#inner.write(this.#tracing.isRecording() ? (tx) => work(this.#in(tx)) : work, how)
  }

  override writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    const traced = this.#tracing.isRecording()
      ? (tx: Transaction, actor: LockedActor) => work(this.#in(tx), actor)
      : work
    return this.#inner.writeActor(actorId, traced, origin)
  }

  #of(q: Queries): Queries {
    return {
      isSharded: q.isSharded,
      all: <R extends object>(sql: string, ...params: Param[]) => this.#span(sql, () => q.all<R>(sql, ...params)),
      get: <R extends object>(sql: string, ...params: Param[]) => this.#span(sql, () => q.get<R>(sql, ...params)),
    }
  }

  #in(tx: Transaction): Transaction {
    const run: Transaction['run'] = (sql, ...params) => this.#span(sql, () => tx.run(sql, ...params))
    return { ...this.#of(tx), origin: tx.origin, run }
  }

  /** A statement has placeholders in place of its values, so that the span has none (OpenTelemetry, Database client spans). */
  #span<T>(sql: string, work: () => Promise<T>): Promise<T> {
    const system = systems[this.dialect]
    const verb = opening.exec(sql)?.[1] ?? system
    const attributes = { 'db.system.name': system, 'db.operation.name': verb, 'db.query.text': sql }
    return this.#tracing.run(verb, { kind: 'client', attributes }, work)
  }
}
