/** The names that every JavaScript object inherits, at every entrance: paths, queries, bodies, forms, AI clients and commands. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { authorizeClient } from '../support/mcp-client.ts'
import { Workplace } from '../support/program.ts'
import { declareAll, furnish, isBelowActor, routes, samplePeer, samples } from '../support/routes.ts'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'] as const

const untouched = Object.getOwnPropertyNames(Object.prototype).join()

/** Query parameters of any route. */
const parameters = [
  'name',
  'caller',
  'caller_kind',
  'sort',
  'explain',
  'action',
  'redirect',
  'lang',
  'q',
  'tab',
  'kind',
  'target',
]

/** An object whose members have the place of the methods by which JavaScript converts an object. */
const strange = { toString: 1, valueOf: 1, constructor: { prototype: 1 }, hasOwnProperty: 1, toJSON: 1, length: 1e9 }

/** The value with the strange object in each place of it. */
function* strangeValues(value: unknown): Generator<unknown, void> {
  yield strange
  if (Array.isArray(value))
    for (const [at, item] of value.entries()) for (const one of strangeValues(item)) yield value.with(at, one)
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value))
      for (const one of strangeValues(member)) yield { ...value, [name]: one }
}

const rights = {
  properties: {
    patterns: ['color'],
    operations: ['read'],
    excluded_patterns: ['x'],
    grants: [{ pattern: 'color', operations: ['read'], until: '2999-01-01T00:00:00Z' }],
  },
  methods: { allowed: ['greet'], denied: ['x'] },
}

/** Bodies that the samples of the routes do not have. */
const nested: readonly (readonly [method: string, path: string, body: unknown])[] = [
  ['PUT', `/trust/friend/${samplePeer}/permissions`, rights],
  [
    'PUT',
    `/trust/friend/${samplePeer}`,
    { approved: true, approved_until: '2999-01-01T00:00:00Z', permissions: rights },
  ],
  [
    'POST',
    '/keys',
    { name: 'k', until: '2999-01-01', grants: { properties: { patterns: ['*'], operations: ['read'] } } },
  ],
  ['POST', '/webhooks', { url: 'https://hook.example.com', events: ['property_changed'], names: ['color'] }],
  ['POST', '/properties', { sizes: { _type: 'list', items: [1], description: 'x' }, color: { value: 'red' } }],
  ['POST', '/properties/notes/items', { action: 'update', item_index: 0, item_value: { a: [1] } }],
  ['POST', '/history/undo', { changes: [1], name: 'color' }],
  ['POST', `/subscriptions/${samplePeer}`, { target: 'properties', subtarget: 'color', granularity: 'high' }],
  ['POST', `/callbacks/permissions/${samplePeer}`, { timestamp: '2030-01-01T00:00:00Z', data: rights }],
]

