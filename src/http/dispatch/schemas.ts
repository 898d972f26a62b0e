/** JSON Schemas that several routes publish. */
import { catalogue } from '../../errors.ts'
import type { Documentation } from './route.ts'

export const actorSchema = {
  type: 'object',
  required: ['id', 'creator'],
  properties: {
    id: { type: 'string' },
    creator: { type: 'string' },
    passphrase: {
      type: 'string',
      description: 'Shown to the owner only, and to a session only after a recent sign-in',
    },
    trustee_root: { type: 'string' },
  },
} as const
export const createdActorSchema = { ...actorSchema, required: ['id', 'creator', 'passphrase'] } as const

export const trustSchema = {
  type: 'object',
  required: ['id', 'peerid', 'baseuri', 'type', 'relationship', 'desc', 'approved', 'peer_approved', 'verified'],
  properties: {
    id: { type: 'string' },
    peerid: { type: 'string' },
    baseuri: { type: 'string' },
    type: { type: 'string' },
    relationship: { type: 'string' },
    secret: { type: 'string', description: 'Shown to the creator only, and to a session only after a recent sign-in' },
    desc: { type: 'string' },
    approved: { type: 'boolean', description: 'By the owner of this actor' },
    client_until: {
      type: 'string',
      format: 'date-time',
      description: 'End of the access of an OAuth client, for its owner. Absent without an end',
    },
    approved_until: {
      type: 'string',
      format: 'date-time',
      description: 'The end of the approval. Absent without an end',
    },
    peer_approved: { type: 'boolean', description: 'By the owner of the peer, as last reported' },
    verified: { type: 'boolean' },
    verification_token: { type: 'string', description: 'Shown to the creator and to the peer' },
    established_via: { type: 'string' },
    created_at: { type: 'string', format: 'date-time' },
    last_accessed: { type: 'string', format: 'date-time' },
    last_connected_at: { type: 'string', format: 'date-time' },
    last_connected_via: { type: 'string' },
  },
} as const

const errorSchema = {
  type: 'object',
  required: ['error', 'message'],
  properties: {
    error: { type: 'string', enum: Object.keys(catalogue) },
    message: { type: 'string', description: 'The failed operation and the cause' },
  },
} as const

/** The refusal of a call that needs the owner's approval. */
export const approvalRequiredSchema = {
  ...errorSchema,
  properties: {
    ...errorSchema.properties,
    approval_id: { type: 'string' },
    approval_url: { type: 'string', description: 'Where the owner decides' },
    expires_at: { type: 'string', format: 'date-time' },
  },
} as const

export const anyValue = {} as const

const texts: Readonly<Record<number, string>> = {
  400: 'The request is not valid, or the application rejected it; nothing was changed',
  401: 'Credentials are missing or malformed',
  403: 'The credentials do not grant this operation',
  404: 'The actor or the resource does not exist',
  408: 'The peer did not return a valid response',
  409: 'The change conflicts with the stored state',
  412: 'The stored version does not meet If-Match or If-None-Match; nothing was changed',
  413: 'The body is too large',
  415: 'The content type is not supported',
  503: 'Storage cannot be used right now',
  507: 'The actor has no room for the change (a quota), or the storage for files is full',
}

export function errorResponses(...statuses: readonly number[]): Documentation['responses'] {
  return Object.fromEntries(
    statuses.map((status) => [status, { text: texts[status] ?? 'Refused', schema: errorSchema }]),
  )
}

/** The error body of the endpoints for single-page applications. */
const spaErrorSchema = {
  type: 'object',
  required: ['error', 'status_code', 'message'],
  properties: { error: { const: true }, status_code: { type: 'integer' }, message: { type: 'string' } },
} as const

export function spaErrors(...statuses: readonly number[]): Documentation['responses'] {
  return Object.fromEntries(
    statuses.map((status) => [status, { text: texts[status] ?? 'Refused', schema: spaErrorSchema }]),
  )
}

export const tokenSchema = {
  type: 'object',
  required: ['success', 'actor_id', 'expires_in', 'expires_at'],
  properties: {
    success: { const: true },
    actor_id: { type: 'string' },
    email: { type: 'string', description: 'Who signed in' },
    access_token: { type: 'string', description: 'Absent with the delivery `cookie`' },
    token_type: { const: 'Bearer' },
    expires_in: { type: 'integer', description: 'Lifetime of the access token, in seconds' },
    expires_at: { type: 'integer', description: 'Expiry of the access token, in Unix seconds' },
    refresh_token: { type: 'string', description: 'Only with the delivery `json`. Valid for one use' },
    refresh_token_expires_in: { type: 'integer', description: 'In seconds' },
    token_delivery: { type: 'string', enum: ['cookie', 'hybrid'] },
  },
} as const

/** The responses of an owner page. */
export const pageResponses = {
  200: { text: 'The page', type: 'text/html' },
  302: 'Redirect to sign-in, for a browser without a session',
  ...errorResponses(401, 403, 404),
} as const satisfies Documentation['responses']

/** The responses of a form on an owner page. */
export const formResponses = {
  302: 'Done: redirect to the next page, or to sign-in without a session',
  ...errorResponses(400, 401, 403, 404, 409, 413, 415, 503, 507),
} as const satisfies Documentation['responses']

/** The errors of every route below an actor. */
export const actorErrors = errorResponses(401, 403, 404)
export const writeErrors = errorResponses(400, 401, 403, 404, 409, 413, 415, 503, 507)

const entityTag = { type: 'string', examples: ['"Qk2Xw9dV0mT1rYb3Lz8nAA"'] } as const

/** The documentation that a route with entity tags adds. */
export const conditional: Readonly<
  Record<
    'read' | 'write',
    {
      /** Request headers, with their descriptions. */
      readonly headers: Readonly<Record<string, string>>
      readonly responses: Documentation['responses']
    }
  >
> = {
  read: {
    headers: { 'If-None-Match': 'Entity tags that the client has. 304 when the current one is among them' },
    responses: { 304: 'The client has the current version' },
  },
  write: {
    headers: {
      'If-Match': 'Entity tags of which the current one must be one. `*`: the target must exist',
      'If-None-Match': 'Entity tags that the current one must not be. `*`: the target must not exist',
    },
    responses: errorResponses(412),
  },
}

/** The header of a response with an entity tag. */
export const entityTagHeader = {
  ETag: { description: 'The version of the content', schema: entityTag },
} as const
