import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isOfService, type Method, type ServiceRoute } from '../../src/http/dispatch/route.ts'
import { RouteTable } from '../../src/http/dispatch/route-table.ts'
import { isBelowActor, routes } from '../support/routes.ts'

function row(method: Method, path: string): ServiceRoute {
  return {
    id: `${method} ${path}`,
    method,
    path,
    access: 'service',
    summary: path,
    responses: {},
    handler: () => ({ status: 204, headers: {}, body: null }),
  }
}

const table = new RouteTable([
  row('GET', '/'),
  row('GET', '/login'),
  row('POST', '/bot'),
  row('GET', '/:actor'),
  row('DELETE', '/:actor'),
  row('GET', '/:actor/properties'),
  row('GET', '/:actor/properties/:name/items'),
  row('POST', '/:actor/properties/:name/items'),
  row('GET', '/:actor/properties/:name/*'),
  row('PUT', '/:actor/properties/:name/*'),
  row('GET', '/:actor/meta/*'),
  row('GET', '/:actor/meta'),
  row('GET', '/health/live'),
])

interface Outcome {
  readonly id: string
  readonly params?: Record<string, string>
  readonly rest?: readonly string[]
}

describe('the route table', () => {
  const found: [method: Method, path: string[], outcome: Outcome][] = [
    ['GET', [], { id: 'GET /' }],
    ['GET', ['login'], { id: 'GET /login' }],
    ['GET', ['abc'], { id: 'GET /:actor', params: { actor: 'abc' } }],
    ['DELETE', ['login'], { id: 'DELETE /:actor', params: { actor: 'login' } }],
    ['GET', ['health', 'live'], { id: 'GET /health/live' }],
    ['GET', ['health', 'meta'], { id: 'GET /:actor/meta', params: { actor: 'health' } }],
    ['GET', ['a', 'meta'], { id: 'GET /:actor/meta', params: { actor: 'a' } }],
    ['GET', ['a', 'meta', 'b', 'c'], { id: 'GET /:actor/meta/*', params: { actor: 'a' }, rest: ['b', 'c'] }],
    ['GET', ['a', 'properties', 'n'], { id: 'GET /:actor/properties/:name/*', params: { actor: 'a', name: 'n' } }],
    [
      'GET',
      ['a', 'properties', 'n', 'x', 'y'],
      { id: 'GET /:actor/properties/:name/*', params: { actor: 'a', name: 'n' }, rest: ['x', 'y'] },
    ],
    [
      'GET',
      ['a', 'properties', 'n', 'items'],
      { id: 'GET /:actor/properties/:name/items', params: { actor: 'a', name: 'n' } },
    ],
    [
      'PUT',
      ['a', 'properties', 'n', 'items'],
      { id: 'PUT /:actor/properties/:name/*', params: { actor: 'a', name: 'n' }, rest: ['items'] },
    ],
    [
      'GET',
      ['a', 'properties', 'n', 'items', 'deeper'],
      { id: 'GET /:actor/properties/:name/*', params: { actor: 'a', name: 'n' }, rest: ['items', 'deeper'] },
    ],
    ['GET', ['__proto__'], { id: 'GET /:actor', params: { actor: '__proto__' } }],
    ['GET', ['constructor', 'properties'], { id: 'GET /:actor/properties', params: { actor: 'constructor' } }],
    ['GET', [':actor'], { id: 'GET /:actor', params: { actor: ':actor' } }],
    ['GET', ['a', 'meta', '*'], { id: 'GET /:actor/meta/*', params: { actor: 'a' }, rest: ['*'] }],
  ]
  for (const [method, path, { id, params = {}, rest = [] }] of found) {
    it(`finds ${id} for ${method} /${path.join('/')}: words before parameters, parameters before the rest`, () => {
      const { match } = table.find(method, path)
      assert.ok(match)
      assert.equal(match.route.id, id)
      assert.deepEqual(match.params, params)
      assert.deepEqual(match.rest, rest)
    })
  }

  const missed: [method: Method | null, path: string[], allowed: string[]][] = [
    ['PUT', ['abc'], ['DELETE', 'GET']],
    ['POST', ['login'], ['DELETE', 'GET']],
    ['PUT', ['bot'], ['DELETE', 'GET', 'POST']],
    ['DELETE', ['a', 'properties', 'n', 'items'], ['GET', 'POST', 'PUT']],
    [null, ['a', 'properties', 'n', 'items'], ['GET', 'POST', 'PUT']],
    [null, [], ['GET']],
    ['GET', ['a', 'nothing'], []],
    ['GET', ['health', 'live', 'x'], []],
    [null, ['a', 'b', 'c'], []],
  ]
  for (const [method, path, allowed] of missed) {
    it(`lists all methods of the path for ${method ?? 'an unknown method'} /${path.join('/')}: ${allowed.join(', ') || 'none'}`, () => {
      const outcome = table.find(method, path)
      assert.equal(outcome.match, null)
      assert.deepEqual(outcome.match === null ? outcome.allowed : null, allowed)
    })
  }

  it('accepts an empty segment only in the rest of a path (HTTP-06)', () => {
    for (const path of [[''], ['', 'properties'], ['a', ''], ['a', '', 'properties'], ['a', 'properties', '']])
      assert.equal(table.find('GET', path).match, null, path.join('/'))
    assert.deepEqual(table.find('GET', ['a', 'properties', 'n', '', 'x']).match?.rest, ['', 'x'])
    assert.deepEqual(table.find('GET', ['a', 'meta', '']).match?.rest, [''])
  })

  it('marks exactly the routes without an actor as routes of the service', () => {
    for (const route of routes) assert.equal(isOfService(route), !isBelowActor(route), route.id)
  })

  it('rejects two rows with the same method and path, whatever the names of their parameters', () => {
    assert.throws(
      () => new RouteTable([row('GET', '/:actor'), row('GET', '/:id')]),
      /Cannot add route GET \/:id: it is already declared/,
    )
    assert.throws(
      () => new RouteTable([row('GET', '/a/*'), row('GET', '/a/*')]),
      /Cannot add route GET \/a\/\*: it is already declared/,
    )
    assert.doesNotThrow(() => new RouteTable([row('GET', '/a/*'), row('GET', '/a'), row('PUT', '/a')]))
  })
})
