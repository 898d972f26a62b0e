/**
 * Records when the passphrase of an actor was last used with Basic authentication. Programs send it with each request, so the
 * times are written together, behind a response.
 */
import { runBehindResponse } from '../observe/context.ts'
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'

const writeEveryMs = 600_000
/** Actors whose use waits in memory. The use of a further actor is recorded with a later request. */
const maxWaiting = 1000

export interface BasicUsesDeps {
  readonly store: Pick<Store, 'write'>
  readonly log: Pick<Log, 'warn'>
  readonly now: () => number
}

export class BasicUses {
  readonly #deps: BasicUsesDeps
  readonly #waiting = new Set<string>()
  #writtenAt: number
  #writing: Promise<void> | undefined

  constructor(deps: BasicUsesDeps) {
    this.#deps = deps
    this.#writtenAt = deps.now()
  }

  /** Registers a use. The request does not wait for the write. */
  note(actorId: string): void {
    const { log, now } = this.#deps
    if (this.#waiting.size < maxWaiting) this.#waiting.add(actorId)
    if (this.#writing !== undefined || Math.abs(now() - this.#writtenAt) < writeEveryMs) return
    this.#writing = runBehindResponse(() => this.#write())
      .catch((error: unknown) => log.warn({ error }, 'Cannot store when passphrases were last used'))
      .finally(() => {
        this.#writing = undefined
      })
  }

  /** Resolves when the current write has ended. */
  async settled(): Promise<void> {
    await this.#writing
  }

  /** Writes what waits. A database that cannot be reached does not prevent the end. */
  async stop(): Promise<void> {
    await this.#writing
    await this.#write().catch(() => {})
  }

  async #write(): Promise<void> {
    const { store, now } = this.#deps
    const at = now()
    this.#writtenAt = at
    const actors = [...this.#waiting]
    this.#waiting.clear()
    // One transaction for each actor: the lock of several rows could meet that of another process.
    for (const id of actors)
      await store.write((tx) => tx.run('UPDATE actor SET basic_used_at = $2 WHERE id = $1', id, at), {
        durability: 'relaxed',
      })
  }
}
