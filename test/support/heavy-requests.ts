/** The requests for a heavy actor: one for each route of the table, as each caller, and further ones that read or change much. */
import type { Route } from '../../src/http/dispatch/route.ts'
import type { CallerName, HeavyActor } from './heavy-actor.ts'
import { isBelowActor, requestOf, routes, samplePeer, sampleOf } from './routes.ts'

export interface HeavyRequest {
  /** The id of the route, with what differs from its sample. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly callers: readonly CallerName[]
  /** Requests of the owner that are sent first, and not measured. */
  readonly before?: readonly HeavyRequest[]
  /** How many of these requests are sent at once. Default: 1. */
  readonly copies?: number
}

/** The action of the sample changes a property, also by GET. */
function mayChange({ method, id }: Pick<Route, 'method' | 'id'>): boolean {
  return method !== 'GET' || id === 'getAction'
}

/** One request for each GET route below an actor, and further forms of those that read much. */
export function heavyReads(actor: HeavyActor): readonly HeavyRequest[] {
  const of = (name: string, path: string, headers: Readonly<Record<string, string>> = {}): HeavyRequest => ({
    name,
    method: 'GET',
    path: path.replace(':actor', actor.id),
    headers,
    callers: callersOf(path),
  })
  const sampled = routes
    .filter((route) => isBelowActor(route) && !mayChange(route))
    .map((route) => of(route.id, sampleOf(route).path))
  return [
    ...sampled,
    of('listProperties full', '/:actor/properties?format=full'),
    of('listProperties metadata', '/:actor/properties?metadata=true'),
    of('getProperty of a list', '/:actor/properties/notes'),
    of('getListItems in lines', '/:actor/properties/notes/items', { accept: 'application/x-ndjson' }),
    of('getTrustsNamed of a type', '/:actor/trust/friend'),
    of('listTrusts of a type', '/:actor/trust?relationship=friend'),
    of('listWebhookDeliveries of a webhook', `/:actor/webhooks/${actor.webhook}/deliveries`),
    of('pollSubscription timeline', `/:actor/subscriptions/${samplePeer}/none?timeline=true`),
    of('historyPage of a name', '/:actor/www/history?name=color'),
    of('listHistory of a name', '/:actor/history?name=color'),
    of('propertiesPage searched', '/:actor/www/properties?q=name'),
    of('propertyPage of a long value', '/:actor/www/properties/color'),
    of('peerPage of a question', `/:actor/www/trust/${samplePeer}?ask=properties.read&target=color`),
    of('peerPage of a request', '/:actor/www/trust/asking'),
    of('peerPage of an app', `/:actor/www/trust/${encodeURIComponent(actor.appPeer)}`),
    of('propertyPage with its viewers', '/:actor/www/properties/color?viewers=1'),
    of('trustPage searched', '/:actor/www/trust?q=peer'),
    ...mcpReads(),
  ]
}

/** One request for each other route below an actor. The owner's is last, because the others are mostly refused. */
export function heavyChanges(actor: HeavyActor): readonly HeavyRequest[] {
  return routes
    .filter((route) => isBelowActor(route) && mayChange(route))
    .map((route) => {
      const [path, { method = '', headers, body }] = requestOf(route, actor.id, { 'sec-fetch-site': 'same-origin' })
      return {
        name: route.id,
        method,
        path,
        headers: headers as Readonly<Record<string, string>>,
        ...(typeof body === 'string' ? { body } : {}),
        callers: callersOf(route.path).toReversed(),
      }
    })
}

/** Requests of the owner that change much. */
export function heavyWrites(actor: HeavyActor): readonly HeavyRequest[] {
  const of = (method: string, name: string, path: string, body?: unknown): HeavyRequest => ({
    name,
    method,
    path: `/${actor.id}${path}`,
    headers: {},
    callers: ['owner'],
    ...(body === undefined ? {} : jsonBody(body)),
  })
  const many = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`a name of a short value ${n}`, { n }]))
  // The replaced values fit into the history. 16 MiB are the most of an undo.
  const longValues = ['v', 'w'].flatMap((text) =>
    Array.from({ length: 15 }, (_, n) => of('PUT', 'putProperty', `/properties/new${n}`, text.repeat(1_000_000))),
  )
  const removed = of('DELETE', 'deleteProperty', '/properties/notes')
  return [
    of('PUT', 'putProperty long', '/properties/color', 'v'.repeat(1_900_000)),
    { ...of('PUT', 'putProperty long, 8 at once', '/properties/color', 'w'.repeat(1_500_000)), copies: 8 },
    of('PUT', 'putProperties of many names', '/properties', many),
    of('POST', 'postProperties of many names', '/properties', many),
    of('POST', 'changeListItem first', '/properties/notes/items', { action: 'delete', item_index: 0 }),
    of('POST', 'postProperty of a list', '/properties/notes', 'x'.repeat(1_900_000)),
    of('DELETE', 'deleteHistory', '/history'),
    { ...of('DELETE', 'deleteHistory of long values', '/history'), before: longValues },
    { ...of('POST', 'undoChanges of long values', '/history/undo', { since: 2 }), before: longValues },
    { ...of('GET', 'listHistory of long values', '/history'), before: longValues },
    { ...of('GET', 'historyPage of long values', '/www/history'), before: longValues, callers: ['browser'] },
    { ...of('POST', 'undoChanges of a list', '/history/undo', { name: 'notes' }), before: [removed] },
    of('DELETE', 'deleteProperty of a list', '/properties/notes'),
    of('DELETE', 'deleteProperties', '/properties'),
    of('DELETE', 'deleteTrust', `/trust/friend/${samplePeer}`),
    of('DELETE', 'deleteActor', ''),
  ]
}

/** Requests of an AI client. */
function mcpReads(): readonly HeavyRequest[] {
  const of = (method: string, params: object = {}, what = method): HeavyRequest => ({
    name: `mcp ${what}`,
    method: 'POST',
    path: '/mcp',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-11-25',
    },
    callers: ['client'],
  })
  const read = (place: string): HeavyRequest =>
    of('resources/read', { uri: `actingweb://properties/${place}` }, `resources/read ${place}`)
  return [
    of('tools/list'),
    of('prompts/list'),
    of('resources/list'),
    of('resources/templates/list'),
    read('all'),
    read('color'),
    read('notes'),
    read('notes/items/5000'),
    of('tools/call', { name: 'whole', arguments: {} }, 'tools/call of a long value'),
  ]
}

function jsonBody(body: unknown): Pick<HeavyRequest, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

function callersOf(path: string): readonly CallerName[] {
  return [path.startsWith('/:actor/www') ? 'browser' : 'owner', 'peer', 'app']
}
