/** The names that every JavaScript object inherits, at every entrance: paths, queries, bodies, forms, AI clients and commands. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { authorizeClient } from '../support/mcp-client.ts'
import { Workplace } from '../support/program.ts'
import { declareAll, furnish, isBelowActor, routes } from '../support/routes.ts'
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

forEachService((start) => {
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
