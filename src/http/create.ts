/** Puts the rooms behind the route table. */
import { Attributes } from '../actor/attributes.ts'
import { Authentication, type BearerKind } from '../auth/authenticate.ts'
import { pageStreams } from '../pages/live/live-stream.ts'
import type { PageSet } from '../pages/shared/page-set.ts'
import { callbackState } from '../replica/callback-state.ts'
import { remoteForm } from '../replica/remote-data.ts'
import type { Runtime } from '../runtime.ts'
import { deadBearer, sessionBearer } from '../token/session-bearer.ts'
import { recogniseToken } from '../token/token-text.ts'
import { peerBearer } from '../trust/peer-bearer.ts'
import { trusteeBearer } from '../trust/trustee-bearer.ts'
import { Dispatcher } from './dispatch/dispatch.ts'
import { errorPage } from '../pages/failed/error-page.ts'
import type { Handle } from './edge/request.ts'
import type { Health, RouteDeps } from './routes/route-deps.ts'
import { routesFor } from './routes/all-routes.ts'

type Rooms = Omit<
  RouteDeps,
  'authentication' | 'attributes' | 'pageStreams' | 'health' | 'pages' | keyof Pick<Runtime, 'config' | 'log'>
>

interface HttpNeeds {
  readonly rooms: Rooms
  readonly pages: PageSet
  readonly health: Health
  /** Asked before the service's own kinds of bearer tokens. */
  readonly bearerKinds: readonly BearerKind[]
}

export function createHttp(runtime: Runtime, needs: HttpNeeds): { readonly handle: Handle; readonly parts: RouteDeps } {
  const { rooms, pages, health } = needs
  const parts: RouteDeps = {
    ...runtime,
    ...rooms,
    authentication: createAuthentication(runtime, needs),
    attributes: new Attributes(runtime.store, runtime.now, [callbackState], [remoteForm]),
    pageStreams: pageStreams(),
    pages,
    health,
  }
  const dispatcher = new Dispatcher(
    { ...parts, errorPage: (error, about) => errorPage(error, parts, about) },
    routesFor(parts),
  )
  return { handle: dispatcher.handle, parts }
}

function createAuthentication({ store, baseUrl }: Runtime, { rooms, bearerKinds }: HttpNeeds): Authentication {
  const { actors, tokens, sessionUses, contacts, passwordAccess, guesses } = rooms
  return new Authentication({
    bearerKinds: [
      ...bearerKinds,
      sessionBearer(tokens, sessionUses),
      trusteeBearer((actor) => actors.passphraseOf(actor)),
      peerBearer(store, contacts),
      // Bearer kinds after this one never see a token of the service.
      deadBearer,
    ],
    isOwnToken: (token) => recogniseToken(token) !== null,
    passphraseOf: (actor) => actors.passphraseOf(actor),
    formerCreatorOf: (actor) => passwordAccess.nameOf(actor),
    guesses,
    realm: new URL(baseUrl).host,
  })
}
