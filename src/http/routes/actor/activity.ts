/** `/<actor>/activity`: who touched the actor. */
import type { AuditLog } from '../../../audit-log/audit-log.ts'
import type { AuditLogEntry } from '../../../audit-log/entry.ts'
import { ServiceError } from '../../../errors.ts'
import { type Answer, json } from '../../edge/response.ts'
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

export interface ActivityRouteDeps {
  readonly ledger: AuditLog
}

export function activityRoutes({ ledger }: ActivityRouteDeps): readonly Route[] {
  return [
    {
      id: 'listActivity',
      method: 'GET',
      path: '/:actor/activity',
      access: 'activity',
      summary: 'Who did what with the actor, the newest first',
      query: {
        caller: 'Only what this peer, client or address did',
        limit: 'From 1 to 1000; 100 unless given',
        cursor: '`next` of the page before',
      },
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
    },
  ]
}

async function list(ledger: AuditLog, { actor, query }: ActorExchange): Promise<Answer> {
  const limit = query.get('limit') ?? '100'
  if (!/^\d{1,4}$/.test(limit))
    throw new ServiceError('bad_request', 'Cannot list the activity: limit must be from 1 to 1000')
  const { entries, next } = await ledger.page(actor.id, {
    caller: query.get('caller') ?? null,
    cursor: query.get('cursor') ?? null,
    limit: Number(limit),
  })
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
