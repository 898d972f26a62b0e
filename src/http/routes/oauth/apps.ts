/** `/<actor>/apps`: the programs that act for the owner. */
import type { AppActs } from '../../../authorization-server/apps/app-acts.ts'
import {
  type ConnectedAppDeps,
  type ConnectedAppFacts,
  connectedApps,
  redirectPlace,
} from '../../../authorization-server/apps/connected-apps.ts'
import { claimedNameOf } from '../../../trust/names/own-name.ts'
import { isApprovedAt } from '../../../trust/trust.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { Route } from '../../dispatch/route.ts'
import { actorErrors } from '../../dispatch/schemas.ts'
import { json, noContent } from '../../edge/response.ts'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const end = { type: ['string', 'null'], format: 'date-time' }
const schema = {
  type: 'object',
  required: ['apps'],
  properties: {
    apps: {
      type: 'array',
      items: {
        type: 'object',
        required: [
          'id',
          'name',
          'claimed_name',
          'client_id',
          'redirect_place',
          'relationship',
          'approved',
          'approved_until',
          'ends_at',
          'has_access',
          'connected_at',
          'last_used_at',
        ],
        properties: {
          id: { ...text, description: 'Its relationship: the peer id in `/<actor>/trust/<relationship>/<id>`' },
          name: {
            ...text,
            description: 'The name to which the owner consented; may be empty. Show it next to `redirect_place`',
          },
          claimed_name: {
            ...text,
            description: 'The name that the app claims now, if it is another one; otherwise empty',
          },
          client_id: text,
          redirect_place: { ...text, description: 'Host, or scheme, to which a sign-in returns; empty if unknown' },
          relationship: { ...text, description: 'The trust type, which decides its rights' },
          approved: { type: 'boolean' },
          approved_until: end,
          ends_at: { ...end, description: 'The end that the application of the service set for this client' },
          has_access: { type: 'boolean', description: 'False: the app has no valid token and must ask again' },
          connected_at: time,
          last_used_at: { ...time, description: 'To the minute' },
        },
      },
    },
  },
} as const

export interface AppRouteDeps extends ConnectedAppDeps {
  readonly appActs: AppActs
  /** Unix milliseconds. */
  readonly now: () => number
}

export function appRoutes(deps: AppRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listApps',
      method: 'GET',
      path: '/:actor/apps',
      access: 'sessions',
      summary: 'Lists the programs that act for the owner, such as AI clients; at most 200',
      responses: { 200: { text: 'The connected apps', schema }, ...actorErrors },
      handler: async ({ actor }) => {
        const apps = await connectedApps(deps, actor.id)
        return json(200, { apps: apps.map((app) => shown(app, deps.now())) })
      },
    }),
    defineRoute({
      id: 'disconnectApp',
      method: 'DELETE',
      path: '/:actor/apps/:app',
      access: 'sessions',
      summary: 'Disconnects a program: its tokens and its relationship end at once',
      responses: { 204: 'Disconnected', ...actorErrors },
      handler: async (exchange) => {
        await deps.appActs.disconnect(exchange, exchange.params.app)
        return noContent()
      },
    }),
  ]
}

function shown({ trust, client, lastUsedAt, hasAccess }: ConnectedAppFacts, now: number): object {
  return {
    id: trust.peerId,
    name: trust.facts.client_name ?? '',
    claimed_name: claimedNameOf(trust),
    client_id: trust.facts.oauth_client_id ?? '',
    redirect_place: redirectPlace({ trust, client }),
    relationship: trust.relationship,
    approved: isApprovedAt(trust, now),
    approved_until: timeOf(trust.approvedUntil),
    ends_at: timeOf(client?.until ?? null),
    has_access: hasAccess,
    connected_at: timeOf(trust.createdAt),
    last_used_at: timeOf(lastUsedAt),
  }
}

function timeOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}
