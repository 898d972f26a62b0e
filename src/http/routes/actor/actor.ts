/** `/<actor>`: the actor itself. */
import type { Caller } from '../../../caller.ts'
import { acceptsPages } from '../../edge/accepts.ts'
import { type Answer, json, noContent, redirect } from '../../edge/response.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, actorSchema } from '../../dispatch/schemas.ts'
import { toLogin } from '../../dispatch/sign-in-redirect.ts'
import { homeOf } from '../../dispatch/urls.ts'

export const actorRoutes: readonly Route[] = [
  {
    id: 'getActor',
    method: 'GET',
    path: '/:actor',
    access: 'actor',
    page: true,
    signsIn: true,
    summary: 'The actor; a browser is sent to its pages or to sign-in',
    responses: { 200: { text: 'The actor', schema: actorSchema }, 302: 'Where a browser goes', ...actorErrors },
    handler: get,
  },
  {
    id: 'deleteActor',
    method: 'DELETE',
    path: '/:actor',
    access: 'actor',
    summary: 'Deletes the actor and everything it holds',
    responses: { 204: 'Deleted', ...actorErrors },
    handler: async ({ parts, actor }) => {
      await parts.actors.deleteWithEvents(actor)
      return noContent()
    },
  },
]

function get(exchange: ActorExchange): Answer {
  const { parts, request, actor, caller } = exchange
  if (acceptsPages(request)) {
    // Basic proves who asks but is no browser session.
    const isSession = caller.kind === 'creator' && caller.via !== 'basic'
    return isSession ? redirect(302, homeOf(parts, actor.id), { Vary: 'Accept' }) : toLogin(exchange)
  }
  return json(
    200,
    {
      id: actor.id,
      creator: actor.creator,
      // Whoever has it is the owner: a relationship, however far it reaches, is none.
      ...(isRelated(caller) ? {} : { passphrase: parts.actors.passphraseOf(actor) }),
      ...(actor.trusteeRoot === null ? {} : { trustee_root: actor.trusteeRoot }),
    },
    { Vary: 'Accept' },
  )
}

function isRelated({ kind }: Caller): boolean {
  return kind === 'peer' || kind === 'client'
}
