/** Runs handlers of application code in the background, within a time limit. */
import { randomUUID } from 'node:crypto'
import { runInBackground } from '../observe/context.ts'
import type { Timers } from '../timers.ts'

/** A handler that runs longer counts as failed. */
export const handlerMs = 300_000

export interface HandlerContext {
  readonly actorId: string | null
  /** Number of changes that led to this run. */
  readonly hops: number
  /** The name of the work, for the origin of its changes: `alarm remind`. */
  readonly call: string
  /** Aborts when the service stops, and when the process has lost its lease. */
  readonly signal: AbortSignal
  /** Null: no limit. Default: `handlerMs`. */
  readonly limitMs?: null
}

/**
 * Runs `work` in a context of its own. Its changes have the caller `application`.
 *
 * @throws the error of `work`, and an Error after the time limit or an abort.
 */
export async function runHandler<T>(
  timers: Timers,
  { actorId, hops, call, signal, limitMs }: HandlerContext,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const tooLong = (): void => limit.abort(new Error(`The handler did not end within ${handlerMs / 1000} seconds`))
  const cancel = limitMs === null ? (): void => {} : timers.setTimer(handlerMs, tooLong)
  const either = AbortSignal.any([signal, limit.signal])
  const context = { requestId: randomUUID(), actorId, peerId: null, hops, call }
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => reject(either.reason)
  either.addEventListener('abort', onAbort, { once: true })
  try {
    either.throwIfAborted()
    return await Promise.race([runInBackground(() => work(either), context), aborted])
  } finally {
    either.removeEventListener('abort', onAbort)
    cancel()
  }
}
