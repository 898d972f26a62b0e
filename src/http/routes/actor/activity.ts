/** `/<actor>/activity`: who touched the actor. */
import type { AuditLog } from '../../../audit-log/audit-log.ts'
import type { AuditLogEntry } from '../../../audit-log/entry.ts'
import { integerField, optional, stringField, type ValuesOf } from '../../../json/fields.ts'
import { type HttpResponse, json } from '../../edge/response.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses } from '../../dispatch/schemas.ts'

const text = { type: 'string' }
const entrySchema = {
  type: 'object',
  properties: {
    at: { type: 'string', format: 'date-time', description: 'The first time' },
    caller_kind: { enum: ['peer', 'client', 'trustee', 'anonymous'] },
    caller: { ...text, description: 'The peer or client; of somebody unknown the address, as far as it is known' },
    through: { enum: ['http', 'callback', 'mcp'] },
    method: text,
    path: text,
    decision: {
      enum: ['allowed', 'asked', 'approved', 'denied', 'refused'],
      description:
        '`asked`: the call waits for the owner’s approval and did not run; `approved`, `denied`: the owner decided about such a call',
    },
    reason: text,
    status: { type: 'integer' },
    request_id: text,
    times: { type: 'integer', description: 'How often the same happened within a minute' },
  },
}

const pageQuery = {
  caller: optional(stringField('Only what this peer, client or address did')),
  limit: optional(integerField('How many entries at most', { least: 1, most: 1000 }), 100),
  cursor: optional(stringField('`next` of the page before')),
}

export interface ActivityRouteDeps {
  readonly ledger: AuditLog
}

export function activityRoutes({ ledger }: ActivityRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listActivity',
      method: 'GET',
      path: '/:actor/activity',
      access: 'activity',
      summary: 'Who did what with the actor, the newest first',
      query: pageQuery,
      responses: {
        200: {
          text: 'A page of entries; `next` is null on the last one',
          schema: {
            type: 'object',
            properties: { activity: { type: 'array', items: entrySchema }, next: { type: ['string', 'null'] } },
          },
        },
        ...errorResponses(400),
        ...actorErrors,
      },
      handler: (exchange) => list(ledger, exchange),
    }),
  ]
}

async function list(
  ledger: AuditLog,
  { actor, query }: ActorExchange<never, ValuesOf<typeof pageQuery>>,
): Promise<HttpResponse> {
  const { caller = null, cursor = null, limit } = query
  const { entries, next } = await ledger.page(actor.id, { caller, cursor, limit })
  return json(200, { activity: entries.map(shown), next })
}

function shown(entry: AuditLogEntry): object {
  return {
    at: new Date(entry.at).toISOString(),
    caller_kind: entry.callerKind,
    caller: entry.caller,
    through: entry.through,
    method: entry.method,
    path: entry.path,
    decision: entry.decision,
    reason: entry.reason,
    status: entry.status,
    request_id: entry.requestId,
    times: entry.times,
  }
}
