import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { TestCallers } from '../support/callers.ts'
import { declareAll, furnish, requestOf, routes, sampleOf } from '../support/routes.ts'
import { basic, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'
import { requestText, Wire } from '../support/wire.ts'

const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

/** Returns the directives of the policy by name. */
function policyOf(answer: Response): Map<string, string> {
  const policy = answer.headers.get('content-security-policy') ?? ''
  return new Map(
    policy.split(';').map((directive) => {
      const [name = '', ...sources] = directive.trim().split(' ')
      return [name, sources.join(' ')] as const
    }),
  )
}

/** Asserts that a page allows no inline script and no framing, sends no referrer, and stays on https. */
async function assertSafePage(answer: Response): Promise<void> {
  assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
  const policy = policyOf(answer)
  assert.equal(policy.get('default-src'), "'none'")
  assert.equal(policy.get('script-src'), 'https://troupe.test/assets/')
  assert.equal(policy.get('style-src'), 'https://troupe.test/assets/')
  assert.equal(policy.get('object-src'), "'none'")
  assert.equal(policy.get('base-uri'), "'none'")
  assert.equal(policy.get('frame-ancestors'), "'none'")
  assert.equal(policy.get('form-action'), "'self'")
  assert.equal([...policy.values()].join(' ').includes('unsafe'), false)
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
  assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000')
  assert.equal(answer.headers.get('x-frame-options'), 'DENY')
  assert.equal(answer.headers.get('cross-origin-opener-policy'), 'same-origin')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const page = await answer.text()
  assert.doesNotMatch(page, /<script(?![^>]*\ssrc=)|\son[a-z]+\s*=|\sstyle\s*=|<style|javascript:/i)
}

/** Asserts that a browser saves the file, and neither shows, guesses nor stores it. */
async function assertSafeFile(answer: Response): Promise<void> {
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; /)
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  await answer.body?.cancel()
}

