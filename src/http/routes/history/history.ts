/** `/<actor>/history`: what changes replaced, and how the owner takes them back. */
import { callerKinds, historyMembers } from '../../../history/entry.ts'
import type { History } from '../../../history/history.ts'
import {
  choiceField,
  flagField,
  integerField,
  optional,
  stringField,
  timeField,
  type ValuesOf,
} from '../../../json/fields.ts'
import { array, known, object } from '../../../json/json.ts'
import { requireSelection, requireUndone, type Undo } from '../../../undo/undo.ts'
import { defineRoute } from '../../dispatch/define-route.ts'
import { jsonBody } from '../../dispatch/request-body.ts'
import type { ActorExchange, Route } from '../../dispatch/route.ts'
import { actorErrors, errorResponses, writeErrors } from '../../dispatch/schemas.ts'
import { type HttpResponse, json, jsonText, noContent } from '../../edge/response.ts'

const text = { type: 'string' }
const entrySchema = {
  type: 'object',
  required: ['id', 'at', 'name', 'kind', 'operation', 'caller_kind'],
  properties: {
    id: { type: 'integer', description: 'Later changes of the actor have higher numbers' },
    at: { type: 'string', format: 'date-time' },
    name: { ...text, description: 'The property or list' },
    kind: { enum: ['value', 'list'] },
    operation: {
      enum: ['set', 'delete', 'create', 'add', 'remove', 'update', 'texts', 'change'],
      description: '`texts`: of the description of a list; `change`: several changes of a list',
    },
    before: { description: 'The value before; absent when there was none' },
    too_long: { type: 'boolean', description: 'True when what the change replaced was too long to keep' },
    hidden: {
      type: 'boolean',
      description: 'True when a hook decides what the owner sees, so the content is left out',
    },
    items: { type: 'integer', description: 'Number of items that the change of a list concerned' },
    steps: {
      type: 'array',
      items: { type: 'object' },
      description: 'The first 100 items that a change of a list inserted, removed or replaced, with the items before',
    },
    caller_kind: { enum: callerKinds },
    caller: { ...text, description: 'The peer or client; for the owner, the session' },
    call: { ...text, description: 'The call of an AI client' },
    request_id: text,
  },
} as const

const pageQuery = {
  name: optional(stringField('Only changes of this property or list')),
  caller: optional(stringField('Only changes by the peer or client with this id')),
  caller_kind: optional(choiceField('Only changes by callers of this kind', callerKinds)),
  since: optional(timeField('Only changes at or after this date or time (UTC)')),
  limit: optional(
    integerField('Maximum number of entries; a page has at most 4 MiB, or one entry', { least: 1, most: 1000 }),
    100,
  ),
  before: optional(integerField('`next` of the previous page', { least: 1, most: Number.MAX_SAFE_INTEGER })),
}

const undoFields = {
  id: optional(integerField('The change with this id', { least: 1, most: Number.MAX_SAFE_INTEGER })),
  request_id: optional(stringField('All changes by this request')),
  name: optional(stringField('All changes of this property or list')),
  caller: optional(stringField('All changes by the peer or client with this id')),
  caller_kind: optional(choiceField('All changes by callers of this kind', callerKinds)),
  since: optional(timeField('Only changes at or after this date or time (UTC)')),
  preview: optional(flagField('True changes nothing, and returns what would happen'), false),
  overwrite: optional(flagField('True sets values back that others have changed since'), false),
}

const resultSchema = {
  type: 'object',
  required: ['undone', 'conflicts'],
  properties: {
    undone: { type: 'array', items: text, description: 'The properties that are as before' },
    conflicts: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'reason'],
        properties: {
          name: text,
          reason: {
            enum: ['changed', 'too_long', 'refused'],
            description:
              '`changed`: others changed the property since; `too_long`: what it contained was not kept; `refused`: the application does not accept it',
          },
        },
      },
    },
  },
} as const

export interface HistoryRouteDeps {
  readonly history: Pick<History, 'shown' | 'forget'>
  readonly undo: Pick<Undo, 'run'>
}

export function historyRoutes(deps: HistoryRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'listHistory',
      method: 'GET',
      path: '/:actor/history',
      access: 'history',
      summary: 'Lists the changes of properties and lists, newest first, with what they replaced',
      query: pageQuery,
      responses: {
        200: {
          text: 'A page of entries; `next` is null on the last one',
          schema: {
            type: 'object',
            required: ['history', 'next'],
            properties: { history: { type: 'array', items: entrySchema }, next: { type: ['integer', 'null'] } },
          },
        },
        ...errorResponses(400),
        ...actorErrors,
      },
      handler: (exchange) => list(deps, exchange),
    }),
    defineRoute({
      id: 'undoChanges',
      method: 'POST',
      path: '/:actor/history/undo',
      access: 'history',
      summary: 'Takes back the changes that fit all given fields. What others have changed since stays as it is',
      request: jsonBody('undo', undoFields),
      responses: {
        200: { text: 'The properties that are as before, and those that keep their content', schema: resultSchema },
        ...errorResponses(409),
        ...writeErrors,
      },
      handler: async (exchange) => undo(deps, exchange, await exchange.body()),
    }),
    defineRoute({
      id: 'deleteHistory',
      method: 'DELETE',
      path: '/:actor/history',
      access: 'history',
      summary: 'Deletes what changes replaced. Those changes can then no longer be taken back',
      query: { name: optional(stringField('Only the history of this property or list')) },
      responses: { 204: { text: 'Deleted' }, ...actorErrors },
      handler: async ({ actor, query }) => {
        await deps.history.forget(actor.id, query.name ?? null)
        return noContent()
      },
    }),
  ]
}

async function undo(
  deps: HistoryRouteDeps,
  { actor, caller }: ActorExchange,
  {
    id,
    request_id: request,
    caller: by,
    caller_kind: callerKind,
    preview,
    overwrite,
    ...rest
  }: ValuesOf<typeof undoFields>,
): Promise<HttpResponse> {
  const filter = { ...rest, seq: id, request, caller: by, callerKind }
  requireSelection(filter)
  const result = await deps.undo.run({ actor, caller }, filter, { preview, overwrite })
  if (!preview) requireUndone(result)
  return json(200, result)
}

async function list(
  { history }: HistoryRouteDeps,
  { actor, query }: ActorExchange<never, ValuesOf<typeof pageQuery>>,
): Promise<HttpResponse> {
  const { caller_kind: callerKind, ...rest } = query
  const { entries, next } = await history.shown(actor, { ...rest, callerKind })
  const shown = object([
    ['history', array(entries.map(historyMembers))],
    ['next', known(next === null ? 'null' : String(next))],
  ])
  return jsonText(200, shown)
}
