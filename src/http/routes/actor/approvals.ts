/** `/<actor>/approvals`: calls that need the owner's approval, for an application's own pages and for programs. */
import type { Actor } from '../../../actor/actor.ts'
import { ServiceError } from '../../../errors.ts'
import { flagField, optional, stringField } from '../../../json/fields.ts'
import { type Approval, type Approvals, longestArguments, maxListed } from '../../../operation/approvals.ts'
import type { Operations } from '../../../operation/operations.ts'
import { type HttpResponse, json } from '../../edge/response.ts'
import { type ApprovalWordsDeps, previewFor, wordsFor } from '../../../mcp/approval-words.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const approvalSchema = {
  type: 'object',
  required: [
    'id',
    'state',
    'peerid',
    'client_id',
    'kind',
    'operation',
    'title',
    'description',
    'arguments',
    'created_at',
    'expires_at',
  ],
  properties: {
    id: text,
    state: {
      enum: ['waiting', 'approved', 'denied', 'used'],
      description: '`used`: approved, and the call was made',
    },
    peerid: { ...text, description: 'The relationship of the caller' },
    client_id: { type: ['string', 'null'], description: 'The AI client that calls; null for a peer' },
    kind: { enum: ['methods', 'actions', 'tools', 'prompts', 'resources'] },
    operation: { ...text, description: 'Its name, within the kind' },
    title: text,
    description: text,
    arguments: {
      description: `Exactly what the call runs with, after the schema of the operation converted it: at most ${longestArguments} characters of JSON`,
    },
    preview: {
      ...text,
      description:
        'The effect of the call in the words of the application: in the response for one waiting call, if the application declares a preview that succeeded',
    },
    created_at: time,
    expires_at: { ...time, description: 'Expiry of a pending approval, an unused approval, or a denial' },
  },
} as const

export interface ApprovalRouteDeps extends ApprovalWordsDeps {
  readonly approvals: Approvals
  readonly operations: Pick<Operations, 'preview'>
}

export function approvalRoutes(deps: ApprovalRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listApprovals',
      method: 'GET',
      path: '/:actor/approvals',
      access: 'approvals',
      summary: 'Lists the calls that wait for the owner’s approval, newest first',
      query: { cursor: optional(stringField('`next` of the previous page')) },
      responses: {
        200: {
          text: `A page of up to ${maxListed}; \`next\` is null on the last one`,
          schema: {
            type: 'object',
            required: ['approvals', 'next'],
            properties: { approvals: { type: 'array', items: approvalSchema }, next: { type: ['string', 'null'] } },
          },
        },
        ...errorResponses(400),
        ...actorErrors,
      },
      handler: ({ actor, query }) => list(deps, actor, query.cursor ?? null),
    }),
    defineRoute({
      id: 'getApproval',
      method: 'GET',
      path: '/:actor/approvals/:approval',
      access: 'approvals',
      summary: 'One call that needs the owner’s approval, until it expires',
      responses: { 200: { text: 'The approval', schema: approvalSchema }, ...actorErrors },
      handler: ({ actor, params }) => showOne(deps, { actor, params }),
    }),
    defineRoute({
      id: 'decideApproval',
      method: 'PUT',
      path: '/:actor/approvals/:approval',
      access: 'approvals',
      summary:
        'Approves the call once, denies it, or withdraws an unused approval. The same decision again changes nothing',
      request: jsonBody('decide', {
        approved: flagField('False denies the call, or withdraws an approval that is not used yet'),
      }),
      responses: { 200: { text: 'The approval as it is now', schema: approvalSchema }, ...writeErrors },
      handler: async (exchange) => decide(deps, exchange, (await exchange.body()).approved),
    }),
  ]
}

async function list(deps: ApprovalRouteDeps, actor: Actor, cursor: string | null): Promise<HttpResponse> {
  const { approvals, next } = await deps.approvals.page(actor.id, cursor)
  return json(200, { approvals: approvals.map((approval) => shown(deps, actor, approval)), next })
}

async function showOne(
  deps: ApprovalRouteDeps,
  { actor, params }: Pick<ActorExchange<'approval'>, 'actor' | 'params'>,
): Promise<HttpResponse> {
  const approval = await requireApproval(deps, { actor, params })
  const preview = await previewFor(deps, actor, approval)
  const hasText = preview !== null && preview !== 'failed'
  return json(200, { ...shown(deps, actor, approval), ...(hasText ? { preview: preview.text } : {}) })
}

async function decide(
  deps: ApprovalRouteDeps,
  { actor, params }: ActorExchange<'approval'>,
  approved: boolean,
): Promise<HttpResponse> {
  const decision = approved ? 'approved' : 'denied'
  const { approvalId } = await requireApproval(deps, { actor, params })
  const isDecided = await deps.approvals.decide(actor.id, approvalId, decision)
  const approval = await requireApproval(deps, { actor, params })
  // A client may repeat the decision when it lost the first response. The call may have run meanwhile.
  const isSame = approval.state === decision || (approval.state === 'used' && approved)
  if (!isDecided && !isSame)
    throw new ServiceError(
      'conflict',
      `Cannot decide: this call was ${approval.state === 'used' ? 'made' : approval.state} already`,
    )
  return json(200, shown(deps, actor, approval))
}

async function requireApproval(
  deps: ApprovalRouteDeps,
  { actor, params }: Pick<ActorExchange<'approval'>, 'actor' | 'params'>,
): Promise<Approval> {
  const approval = await deps.approvals.find(actor.id, params.approval)
  if (approval === null)
    throw new ServiceError('not_found', 'Cannot find the approval: it does not exist or has expired')
  return approval
}

function shown(deps: ApprovalRouteDeps, actor: Actor, approval: Approval): object {
  const { title, description } = wordsFor(deps, actor, approval)
  return {
    id: approval.approvalId,
    state: approval.state,
    peerid: approval.peerId,
    client_id: approval.clientId === '' ? null : approval.clientId,
    kind: approval.kind,
    operation: approval.operation,
    title,
    description,
    arguments: approval.arguments,
    created_at: new Date(approval.createdAt).toISOString(),
    expires_at: new Date(approval.expiresAt).toISOString(),
  }
}
