/** `/<actor>/move`: the owner moves the actor to another service. */
import { plainStringField } from '../../../json/fields.ts'
import { peerStates } from '../../../moving/peer-states.ts'
import type { MoveActs } from '../../../moving/acts.ts'
import type { ArrivalClaims, ShownArrival } from '../../../moving/claims.ts'
import type { Departures, ShownDeparture } from '../../../moving/departures.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { FreshSignInDeps } from '../../dispatch/fresh-sign-in.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { json, noContent } from '../../edge/response.ts'

export interface OwnerMoveRouteDeps extends FreshSignInDeps {
  readonly departures: Pick<Departures, 'find'>
  readonly arrivalClaims: Pick<ArrivalClaims, 'find'>
  readonly moveActs: MoveActs
}

const path = '/:actor/move' as const
const time = { type: 'string', format: 'date-time' } as const

const moveSchema = {
  type: 'object',
  required: ['leaving', 'arrived'],
  properties: {
    leaving: {
      type: ['object', 'null'],
      required: ['to', 'state', 'begun_at'],
      properties: {
        to: { type: 'string', description: 'The address at the other service' },
        state: { enum: ['moving', 'failed', 'moved'] },
        reason: { type: 'string', description: 'Why it failed' },
        begun_at: time,
        claim_url: {
          type: 'string',
          description: 'Where the owner takes the actor at the other service. An old session does not read it',
        },
      },
    },
    arrived: {
      type: ['object', 'null'],
      required: ['from', 'at', 'peers', 'first'],
      properties: {
        from: { type: 'string', description: 'The address at the old service' },
        at: time,
        peers: {
          type: 'object',
          additionalProperties: { type: 'integer' },
          description: 'Peers by state: `waiting`, `informed`, `asked`, `kept`, `failed`',
        },
        first: {
          type: 'array',
          maxItems: 200,
          items: {
            type: 'object',
            required: ['peerid', 'baseuri', 'state', 'updated_at'],
            properties: {
              peerid: { type: 'string' },
              baseuri: { type: 'string' },
              state: { enum: peerStates },
              reason: { type: 'string' },
              updated_at: time,
            },
          },
        },
      },
    },
  },
} as const

export function ownerMoveRoutes(deps: OwnerMoveRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getOwnMove',
      method: 'GET',
      path,
      access: 'archive',
      servesMoving: true,
      summary: 'The move of the actor: to another service, and from the one where it was before',
      responses: { 200: { text: 'The moves', schema: moveSchema }, ...actorErrors },
      handler: async ({ actor, caller }) => json(200, await shown(deps, actor.id, deps.freshSignIn.isFresh(caller))),
    }),
    beginRoute(deps),
    defineRoute({
      id: 'stopMove',
      method: 'DELETE',
      path,
      access: 'archive',
      servesMoving: true,
      summary: 'Stops the move. The actor stays',
      responses: { 204: 'Stopped', ...actorErrors },
      handler: async (exchange) => {
        await deps.moveActs.stop(exchange)
        return noContent()
      },
    }),
    defineRoute({
      id: 'retryMovedPeers',
      method: 'POST',
      path: `${path}/peers`,
      access: 'archive',
      summary: 'Notifies the peers again that did not take the move',
      responses: { 202: 'Tried again', ...writeErrors },
      handler: async (exchange) => json(202, { peers: await deps.moveActs.retryPeers(exchange) }),
    }),
  ]
}

function beginRoute(deps: OwnerMoveRouteDeps): Route {
  return defineRoute({
    id: 'beginMove',
    method: 'POST',
    path,
    access: 'archive',
    freshSignIn: 'all',
    showsSecret: true,
    summary: 'Moves the actor to another service, in the background. Until its end, other requests are 503',
    request: jsonBody('move the actor', { to: plainStringField('URL of the other service') }),
    responses: { 202: { text: 'The move has begun', schema: moveSchema }, ...writeErrors, ...errorResponses(401, 408) },
    handler: async (exchange) => {
      const { to } = await exchange.body()
      await deps.moveActs.begin(exchange, to)
      return json(202, await shown(deps, exchange.actor.id, true))
    },
  })
}

/** @param isFresh Whether the owner signed in recently. The link takes the actor for good, so an old session must not read it. */
async function shown(
  { departures, arrivalClaims }: OwnerMoveRouteDeps,
  actorId: string,
  isFresh: boolean,
): Promise<object> {
  const [leaving, arrived] = await Promise.all([departures.find(actorId), arrivalClaims.find(actorId)])
  return {
    leaving: leaving === null ? null : leavingOf(leaving, isFresh),
    arrived: arrived === null ? null : arrivedOf(arrived),
  }
}

function leavingOf({ url, state, reason, begunAt, claimUrl }: ShownDeparture, isFresh: boolean): object {
  return {
    to: url,
    state,
    ...(reason === '' ? {} : { reason }),
    begun_at: new Date(begunAt).toISOString(),
    ...(isFresh ? { claim_url: claimUrl } : {}),
  }
}

function arrivedOf({ originUrl, hereAt, counts, peers }: ShownArrival): object {
  return {
    from: originUrl,
    at: new Date(hereAt).toISOString(),
    peers: counts,
    first: peers.map(({ peerId, baseuri, state, reason, updatedAt }) => ({
      peerid: peerId,
      baseuri,
      state,
      ...(reason === '' ? {} : { reason }),
      updated_at: new Date(updatedAt).toISOString(),
    })),
  }
}
