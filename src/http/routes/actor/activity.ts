/** `/<actor>/activity`: the audit log of the actor. */
import type { AuditLog } from '../../../audit-log/audit-log.ts'
import { entryMembers } from '../../../audit-log/entry.ts'
import { activityFilterFields } from '../../../audit-log/filter.ts'
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
    caller_kind: {
      enum: ['owner', 'peer', 'client', 'trustee', 'operator', 'anonymous'],
      description: '`owner`: the owner changed who may reach the actor',
    },
    caller: { ...text, description: 'The peer or client; `owner`; for an anonymous caller the IP address, if known' },
    caller_name: {
      ...text,
      description: 'The name of the peer or client at that time, which it chose itself; may be empty',
    },
    through: {
      enum: ['http', 'callback', 'mcp', 'push'],
      description: '`push`: the service sent the values to a subscriber',
    },
    method: text,
    path: text,
    decision: {
      enum: ['allowed', 'asked', 'approved', 'denied', 'refused'],
      description:
        '`asked`: the call waits for approval and did not run; `approved`, `denied`: the owner’s decision on such a call or on a request to connect',
    },
    reason: text,
    status: { type: 'integer', description: 'HTTP status; 0 if the answer of a subscriber is unknown' },
    request_id: text,
    device: { ...text, description: 'The device of the owner; otherwise empty' },
    times: { type: 'integer', description: 'The number of identical entries within a minute' },
  },
}

const pageQuery = {
  ...activityFilterFields,
  limit: optional(integerField('Maximum number of entries', { least: 1, most: 1000 }), 100),
  cursor: optional(stringField('`next` of the previous page')),
}

export interface ActivityRouteDeps {
  readonly auditLog: AuditLog
}

export function activityRoutes({ auditLog }: ActivityRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listActivity',
      method: 'GET',
      path: '/:actor/activity',
      access: 'activity',
      summary: 'Lists the accesses to the actor, newest first',
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
      handler: (exchange) => list(auditLog, exchange),
    }),
  ]
}

async function list(
  auditLog: AuditLog,
  { actor, query }: ActorExchange<never, ValuesOf<typeof pageQuery>>,
): Promise<HttpResponse> {
  const { entries, next } = await auditLog.page(actor.id, query)
  return json(200, { activity: entries.map(entryMembers), next })
}
