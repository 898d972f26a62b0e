/** `/<actor>/webhooks`: the URLs that receive the changes of an actor, for its owner. */
import { ServiceError } from '../../../errors.ts'
import type { ShownEntry } from '../../../job/entry-store.ts'
import {
  integerField,
  optional,
  parsedField,
  plainStringField,
  type RequestField,
  stringField,
  type ValuesOf,
} from '../../../json/fields.ts'
import { elements, type JsonText, stringValue } from '../../../json/json.ts'
import {
  longestDescription,
  longestName,
  longestOverlapSeconds,
  longestUrl,
  mostNames,
  mostShownDeliveries,
  overlapSeconds,
  webhookEvents,
  type WebhookEventName,
  type WebhookFacts,
  type Webhooks,
} from '../../../webhook/webhooks.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { type HttpResponse, json, noContent } from '../../edge/response.ts'

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time' }
const nullableTime = { type: ['string', 'null'], format: 'date-time' }
const webhookSchema = {
  type: 'object',
  required: [
    'id',
    'url',
    'events',
    'names',
    'description',
    'state',
    'created_at',
    'failing_since',
    'reason',
    'next_attempt_at',
  ],
  properties: {
    id: text,
    url: text,
    events: { type: 'array', items: { enum: webhookEvents } },
    names: { type: 'array', items: text, description: 'Patterns of names; empty for every name' },
    description: text,
    state: {
      enum: ['active', 'suspended'],
      description: '`suspended`: the receiver failed for too long, refused 50 messages in a row, or answered 410',
    },
    created_at: time,
    failing_since: nullableTime,
    reason: { ...text, description: 'Why the last attempt failed; empty after a success' },
    next_attempt_at: nullableTime,
  },
} as const
const secretSchema = { ...text, description: 'The secret that signs the messages. It is shown only once' }
const deliverySchema = {
  type: 'object',
  required: ['id', 'number', 'type', 'outcome', 'attempts', 'status', 'reason', 'created_at', 'sent_at', 'answered_at'],
  properties: {
    id: { ...text, description: 'Sent as `webhook-id`' },
    number: { type: 'integer', description: 'The place in the order of the webhook' },
    type: { enum: [...webhookEvents, 'test'] },
    outcome: { enum: ['waiting', 'delivered', 'failed'] },
    attempts: { type: 'integer' },
    status: { type: ['integer', 'null'], description: 'Status of the last response' },
    reason: text,
    created_at: time,
    sent_at: nullableTime,
    answered_at: nullableTime,
  },
} as const

function wordsField<T extends string>(
  description: string,
  schema: object,
  expected: string,
  isWord: (word: string) => word is T,
): RequestField<readonly T[]> {
  return parsedField({ type: 'array', description, ...schema }, expected, (value: JsonText) => {
    const words = elements(value)?.map((element) => stringValue(element))
    const isValid = words?.every((word): word is T => word !== null && isWord(word)) === true
    return isValid ? words : undefined
  })
}

const isEvent = (word: string): word is WebhookEventName => webhookEvents.some((event) => event === word)
const isName = (word: string): word is string => word !== '' && word.length <= longestName

const webhookFields = {
  url: stringField('URL that receives the messages by POST', { maxLength: longestUrl, isStorable: true }),
  events: wordsField(
    'What the URL receives',
    { items: { enum: webhookEvents }, minItems: 1 },
    `an array of ${webhookEvents.join(' and ')}`,
    isEvent,
  ),
  names: optional(
    wordsField(
      'Patterns of the names of properties and lists; `*` covers any characters. Default: every name',
      { items: { type: 'string', minLength: 1, maxLength: longestName }, maxItems: mostNames },
      `an array of at most ${mostNames} strings of 1 to ${longestName} characters`,
      isName,
    ),
  ),
  description: optional(plainStringField('Shown to the owner', longestDescription)),
  secret: optional(stringField('`whsec_` and the base64 of 24 to 64 bytes. Default: a new secret', { maxLength: 100 })),
}
const rotationFields = {
  secret: webhookFields.secret,
  overlap_seconds: optional(
    integerField('How long the old secret also signs', { most: longestOverlapSeconds }),
    overlapSeconds,
  ),
}
const pageQuery = {
  limit: optional(
    integerField('The most deliveries to return', { least: 1, most: mostShownDeliveries }),
    mostShownDeliveries,
  ),
  before: optional(integerField('Returns the deliveries before this number: `next` of the previous page')),
}

export interface WebhookRouteDeps {
  readonly webhooks: Webhooks
}

const path = '/:actor/webhooks' as const
const one = '/:actor/webhooks/:webhook' as const

export function webhookRoutes(deps: WebhookRouteDeps): readonly Route[] {
  return [...collectionRoutes(deps), ...oneWebhookRoutes(deps), ...deliveryRoutes(deps), redriveRoute(deps)]
}

function collectionRoutes(deps: WebhookRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listWebhooks',
      method: 'GET',
      path,
      access: 'webhooks',
      summary: 'Lists the webhooks, oldest first',
      responses: {
        200: {
          text: 'The webhooks',
          schema: {
            type: 'object',
            required: ['webhooks'],
            properties: { webhooks: { type: 'array', items: webhookSchema } },
          },
        },
        ...actorErrors,
      },
      handler: async ({ actor }) => json(200, { webhooks: (await deps.webhooks.list(actor.id)).map(shown) }),
    }),
    defineRoute({
      id: 'addWebhook',
      method: 'POST',
      path,
      access: 'webhooks',
      summary: 'Adds a webhook, which receives the changes of the actor',
      request: jsonBody('add the webhook', webhookFields),
      responses: {
        201: {
          text: 'The webhook with its secret',
          schema: {
            ...webhookSchema,
            required: [...webhookSchema.required, 'secret'],
            properties: { ...webhookSchema.properties, secret: secretSchema },
          },
        },
        ...writeErrors,
      },
      handler: async ({ actor, body }) => {
        const { id, secret } = await deps.webhooks.add(actor.id, await body())
        return json(201, { ...shown(await requireWebhook(deps, actor.id, id)), secret })
      },
    }),
  ]
}