describe('a response to a browser', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({ baseUrl: 'https://troupe.test', declare: (app) => declareAll(app) })
    actor = await service.createActor()
    await furnish(actor)
  })

  const form = (body: string): RequestInit => ({
    method: 'POST',
    headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded' },
    body,
  })

  const pages: [what: string, path: string, init: RequestInit, status: number][] = [
    ['the front page', '/', { headers: browser }, 200],
    ['the sign-in page', '/login', { headers: browser }, 200],
    ['the page of a new actor', '/', form('creator=new@example.com'), 200],
    ['the page of a form without a creator', '/', form('creator='), 400],
    ['the page of a refused creator', '/', form(`creator=${'x'.repeat(600)}`), 400],
  ]
  for (const [what, path, init, status] of pages) {
    it(`with ${what} has a strict content policy and all security headers (WEB-02)`, async () => {
      const answer = await service.request(path, init)
      assert.equal(answer.status, status)
      await assertSafePage(answer)
    })
  }

  for (const route of routes.filter(({ access, method }) => access === 'www' && method === 'GET')) {
    it(`with the page ${route.id} of an actor, or with an error on it, has the same headers (WEB-02)`, async () => {
      const cookie = `oauth_token=${await signIn(service, actor)}`
      const [path, init] = requestOf(route, actor.id, { ...browser, cookie })
      const answer = await service.request(path, init)
      assert.equal(answer.status, sampleOf(route).status)
      // The application’s own page may be data, and the live changes are a stream.
      if (['ownPage', 'liveChanges'].includes(route.id)) await answer.body?.cancel()
      else if (['activityExport', 'exportPage'].includes(route.id)) await assertSafeFile(answer)
      else await assertSafePage(answer)
      const forged = await service.request(path, { ...init, method: 'POST', headers: { ...browser, cookie } })
      assert.equal(forged.status, 403)
      await assertSafePage(forged)
    })
  }

  it('with a page that does not exist has the same headers for every caller (WEB-02)', async () => {
    const cookie = `oauth_token=${await signIn(service, actor)}`
    for (const [path, status] of [
      ['/missing', 404],
      ['/missing/nowhere', 404],
      [`/${actor.id}/www/nowhere`, 404],
      [`/${actor.id}/www/properties/nowhere`, 404],
    ] as const) {
      const answer = await service.request(path, { headers: { ...browser, cookie } })
      assert.equal(answer.status, status)
      await assertSafePage(answer)
    }
  })

  it('shows the creator and the error as escaped text (WEB-01, WEB-02)', async () => {
    for (const creator of [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      "' autofocus onfocus='x",
      '&lt;',
    ]) {
      const answer = await service.request('/', form(new URLSearchParams({ creator }).toString()))
      assert.equal(answer.status, 200)
      const page = await answer.text()
      assert.equal(page.includes(creator), false)
      assert.doesNotMatch(page, /<script>|<img src=x|onfocus='/)
    }
  })

  it('names its content type and forbids framing, sniffing and referrers on every route (WEB-02)', async () => {
    for (const route of routes.filter(({ id }) => id !== 'deleteActor')) {
      for (const accept of ['*/*', browser.accept]) {
        const [path, init] = requestOf(route, actor.id, { authorization: actor.authorization, accept })
        const answer = await service.request(path, init)
        assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', route.id)
        assert.equal(answer.headers.get('referrer-policy'), 'no-referrer', route.id)
        assert.equal(policyOf(answer).get('frame-ancestors'), "'none'", route.id)
        assert.equal(policyOf(answer).get('default-src'), "'none'", route.id)
        assert.match(answer.headers.get('strict-transport-security') ?? '', /^max-age=31536000/, route.id)
        // Assets and discovery documents are equal for all callers, so they may be cached.
        if (route.id !== 'asset' && route.cors !== 'discovery')
          assert.equal(answer.headers.get('cache-control'), 'no-store', route.id)
        if ((await answer.text()) !== '') assert.notEqual(answer.headers.get('content-type'), null, route.id)
      }
    }
  })

  it('has no Strict-Transport-Security header on a plain HTTP service (WEB-02)', async () => {
    const plain = await start()
    const answer = await plain.request('/')
    assert.equal(answer.headers.has('strict-transport-security'), false)
  })

  it('never serves data as HTML, whatever is stored and accepted (WEB-03)', async () => {
    const markup = '<!doctype html><script>alert(1)</script>'
    await furnish(actor)
    await actor.request('PUT', '/properties/markup', markup)
    await actor.request('PUT', '/properties/settings', JSON.stringify({ theme: markup }))
    await actor.request('POST', '/properties/notes', JSON.stringify(markup))
    for (const [path, type] of [
      ['/properties', 'application/json'],
      ['/properties/markup', 'text/plain; charset=utf-8'],
      ['/properties/settings', 'application/json'],
      ['/properties/settings/theme', 'application/json'],
      ['/properties/notes', 'application/json'],
      ['/properties/notes/items', 'application/json'],
      ['/properties/notes/metadata', 'application/json'],
      ['/methods', 'application/json'],
      ['/actions', 'application/json'],
      ['/meta', 'application/json'],
      ['/meta/id', 'text/plain; charset=utf-8'],
    ] as const) {
      for (const accept of [browser.accept, 'text/html', 'text/html;q=1, application/json;q=0.1']) {
        const answer = await actor.request('GET', path, undefined, { accept })
        assert.equal(answer.status, 200, path)
        const found = answer.headers.get('content-type') ?? ''
        // A string is served as plain text, unless Accept names JSON.
        const expected =
          accept.includes('application/json') && path === '/properties/markup' ? 'application/json' : type
        assert.equal(found, expected, `${path} ${accept}`)
        assert.equal(policyOf(answer).get('default-src'), "'none'")
        assert.equal(policyOf(answer).has('script-src'), false)
      }
    }
  })

  it('with an error of the API is JSON, and its quotations are not HTML (WEB-03)', async () => {
    const path = encodeURIComponent('<img src=x onerror=alert(1)>')
    for (const [address, status] of [
      [`/${path}/meta`, 404],
      [`/${actor.id}/properties/${path}`, 404],
      [`/${actor.id}/resources/${path}`, 404],
      ['/%00', 400],
      [`/${actor.id}/actions/x/%2f`, 400],
    ] as const) {
      const answer = await service.request(address, { headers: { ...browser, authorization: actor.authorization } })
      assert.equal(answer.status, status, address)
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      assert.deepEqual(Object.keys((await answer.json()) as object).sort(), ['error', 'message'])
    }
  })
})

