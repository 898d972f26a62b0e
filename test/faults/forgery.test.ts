import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { antiForgeryValue, requestOriginOf } from '../../src/http/dispatch/anti-forgery.ts'
import type { HttpRequest } from '../../src/http/edge/request.ts'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes, samplePeer, sampleOf } from '../support/routes.ts'
import { forEachService, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, OwnersBrowser, signIn } from '../support/sessions.ts'
import { dumpStore, rowsOf } from '../support/store-dump.ts'

const own = 'http://troupe.test'
const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Headers that a browser adds to a request from another site’s page. */
const foreign: Readonly<Record<string, Record<string, string>>> = {
  'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  'another site, by a link': { 'sec-fetch-site': 'cross-site' },
  'another site that hides its origin': { 'sec-fetch-site': 'cross-site', origin: 'null' },
  'a sibling host': { 'sec-fetch-site': 'same-site', origin: 'http://evil.troupe.test' },
  'another site, in an older browser': { origin: 'https://evil.example' },
  'a look-alike': { origin: 'http://troupe.test.evil.example' },
  'the same host on another port': { origin: 'http://troupe.test:8080' },
  'the same host in another scheme': { origin: 'https://troupe.test' },
  'a page without an origin, in an older browser': { origin: 'null' },
  'an unknown origin': {},
  'a site with two values': { 'sec-fetch-site': 'same-origin, cross-site' },
}

/** Origins that the browser itself reports as foreign, and that are rejected with Basic credentials too. */
const saidToBeForeign: readonly string[] = [
  'another site',
  'another site, by a link',
  'another site that hides its origin',
  'a sibling host',
  'another site, in an older browser',
  'a look-alike',
  'the same host on another port',
  'the same host in another scheme',
]

/** Evidence that a page of the service sent the request. */
const proofs: Readonly<Record<string, (token: string) => Record<string, string>>> = {
  'the browser reports a page of the service': () => ({ 'sec-fetch-site': 'same-origin' }),
  'the user typed the address': () => ({ 'sec-fetch-site': 'none' }),
  'its origin is the service, in an older browser': () => ({ origin: own }),
  'it has the CSRF token of the session, in an older browser': (token) => ({
    origin: 'null',
    'x-csrf-token': antiForgeryValue(token),
  }),
  'it has only the CSRF token': (token) => ({ 'x-csrf-token': antiForgeryValue(token) }),
}

