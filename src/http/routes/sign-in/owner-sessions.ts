/** `/<actor>/sessions`: the sessions of the owner. */
import type { Caller } from '../../../caller.ts'
import type { Chain } from '../../../token/chain.ts'
import { type HttpResponse, json, noContent } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors } from '../../dispatch/schemas.ts'
import type { SessionActs } from '../../../token/session-acts.ts'
import type { Sessions } from '../../../token/sessions.ts'

const schema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['id', 'device', 'began_with', 'created_at', 'last_used_at', 'ends_at', 'current'],
    properties: {
      id: { type: 'string' },
      device: { type: 'string', description: 'In words, as the browser or program said when it signed in' },
      began_with: { type: 'string' },
      created_at: { type: 'string', format: 'date-time' },
      last_used_at: { type: 'string', format: 'date-time', description: 'To the minute' },
      ends_at: { type: 'string', format: 'date-time', description: 'Use does not extend it' },
      current: { type: 'boolean', description: 'True for the session of this request' },
    },
  },
} as const

export interface OwnerSessionRouteDeps {
  readonly sessions: Sessions
  readonly sessionActs: SessionActs
}

export function ownerSessionRoutes({ sessions, sessionActs }: OwnerSessionRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listSessions',
      method: 'GET',
      path: '/:actor/sessions',
      access: 'sessions',
      summary: 'Lists the sessions of the owner, most recently used first',
      responses: { 200: { text: 'The sessions', schema }, ...actorErrors },
      handler: (exchange) => list(sessions, exchange),
    }),
    defineRoute({
      id: 'endOtherSessions',
      method: 'DELETE',
      path: '/:actor/sessions',
      access: 'sessions',
      summary: 'Ends every session except the one of this request',
      responses: {
        200: {
          text: 'The number of ended sessions',
          schema: { type: 'object', required: ['ended'], properties: { ended: { type: 'integer' } } },
        },
        ...actorErrors,
      },
      handler: async (exchange) => json(200, { ended: await sessionActs.endOthers(exchange) }),
    }),
    defineRoute({
      id: 'endSession',
      method: 'DELETE',
      path: '/:actor/sessions/:chain',
      access: 'sessions',
      summary: 'Ends a session immediately',
      responses: { 204: 'Ended', ...actorErrors },
      handler: async (exchange) => {
        await sessionActs.end(exchange, exchange.params.chain)
        return noContent()
      },
    }),
  ]
}

async function list(sessions: Sessions, { actor, caller }: ActorExchange): Promise<HttpResponse> {
  const current = sessionOf(caller)
  const chains = await sessions.list(actor.id)
  return json(
    200,
    chains.map((chain) => shown(chain, chain.chainId === current)),
  )
}

function sessionOf(caller: Caller): string | undefined {
  return caller.kind === 'creator' ? caller.session : undefined
}

function shown(chain: Chain, current: boolean): object {
  return {
    id: chain.chainId,
    device: chain.device,
    began_with: chain.beganWith,
    created_at: new Date(chain.createdAt).toISOString(),
    last_used_at: new Date(chain.lastUsedAt).toISOString(),
    ends_at: new Date(chain.endsAt).toISOString(),
    current,
  }
}
