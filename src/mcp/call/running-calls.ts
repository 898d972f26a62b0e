/** Calls of sessions that run in this process, so that a message of the session can cancel them. */
import type { Id } from '../protocol/message.ts'
import type { Session } from '../sessions/session.ts'
import type { Outgoing } from './outgoing.ts'

export class RunningCalls {
  readonly #running = new Map<string, Outgoing>()

  /** Returns the function that forgets the call. A call without a session cannot be cancelled by a message. */
  add(session: Session | null, id: Id, outgoing: Outgoing): () => void {
    if (session === null) return () => {}
    const key = keyOf(session, id)
    this.#running.set(key, outgoing)
    return () => {
      if (this.#running.get(key) === outgoing) this.#running.delete(key)
    }
  }

  /** Only a call of the same session, and only one that runs in this process. */
  cancel(session: Session, requestId: unknown): void {
    this.#running.get(keyOf(session, requestId))?.abort()
  }
}

/** The number 1 and the string "1" are different ids. */
function keyOf({ hash }: Session, id: unknown): string {
  return `${hash} ${JSON.stringify(id)}`
}
