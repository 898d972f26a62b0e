/** `/<actor>/invitations`: links by which the owner approves relationships in advance. */
import { optional, parsedField, stringField } from '../../../json/fields.ts'
import { stringValue } from '../../../json/json.ts'
import type { InvitationActs } from '../acts.ts'
import type { Invitation } from '../invitation-store.ts'
import { type Invitations, longestDays } from '../invitations.ts'
import { longestNickname } from '../../../trust/trust-change.ts'
import { defineRoute } from '../../../http/dispatch/define-route.ts'
import { jsonBody } from '../../../http/dispatch/request-body.ts'
import type { Route } from '../../../http/dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../../http/dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../../http/dispatch/urls.ts'
import { json, noContent } from '../../../http/edge/response.ts'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const invitationProperties = {
  id: text,
  relationship: { ...text, description: 'The trust type that the invited person gets' },
  nickname: { ...text, description: 'The nickname that the connection will have; empty for none' },
  created_at: time,
  ends_at: time,
}
const invitationSchema = {
  type: 'object',
  required: Object.keys(invitationProperties),
  properties: invitationProperties,
} as const
const newInvitationSchema = {
  type: 'object',
  required: [...Object.keys(invitationProperties), 'url'],
  properties: {
    ...invitationProperties,
    url: { ...text, format: 'uri', description: 'The link, which no later response contains' },
  },
} as const
const wishFields = {
  relationship: optional(stringField('The trust type; the configured default when absent')),
  nickname: optional(stringField(`The nickname of the connection, of at most ${longestNickname} characters`)),
  ends_at: optional(
    parsedField(
      { ...time, description: `The end, at most ${longestDays} days away; in seven days when absent` },
      'a time in ISO 8601',
      (value) => {
        const at = Date.parse(stringValue(value) ?? '')
        return Number.isNaN(at) ? undefined : at
      },
    ),
  ),
}

export interface InvitationRouteDeps {
  readonly invitations: Invitations
  readonly invitationActs: InvitationActs
}

export function invitationRoutes(facts: BaseUrl, deps: () => InvitationRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listInvitations',
      method: 'GET',
      path: '/:actor/invitations',
      access: 'feature/invitations',
      summary: 'Lists the open invitations, newest first',
      responses: {
        200: { text: 'The invitations', schema: { type: 'array', items: invitationSchema } },
        ...actorErrors,
      },
      handler: async ({ actor }) => json(200, (await deps().invitations.list(actor.id)).map(shown)),
    }),
    defineRoute({
      id: 'createInvitation',
      method: 'POST',
      path: '/:actor/invitations',
      access: 'feature/invitations',
      freshSignIn: 'all',
      showsSecret: true,
      summary: 'Creates an invitation that one person can use. Its link is shown only in this response',
      request: jsonBody('invite', wishFields),
      responses: {
        201: { text: 'The invitation', schema: newInvitationSchema },
        ...errorResponses(409),
        ...writeErrors,
      },
      handler: async (exchange) => {
        const { relationship, nickname, ends_at: endsAt } = await exchange.body()
        const { id } = exchange.actor
        const { invitation, url } = await deps().invitationActs.create(exchange, { relationship, nickname, endsAt })
        return json(
          201,
          { ...shown(invitation), url },
          { 'Cache-Control': 'no-store', Location: `${urlOf(facts, id)}/invitations/${invitation.invitationId}` },
        )
      },
    }),
    defineRoute({
      id: 'deleteInvitation',
      method: 'DELETE',
      path: '/:actor/invitations/:invitation',
      access: 'feature/invitations',
      summary: 'Revokes an invitation',
      responses: { 204: 'Revoked', ...actorErrors },
      handler: async (exchange) => {
        await deps().invitationActs.revoke(exchange, exchange.params.invitation)
        return noContent()
      },
    }),
  ]
}

function shown({ invitationId, relationship, nickname, createdAt, endsAt }: Invitation): object {
  return {
    id: invitationId,
    relationship,
    nickname,
    created_at: new Date(createdAt).toISOString(),
    ends_at: new Date(endsAt).toISOString(),
  }
}
