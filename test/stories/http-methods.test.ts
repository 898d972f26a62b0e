import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { declareAll, furnish, requestOf, routes } from '../support/routes.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { requestText, Wire } from '../support/wire.ts'

describe('methods', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  let addresses: readonly string[]
  before(async () => {
    service = await start({ listen: true, declare: (app) => declareAll(app) })
    actor = await service.createActor()
    await furnish(actor)
    addresses = [...new Set(routes.map((route) => requestOf(route, actor.id, {})[0]))]
  })

  /** A GET uses something up there, ends a session, or sends the browser to a third party: nothing to be looked at. */
  const oneTime = new Set(['signInCallback', 'connectService', 'serviceCallback', 'authorizeFinish', 'askLogout'])

  const authorized = (): Record<string, string> => ({ authorization: actor.authorization })

  /** Where scripts of other sites may ask first (CHOICE-61); everywhere else OPTIONS is no method. */
  const answersOptions = (address: string): boolean => /^\/((oauth|\.well-known)\/|mcp$)/.test(address)

  /** What the rows of the route table that cover an address take together; a single segment may be an actor's. */
  const allowed = (address: string): string[] => {
    const methods = routes
      .filter(({ path }) => {
        const pattern = path
          .replaceAll('.', '\\.')
          .replace(/:[a-z]+/g, '[^/]+')
          .replace(/\/\*$/, '(/.+)?')
        return new RegExp(`^${pattern}$`).test(address)
      })
      .map(({ id, method }) => (oneTime.has(id) ? 'GET once' : (method as string)))
    if (methods.includes('GET')) methods.push('HEAD')
    if (answersOptions(address)) methods.push('OPTIONS')
    return [...new Set(methods.map((method) => (method === 'GET once' ? 'GET' : method)))].sort()
  }

  it('HTTP-13 HEAD gives at every GET route the status and headers of GET, without a body', async () => {
    const wire = await Wire.open(service.url, { isHead: true })
    let count = 0
    for (const route of routes.filter(({ id, method }) => method === 'GET' && !oneTime.has(id))) {
      for (const accept of ['*/*', 'application/json', 'text/html']) {
        const [path] = requestOf(route, actor.id, {})
        const headers = { ...authorized(), accept, 'x-request-id': 'same' }
        const get = await service.request(path, { headers })
        const length = Buffer.byteLength(await get.text())
        const heads = await wire.send(requestText('HEAD', path, headers)).answers(count + 1)
        const head = heads[count]
        count += 1
        assert.equal(head?.status, get.status, `${path} ${accept}`)
        for (const [name, value] of get.headers) {
          // What the process counts differs from one moment to the next.
          if (name === 'date' || (route.id === 'metrics' && name === 'content-length')) continue
          // Of several lines the last one is seen here.
          const expected = name === 'set-cookie' ? get.headers.getSetCookie().at(-1) : value
          assert.equal(head.headers.get(name), expected, `${path} ${accept} ${name}`)
        }
        if (route.id !== 'metrics') assert.equal(head.headers.get('content-length'), String(length))
      }
    }
    assert.ok(count > 40)
    // The next answer on the same connection begins where HEAD's headers ended.
    assert.ok(wire.received.endsWith('\r\n\r\n'))
    wire.close()
  })

  it('HTTP-13 HEAD of what does not exist or may not be seen is the refusal without its body', async () => {
    for (const [path, headers, status] of [
      ['/nobody', {}, 404],
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
    const where = method === 'OPTIONS' ? 'at every address but those of sign-in' : 'at every address'
    it(`HTTP-13 ${method} is 405 ${where}, with all that the address takes, for everybody`, async () => {
      service.reset()
      const wire = await Wire.open(service.url)
      const asked = addresses.filter((address) => method !== 'OPTIONS' || !answersOptions(address))
      for (const [index, address] of asked.entries()) {
        // Rights are not asked: what an address takes is no secret.
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

  it('HTTP-13 a method that the service knows and the path does not take is 405 with all that it takes', async () => {
    for (const address of addresses) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE'].filter((name) => !allowed(address).includes(name))) {
        const answer = await service.request(address, { method, headers: authorized() })
        assert.equal(answer.status, 405, `${method} ${address}`)
        assert.equal(answer.headers.get('allow'), allowed(address).join(', '), `${method} ${address}`)
      }
    }
    assert.equal((await actor.request('GET', '')).status, 200)
  })

  it('HTTP-13 HEAD of an address that works once is 405: a look uses nothing up', async () => {
    for (const route of routes.filter(({ id }) => oneTime.has(id))) {
      const [path] = requestOf(route, actor.id, {})
      const answer = await service.request(path, { method: 'HEAD', headers: authorized() })
      assert.deepEqual([answer.status, answer.headers.get('allow')?.split(', ').includes('HEAD')], [405, false], path)
    }
  })

  it('HTTP-13 OPTIONS * is 405: the service has no options as a whole', async () => {
    const wire = await Wire.open(service.url)
    const { status, headers } = await wire.send(requestText('OPTIONS', '*')).answer()
    assert.equal(status, 405)
    assert.equal(headers.get('allow'), 'GET, HEAD, POST')
    wire.close()
  })

  it('HTTP-13 a method that the service does not know is 501 at every address (CHOICE-58)', async () => {
    service.reset()
    // Some of these the parser of node:http knows, and some it refuses itself.
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

  it('HTTP-13 a method that the service does not know is 501 through the fetch handler too', async () => {
    const answer = await service.app.fetch(new Request(`${service.url}/`, { method: 'PROPFIND' }))
    assert.equal(answer.status, 501)
  })

  it('WEB-05 HTTP-13 headers that name another method are not read', async () => {
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

  it('R-ACT-06 a slash at the end: /<actor>/ leads to /<actor>, a collection is meant with or without, deeper ones are nothing', async () => {
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