describe('_method', () => {
  const start = sqliteService()
  const callers = new TestCallers()
  let service: TestService
  let actor: TestActor
  let session: string
  before(async () => {
    service = await start({
      ...callers.parts,
      declare: (app) => app.action('act', () => ({ acted: true })),
    })
    actor = await service.createActor()
    session = callers.session(actor.id)
    await actor.request('PUT', '/properties/kept', 'here')
  })

  const kept = async (): Promise<string> => (await actor.request('GET', '/properties/kept')).text()
  const form = 'application/x-www-form-urlencoded'

  it('on GET has no effect with a session cookie, which a planted link carries (WEB-05)', async () => {
    service.reset()
    for (const method of ['DELETE', 'PUT', 'POST']) {
      for (const path of [`/${actor.id}`, `/${actor.id}/properties`, `/${actor.id}/properties/kept`]) {
        const answer = await service.request(`${path}?_method=${method}`, {
          headers: { cookie: `oauth_token=${session}` },
        })
        assert.equal(answer.status, 200, `${method} ${path}`)
      }
    }
    assert.deepEqual(service.changes, [])
    assert.equal(await kept(), 'here')
  })

  it('on GET has no effect without credentials (WEB-05)', async () => {
    for (const path of [`/${actor.id}`, `/${actor.id}/properties/kept`]) {
      const answer = await service.request(`${path}?_method=DELETE`)
      assert.equal(answer.status, 401)
    }
    assert.equal((await service.request('/?_method=POST')).headers.get('content-type'), 'text/html; charset=utf-8')
    assert.equal(await kept(), 'here')
  })

  it('on GET sets the method beside an Authorization header, which links cannot carry (WEB-05, CHOICE-11)', async () => {
    assert.equal((await actor.request('PUT', '/properties/gone', 'soon')).status, 204)
    assert.equal((await actor.request('GET', '/properties/gone?_method=DELETE')).status, 204)
    assert.equal((await actor.request('GET', '/properties/gone')).status, 404)
    assert.equal((await actor.request('GET', '/properties/gone?_method=PUT')).status, 204)
    const headers = { authorization: `Bearer ${session}` }
    assert.equal((await service.request(`/${actor.id}/properties/kept?_method=PUT`, { headers })).status, 204)
    await actor.request('PUT', '/properties/kept', 'here')
  })

  it('on GET is rejected with a wrong Authorization header, even beside a valid cookie (WEB-05)', async () => {
    for (const authorization of ['', 'x', 'Bearer wrong', basic('x', 'y')]) {
      const answer = await service.request(`/${actor.id}/properties/kept?_method=DELETE`, {
        headers: { authorization, cookie: `oauth_token=${session}` },
      })
      assert.ok(answer.status === 401 || answer.status === 403, authorization)
    }
    assert.equal(await kept(), 'here')
  })

  it('accepts four methods in capitals and ignores other values (WEB-05)', async () => {
    for (const method of [
      'delete',
      'Delete',
      'PATCH',
      'HEAD',
      'OPTIONS',
      'CONNECT',
      '',
      ' DELETE',
      'DELETE,GET',
      '__proto__',
    ])
      assert.equal(
        await (await actor.request('GET', `/properties/kept?_method=${encodeURIComponent(method)}`)).text(),
        'here',
      )
  })

  it('sets the method in a posted form, but not in the query of a POST or in JSON (WEB-05)', async () => {
    await actor.request('PUT', '/properties/gone', 'soon')
    const query = await actor.request('POST', '/properties/gone?_method=DELETE', '1', { 'content-type': 'text/plain' })
    assert.equal(query.status, 201)
    const json = await actor.request('POST', '/properties/gone', { _method: 'DELETE' })
    assert.equal(json.status, 201)
    const multipart = await actor.request(
      'POST',
      '/properties',
      '--b\r\nContent-Disposition: form-data; name="_method"\r\n\r\nDELETE\r\n--b\r\nContent-Disposition: form-data; name="y"\r\n\r\n1\r\n--b--\r\n',
      { 'content-type': 'multipart/form-data; boundary=b' },
    )
    assert.equal(multipart.status, 201)
    assert.equal((await actor.request('GET', '/properties/gone')).status, 200)
    const posted = await actor.request('POST', '/properties/gone', '_method=DELETE', { 'content-type': form })
    assert.equal(posted.status, 204)
    assert.equal((await actor.request('GET', '/properties/gone')).status, 404)
    const put = await actor.request('POST', '/properties/made', '_method=PUT&value=by+a+form', { 'content-type': form })
    assert.equal(put.status, 204)
    assert.equal(await (await actor.request('GET', '/properties/made')).text(), 'by a form')
  })

  it('on HEAD has no effect (WEB-05)', async () => {
    assert.equal((await actor.request('HEAD', '/properties/kept?_method=DELETE')).status, 200)
    assert.equal(await kept(), 'here')
  })
})

