import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { CookieNames } from '../../src/http/edge/cookies/cookie-names.ts'
import { browserCookieName } from '../../src/http/edge/cookies/cookies.ts'
import { declareAll, furnish, requestOf, routes } from '../support/routes.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { requestText, Wire } from '../support/wire.ts'

describe('the service', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  let addresses: readonly string[]
  before(async () => {
    service = await start({ listen: true, authenticate: () => null, declare: (app) => declareAll(app) })
    actor = await service.createActor()
    await furnish(actor)
    addresses = [...new Set(routes.map((route) => requestOf(route, actor.id, {})[0]))]
  })

  /** GET on these routes uses a one-time value up, ends a session, or redirects the browser to a third party. */
  const oneTime = new Set([
    'signInCallback',
    'signInAtHost',
    'connectService',
    'serviceCallback',
    'authorizeFinish',
    'askLogout',
  ])

  const authorized = (): Record<string, string> => ({ authorization: actor.authorization })

  /** Scripts of other sites may send OPTIONS to these addresses (CHOICE-61). Every other address refuses it. */
  const answersOptions = (address: string): boolean => /^\/((oauth|\.well-known)\/|mcp$)/.test(address)

  /** Returns the methods of all rows of the route table that match an address. An actor id may match a single segment. */
  const allowed = (address: string): string[] => {
    const [asked = ''] = address.split('?')
    const methods = routes
      .filter(({ path }) => {
        const pattern = path
          .replaceAll('.', '\\.')
          .replace(/:[a-z]+/g, '[^/]+')
          .replace(/\/\*$/, '(/.+)?')
        return new RegExp(`^${pattern}$`).test(asked)
      })
      .map(({ id, method }) => (oneTime.has(id) ? 'GET once' : (method as string)))
    if (methods.includes('GET')) methods.push('HEAD')
    if (answersOptions(address)) methods.push('OPTIONS')
    return [...new Set(methods.map((method) => (method === 'GET once' ? 'GET' : method)))].sort()
  }

  it('responds to HEAD at every GET route with the status and headers of GET, without a body (HTTP-13)', async () => {
    const wire = await Wire.open(service.url, { isHead: true })
    const names = new CookieNames({ baseUrl: service.url, config: { mode: 'development' } })
    let count = 0
    for (const route of routes.filter(({ id, method }) => method === 'GET' && !oneTime.has(id))) {
      for (const accept of ['*/*', 'application/json', 'text/html']) {
        const [path] = requestOf(route, actor.id, {})
        // The cookie of a browser is made at its first visit.
        const cookie = `${names.nameOnWire(browserCookieName)}=${'x'.repeat(43)}`
        const headers = { ...authorized(), accept, cookie, 'accept-encoding': 'identity', 'x-request-id': 'same' }
        const get = await service.request(path, { headers })
        const length = Buffer.byteLength(await get.text())
        const heads = await wire.send(requestText('HEAD', path, headers)).answers(count + 1)
        const head = heads[count]
        count += 1
        assert.equal(head?.status, get.status, `${path} ${accept}`)
        for (const [name, value] of get.headers) {
          // The values that the process counts change from one moment to the next.
          if (name === 'date' || (route.id === 'metrics' && name === 'content-length')) continue
          // The wire keeps only the last line of a repeated header.
          const expected = name === 'set-cookie' ? get.headers.getSetCookie().at(-1) : value
          assert.equal(head.headers.get(name), expected, `${path} ${accept} ${name}`)
        }
        if (route.id !== 'metrics') assert.equal(head.headers.get('content-length'), String(length))
      }
    }
    assert.ok(count > 40)
    // The next response on the same connection begins where the headers of HEAD ended.
    assert.ok(wire.received.endsWith('\r\n\r\n'))
    wire.close()
  })

  it('refuses HEAD of a missing or forbidden address as GET, without the body (HTTP-13)', async () => {
    for (const [path, headers, status] of [
      ['/missing', {}, 404],
      [`/${actor.id}`, {}, 401],
      [`/${actor.id}`, { authorization: 'Basic eDp5' }, 403],
      [`/${actor.id}/properties/none`, authorized(), 404],
      ['/bot', {}, 404],
    ] as const) {
      const answer = await service.request(path, { method: 'HEAD', headers })
      assert.equal(answer.status, status, path)
      assert.notEqual(answer.headers.get('content-length'), '0')
      assert.equal(await answer.text(), '')
    }
  })

  for (const method of ['OPTIONS', 'PATCH', 'TRACE']) {
    const where = method === 'OPTIONS' ? 'except at the addresses of sign-in' : 'at every address'
    it(`refuses ${method} with 405 and the allowed methods ${where}, for every caller (HTTP-13)`, async () => {
      service.reset()
      const wire = await Wire.open(service.url)
      const asked = addresses.filter((address) => method !== 'OPTIONS' || !answersOptions(address))
      for (const [index, address] of asked.entries()) {
        // The service checks no permission first, because the methods of an address are not secret.
        const headers = index % 2 === 0 ? authorized() : {}
        const answers = await wire.send(requestText(method, address, headers)).answers(index + 1)
        const answer = answers[index]
        assert.equal(answer?.status, 405, address)
        assert.equal(answer.headers.get('allow'), allowed(address).join(', '), address)
        assert.equal((JSON.parse(answer.body) as { error: string }).error, 'method_not_allowed')
        assert.equal(
          [...answer.headers.keys()].some((name) => name.startsWith('access-control-')),
          false,
        )
      }
      wire.close()
      assert.deepEqual(service.statements, [])
    })
  }

  it('refuses a known method that the path does not support with 405 and the allowed methods (HTTP-13)', async () => {
    for (const address of addresses) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE'].filter((name) => !allowed(address).includes(name))) {
        const answer = await service.request(address, { method, headers: authorized() })
        assert.equal(answer.status, 405, `${method} ${address}`)
        assert.equal(answer.headers.get('allow'), allowed(address).join(', '), `${method} ${address}`)
      }
    }
    assert.equal((await actor.request('GET', '')).status, 200)
  })

  it('refuses HEAD of a single-use address with 405, so that a preview uses nothing up (HTTP-13)', async () => {
    for (const route of routes.filter(({ id }) => oneTime.has(id))) {
      const [path] = requestOf(route, actor.id, {})
      const answer = await service.request(path, { method: 'HEAD', headers: authorized() })
      assert.deepEqual([answer.status, answer.headers.get('allow')?.split(', ').includes('HEAD')], [405, false], path)
    }
  })

  it('refuses OPTIONS * with 405, because the service has no global options (HTTP-13)', async () => {
    const wire = await Wire.open(service.url)
    const { status, headers } = await wire.send(requestText('OPTIONS', '*')).answer()
    assert.equal(status, 405)
    assert.equal(headers.get('allow'), 'GET, HEAD, POST')
    wire.close()
  })

  it('refuses an unknown method with 501 at every address (HTTP-13, CHOICE-58)', async () => {
    service.reset()
    // The parser of node:http knows some of these methods, and refuses others itself.
    for (const method of ['PROPFIND', 'QUERY', 'M-SEARCH', 'PURGE', 'LINK', 'FOO', 'get', 'Get', 'GETT', 'XGET', '_']) {
      for (const address of [
        '/',
        '/health/live',
        `/${actor.id}`,
        `/${actor.id}/properties/color`,
        '/no/such/address',
      ]) {
        const wire = await Wire.open(service.url)
        const { status, body, headers } = await wire.send(requestText(method, address, authorized())).answer()
        assert.equal(status, 501, `${method} ${address}`)
        assert.equal((JSON.parse(body) as { error: string }).error, 'not_implemented')
        assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
        wire.close()
      }
    }
    assert.deepEqual(service.statements, [])
  })

  it('refuses an unknown method with 501 also in the fetch handler (HTTP-13)', async () => {
    const answer = await service.app.fetch(new Request(`${service.url}/`, { method: 'PROPFIND' }))
    assert.equal(answer.status, 501)
  })

  it('ignores headers that name another method (WEB-05, HTTP-13)', async () => {
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
      const answer = await service.request(`/${actor.id}/properties/color`, {
        method: 'POST',
        headers: { ...authorized(), [name]: 'DELETE', 'content-type': 'text/plain' },
        body: 'kept',
      })
      assert.equal(answer.status, 201)
      const read = await service.request(`/${actor.id}/properties/color`, {
        headers: { ...authorized(), [name]: 'DELETE' },
      })
      assert.equal(await read.text(), 'kept')
    }
  })

  it('redirects /<actor>/ to /<actor>, accepts a final slash for a collection, and refuses it below a collection (R-ACT-06)', async () => {
    for (const [path, status] of [
      [`/${actor.id}/`, 307],
      ['/health/', 307],
      [`/${actor.id}/properties/`, 200],
      [`/${actor.id}/meta/`, 200],
      [`/${actor.id}/methods/`, 200],
      [`/${actor.id}/actions/`, 200],
      [`/${actor.id}/properties/color/`, 404],
      [`/${actor.id}/properties/notes/items/`, 404],
      [`/${actor.id}/meta/id/`, 404],
      ['/health/live/', 200],
    ] as const) {
      const answer = await service.request(path, { headers: authorized() })
      assert.equal(answer.status, status, path)
      if (status === 307) assert.equal(answer.headers.get('location'), `${service.url}${path.slice(0, -1)}`)
    }
  })
})
