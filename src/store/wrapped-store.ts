/** A store on top of another one. It passes every call on, so a subclass has only what it adds. */
import type { LockedActor, Store, Transaction, WriteOptions } from './store.ts'

export class WrappedStore implements Store {
  readonly #inner: Store

  constructor(inner: Store) {
    this.#inner = inner
  }

  get dialect(): Store['dialect'] {
    return this.#inner.dialect
  }

  get now(): Store['now'] {
    return this.#inner.now
  }

  get isSharded(): boolean {
    return this.#inner.isSharded
  }

  read: Store['read'] = (work) => this.#inner.read(work)
  snapshot: Store['snapshot'] = (work) => this.#inner.snapshot(work)
  readAllServers: Store['readAllServers'] = (sql, ...params) => this.#inner.readAllServers(sql, ...params)
  ping: Store['ping'] = () => this.#inner.ping()
  usage: Store['usage'] = () => this.#inner.usage()
  close: Store['close'] = () => this.#inner.close()

  write<T>(work: (tx: Transaction) => Promise<T>, how?: WriteOptions): Promise<T> {
    return this.#inner.write(work, how)
  }

  writeActor<T>(
    actorId: string,
    work: (tx: Transaction, actor: LockedActor) => Promise<T>,
    origin?: string,
  ): Promise<T> {
    return this.#inner.writeActor(actorId, work, origin)
  }
}
