/** The messages between two services during a move, and the statement to peers (docs/spec/moving.md). */
import { ServiceError } from '../../../errors.ts'
import { objectSchema, parsedField, plainStringField, readObject, stringField } from '../../../json/fields.ts'
import { stringValue } from '../../../json/json.ts'
import type { Announcement, Arrivals } from '../../../moving/arrivals.ts'
import type { Departures } from '../../../moving/departures.ts'
import type { MovedPeers } from '../../../moving/moved-peers.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody, parsedBody, type RequestBody } from '../../dispatch/request-body.ts'
import type { Route } from '../../dispatch/route.ts'
import { errorResponses } from '../../dispatch/schemas.ts'
import type { HttpRequest } from '../../edge/request.ts'
import { json, noContent } from '../../edge/response.ts'

export interface MoveRouteDeps {
  readonly departures: Pick<Departures, 'published'>
  readonly arrivals: Pick<Arrivals, 'announce' | 'take' | 'activate' | 'cancel'>
  readonly movedPeers: Pick<MovedPeers, 'take'>
}

const address = parsedField({ type: 'string', description: 'The old address' }, 'the address of an actor', (value) => {
  const text = stringValue(value) ?? ''
  return /^https?:\/\/[!-~]{1,2000}$/.test(text) && URL.parse(text) !== null ? text : undefined
})

const announcementFields = {
  actor: plainStringField('Id of the actor', 128),
  from: address,
  token: stringField('Authenticates the old service from here on', { minLength: 32, maxLength: 200 }),
  claim_hash: stringField('SHA-256 in base64url of the code by which the owner takes the actor', {
    minLength: 43,
    maxLength: 43,
  }),
}

const announcement = parsedBody(objectSchema(announcementFields), (body): Announcement => {
  const { actor, claim_hash: claimHash, ...rest } = readObject('take this move', announcementFields, body)
  return { actorId: actor, claimHash, ...rest }
})

const announcedSchema = {
  type: 'object',
  required: ['key'],
  properties: { key: { type: 'object', description: 'A JSON Web Key (RFC 8037)' } },
} as const

const activatedSchema = {
  type: 'object',
  required: ['taken'],
  properties: { taken: { type: 'boolean', description: 'Whether the owner has taken the actor' } },
} as const

const statement = jsonBody('take this statement', {
  statement: stringField('A JSON Web Signature by the key of the new home', { minLength: 1, maxLength: 8192 }),
})

/** The handler reads the body as a stream. */
const archive: RequestBody<undefined> = {
  content: { 'application/x-ndjson': { type: 'string', format: 'binary' } },
  isStream: true,
  read: async () => undefined,
}

const ofArrival = '/moves/:actor' as const

export function moveRoutes(deps: MoveRouteDeps): readonly Route[] {
  const { departures, movedPeers } = deps
  return [
    ...arrivalRoutes(deps),
    defineRoute({
      id: 'getMove',
      method: 'GET',
      path: '/:actor/meta/moving',
      access: 'service',
      summary:
        'The moves of the actor: its key at this address, whence it came, where it goes, and the signed notice afterwards',
      responses: { 200: { text: 'The move', schema: { type: 'object' } }, ...errorResponses(404) },
      handler: async ({ params }) => {
        const found = await departures.published(params.actor)
        if (found === null) throw new ServiceError('not_found', 'This actor has not moved')
        return json(200, found)
      },
    }),
    defineRoute({
      id: 'postMovedCallback',
      method: 'POST',
      path: '/:actor/callbacks/moved/:peerid',
      access: 'public',
      limit: ['move/pair', 'move/source', 'move/target', 'move/total'],
      summary: 'A peer that moved to another service states its new address and a new secret',
      request: statement,
      responses: { 204: 'Taken, or known already', ...errorResponses(400, 403, 404, 413, 415, 429, 503) },
      handler: async ({ actor, params, body }) => {
        await movedPeers.take(actor, params.peerid, (await body()).statement)
        return noContent()
      },
    }),
  ]
}

/** The old service authenticates by the token that it announced. */
function arrivalRoutes({ arrivals }: MoveRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'announceMove',
      method: 'POST',
      path: '/moves',
      access: 'service',
      // No cookie is the credential.
      takesForeignPosts: true,
      limit: ['move/source', 'move/total'],
      summary: 'Another service announces an actor that moves here',
      request: announcement,
      responses: {
        201: { text: 'Expected, with the public key of the new home', schema: announcedSchema },
        ...errorResponses(400, 403, 408, 409, 413, 415, 429, 503),
      },
      handler: async ({ body }) => json(201, { key: JSON.parse(await arrivals.announce(await body())) as object }),
    }),
    defineRoute({
      id: 'sendMovedArchive',
      method: 'PUT',
      path: ofArrival,
      access: 'service',
      takesForeignPosts: true,
      summary: 'The other service sends the archive of the actor',
      request: archive,
      responses: { 200: 'The archive is complete', ...errorResponses(400, 401, 403, 404, 409, 413, 429, 503, 507) },
      handler: async ({ params, request, source }) => {
        await arrivals.take(params.actor, { token: tokenOf(request), source: source() }, request.stream())
        return json(200, {})
      },
    }),
    defineRoute({
      id: 'activateMove',
      method: 'POST',
      path: `${ofArrival}/activation`,
      access: 'service',
      takesForeignPosts: true,
      summary: 'The other service has published its notice: the actor is here from now on',
      responses: { 200: { text: 'It is here', schema: activatedSchema }, ...errorResponses(401, 403, 404, 409, 503) },
      handler: async ({ params, request }) =>
        json(200, { taken: await arrivals.activate(params.actor, tokenOf(request)) }),
    }),
    defineRoute({
      id: 'cancelMove',
      method: 'DELETE',
      path: ofArrival,
      access: 'service',
      takesForeignPosts: true,
      summary: 'The other service has stopped the move',
      responses: { 204: 'The actor does not come', ...errorResponses(401, 403, 404, 409, 503) },
      handler: async ({ params, request }) => {
        await arrivals.cancel(params.actor, tokenOf(request))
        return noContent()
      },
    }),
  ]
}

/** Null without a bearer token. */
function tokenOf(request: HttpRequest): string | null {
  return /^Bearer ([!-~]+)$/i.exec(request.header('authorization') ?? '')?.[1] ?? null
}
