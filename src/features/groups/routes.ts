/** `/<actor>/members`: the members of a group, for its owner. */
import { optional, plainStringField, stringField } from '../../json/fields.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import { jsonBody } from '../../http/dispatch/request-body.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../http/dispatch/schemas.ts'
import { json, noContent } from '../../http/edge/response.ts'
import { longestNickname } from '../../trust/trust-change.ts'
import { type MemberActs, noMember } from './acts.ts'
import type { Groups } from './groups.ts'
import type { ShownMember } from './member-store.ts'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const memberSchema = {
  type: 'object',
  required: ['id', 'url', 'name', 'role', 'since', 'by'],
  properties: {
    id: text,
    url: { ...text, format: 'uri' },
    name: { ...text, description: 'The name that the group gave the member; empty for none' },
    role: text,
    since: { ...time, description: 'When the member got the role' },
    by: { ...text, description: 'Who gave the role: `application`, `owner`, `invitation` or the id of a manager' },
  },
} as const
const invitationSchema = {
  type: 'object',
  required: ['id', 'role', 'name', 'created_at', 'ends_at', 'url'],
  properties: {
    id: text,
    role: text,
    name: text,
    created_at: time,
    ends_at: time,
    url: { ...text, format: 'uri', description: 'The link, which no later response contains' },
  },
} as const

const roleField = stringField('The role, as the application declares it')

export interface MemberRouteDeps {
  readonly groups: Pick<Groups, 'find' | 'list'>
  readonly memberActs: MemberActs
}

const path = '/:actor/members' as const
const one = '/:actor/members/:member' as const

export function memberRoutes(deps: MemberRouteDeps): readonly Route[] {
  return [listRoute(deps), inviteRoute(deps), ...oneMemberRoutes(deps)]
}

function listRoute(deps: MemberRouteDeps): Route {
  return defineRoute({
    id: 'listMembers',
    method: 'GET',
    path,
    access: 'feature/groups',
    summary: 'Lists the members of a group, by id',
    responses: {
      200: {
        text: 'The members',
        schema: {
          type: 'object',
          required: ['members'],
          properties: { members: { type: 'array', items: memberSchema } },
        },
      },
      ...actorErrors,
    },
    handler: async ({ actor }) => json(200, { members: (await deps.groups.list(actor)).map(shown) }),
  })
}

function inviteRoute(deps: MemberRouteDeps): Route {
  return defineRoute({
    id: 'inviteMember',
    method: 'POST',
    path: `${path}/invitations`,
    access: 'feature/groups',
    freshSignIn: 'all',
    showsSecret: true,
    summary: 'Invites one person, who becomes a member with the role. The link is shown only in this response',
    request: jsonBody('invite a member', {
      role: roleField,
      name: optional(plainStringField('The name that the group gives the member', longestNickname)),
    }),
    responses: { 201: { text: 'The invitation', schema: invitationSchema }, ...errorResponses(409), ...writeErrors },
    handler: async (exchange) => {
      const { role, name: nickname } = await exchange.body()
      const { invitation, url } = await deps.memberActs.invite(exchange, role, { nickname })
      const { invitationId: id, nickname: name, createdAt, endsAt } = invitation
      return json(201, { id, role, name, created_at: isoOf(createdAt), ends_at: isoOf(endsAt), url })
    },
  })
}

function oneMemberRoutes(deps: MemberRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getMember',
      method: 'GET',
      path: one,
      access: 'feature/groups',
      summary: 'One member of a group',
      responses: { 200: { text: 'The member', schema: memberSchema }, ...actorErrors },
      handler: async ({ actor, params }) => {
        const found = await deps.groups.find(actor, params.member)
        if (found === null) throw noMember()
        return json(200, shown(found))
      },
    }),
    defineRoute({
      id: 'setMemberRole',
      method: 'PUT',
      path: one,
      access: 'feature/groups',
      freshSignIn: 'all',
      summary: 'Gives a member another role, or approves a request for membership with the role',
      request: jsonBody('set the role', { role: roleField }),
      responses: { 204: 'The role applies to the next request', ...errorResponses(409), ...writeErrors },
      handler: async (exchange) => {
        const { role } = await exchange.body()
        await deps.memberActs.setRole(exchange, exchange.params.member, role)
        return noContent()
      },
    }),
    defineRoute({
      id: 'removeMember',
      method: 'DELETE',
      path: one,
      access: 'feature/groups',
      summary: 'Ends a membership. The last manager cannot be removed',
      responses: { 204: 'Removed', ...errorResponses(409), ...actorErrors },
      handler: async (exchange) => {
        await deps.memberActs.remove(exchange, exchange.params.member)
        return noContent()
      },
    }),
  ]
}

function shown({ peerId, baseuri, nickname, role, since, givenBy }: ShownMember): object {
  return { id: peerId, url: baseuri, name: nickname, role, since: isoOf(since), by: givenBy }
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
