/** When a peer was last here, and on which way: noted after the answer, at most once a minute. */
import type { Caller } from '../caller.ts'
import { runBehindResponse } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import type { Trust } from './trust.ts'
import { touchTrust } from './trust-store.ts'

export type ConnectedVia = 'trust' | 'subscription' | 'mcp'

const noteEveryMs = 60_000

/** Forgetting one costs a statement that changes nothing. */
const mostNoted = 10_000

type Met = Pick<Trust, 'actorId' | 'peerId' | 'lastAccessed' | 'lastConnectedVia'>

export class Contacts {
  readonly #store: Store
  readonly #log: Log
  readonly #now: () => number
  /** Callers whose last contact is old enough to be noted. */
  readonly #due = new WeakMap<Caller, Met>()
  /** When this process noted a contact last: requests that came together read the same record. */
  readonly #noted = new Map<string, number>()
  readonly #writing = new Set<Promise<void>>()

  constructor(store: Store, log: Log, now: () => number) {
    this.#store = store
    this.#log = log
    this.#now = now
  }

  /** The caller was found to be this peer. */
  expect(caller: Caller, trust: Met): void {
    if (this.#now() - trust.lastAccessed >= noteEveryMs) this.#due.set(caller, trust)
  }

  /** The caller was answered. Nobody waits for the note, and nothing fails with it. */
  answered(caller: Caller, via: ConnectedVia): void {
    const met = this.#due.get(caller)
    if (met === undefined) return
    const key = `${met.actorId} ${met.peerId}`
    const now = this.#now()
    if (now - (this.#noted.get(key) ?? Number.NEGATIVE_INFINITY) < noteEveryMs) return
    if (this.#noted.size >= mostNoted) this.#noted.clear()
    this.#noted.set(key, now)
    const written = runBehindResponse(() =>
      this.#store.write((tx) => touchTrust(tx, met, { via, now, before: now - noteEveryMs }), { isNote: true }),
    )
      .catch((error: unknown) => {
        this.#noted.delete(key)
        this.#log.warn({ error }, 'Cannot note when a peer was last here')
      })
      .finally(() => this.#writing.delete(written))
    this.#writing.add(written)
  }

  /** Once everything is written that was to be. */
  async settled(): Promise<void> {
    await Promise.all(this.#writing)
  }
}
