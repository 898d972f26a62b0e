/** Streams of an actor's changes, as server-sent events (WHATWG HTML, "Server-sent events"). */
import type { Timers } from '../../timers.ts'
import { ServiceError } from '../../errors.ts'
import { ConcurrencyLimit } from '../../rate-limit/concurrency-limit.ts'
import type { Live, LiveChange } from '../../live/live.ts'
import { withHeartbeat } from '../../live/with-heartbeat.ts'
import type { HttpRequest } from '../edge/request.ts'
import type { HttpResponse } from '../edge/response.ts'
import { requestOriginOf } from './anti-forgery.ts'
import type { BaseUrl } from './urls.ts'

export interface LiveStreamDeps extends BaseUrl {
  readonly live: Pick<Live, 'begin'>
  readonly timers: Timers
  /** Counts the open streams of each actor. */
  readonly liveStreams: ConcurrencyLimit
}

export interface LiveRequest {
  readonly request: HttpRequest
  readonly actorId: string
  /** The number of the last change that a new client has. `Last-Event-ID`, which a reconnecting client sends, wins. */
  readonly after?: number | undefined
  /** Resolves to false when the credential has ended, in any process. The stream then ends. */
  readonly isGood: () => Promise<boolean>
  /** The JSON of an event. */
  readonly dataOf: (change: LiveChange) => string
}

/** Interval in milliseconds: every second tick sends a heartbeat, every third one checks the credential. */
const tickMs = 10_000
const retryMs = 3000
/** Maximum number of streams on all devices of an owner, because a session could open any number. */
const maxOfAnActor = 32

export function liveStreams(): ConcurrencyLimit {
  return new ConcurrencyLimit(maxOfAnActor, 'This actor', 'streams of its changes')
}

/**
 * Answers with a stream of changes, and checks the credential before each event. The response begins after the watch has
 * begun, so a client that reads the data when the stream opens misses no change.
 *
 * @throws ServiceError `bad_request`, `forbidden` for another site, `actor_not_found`, `too_many_requests`
 */
export async function liveResponse(deps: LiveStreamDeps, live: LiveRequest): Promise<HttpResponse> {
  const { request, actorId, after = null } = live
  requireStreamable(deps, request)
  const release = deps.liveStreams.begin(actorId)
  try {
    const watching = await deps.live.begin(actorId, lastEventId(request) ?? after)
    if (watching === null) throw new ServiceError('actor_not_found')
    const controller = new AbortController()
    const close = (): void => {
      controller.abort()
      watching.end()
      release()
    }
    return {
      status: 200,
      headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' },
      body: null,
      stream: events(deps, live, { ...watching, signal: controller.signal, close }),
      onClose: close,
    }
  } catch (error) {
    release()
    throw error
  }
}

function requireStreamable({ baseUrl }: BaseUrl, request: HttpRequest): void {
  if (!/(^|[\s,])text\/event-stream\b/.test(request.header('accept') ?? ''))
    throw new ServiceError('bad_request', 'Cannot stream changes: send Accept: text/event-stream')
  // A browser adds no bearer token to the request of another site.
  const isBearer = /^bearer /i.test(request.header('authorization') ?? '')
  if (!isBearer && requestOriginOf(request, new URL(baseUrl).origin) === 'other')
    throw new ServiceError('forbidden', 'Cannot stream changes: the request came from another site')
}

/** Returns the number of the last change that a reconnecting client has. Null for a new client and for an invalid number. */
function lastEventId(request: HttpRequest): number | null {
  const text = request.header('last-event-id') ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

type Open = NonNullable<Awaited<ReturnType<Live['begin']>>> & {
  readonly signal: AbortSignal
  readonly close: () => void
}

async function* events(
  { timers }: LiveStreamDeps,
  { isGood, dataOf }: LiveRequest,
  { number, isResumed, changes, signal, close }: Open,
): AsyncGenerator<string> {
  let ticks = 0
  try {
    // A client that lost the connection before its first change continues after this number. The changes that a resumed
    // client missed have lower numbers, so it keeps its own.
    const id = isResumed ? '' : `id: ${number}\n`
    yield `retry: ${retryMs}\n${id}event: ready\ndata: ${JSON.stringify({ number, resumed: isResumed })}\n\n`
    for await (const batch of withHeartbeat(changes(signal), timers, tickMs)) {
      if (batch === 'tick') {
        ticks += 1
        if (ticks % 3 === 0 && !(await isGood())) return
        if (ticks % 2 === 0) yield ':\n\n'
        continue
      }
      if (!(await isGood())) return
      for (const change of batch) yield `id: ${change.number}\nevent: change\ndata: ${dataOf(change)}\n\n`
    }
  } finally {
    close()
  }
}
