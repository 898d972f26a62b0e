/** `/<actor>`: the actor itself. */
import type { ActorActs } from '../../../actor/acts.ts'
import type { Actors } from '../../../actor/actors.ts'
import type { Caller } from '../../../caller.ts'
import { acceptsPages } from '../../edge/accepts.ts'
import { type HttpResponse, json, noContent, redirect } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { FreshSignInDeps } from '../../dispatch/fresh-sign-in.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, actorSchema } from '../../dispatch/schemas.ts'
import { loginRedirect, type LoginRedirectDeps } from '../../dispatch/sign-in-redirect.ts'
import { type HomeDeps, homeOf } from '../../dispatch/urls.ts'

export interface ActorRouteDeps extends HomeDeps, LoginRedirectDeps, FreshSignInDeps {
  readonly actors: Actors
  readonly actorActs: ActorActs
}

export function actorRoutes(deps: ActorRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getActor',
      method: 'GET',
      path: '/:actor',
      access: 'actor',
      page: true,
      signsIn: true,
      summary: 'Returns the actor; redirects a browser to its pages or to sign-in',
      responses: { 200: { text: 'The actor', schema: actorSchema }, 302: 'Where a browser goes', ...actorErrors },
      handler: (exchange) => get(deps, exchange),
    }),
    defineRoute({
      id: 'deleteActor',
      method: 'DELETE',
      path: '/:actor',
      access: 'actor',
      freshSignIn: 'all',
      summary: 'Deletes the actor and all its data',
      responses: { 204: 'Deleted', ...actorErrors },
      handler: async (exchange) => {
        await deps.actorActs.delete(exchange)
        return noContent()
      },
    }),
  ]
}

function get(deps: ActorRouteDeps, exchange: ActorExchange): HttpResponse {
  const { request, actor, caller } = exchange
  if (acceptsPages(request)) {
    // Basic credentials authenticate the caller but do not make a browser session.
    const isSession = caller.kind === 'creator' && caller.via !== 'basic'
    return isSession ? redirect(302, homeOf(deps, actor.id), { Vary: 'Accept' }) : loginRedirect(deps, exchange)
  }
  return json(
    200,
    {
      id: actor.id,
      creator: actor.creator,
      // The passphrase makes its holder the owner for good, so neither a relationship nor an old session may read it.
      passphrase: isRelated(caller) || !deps.freshSignIn.isFresh(caller) ? undefined : deps.actors.passphraseOf(actor),
      trustee_root: actor.trusteeRoot ?? undefined,
    },
    { Vary: 'Accept' },
  )
}

function isRelated({ kind }: Caller): boolean {
  return kind === 'peer' || kind === 'client'
}
