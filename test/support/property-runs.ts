/** Sends random requests to the properties of an actor, and compares each response and each state with the model. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { violationsIn } from './invariants.ts'
import { type Json, PropertyModel, type Request } from './property-model.ts'
import type { TestActor, TestService } from './service.ts'

export interface ModelOptions {
  readonly runs: number
  readonly seed?: number
}

const names = ['a', 'b', 'email', 'l', 'm', 'with space', 'é', '__proto__'] as const
const keys = ['k', 'n', '0', '__proto__', 'é'] as const

const { value: anyJson } = fc.letrec<{ value: Json; object: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>('', 0, 1, -1.5, true, false, null, [], {}),
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(fc.constantFrom(...keys), tie('value')), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries)),
}))

const name = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...names) },
  { weight: 1, arbitrary: fc.constantFrom('list:a', '_l', 'l#1') },
)
const index = fc.oneof(
  { weight: 8, arbitrary: fc.nat({ max: 9 }).map(String) },
  { weight: 2, arbitrary: fc.constantFrom('-1', '1.5', 'x', '00', '99999999999', '2147483648') },
)
const item = fc.record({ t: fc.nat({ max: 99 }) })
const texts = fc.record({ description: fc.string(), explanation: fc.string() }, { requiredKeys: ['description'] })

const body = fc.oneof(
  { weight: 6, arbitrary: anyJson.map((json) => ({ json })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('', 'plain', '12', '"quoted"', '{"k":1}', '{broken', 'null').map((text) => ({ text })),
  },
)
const below = fc.array(fc.constantFrom(...keys), { minLength: 1, maxLength: 3 })

const batch = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ index: fc.nat({ max: 9 }), t: fc.nat({ max: 99 }) }) },
    { weight: 4, arbitrary: fc.record({ index: fc.nat({ max: 9 }) }) },
    { weight: 1, arbitrary: fc.constantFrom<Json>({ index: '1' }, { index: -1 }, { index: 0.5 }, { t: 1 }, 7) },
  ),
  { maxLength: 8 },
)
const entry = fc.oneof(
  { weight: 6, arbitrary: anyJson.filter((value) => value !== null) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 3, arbitrary: fc.constant({ _type: 'list' }) },
  { weight: 1, arbitrary: texts.map((given) => ({ _type: 'list', ...given })) },
  { weight: 4, arbitrary: batch.map((items) => ({ items })) },
)
const all = fc.array(fc.tuple(name, entry), { maxLength: 4 }).map((entries) => Object.fromEntries(entries) as Json)

const ask = (
  method: Request['method'],
  path: readonly string[],
  rest: Omit<Request, 'method' | 'path'> = {},
): Request => ({
  method,
  path,
  ...rest,
})
const change = fc.constantFrom('add', 'update', 'delete')
const at = fc.oneof(fc.nat({ max: 9 }), index)
const requests: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<Request>])[] = [
  // Values and keys inside values
  [6, fc.tuple(name, body).map(([n, given]) => ask('PUT', [n], given))],
  [8, fc.tuple(name, below, body).map(([n, b, given]) => ask('PUT', [n, ...b], given))],
  [4, fc.tuple(name, body).map(([n, given]) => ask('POST', [n], given))],
  [2, fc.tuple(name, below, body).map(([n, b, given]) => ask('POST', [n, ...b], given))],
  [3, name.map((n) => ask('DELETE', [n]))],
  [4, fc.tuple(name, below).map(([n, b]) => ask('DELETE', [n, ...b]))],
  [3, name.map((n) => ask('GET', [n]))],
  [3, fc.tuple(name, below).map(([n, b]) => ask('GET', [n, ...b]))],
  // Everything at once
  [6, all.map((json) => ask('PUT', [], { json }))],
  [6, all.map((json) => ask('POST', [], { json }))],
  [1, fc.constant(ask('DELETE', []))],
  // Lists and their items
  [
    8,
    fc
      .tuple(fc.constantFrom('l', 'm', 'a'), change, fc.oneof(item, anyJson), at)
      .map(([n, action, item_value, item_index]) =>
        ask('POST', [n, 'items'], { json: { action, item_value, item_index } }),
      ),
  ],
  [5, fc.tuple(name, index, body).map(([n, i, given]) => ask('PUT', [n, i], given))],
  [2, fc.tuple(name, index, item).map(([n, i, json]) => ask('PUT', [n], { query: `index=${i}`, json }))],
  [4, fc.tuple(name, index).map(([n, i]) => ask('DELETE', [n, i]))],
  [1, fc.tuple(name, index).map(([n, i]) => ask('DELETE', [n], { query: `index=${i}` }))],
  [2, fc.tuple(name, texts).map(([n, json]) => ask('PUT', [n, 'metadata'], { json }))],
  [2, fc.tuple(name, index).map(([n, i]) => ask('GET', [n, i]))],
  [1, fc.tuple(name, index).map(([n, i]) => ask('GET', [n], { query: `index=${i}` }))],
  [1, fc.tuple(name, fc.constantFrom('items', 'metadata')).map(([n, last]) => ask('GET', [n, last]))],
]
/** Requests that create a list with items, so that most later requests to a list find one. */
const start = fc
  .array(item, { maxLength: 8 })
  .map((items) => [
    ask('POST', [], { json: { l: { _type: 'list' } } }),
    ask('POST', [], { json: { l: { items: items.map((fields, i) => ({ index: i, ...fields })) } } }),
  ])
