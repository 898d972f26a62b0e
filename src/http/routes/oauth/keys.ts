/** `/<actor>/keys`: the API keys of the actor, for its owner. */
import { type KeyActs, unknownKey } from '../../../authorization-server/key-acts.ts'
import type { Key, Keys } from '../../../authorization-server/keys.ts'
import { jsonField, optional, parsedField, stringField } from '../../../json/fields.ts'
import { isNull, stringValue, toPlain } from '../../../json/json.ts'
import type { NewGrant } from '../../../permission/grants.ts'
import { operationsOf, ruledCategories } from '../../../permission/rules.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { type BaseUrl, urlOf } from '../../dispatch/urls.ts'
import { type HttpResponse, json, noContent } from '../../edge/response.ts'

const text = { type: 'string' }
const time = { type: ['string', 'null'], format: 'date-time' }
const keyProperties = {
  id: { ...text, description: 'Also the peer id of the relationship of the key' },
  name: text,
  grants: {
    type: 'array',
    items: {
      type: 'object',
      required: ['category', 'pattern', 'operations', 'until'],
      properties: {
        category: { enum: ruledCategories },
        pattern: text,
        operations: { type: 'array', items: text },
        until: { ...time, description: 'End of the grant; null when it ends with the key' },
      },
    },
  },
  approved: { type: 'boolean', description: 'False after the owner took the approval back: the key may do nothing' },
  created_at: { type: 'string', format: 'date-time' },
  last_used_at: { ...time, description: 'To the minute; null when the key was never used' },
  until: { ...time, description: 'End of the key; null without an end' },
}
const keySchema = { type: 'object', required: Object.keys(keyProperties), properties: keyProperties } as const
const newKeySchema = {
  type: 'object',
  required: ['id', 'key'],
  properties: { id: text, key: { ...text, description: 'The key, which no later response contains' } },
} as const

const grantsSchema = {
  type: 'object',
  properties: Object.fromEntries(
    ruledCategories.map((category) => [
      category,
      {
        type: 'object',
        required: ['patterns', 'operations'],
        properties: {
          patterns: { type: 'array', items: text },
          operations: { type: 'array', items: { enum: operationsOf[category] } },
        },
      },
    ]),
  ),
}

const nameField = stringField('Shown to the owner')

/** A time, or null for no end. */
const endField = parsedField<{ readonly at: Date | null }>(
  { ...time, description: 'End of the key; null: no end' },
  'a time such as 2030-01-31T12:00:00Z, or null',
  (value) => {
    if (isNull(value)) return { at: null }
    const at = new Date(stringValue(value) ?? Number.NaN)
    return Number.isNaN(at.getTime()) ? undefined : { at }
  },
)

export interface KeyRouteDeps extends BaseUrl {
  readonly keys: Keys
  readonly keyActs: KeyActs
}

export function keyRoutes(deps: KeyRouteDeps): readonly Route[] {
  return [...allKeysRoutes(deps), ...oneKeyRoutes(deps)]
}

function allKeysRoutes(deps: KeyRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listKeys',
      method: 'GET',
      path: '/:actor/keys',
      access: 'keys',
      summary: 'Lists the API keys, newest first',
      responses: { 200: { text: 'The keys', schema: { type: 'array', items: keySchema } }, ...actorErrors },
      handler: async ({ actor }) => json(200, (await deps.keys.list(actor.id)).map(shown)),
    }),
    defineRoute({
      id: 'createKey',
      method: 'POST',
      path: '/:actor/keys',
      access: 'keys',
      freshSignIn: 'all',
      showsSecret: true,
      summary: 'Creates an API key, which is shown only in this response',
      request: jsonBody('create a key', {
        name: nameField,
        grants: jsonField('What the key may do', grantsSchema),
        until: optional(endField),
      }),
      responses: { 201: { text: 'The key', schema: newKeySchema }, ...errorResponses(409), ...writeErrors },
      handler: async (exchange) => create(deps, exchange, await exchange.body()),
    }),
  ]
}

function oneKeyRoutes(deps: KeyRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getKey',
      method: 'GET',
      path: '/:actor/keys/:key',
      access: 'keys',
      summary: 'One API key, without its secret',
      responses: { 200: { text: 'The key', schema: keySchema }, ...actorErrors },
      handler: async ({ actor, params }) => {
        const key = await deps.keys.find(actor.id, params.key)
        if (key === null) throw unknownKey()
        return json(200, shown(key))
      },
    }),
    defineRoute({
      id: 'putKey',
      method: 'PUT',
      path: '/:actor/keys/:key',
      access: 'keys',
      freshSignIn: 'all',
      summary: 'Renames an API key, or moves its end. Absent members stay',
      request: jsonBody('change the key', { name: optional(nameField), until: optional(endField) }),
      responses: { 204: 'Changed', ...errorResponses(409), ...writeErrors },
      handler: async (exchange) => {
        const { name, until } = await exchange.body()
        await deps.keyActs.change(exchange, exchange.params.key, { name, until: until?.at })
        return noContent()
      },
    }),
    defineRoute({
      id: 'deleteKey',
      method: 'DELETE',
      path: '/:actor/keys/:key',
      access: 'keys',
      summary: 'Revokes an API key immediately',
      responses: { 204: 'Revoked', ...actorErrors },
      handler: async (exchange) => {
        await deps.keyActs.revoke(exchange, exchange.params.key)
        return noContent()
      },
    }),
  ]
}

async function create(
  deps: KeyRouteDeps,
  exchange: ActorExchange,
  {
    name,
    grants,
    until,
  }: { name: string; grants: Parameters<typeof toPlain>[0]; until: { at: Date | null } | undefined },
): Promise<HttpResponse> {
  const end = until?.at ?? null
  // `readNewGrant` checks each member of the grants.
  const wanted = { name, grants: toPlain(grants) as Omit<NewGrant, 'until'>, ...(end === null ? {} : { until: end }) }
  const { id, key } = await deps.keyActs.create(exchange, wanted)
  return json(
    201,
    { id, key },
    { 'Cache-Control': 'no-store', Location: `${urlOf(deps, exchange.actor.id)}/keys/${id}` },
  )
}

function shown({ createdAt, lastUsedAt, until, id, name, approved, grants }: Key): object {
  return {
    id,
    name,
    grants: grants.map((grant) => ({ ...grant, until: grant.until?.toISOString() ?? null })),
    approved,
    created_at: new Date(createdAt).toISOString(),
    last_used_at: timeOf(lastUsedAt),
    until: timeOf(until),
  }
}

function timeOf(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString()
}
