/** Creates the dispatcher, which serves the rooms through the route table. */
import { Attributes } from '../actor/attributes.ts'
import { Passphrases } from '../actor/passphrases.ts'
import { Authentication, type BearerKind } from '../auth/authenticate.ts'
import type { ServiceError } from '../errors.ts'
import type { HttpRequest } from '../http/edge/request.ts'
import type { Languages } from '../pages/languages/languages.ts'
import type { PageSet } from '../pages/shared/page-set.ts'
import { callbackState } from '../replica/callback-state.ts'
import { remoteForm } from '../replica/copy/remote-data.ts'
import type { Runtime } from '../runtime.ts'
import type { FailedAttempts } from '../rate-limit/failed-attempts.ts'
import type { PasswordAccess } from '../sign-in/password-access.ts'
import type { BasicUses } from '../auth/basic-uses.ts'
import type { Uses } from '../token/last-used.ts'
import type { LastSeen } from '../trust/last-seen.ts'
import { deadBearer, sessionBearer } from '../token/session-bearer.ts'
import { recognizeToken } from '../token/token-text.ts'
import { peerBearer } from '../trust/peer-bearer.ts'
import { trusteeBearer } from '../trust/trustee-bearer.ts'
import { FreshSignIn } from '../http/dispatch/fresh-sign-in.ts'
import { liveStreams } from '../http/dispatch/live-stream.ts'
import { type DispatchDeps, Dispatcher, type ErrorSubject } from '../http/dispatch/dispatch.ts'
import type { FeaturePageDeps } from '../features/feature.ts'
import type { FeatureAct } from '../pages/activity/own-acts.ts'
import type { FeatureNames } from '../pages/relationships/deps.ts'
import { errorPage } from '../pages/failed/error-page.ts'
import type { Handle } from '../http/edge/request.ts'
import { type RouteDeps, routesFor } from './all-routes.ts'
import type { Health } from '../http/routes/system/health.ts'
import type { Route } from '../http/dispatch/route.ts'

type MadeHere =
  | 'authentication'
  | 'attributes'
  | 'liveStreams'
  | 'freshSignIn'
  | 'health'
  | 'pages'
  | 'languages'
  | 'languageOf'
  | 'errorPage'
  | 'featureActs'
  | 'featureNames'

/** The dependencies that authenticate callers. */
interface CallerDeps {
  readonly sessionUses: Uses
  readonly contacts: LastSeen
  readonly passwordAccess: PasswordAccess
  readonly failedAttempts: FailedAttempts
  readonly basicUses: BasicUses
  readonly clientBearer: BearerKind
  /** Returns where a program gets a token for the actor. Null when the service issues none. */
  readonly challengeOf: (actorId: string) => string | null
}

interface HttpNeeds {
  readonly rooms: Omit<RouteDeps & DispatchDeps, MadeHere> & CallerDeps
  readonly pages: PageSet
  readonly languages: Languages
  readonly health: Health
  /** The routes of features. */
  readonly routes: (deps: FeaturePageDeps) => readonly Route[]
  readonly featureNames: readonly FeatureNames[]
  readonly featureActs: readonly FeatureAct[]
  /** Additional kinds of bearer tokens, tried before the kinds of the service. */
  readonly bearerKinds: readonly BearerKind[]
}

export function createHttp(runtime: Runtime, needs: HttpNeeds): Handle {
  const { rooms, pages, languages, health, featureActs, featureNames } = needs
  const deps = {
    ...rooms,
    authentication: createAuthentication(runtime, needs),
    attributes: new Attributes(runtime.store, runtime.now, [callbackState], [remoteForm]),
    liveStreams: liveStreams(),
    freshSignIn: new FreshSignIn({ ...runtime, providers: rooms.providers }),
    pages,
    languages,
    languageOf: (request: HttpRequest) => languages.of(request).tag,
    health,
    featureActs,
    featureNames,
    errorPage: (error: ServiceError, about: ErrorSubject) => errorPage(error, { ...runtime, pages, languages }, about),
  }
  return new Dispatcher(deps, routesFor(deps, needs.routes(deps))).handle
}

function createAuthentication({ store, baseUrl }: Runtime, { rooms, bearerKinds }: HttpNeeds): Authentication {
  const { actors, tokens, sessionUses, contacts, passwordAccess, failedAttempts, basicUses, challengeOf } = rooms
  const passphrases = new Passphrases((actor) => actors.passphraseOf(actor))
  return new Authentication({
    bearerKinds: [
      ...bearerKinds,
      sessionBearer(tokens, sessionUses),
      rooms.clientBearer,
      trusteeBearer(passphrases),
      peerBearer(store, contacts),
      // Last, because it rejects every remaining token of the service.
      deadBearer(challengeOf),
    ],
    formOf: recognizeToken,
    passphrases,
    formerCreatorOf: (actor) => passwordAccess.nameOf(actor),
    failedAttempts,
    basicUses,
    realm: new URL(baseUrl).host,
    challengeOf,
  })
}