const request = fc.oneof(...requests.map(([weight, arbitrary]) => ({ weight, arbitrary })))

/** @throws Error with the shortest failing sequence of requests, and the seed that reproduces it. */
export async function runPropertyModel(service: TestService, options: ModelOptions): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      start,
      fc.array(request, { minLength: 1, maxLength: 40, size: 'max' }),
      async (first, requests) => {
        service.reset()
        const actor = await service.createActor()
        const model = new PropertyModel()
        for (const one of [...first, ...requests]) await step(service, actor, model, ofActor(actor, one))
      },
    ),
    { numRuns: options.runs, ...(options.seed === undefined ? {} : { seed: options.seed }) },
  )
  // Actors of several runs had equal indexed numbers.
  assert.deepEqual(await violationsIn(service.databaseUrl, { valuesAreUnique: false }), [])
}

/** Prefixes indexed values with the actor's id, so that values of different runs do not conflict. */
function ofActor(actor: TestActor, given: Request): Request {
  const own = <T extends Json>(value: T): T | string =>
    typeof value === 'string' && value !== '' ? `${actor.id} ${value}` : value
  const { path, json, text } = given
  if (path.length === 1 && path[0] === 'email') {
    if (text !== undefined) return { ...given, text: own(text) }
    return json === undefined ? given : { ...given, json: own(json) }
  }
  if (path.length > 0 || typeof json !== 'object' || json === null || !('email' in json)) return given
  return { ...given, json: { ...json, email: own(json.email) } }
}

async function step(service: TestService, actor: TestActor, model: PropertyModel, given: Request): Promise<void> {
  const emailBefore = model.indexText('email')
  const expected = model.apply(given)
  const answer = await send(actor, given)
  const text = await answer.text()
  assert.ok(
    expected.statuses.includes(answer.status),
    `${describe(given)}: received ${answer.status} ${text}, expected ${expected.statuses.join(' or ')}`,
  )
  if (expected.text !== undefined) assert.equal(text, expected.text, describe(given))
  if (expected.json !== undefined)
    assert.equal(sortedText(JSON.parse(text) as Json), sortedText(expected.json), describe(given))

  const listing = await actor.request('GET', '/properties?format=full')
  assert.equal(sortedText((await listing.json()) as Json), sortedText(model.everything), `after ${describe(given)}`)
  const email = model.indexText('email')
  for (const text of new Set([emailBefore, email])) {
    if (text === null) continue
    const found = await service.app.actors.findBy('email', text)
    assert.equal(found?.id, text === email ? actor.id : undefined, `by the e-mail address, after ${describe(given)}`)
  }
}

function send(actor: TestActor, { method, path, query, json, text }: Request): Promise<Response> {
  const address = ['', 'properties', ...path].map(encodeURIComponent).join('/')
  return actor.request(
    method,
    `${address}${query === undefined ? '' : `?${query}`}`,
    json === undefined ? text : JSON.stringify(json),
    json === undefined ? {} : { 'content-type': 'application/json' },
  )
}

function describe({ method, path, query, json, text }: Request): string {
  return `${method} /${path.join('/')}${query === undefined ? '' : `?${query}`} ${json === undefined ? (text ?? '') : JSON.stringify(json)}`
}

/** Serializes with sorted keys, so that equal values have equal strings. */
function sortedText(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(sortedText).join(',')}]`
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => `${JSON.stringify(key)}:${sortedText(inner)}`)
  return `{${members.join(',')}}`
}
