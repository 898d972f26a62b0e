/** The calls of sessions that run in this process. A message of the session can cancel them. */
import type { Id } from '../protocol/message.ts'
import type { Session } from '../sessions/session.ts'
import type { Outgoing } from './outgoing.ts'

export class RunningCalls {
  readonly #running = new Map<string, Outgoing>()

  /** Adds a call and returns the function that removes it. A message cannot cancel a call without a session. */
  add(session: Session | null, id: Id, outgoing: Outgoing): () => void {
    if (session === null) return () => {}
    const key = keyOf(session, id)
    this.#running.set(key, outgoing)
    return () => {
      if (this.#running.get(key) === outgoing) this.#running.delete(key)
    }
  }

  /** Cancels a call of the same session that runs in this process. */
  cancel(session: Session, requestId: unknown): void {
    this.#running.get(keyOf(session, requestId))?.abort()
  }
}

/** The number 1 and the string "1" are different ids. */
function keyOf({ hash }: Session, id: unknown): string {
  return `${hash} ${JSON.stringify(id)}`
}