forEachService((start) => {
  describe('an object with the names of methods that convert objects', () => {
    it('makes no request fail in any place of a body (HTTP-20)', async () => {
      const service = await start({ declare: declareAll, logLevel: 'error' })
      const actor = await service.createActor()
      await furnish(actor)
      const bodies = [
        ...nested,
        ...routes.flatMap(({ id, method }) => {
          const { path, body } = samples[id] ?? { path: '' }
          return typeof body === 'object' ? [[method, path.replace('/:actor', ''), body] as const] : []
        }),
      ]
      assert.ok(bodies.length > 30)
      for (const [method, path, body] of bodies)
        for (const sent of strangeValues(body)) {
          const answer = await actor.request(method, path, sent)
          const text = await answer.text()
          assert.ok(
            answer.status < 500,
            `${method} ${path} ${JSON.stringify(sent)}: ${answer.status} ${text.slice(0, 200)}`,
          )
        }
      assert.equal((await actor.request('GET', '/properties')).status, 200)
    })
  })

  describe('a name that every object inherits', () => {
    for (const name of names) {
      it(`makes no request fail: ${name} in each part of a path, in queries, bodies and forms (HTTP-20)`, async () => {
        const service = await start({ declare: declareAll, logLevel: 'error' })
        const actor = await service.createActor()
        await furnish(actor)
        const browser = await OwnersBrowser.open(service, actor)
        const query = new URLSearchParams([
          [name, name],
          [`where[${name}]`, name],
          ...parameters.map((one) => [one, name] as [string, string]),
        ])
        const isKept = ({ id, path }: (typeof routes)[number]): boolean =>
          id !== 'deleteActor' && !path.endsWith('/live')
        for (const { id, method, path } of routes.filter((route) => isBelowActor(route) && isKept(route))) {
          const filled = path.replace(':actor', actor.id).replaceAll(/:\w+/g, name).replaceAll(/\*\w*/g, name)
          const isRead = method === 'GET'
          const isPage = path.startsWith('/:actor/www')
          const sent: RequestInit = isPage
            ? { headers: { ...browser.headers, 'sec-fetch-site': 'same-origin' }, ...(isRead ? {} : { body: query }) }
            : {
                headers: { authorization: actor.authorization, 'content-type': 'application/json' },
                ...(isRead || method === 'DELETE'
                  ? {}
                  : { body: `{"${name}":{"${name}":1},"name":"${name}","action":"${name}"}` }),
              }
          for (const target of isRead ? [filled, `${filled}?${query.toString()}`] : [filled]) {
            const answer = await service.request(target, { method, ...sent })
            const text = await answer.text()
            assert.ok(answer.status < 500, `${id} ${method} ${target}: ${answer.status} ${text.slice(0, 200)}`)
          }
        }
        assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), untouched)
      })
    }

    it('makes no request of an AI client fail (HTTP-20)', async () => {
      const service = await start({
        logLevel: 'error',
        declare: (app) => {
          app.action('paint', { input: z.object({ color: z.string() }), mcp: true }, () => ({}))
          app.method('advise', { mcp: { prompt: { arguments: [{ name: 'on', required: true }] } } }, () => 'x')
          app.method(
            'room',
            { mcp: { resource: { uri: 'house://rooms/{name}', complete: { name: () => ['hall'] } } } },
            () => ({}),
          )
        },
      })
      const client = await authorizeClient(service, await service.createActor())
      for (const name of names) {
        for (const [method, params] of [
          ['tools/call', { name, arguments: {} }],
          ['tools/call', { name: 'paint', arguments: JSON.parse(`{"${name}":1,"color":"red"}`) as object }],
          ['prompts/get', { name, arguments: {} }],
          ['prompts/get', { name: 'advise', arguments: JSON.parse(`{"${name}":"x"}`) as object }],
          ['resources/read', { uri: name }],
          ['resources/read', { uri: `house://rooms/${name}` }],
          [
            'completion/complete',
            { ref: { type: 'ref/resource', uri: 'house://rooms/{name}' }, argument: { name, value: '' } },
          ],
          ['completion/complete', { ref: { type: 'ref/prompt', name: 'advise' }, argument: { name, value: '' } }],
          ['tasks/get', { taskId: name }],
          [name, {}],
        ] as const) {
          const answer = await client.legacy(method, params)
          const text = JSON.stringify(answer.body)
          assert.ok(answer.status < 500, `${method} ${name}: ${answer.status} ${text}`)
          assert.doesNotMatch(text, /-32603|native code/, `${method} ${name}`)
        }
      }
    })
  })
})

describe('a command', () => {
  it('refuses the names that every object inherits (HTTP-20)', async () => {
    const place = new Workplace()
    try {
      for (const args of [['constructor'], ['__proto__', '--help'], ['actors', 'toString'], ['doctor', 'valueOf']]) {
        const { code, stderr } = await place.run(args)
        assert.equal(code, 1, args.join(' '))
        assert.match(stderr, /^(?:Unknown command|Cannot run troupe)/)
      }
    } finally {
      await place.remove()
    }
  })
})
