/** The stream of changes for an open page, as server-sent events (WHATWG HTML, "Server-sent events"). */
import type { Timers } from '../../timers.ts'
import { ConcurrencyLimit } from '../../rate-limit/concurrency-limit.ts'
import type { Live } from '../../live/live.ts'
import { withHeartbeat } from '../../live/with-heartbeat.ts'

export interface LiveStreamDeps {
  readonly live: Pick<Live, 'watch'>
  readonly timers: Timers
  /** Counts the open streams of each actor. */
  readonly pageStreams: ConcurrencyLimit
}

export interface LiveStream {
  readonly stream: AsyncIterable<string>
  readonly close: () => void
}

/** Interval in milliseconds: every second tick sends a heartbeat, every third one checks the session. */
const tickMs = 10_000
const retryMs = 3000
/** Maximum number of visible pages on all devices of an owner, because a session could open any number. */
const mostOfAnActor = 32

export function pageStreams(): ConcurrencyLimit {
  return new ConcurrencyLimit(mostOfAnActor, 'This actor', 'streams for its pages')
}

/**
 * Streams changes as events, and checks the session before each event.
 *
 * @param isGood Resolves to false when the session has ended in any process. The stream then ends.
 * @throws ServiceError `too_many_requests`
 */
export function liveStream(
  { live, timers, pageStreams }: LiveStreamDeps,
  actorId: string,
  isGood: () => Promise<boolean>,
): LiveStream {
  const release = pageStreams.begin(actorId)
  const controller = new AbortController()
  const { signal } = controller
  const close = (): void => {
    controller.abort()
    release()
  }
  return { stream: events(), close }

  async function* events(): AsyncGenerator<string> {
    let ticks = 0
    try {
      yield `retry: ${retryMs}\n\n`
      for await (const batch of withHeartbeat(live.watch(actorId, signal), timers, tickMs)) {
        if (batch === 'tick') {
          ticks += 1
          if (ticks % 3 === 0 && !(await isGood())) return
          if (ticks % 2 === 0) yield ':\n\n'
          continue
        }
        if (!(await isGood())) return
        for (const { category, name, number } of batch) {
          yield `id: ${number}\nevent: change\ndata: ${JSON.stringify({ category, name, number })}\n\n`
        }
      }
    } finally {
      close()
    }
  }
}
