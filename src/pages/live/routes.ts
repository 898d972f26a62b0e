/** `/<actor>/www/live`: what changes while the owner's pages are open. */
import { readCredential } from '../../auth/credentials.ts'
import { ServiceError } from '../../errors.ts'
import type { Answer } from '../../http/edge/response.ts'
import { requestOriginOf } from '../../http/dispatch/anti-forgery.ts'
import { liveStream, type LiveStreamDeps } from './live-stream.ts'
import type { PageExchange, Route } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'
import type { Actors } from '../../actor/actors.ts'
import type { Authentication } from '../../auth/authenticate.ts'

export interface LivePageDeps extends LiveStreamDeps {
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly actors: Actors
  readonly authentication: Authentication
}

export function livePageRoutes(deps: LivePageDeps): readonly Route[] {
  return [
    {
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
    },
  ]
}

function stream(deps: LivePageDeps, exchange: PageExchange): Answer {
  const { request, actor } = exchange
  if (!/(^|[\s,])text\/event-stream\b/.test(request.header('accept') ?? ''))
    throw new ServiceError('bad_request', 'Cannot tell what changes: ask with Accept: text/event-stream')
  if (requestOriginOf(request, new URL(deps.baseUrl).origin) === 'other')
    throw new ServiceError('forbidden', 'Cannot tell what changes: another site asks')
  const { stream: pieces, close } = liveStream(deps, actor.id, () => isOwner(deps, exchange))
  return {
    status: 200,
    headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' },
    body: null,
    stream: pieces,
    onClose: close,
  }
}

/** Judged again, by the actor as it is now: the session or the passphrase may have ended since the stream began. */
async function isOwner(deps: LivePageDeps, { request, actor, source }: PageExchange): Promise<boolean> {
  const credential = readCredential(
    request.header('authorization'),
    request.header('cookie'),
    request.hasRepeated('authorization'),
  )
  try {
    const current = await deps.actors.find(actor.id)
    return current !== null && (await deps.authentication.authenticate(credential, current, source)).kind === 'creator'
  } catch (error) {
    if (error instanceof ServiceError && (error.code === 'unauthorized' || error.code === 'forbidden')) return false
    throw error
  }
}
