/** `/<actor>/password-access`: programs that created an actor under the owner's name, with a password. */
import { choiceField } from '../../../json/fields.ts'
import { type HttpResponse, json, noContent } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'
import type { PasswordAccessActs } from '../../../sign-in/acts/password-access-acts.ts'
import type { PasswordAccess } from '../../../sign-in/password-access.ts'

const schema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['actor_id', 'url', 'creator', 'own', 'decision', 'proven_at'],
    properties: {
      actor_id: { type: 'string', description: 'The actor that the program created' },
      url: { type: 'string' },
      creator: { type: 'string', description: 'The user in its Basic credentials' },
      own: { type: 'boolean', description: 'True when the owner joined that actor: it is this one' },
      decision: { type: 'string', enum: ['pending', 'kept', 'revoked'] },
      proven_at: { type: 'string', format: 'date-time', description: 'When the owner proved to be the creator' },
    },
  },
} as const

export interface PasswordAccessRouteDeps extends BaseUrl {
  readonly passwordAccessActs: PasswordAccessActs
  readonly passwordAccess: PasswordAccess
}

export function passwordAccessRoutes(deps: PasswordAccessRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listPasswordAccess',
      method: 'GET',
      path: '/:actor/password-access',
      access: 'sessions',
      summary:
        'Programs that created an actor under the owner’s name with a password, pending decisions first; at most 100',
      responses: { 200: { text: 'The programs', schema }, ...actorErrors },
      handler: (exchange) => list(deps, exchange),
    }),
    defineRoute({
      id: 'decidePasswordAccess',
      method: 'PUT',
      path: '/:actor/password-access/:created',
      access: 'sessions',
      freshSignIn: 'some',
      summary: 'Keeps or revokes the access of a program; needs a session of the owner. A revocation is final',
      request: jsonBody('decide', {
        decision: choiceField('Whether the program keeps its access', ['keep', 'revoke']),
      }),
      responses: { 204: 'Decided', ...writeErrors },
      handler: async (exchange) => decide(deps, exchange, (await exchange.body()).decision),
    }),
  ]
}

async function list(deps: PasswordAccessRouteDeps, { actor }: ActorExchange): Promise<HttpResponse> {
  const records = await deps.passwordAccess.list(actor.id)
  return json(
    200,
    records.map(({ actorId, creator, decision, provenAt }) => ({
      actor_id: actorId,
      url: urlOf(deps, actorId),
      creator,
      own: actorId === actor.id,
      decision,
      proven_at: new Date(provenAt).toISOString(),
    })),
  )
}

async function decide(
  deps: PasswordAccessRouteDeps,
  exchange: ActorExchange<'created'>,
  asked: 'keep' | 'revoke',
): Promise<HttpResponse> {
  await deps.passwordAccessActs.decide(exchange, exchange.params.created, asked === 'keep' ? 'kept' : 'revoked')
  return noContent()
}