function oneWebhookRoutes(deps: WebhookRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'getWebhook',
      method: 'GET',
      path: one,
      access: 'webhooks',
      summary: 'One webhook and its state',
      responses: { 200: { text: 'The webhook', schema: webhookSchema }, ...actorErrors },
      handler: async ({ actor, params }) => json(200, shown(await requireWebhook(deps, actor.id, params.webhook))),
    }),
    defineRoute({
      id: 'removeWebhook',
      method: 'DELETE',
      path: one,
      access: 'webhooks',
      summary: 'Removes a webhook and its messages',
      responses: { 204: 'Removed', ...actorErrors },
      handler: async ({ actor, params }) => {
        if (!(await deps.webhooks.remove(actor.id, params.webhook))) throw noWebhook()
        return noContent()
      },
    }),
    defineRoute({
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: `${one}/secret`,
      access: 'webhooks',
      summary: 'Replaces the secret. The old one also signs for a day, or for the given time',
      request: jsonBody('rotate the secret', rotationFields),
      responses: {
        200: {
          text: 'The new secret',
          schema: { type: 'object', required: ['secret'], properties: { secret: secretSchema } },
        },
        ...writeErrors,
      },
      handler: async ({ actor, params, body }) => {
        const { secret: given, overlap_seconds: overlap } = await body()
        const wanted = { overlap, ...(given === undefined ? {} : { secret: given }) }
        const secret = await deps.webhooks.rotate(actor.id, params.webhook, wanted)
        if (secret === null) throw noWebhook()
        return json(200, { secret })
      },
    }),
  ]
}

function deliveryRoutes(deps: WebhookRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'testWebhook',
      method: 'POST',
      path: `${one}/test`,
      access: 'webhooks',
      summary: 'Sends a message of the type `test`',
      responses: {
        202: {
          text: 'The message is sent after the response',
          schema: { type: 'object', required: ['id'], properties: { id: text } },
        },
        ...actorErrors,
      },
      handler: async ({ actor, params }) => {
        const id = await deps.webhooks.test(actor.id, params.webhook)
        if (id === null) throw noWebhook()
        return json(202, { id })
      },
    }),
    defineRoute({
      id: 'listWebhookDeliveries',
      method: 'GET',
      path: `${one}/deliveries`,
      access: 'webhooks',
      summary: 'The messages of a webhook, newest first, with the outcome of each',
      query: pageQuery,
      responses: {
        200: {
          text: 'A page of messages; `next` is null on the last one',
          schema: {
            type: 'object',
            required: ['deliveries', 'next'],
            properties: {
              deliveries: { type: 'array', items: deliverySchema },
              next: { type: ['integer', 'null'] },
            },
          },
        },
        ...errorResponses(400),
        ...actorErrors,
      },
      handler: (exchange) => deliveries(deps, exchange),
    }),
  ]
}

function redriveRoute(deps: WebhookRouteDeps): Route {
  return defineRoute({
    id: 'redriveWebhook',
    method: 'POST',
    path: `${one}/redrive`,
    access: 'webhooks',
    summary: 'Sends failed messages again, and continues a suspended webhook',
    responses: {
      202: {
        text: 'The messages are sent after the response',
        schema: { type: 'object', required: ['messages'], properties: { messages: { type: 'integer' } } },
      },
      ...actorErrors,
    },
    handler: async ({ actor, params }) => {
      const messages = await deps.webhooks.redrive(actor.id, params.webhook)
      if (messages === null) throw noWebhook()
      return json(202, { messages })
    },
  })
}

async function deliveries(
  deps: WebhookRouteDeps,
  { actor, params, query }: ActorExchange<'webhook', ValuesOf<typeof pageQuery>>,
): Promise<HttpResponse> {
  const { limit, before = null } = query
  const entries = await deps.webhooks.deliveries(actor.id, params.webhook, { before, limit: limit + 1 })
  if (entries === null) throw noWebhook()
  const page = entries.slice(0, limit)
  const next = entries.length > limit ? (page.at(-1)?.number ?? null) : null
  return json(200, { deliveries: page.map(shownDelivery), next })
}

async function requireWebhook(deps: WebhookRouteDeps, actorId: string, id: string): Promise<WebhookFacts> {
  const webhook = await deps.webhooks.find(actorId, id)
  if (webhook === null) throw noWebhook()
  return webhook
}

function noWebhook(): ServiceError {
  return new ServiceError('not_found', 'Cannot find the webhook: it does not exist')
}

function shown(webhook: WebhookFacts): object {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    names: webhook.names,
    description: webhook.description,
    state: webhook.state === 'live' ? 'active' : 'suspended',
    created_at: isoOf(webhook.createdAt),
    failing_since: isoOf(webhook.failingSince),
    reason: webhook.reason,
    next_attempt_at: isoOf(webhook.dueAt),
  }
}

function shownDelivery(entry: ShownEntry): object {
  return {
    id: entry.entryId,
    number: entry.number,
    type: entry.type,
    outcome: entry.outcome,
    attempts: entry.attempts,
    status: entry.status,
    reason: entry.reason,
    created_at: isoOf(entry.createdAt),
    sent_at: isoOf(entry.sentAt),
    answered_at: isoOf(entry.answeredAt),
  }
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