forEachService((start) => {
  describe('a state-changing request with a session cookie', () => {
    let service: TestService
    const done: string[] = []
    before(async () => {
      service = await start({
        peerClient: new FakePeers(),
        timers: stoppedTimers,
        peerProfileAttributes: [],
        declare: (app) => declareAll(app, done),
      })
    })

    async function furnished(): Promise<{ actor: TestActor; token: string; rows: () => Promise<unknown> }> {
      const actor = await service.createActor('owner@example.com')
      await furnish(actor)
      const token = await signIn(service, actor)
      const { store } = await service.app.running()
      const rows = async (): Promise<unknown> => {
        const all = { ...(rowsOf(await dumpStore(store), actor.id) as Record<string, unknown>) }
        // The last use of the session is recorded after the response.
        delete all['token_chain']
        // The state of an unfinished connection to a third-party service expires within minutes.
        delete all['one_time']
        return all
      }
      return { actor, token, rows }
    }

    const unsafe = routes.filter(
      (route) =>
        isBelowActor(route) &&
        route.access !== 'public' &&
        route.method !== 'GET' &&
        sampleOf(route).peer !== samplePeer &&
        // These routes carry no credential of the actor.
        !['receiveTrust', 'followEmail'].includes(route.id),
    )
    for (const route of unsafe) {
      it(`at ${route.id} is rejected from other sites and changes nothing (WEB-04)`, async () => {
        const { actor, token, rows } = await furnished()
        const untouched = await rows()
        for (const [where, headers] of Object.entries(foreign)) {
          const [path, init] = requestOf(route, actor.id, { cookie: `oauth_token=${token}`, ...headers })
          const answer = await service.request(path, init)
          assert.equal(answer.status, 403, where)
          assert.equal(((await answer.json()) as { error: string }).error, 'forged_request', where)
        }
        assert.deepEqual(await rows(), untouched)
        assert.deepEqual(done, [])
      })

      if (route.access !== 'www') {
        it(`at ${route.id} is rejected from other sites with Basic credentials, which browsers remember (WEB-16)`, async () => {
          const { actor, rows } = await furnished()
          const untouched = await rows()
          for (const where of saidToBeForeign) {
            const headers = { authorization: actor.authorization, ...foreign[where] }
            const answer = await service.request(...requestOf(route, actor.id, headers))
            assert.equal(answer.status, 403, where)
            assert.equal(((await answer.json()) as { error: string }).error, 'forged_request', where)
          }
          assert.deepEqual(await rows(), untouched)
          assert.deepEqual(done, [])
        })
      }

      it(`at ${route.id} is served to a page of this service (WEB-04)`, async () => {
        const { actor, token } = await furnished()
        const shown = { cookie: `oauth_token=${token}`, 'x-csrf-token': antiForgeryValue(token) }
        const answer = await service.request(...requestOf(route, actor.id, shown))
        assert.equal(answer.status, sampleOf(route).status)
        done.length = 0
      })
    }

    for (const [how, proof] of Object.entries(proofs)) {
      it(`is served when ${how} (WEB-04)`, async () => {
        const { actor, token } = await furnished()
        for (const route of unsafe.filter(({ id }) =>
          ['putProperty', 'createPropertyForm', 'callAction'].includes(id),
        )) {
          const headers = { cookie: `oauth_token=${token}`, ...proof(token) }
          const answer = await service.request(...requestOf(route, actor.id, headers))
          assert.equal(answer.status, sampleOf(route).status, route.id)
        }
        done.length = 0
      })
    }

    it('needs no CSRF token with a credential that browsers do not add automatically (WEB-04)', async () => {
      const { actor, token } = await furnished()
      for (const headers of Object.values(foreign)) {
        const answer = await service.request(`/${actor.id}/properties/color`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${token}`, ...headers },
          body: 'red',
        })
        assert.equal(answer.status, 204)
      }
    })

    for (const scheme of ['Basic', 'basic', 'BASIC']) {
      it(`is rejected from other sites when _method is in a link or a form, with ${scheme} credentials (WEB-04)`, async () => {
        const { actor, rows } = await furnished()
        const untouched = await rows()
        const authorization = actor.authorization.replace('Basic', scheme)
        const path = `/${actor.id}/properties/color`
        for (const where of saidToBeForeign) {
          const headers = { authorization, ...foreign[where] }
          for (const [address, init] of [
            [`${path}?_method=DELETE`, { headers }],
            [`/${actor.id}?_method=DELETE`, { headers }],
            [`${path}?_method=PUT`, { headers }],
            [path, { method: 'POST', headers: { ...headers, ...form }, body: '_method=DELETE' }],
            [path, { method: 'POST', headers: { ...headers, ...form }, body: '_method=GET' }],
            [`/${actor.id}`, { method: 'POST', headers: { ...headers, ...form }, body: '_method=DELETE' }],
          ] as const) {
            const answer = await service.request(address, init)
            assert.equal(answer.status, 403, `${where} ${address}`)
            assert.equal(((await answer.json()) as { error: string }).error, 'forged_request')
          }
          // A read changes nothing.
          assert.equal((await service.request(path, { headers })).status, 200)
        }
        assert.deepEqual(await rows(), untouched)
      })
    }

    it('is served with Basic credentials to programs, to pages of this service and to configured origins (WEB-16)', async () => {
      const named = 'https://app.example.com'
      const trusting = await start({ spaCorsOrigins: [named] })
      const actor = await trusting.createActor()
      for (const headers of [
        {},
        { origin: own },
        { origin: 'null' },
        { 'sec-fetch-site': 'same-origin' },
        { 'sec-fetch-site': 'none' },
        { 'sec-fetch-site': 'cross-site', origin: named },
      ]) {
        assert.equal((await actor.request('PUT', '/properties/color', 'red', headers)).status, 204)
        // A link in an email opens with `none`, and the browser adds remembered credentials. So the override is ignored.
        const isLink = 'sec-fetch-site' in headers && headers['sec-fetch-site'] === 'none'
        const deleted = await actor.request('GET', '/properties/color?_method=DELETE', undefined, headers)
        assert.equal(deleted.status, isLink ? 200 : 204)
      }
    })

    it('is rejected when another site requests a new verification link with remembered credentials (WEB-16)', async () => {
      const { actor, token } = await furnished()
      for (const credential of [{ authorization: actor.authorization }, { cookie: `oauth_token=${token}` }]) {
        const answer = await service.request(`/${actor.id}/www/verify_email`, {
          method: 'POST',
          headers: { ...credential, ...form, ...foreign['another site'] },
          body: '',
        })
        assert.equal(answer.status, 403)
        assert.equal(((await answer.json()) as { error: string }).error, 'forged_request')
      }
    })

    it('is rejected with a CSRF token that is truncated, empty or of another session (WEB-04)', async () => {
      const { actor, token, rows } = await furnished()
      const other = await signIn(service, actor)
      const untouched = await rows()
      const right = antiForgeryValue(token)
      for (const value of [
        antiForgeryValue(other),
        token,
        '',
        right.slice(0, -1),
        `${right}x`,
        `${right},${right}`,
        'null',
      ]) {
        for (const headers of [{ 'x-csrf-token': value }, { ...form }]) {
          const answer = await service.request(`/${actor.id}/www/properties/color`, {
            method: 'POST',
            headers: { ...form, cookie: `oauth_token=${token}`, ...headers },
            body: new URLSearchParams({ value: 'red', ...('x-csrf-token' in headers ? {} : { csrf_token: value }) }),
          })
          assert.equal(answer.status, 403, value)
        }
      }
      assert.deepEqual(await rows(), untouched)
    })

    it('is rejected from other sites as JSON in text/plain and as a file upload (WEB-04)', async () => {
      const { actor, token, rows } = await furnished()
      const untouched = await rows()
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'text/plain;charset=UTF-8',
      ]) {
        for (const path of ['/properties', '/properties/color', '/trust', '/actions/paint', '/www/properties']) {
          const answer = await service.request(`/${actor.id}${path}`, {
            method: 'POST',
            headers: { cookie: `oauth_token=${token}`, 'content-type': type, ...foreign['another site'] },
            body: '{"color":"red","x":"="}',
          })
          assert.equal(answer.status, 403, `${path} ${type}`)
        }
      }
      assert.deepEqual(await rows(), untouched)
      assert.deepEqual(done, [])
    })

    it('is rejected as a form of another site, whatever the method, and with the CSRF token in the URL (WEB-05)', async () => {
      const { actor, token, rows } = await furnished()
      const untouched = await rows()
      for (const method of ['DELETE', 'PUT', 'GET', 'POST']) {
        for (const path of ['', '/properties', '/properties/color', '/www/properties/color', '/actions/paint']) {
          for (const query of ['', `?csrf_token=${antiForgeryValue(token)}`]) {
            const answer = await service.request(`/${actor.id}${path}${query}`, {
              method: 'POST',
              headers: { ...form, cookie: `oauth_token=${token}`, origin: 'null' },
              body: new URLSearchParams({ _method: method, value: 'red' }),
            })
            assert.ok([403, 405].includes(answer.status), `${method} ${path}: ${answer.status}`)
          }
        }
      }
      assert.deepEqual(await rows(), untouched)
      assert.deepEqual(done, [])
    })

    it('cannot be made by a method override on GET with a cookie (WEB-05)', async () => {
      const { actor, token, rows } = await furnished()
      const untouched = await rows()
      for (const method of ['DELETE', 'PUT', 'POST']) {
        for (const path of ['/www/properties/color', '/www/properties', '/www/properties/notes', '/properties/color']) {
          const answer = await service.request(`/${actor.id}${path}?_method=${method}`, {
            headers: {
              ...asBrowser,
              cookie: `oauth_token=${token}`,
              'sec-fetch-site': 'same-origin',
              'x-http-method-override': method,
            },
          })
          assert.equal(answer.status, 200, `${method} ${path}`)
        }
      }
      assert.deepEqual(await rows(), untouched)
    })

    it('can be made by a method override on GET with a bearer token, which links cannot carry (WEB-05, CHOICE-11)', async () => {
      const { actor, token } = await furnished()
      const answer = await service.request(`/${actor.id}/www/properties/color?_method=DELETE`, {
        headers: { ...asBrowser, authorization: `Bearer ${token}` },
      })
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, `${own}/${actor.id}/www/properties`])
      assert.equal((await actor.request('GET', '/properties/color')).status, 404)
    })

    it('is rejected when another site links to a GET that runs application code (WEB-04)', async () => {
      const { actor, token } = await furnished()
      const ask = async (path: string, headers: Record<string, string>): Promise<number> =>
        (await service.request(`/${actor.id}${path}`, { headers: { cookie: `oauth_token=${token}`, ...headers } }))
          .status
      for (const headers of Object.values(foreign)) {
        assert.equal(await ask('/callbacks/ring', headers), 403)
        // This GET starts a connection in the owner’s name.
        assert.equal(await ask('/services/drive/connect', headers), 403)
      }
      assert.equal(await ask('/services/drive/connect', { 'sec-fetch-site': 'same-origin' }), 302)
      assert.equal(await ask('/actions/paint', { 'sec-fetch-site': 'same-origin' }), 403)
      assert.deepEqual(done, [])
      assert.equal(await ask('/callbacks/ring', { 'sec-fetch-site': 'same-origin' }), 200)
      assert.deepEqual(done.splice(0), ['ring'])
    })

    it('cannot be a plain GET: a crawler with a full session changes nothing (WEB-06)', async () => {
      const { actor, token, rows } = await furnished()
      const untouched = await rows()
      // The development proxy creates test data; the two named routes run application code.
      const reading = routes.filter(
        ({ method, path, id }) =>
          method === 'GET' && !path.includes('/devtest/proxy') && !['getCallback', 'ownPage'].includes(id),
      )
      for (const route of reading) {
        // A user’s own GET may sign out (CHOICE-62); a cross-site GET may not.
        for (const site of route.path.includes('logout') ? ['cross-site'] : ['none', 'cross-site']) {
          for (const [method, headers] of [
            ['GET', {}],
            ['GET', asBrowser],
            ['HEAD', asBrowser],
          ] as const) {
            const shown = { cookie: `oauth_token=${token}`, 'sec-fetch-site': site, ...headers }
            const [path, init] = requestOf(route, actor.id, shown)
            await (await service.request(path, { ...init, method })).text()
          }
        }
      }
      done.length = 0
      assert.deepEqual(await rows(), untouched)
    })
  })
})

describe('a form on a page', () => {
  const start = sqliteService()

  it('holds the CSRF token of its session, which is equal on every page and different in every session (WEB-04)', async () => {
    const service = await start()
    const actor = await service.createActor()
    await actor.request('PUT', '/properties/color', 'blue')
    const [one, two] = [await OwnersBrowser.open(service, actor), await OwnersBrowser.open(service, actor)]
    for (const path of ['', '/properties', '/properties/color', '/init']) {
      for (const session of [one, two]) {
        const page = await (await session.get(path)).text()
        const forms = page.match(/<form method="post"/g)?.length ?? 0
        const values = [...page.matchAll(/name="csrf_token" value="([^"]*)"/g)].map(([, value]) => value)
        assert.ok(forms > 0, path)
        assert.deepEqual(
          values,
          Array.from({ length: forms }, () => antiForgeryValue(session.token)),
        )
        assert.equal(page.includes(session.token), false)
      }
    }
    assert.notEqual(antiForgeryValue(one.token), antiForgeryValue(two.token))
  })

  it('is accepted with its CSRF token when the browser reports no origin (WEB-04)', async () => {
    const service = await start()
    const actor = await service.createActor()
    const session = await OwnersBrowser.open(service, actor)
    const fields = { property_name: 'color', property_value: 'blue', csrf_token: antiForgeryValue(session.token) }
    for (const headers of [{}, { origin: 'null' }]) {
      const answer = await session.send('/properties', fields, headers)
      assert.equal(answer.status, 302)
    }
    assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'blue')
    // A foreign origin that the browser reports outweighs the token (CHOICE-65).
    assert.equal((await session.send('/properties', fields, foreign['another site'])).status, 403)
  })

  it('gets an error page with status 403 when it is forged (WEB-04)', async () => {
    const service = await start()
    const session = await OwnersBrowser.open(service, await service.createActor())
    const answer = await session.send(
      '/properties',
      { property_name: 'a', property_value: 'b' },
      foreign['another site'],
    )
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [403, 'text/html; charset=utf-8'])
    assert.match(await answer.text(), /<h1>You don’t have access<\/h1>[^]*This form is out of date\./)
  })
})

describe('the origin of a request', () => {
  const asked = (headers: Record<string, string>): string =>
    requestOriginOf({ header: (name: string) => headers[name] } as unknown as HttpRequest, 'https://troupe.example')

  it('is taken from Sec-Fetch-Site before Origin (WEB-04)', () => {
    assert.equal(asked({ 'sec-fetch-site': 'same-origin', origin: 'null' }), 'same')
    assert.equal(asked({ 'sec-fetch-site': 'none' }), 'same')
    assert.equal(asked({ 'sec-fetch-site': 'same-site', origin: 'https://troupe.example' }), 'other')
    assert.equal(asked({ 'sec-fetch-site': 'cross-site', origin: 'https://troupe.example' }), 'other')
    assert.equal(asked({ 'sec-fetch-site': 'made-up', origin: 'https://troupe.example' }), 'same')
    assert.equal(asked({ origin: 'https://troupe.example' }), 'same')
    assert.equal(asked({ origin: 'https://troupe.example.evil' }), 'other')
    assert.equal(asked({ origin: 'http://troupe.example' }), 'other')
    assert.equal(asked({ origin: 'null' }), 'unknown')
    assert.equal(asked({}), 'unknown')
  })
})
