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
import { createHandle } from './dispatch/dispatch.ts'
import type { Handle } from './edge/request.ts'
import type { Health, Parts } from './dispatch/parts.ts'
import { routesFor } from './routes/all-routes.ts'

type Rooms = Omit<
  Parts,
  'authentication' | 'attributes' | 'pageStreams' | 'health' | 'pages' | keyof Pick<Runtime, 'config' | 'log'>
>

interface HttpNeeds {
  readonly rooms: Rooms
  readonly pages: PageSet
  readonly health: Health
  /** Asked before the service's own kinds of bearer tokens. */
  readonly bearerKinds: readonly BearerKind[]
}

export function createHttp(runtime: Runtime, needs: HttpNeeds): { readonly handle: Handle; readonly parts: Parts } {
  const { rooms, pages, health } = needs
  const parts: Parts = {
    ...runtime,
    ...rooms,
    authentication: createAuthentication(runtime, needs),
    attributes: new Attributes(runtime.store, runtime.now, [callbackState], [remoteForm]),
    pageStreams: pageStreams(),
    pages,
    health,
  }
  return { handle: createHandle(parts, routesFor(parts)), parts }
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