describe('credentials in headers', () => {
  const start = sqliteService()
  const callers = new TestCallers()
  let service: TestService
  let actor: TestActor
  let session: string
  const passphrase = 'zwölf: größere Boxkämpfer 😀'
  before(async () => {
    service = await start({ ...callers.parts, listen: true })
    const made = await service.request('/', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ creator: 'me@example.com', passphrase }),
    })
    const { id } = (await made.json()) as { id: string }
    const authorization = basic('me@example.com', passphrase)
    actor = {
      id,
      creator: 'me@example.com',
      passphrase,
      authorization,
      request: (method, path) => service.request(`/${id}${path}`, { method, headers: { authorization } }),
    }
    session = callers.session(id)
  })

  /** Returns everything by which a caller could distinguish responses, without the headers that always differ. */
  const seen = async (answer: Response): Promise<unknown> => ({
    status: answer.status,
    body: await answer.text(),
    headers: [...answer.headers].filter(([name]) => name !== 'x-request-id' && name !== 'date'),
  })

  it('cost the same statements for an unknown creator and for a wrong passphrase (WEB-12)', async () => {
    const costs: string[][] = []
    for (const authorization of [basic('me@example.com', 'wrong'), basic('unknown@example.com', 'wrong')]) {
      service.reset()
      assert.equal((await service.request(`/${actor.id}`, { headers: { authorization } })).status, 403)
      costs.push([...service.statements])
    }
    assert.ok((costs[0]?.length ?? 0) > 0)
    assert.deepEqual(costs[1], costs[0])
  })

  it('give equal responses for an unknown creator and a wrong passphrase (WEB-12)', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/properties'],
      ['PUT', '/properties/x'],
      ['DELETE', ''],
      ['POST', '/actions/x'],
    ] as const) {
      const answers = await Promise.all(
        [
          basic('unknown@example.com', passphrase),
          basic('me@example.com', 'wrong'),
          basic('unknown@example.com', 'wrong'),
          basic('', ''),
          basic('me@example.com', ''),
          basic('', passphrase),
          basic('me@example.com', `${passphrase} `),
          basic(`${'x'.repeat(3000)}@example.com`, 'wrong'),
          basic('creator\0', 'wrong'),
          'Bearer unknown',
        ].map(async (authorization) =>
          seen(await service.request(`/${actor.id}${path}`, { method, headers: { authorization } })),
        ),
      )
      assert.equal((answers[0] as { status: number }).status, 403)
      for (const answer of answers) assert.deepEqual(answer, answers[0])
    }
  })

  const malformed: [what: string, authorization: string][] = [
    ['without a colon', `Basic ${Buffer.from('me@example.com').toString('base64')}`],
    ['that is not base64', 'Basic me@example.com:secret'],
    ['in base64url', `Basic ${Buffer.from('me@example.com:????>>>>').toString('base64url')}--__`],
    ['that is empty', 'Basic '],
    ['without a value', 'Basic'],
    ['with two values', `Basic ${Buffer.from('a:b').toString('base64')} x`],
    ['that is not UTF-8', `Basic ${Buffer.from([0xff, 0x3a, 0x61]).toString('base64')}`],
    ['in Latin-1', `Basic ${Buffer.from('me@example.com:zwölf', 'latin1').toString('base64')}`],
    ['of an unknown scheme', 'Negotiate abc'],
    ['of Digest', 'Digest username="me@example.com", realm="x", nonce="y", uri="/", response="z"'],
    ['of a scheme with odd letters', 'B@sic YTpi'],
    ['that is an empty bearer', 'Bearer '],
    ['of two schemes in a list', 'Basic YTpi, Bearer x'],
    ['that is an empty string', ''],
    ['of one word', 'x'],
    ['of 10 000 characters', `Basic ${'A'.repeat(10_000)}!`],
  ]
  for (const [what, authorization] of malformed) {
    it(`in a header ${what} give 401 with a challenge, and no cookie replaces them (WEB-13, WEB-14)`, async () => {
      for (const cookie of [{}, { cookie: `oauth_token=${session}` }]) {
        const answer = await service.request(`/${actor.id}/properties`, { headers: { authorization, ...cookie } })
        assert.equal(answer.status, 401)
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic realm="[^"]+", charset="UTF-8"/)
        assert.equal(((await answer.json()) as { error: string }).error, 'unauthorized')
      }
    })
  }

  it('may hold UTF-8, colons and spaces in the passphrase, and the scheme in any letter case (WEB-13)', async () => {
    const value = Buffer.from(`me@example.com:${passphrase}`).toString('base64')
    for (const authorization of [`Basic ${value}`, `basic ${value}`, `BASIC   ${value}`, ` Basic ${value} `])
      assert.equal((await service.request(`/${actor.id}`, { headers: { authorization } })).status, 200, authorization)
    const upper = basic('ME@Example.COM', passphrase)
    assert.equal((await service.request(`/${actor.id}`, { headers: { authorization: upper } })).status, 200)
  })

  it('in two Authorization headers give 401, even when each is valid (WEB-13)', async () => {
    for (const [first, second] of [
      [actor.authorization, actor.authorization],
      [actor.authorization, 'Bearer x'],
      ['Bearer x', actor.authorization],
      ['', actor.authorization],
    ]) {
      const wire = await Wire.open(service.url)
      wire.send(
        `GET /${actor.id} HTTP/1.1\r\nHost: x\r\nAuthorization: ${first}\r\nauthorization: ${second}\r\nCookie: oauth_token=${session}\r\n\r\n`,
      )
      assert.equal((await wire.answer()).status, 401, `${first} ${second}`)
      wire.close()
      const headers = new Headers({ authorization: first ?? '' })
      headers.append('authorization', second ?? '')
      const inProcess = await service.app.fetch(new Request(`${service.url}/${actor.id}/properties`, { headers }))
      assert.equal(inProcess.status, 401)
    }
  })

  it('take precedence over the session cookie, which counts only without an Authorization header (WEB-14)', async () => {
    const cookie = `a=b; oauth_token=${session}; c=d`
    const path = `/${actor.id}/properties`
    assert.equal((await service.request(path, { headers: { cookie } })).status, 200)
    for (const [authorization, status] of [
      ['Bearer unknown', 403],
      [basic('me@example.com', 'wrong'), 403],
      ['Basic !', 401],
      ['', 401],
    ] as const)
      assert.equal((await service.request(path, { headers: { cookie, authorization } })).status, status, authorization)
    // A request with a wrong token must not get the page that the cookie would open.
    const page = await service.request(`/${actor.id}`, {
      headers: { ...browser, cookie, authorization: 'Bearer unknown' },
    })
    const login = `${service.url}/login?actor=${actor.id}&redirect=%2F${actor.id}`
    assert.deepEqual([page.status, page.headers.get('location')], [302, login])
  })

  it('in a cookie give no access when it is empty, misnamed or of another actor (WEB-14)', async () => {
    const other = await service.createActor('other@example.com')
    for (const [cookie, status] of [
      ['oauth_token=', 401],
      ['oauth_token', 401],
      [`OAUTH_TOKEN=${session}`, 401],
      [`xoauth_token=${session}`, 401],
      [`a="; oauth_token=${session.slice(1)}`, 403],
      [`oauth_token="${session}"`, 403],
      [`oauth_token=${callers.session(other.id)}`, 403],
      ['oauth_token=%00', 403],
    ] as const)
      assert.equal((await service.request(`/${actor.id}/properties`, { headers: { cookie } })).status, status, cookie)
  })

  it('that are missing send a browser to the sign-in and give a program 401, in separate cache entries (WEB-15)', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/properties'],
      ['GET', '/properties/x'],
      ['GET', '/actions'],
      ['HEAD', '/properties'],
      ['DELETE', ''],
      ['PUT', '/properties/x'],
    ] as const) {
      const page = await service.request(`/${actor.id}${path}`, { method, headers: browser })
      // Without a provider, a browser is challenged for the passphrase, except on the actor’s own path.
      const login = `${service.url}/login?actor=${actor.id}&redirect=%2F${actor.id}`
      const expected = path === '' && method === 'GET' ? [302, login] : [401, null]
      assert.deepEqual([page.status, page.headers.get('location')], expected, `${method} ${path}`)
      assert.equal(page.headers.get('vary'), 'Accept')
      assert.equal(page.headers.get('cache-control'), 'no-store')
      for (const accept of ['*/*', 'application/json', '']) {
        const program = await service.request(`/${actor.id}${path}`, { method, headers: { accept } })
        assert.equal(program.status, 401, `${method} ${path} ${accept}`)
        assert.equal(program.headers.get('vary'), 'Accept')
        assert.equal(program.headers.get('cache-control'), 'no-store')
        assert.equal(program.headers.has('location'), false)
      }
    }
    assert.equal((await actor.request('GET', '')).status, 200)
  })

  it('that are missing give a cache, which sends no Accept header, the response for programs (WEB-15)', async () => {
    const wire = await Wire.open(service.url)
    const { status, headers } = await wire.send(requestText('GET', `/${actor.id}`)).answer()
    assert.deepEqual([status, headers.get('vary')], [401, 'Accept'])
    wire.close()
  })

  it('of the Basic scheme alone open no page and send a browser to the sign-in (WEB-15)', async () => {
    const answer = await service.request(`/${actor.id}`, {
      headers: { ...browser, authorization: actor.authorization },
    })
    const login = `${service.url}/login?actor=${actor.id}&redirect=%2F${actor.id}`
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, login])
  })
})
