/** `/<actor>/export` and `/<actor>/import`: an actor as one file. */
import type { ArchiveActs } from '../../../archive/acts.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses } from '../../dispatch/schemas.ts'
import type { FreshSignInDeps } from '../../dispatch/fresh-sign-in.ts'
import { type HttpResponse, redirect } from '../../edge/response.ts'
import { type ImportRouteDeps, importRoutes } from './imports.ts'

export interface ArchiveRouteDeps extends FreshSignInDeps {
  readonly archiveActs: ArchiveActs
  readonly basePath: string
}

const responses = {
  200: {
    text: 'The archive as JSON Lines. Its last record is of the kind `end`; without it, the archive is not complete',
    type: 'application/x-ndjson',
  },
  ...errorResponses(500),
  ...actorErrors,
} as const

export function archiveRoutes(deps: ArchiveRouteDeps & ImportRouteDeps): readonly Route[] {
  return [
    ...importRoutes(deps),
    defineRoute({
      id: 'exportActor',
      method: 'GET',
      path: '/:actor/export',
      access: 'archive',
      freshSignIn: 'all',
      summary: 'All data of the actor as one file, without secrets',
      responses,
      handler: (exchange) => download(deps, exchange),
    }),
    defineRoute({
      id: 'exportPage',
      method: 'GET',
      path: '/:actor/www/export',
      access: 'www',
      freshSignIn: 'some',
      summary: 'The same file as `/<actor>/export`, for the pages of the owner',
      responses: { ...responses, 302: 'To a sign-in, when the last one is not recent' },
      handler: (exchange) =>
        deps.freshSignIn.isFresh(exchange.caller) ? download(deps, exchange) : toSettings(deps, exchange),
    }),
  ]
}

/** The browser would stay on the page of the sign-in if the next response were a file, so it continues at the settings. */
function toSettings(deps: ArchiveRouteDeps, { actor }: Pick<ActorExchange, 'actor'>): HttpResponse {
  return redirect(302, deps.freshSignIn.address(actor.id, `${deps.basePath}/${actor.id}/www/settings`))
}

async function download(
  { archiveActs }: ArchiveRouteDeps,
  exchange: Pick<ActorExchange, 'actor' | 'caller'>,
): Promise<HttpResponse> {
  const lines = archiveActs.export(exchange)
  const headers = {
    'Content-Type': 'application/x-ndjson',
    'Content-Disposition': `attachment; filename="${exchange.actor.id}.jsonl"`,
  }
  // A short archive is read before the response, so that an error has its status.
  let start = ''
  while (start.length < maxHeld) {
    const { value, done } = await lines.next()
    if (done === true) return { status: 200, headers, body: start }
    start += value
  }
  return { status: 200, headers, body: null, stream: resumed(start, lines) }
}

/** The longest archive that is not sent while it is read, in characters. */
const maxHeld = 262_144

async function* resumed(first: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  yield first
  yield* rest
}
