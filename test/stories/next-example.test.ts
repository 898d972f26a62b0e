/** The route handler of the Next.js example, called as Next.js calls it. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import * as route from '../../examples/next/app/actors/[[...path]]/route.ts'
import { app } from '../../examples/next/actors.ts'
import { type Testing, testing } from '../../src/testing.ts'

const { runtime, dynamic, ...handlers } = route
const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'] as const

describe('the route handler for Next.js', () => {
  let service: Testing
  before(async () => {
    service = await testing(app)
  })
  after(() => service.close())

  const call = (method: (typeof methods)[number], path: string, init: RequestInit = {}): Promise<Response> =>
    handlers[method](new Request(`${service.url}${path}`, { method, ...init }))

  it('exports a function for each method of the service, and settings that Next.js can read', () => {
    assert.deepEqual([runtime, dynamic], ['nodejs', 'force-dynamic'])
    assert.deepEqual(Object.keys(handlers).toSorted(), methods)
  })

  it('serves pages, reads, writes and methods of an actor', async () => {
    const ada = await service.signIn('ada@example.com')
    const headers = {
      cookie: [...ada.cookies].map((pair) => pair.join('=')).join('; '),
      'sec-fetch-site': 'same-origin',
    }
    const at = (path: string): string => `/${ada.actor.id}${path}`
    assert.equal((await call('PUT', at('/properties/note'), { headers, body: '"hello"' })).status, 204)
    assert.equal(await (await call('GET', at('/properties/note'), { headers })).text(), 'hello')
    const json = { ...headers, 'content-type': 'application/json' }
    const said = await call('POST', at('/methods/hello'), { headers: json, body: '{}' })
    assert.deepEqual(await said.json(), { hello: 'ada@example.com' })
    const head = await call('HEAD', at('/properties'), { headers })
    assert.deepEqual([head.status, await head.text()], [200, ''])
    const page = await call('GET', at('/www'), { headers: { ...headers, accept: 'text/html' } })
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal((await call('DELETE', at('/properties/note'), { headers })).status, 204)
    assert.equal((await app.callerOf(new Request(service.url, { headers })))?.actorId, ada.actor.id)
  })

  it('refuses as the service alone does', async () => {
    const ada = await service.signIn('ada@example.com')
    assert.equal((await call('GET', `/${ada.actor.id}/properties`)).status, 401)
    assert.equal((await call('PATCH', `/${ada.actor.id}/meta`)).status, 405)
    assert.equal((await call('GET', '/none/properties')).status, 404)
  })
})
