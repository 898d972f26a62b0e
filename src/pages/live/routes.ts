/** Route of `/<actor>/www/live`, the stream of changes for open pages. */
import { ServiceError } from '../../errors.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { requestOriginOf } from '../../http/dispatch/anti-forgery.ts'
import { liveStream, type LiveStreamDeps } from './live-stream.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { PageExchange, Route } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'

export interface LivePageDeps extends LiveStreamDeps {
  /** Public URL without a trailing slash. */
  readonly baseUrl: string
}

export function livePageRoutes(deps: LivePageDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'liveChanges',
      method: 'GET',
      path: '/:actor/www/live',
      access: 'www',
      summary: 'A stream of `change` events, each with category, name and number, for pages that are open',
      responses: {
        200: { text: 'The stream; it ends with the session', type: 'text/event-stream' },
        ...errorResponses(400, 401, 403, 404, 429),
      },
      handler: (exchange) => stream(deps, exchange),
    }),
  ]
}

function stream(deps: LivePageDeps, { request, actor, isStillOwner }: PageExchange): HttpResponse {
  if (!/(^|[\s,])text\/event-stream\b/.test(request.header('accept') ?? ''))
    throw new ServiceError('bad_request', 'Cannot stream changes: send Accept: text/event-stream')
  if (requestOriginOf(request, new URL(deps.baseUrl).origin) === 'other')
    throw new ServiceError('forbidden', 'Cannot stream changes: the request came from another site')
  const { stream: pieces, close } = liveStream(deps, actor.id, isStillOwner)
  return {
    status: 200,
    headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' },
    body: null,
    stream: pieces,
    onClose: close,
  }
}
