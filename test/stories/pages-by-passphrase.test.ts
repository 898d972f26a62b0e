import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { google } from '../../src/index.ts'
import { asBrowser } from '../support/sessions.ts'
import { basic, forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore, rowsOf } from '../support/store-dump.ts'

const challenge = 'Basic realm="troupe.test", charset="UTF-8"'

forEachService((start) => {
  async function startOne(options: StartOptions = {}): Promise<{ service: TestService; actor: TestActor }> {
    const service = await start({ ...options })
    const actor = await service.createActor('ada@example.com')
    assert.equal((await actor.request('PUT', '/properties/color', 'green')).status, 204)
    return { service, actor }
  }

  const stored = async (service: TestService, { id }: TestActor): Promise<object> =>
    rowsOf(await dumpStore((await service.app.running()).store), id)

  /** Posts a form with the passphrase that the browser remembers. */
  function send(
    service: TestService,
    actor: TestActor,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response> {
    return service.request(`/${actor.id}/www/properties/color`, {
      method: 'POST',
      headers: {
        ...asBrowser,
        authorization: actor.authorization,
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      body: new URLSearchParams(fields),
    })
  }

  async function tokenOf(service: TestService, { id, authorization }: TestActor): Promise<string> {
    const page = await service.request(`/${id}/www/properties/color`, { headers: { ...asBrowser, authorization } })
    return /name="csrf_token" value="([\w-]{43})"/.exec(await page.text())?.[1] ?? assert.fail('no token')
  }

  const color = async (actor: TestActor): Promise<string> => (await actor.request('GET', '/properties/color')).text()

  describe('a page of an actor where no sign-in provider is configured', () => {
    it('asks a browser for the passphrase with a page', async () => {
      const { service, actor } = await startOne()
      for (const headers of [
        asBrowser,
        { ...asBrowser, authorization: basic(actor.creator, 'wrong') },
        { ...asBrowser, authorization: 'Basic !' },
        { ...asBrowser, cookie: 'oauth_token=gone' },
      ]) {
        const answer = await service.request(`/${actor.id}/www/properties`, { headers })
        assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, challenge])
        assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
        assert.match(await answer.text(), /Sign in with the creator and the passphrase of this account/)
      }
    })

    it('opens with the passphrase, and shows no sign-out button', async () => {
      const { service, actor } = await startOne()
      const { authorization } = actor
      for (const path of [
        '/www',
        '/www/properties',
        '/www/trust',
        '/www/apps',
        '/www/activity',
        '/www/password-access',
      ]) {
        const answer = await service.request(`/${actor.id}${path}`, { headers: { ...asBrowser, authorization } })
        assert.equal(answer.status, 200, path)
        const page = await answer.text()
        assert.match(page, /<span class="who">ada@example\.com<\/span>/)
        assert.ok(!page.includes('/oauth/logout'))
      }
    })

    it('is linked from the sign-in page', async () => {
      const { service, actor } = await startOne()
      const sent = await service.request(`/${actor.id}`, { headers: asBrowser })
      const login = (sent.headers.get('location') ?? '').slice(service.url.length)
      assert.equal(login, `/login?actor=${actor.id}&redirect=%2F${actor.id}`)
      const page = await (await service.request(login)).text()
      assert.ok(page.includes(`<a class="button" href="/${actor.id}/www">Sign in with your passphrase</a>`))
      for (const query of ['', '?actor=..%2Fevil', '?actor=%22%3E', '?redirect=%2F%2Fevil.example'])
        assert.ok(!(await (await service.request(`/login${query}`)).text()).includes('Sign in with your passphrase'))
    })

    it('limits guesses at the passphrase (RATE-01)', async () => {
      const { service, actor } = await startOne({
        rateLimits: { '*': null, 'passphrase/pair': null, 'passphrase/target': { count: 3, seconds: 3600 } },
      })
      const statuses: number[] = []
      for (let guess = 0; guess < 5; guess += 1) {
        const authorization = basic(actor.creator, `guess ${guess}`)
        const answer = await service.request(`/${actor.id}/www`, { headers: { ...asBrowser, authorization } })
        statuses.push(answer.status)
      }
      assert.deepEqual(statuses, [401, 401, 401, 429, 429])
    })
  })

  describe('a form on a page that opened with the passphrase', () => {
    it('is accepted when the browser reports that a page of the service sent it', async () => {
      const { service, actor } = await startOne()
      const answer = await send(service, actor, { value: 'red' }, { 'sec-fetch-site': 'same-origin' })
      assert.equal(answer.status, 302)
      assert.equal(await color(actor), 'red')
    })

    it('is accepted from an older browser with the CSRF token of the page', async () => {
      const { service, actor } = await startOne()
      const csrf_token = await tokenOf(service, actor)
      for (const [headers, value] of [
        [{}, 'red'],
        [{ origin: 'null' }, 'blue'],
        [{ origin: 'http://troupe.test' }, 'pink'],
      ] as const) {
        assert.equal((await send(service, actor, { value, csrf_token }, headers)).status, 302)
        assert.equal(await color(actor), value)
      }
    })

    it('changes nothing when another site sends it or its origin is unknown (WEB-16)', async () => {
      const { service, actor } = await startOne({ spaCorsOrigins: ['https://app.example.com'] })
      const other = await service.createActor('bob@example.com')
      const [own, foreign] = [await tokenOf(service, actor), await tokenOf(service, other).catch(() => 'x'.repeat(43))]
      assert.notEqual(own, foreign)
      const before = await stored(service, actor)
      for (const [fields, headers] of [
        [{}, {}],
        [{ csrf_token: '' }, {}],
        [{ csrf_token: foreign }, {}],
        [{ csrf_token: foreign }, { origin: 'null' }],
        [{}, { 'sec-fetch-site': 'none' }],
        [{ csrf_token: own }, { 'sec-fetch-site': 'cross-site' }],
        [{ csrf_token: own }, { 'sec-fetch-site': 'same-site' }],
        [{ csrf_token: own }, { origin: 'https://evil.example' }],
        [{}, { 'sec-fetch-site': 'cross-site', origin: 'https://app.example.com' }],
        [{}, { origin: 'https://app.example.com' }],
      ] as const) {
        for (const change of [{ value: 'red' }, { _method: 'DELETE' }]) {
          const answer = await send(service, actor, { ...change, ...fields }, headers)
          assert.equal(answer.status, 403, JSON.stringify([change, fields, headers]))
        }
      }
      assert.deepEqual(await stored(service, actor), before)
    })

    it('cannot be replaced by a link with _method (WEB-05)', async () => {
      const { service, actor } = await startOne()
      const before = await stored(service, actor)
      const link = async (path: string, site: string): Promise<number> => {
        const headers = { ...asBrowser, authorization: actor.authorization, 'sec-fetch-site': site }
        return (await service.request(`/${actor.id}${path}?_method=DELETE`, { headers })).status
      }
      for (const path of ['/www/properties/color', '/properties/color', '/properties', '']) {
        assert.equal(await link(path, 'none'), path === '' ? 302 : 200, path)
        assert.equal(await link(path, 'same-site'), 403, path)
        assert.equal(await link(path, 'cross-site'), 403, path)
      }
      assert.equal(await link('/www/properties/color', 'same-origin'), 403)
      assert.deepEqual(await stored(service, actor), before)
      // A program that sets the header itself may use `_method`.
      assert.equal((await actor.request('GET', '/properties/color?_method=DELETE')).status, 204)
    })

    it('is rejected when another site sends it to the API (WEB-16)', async () => {
      const { service, actor } = await startOne()
      const before = await stored(service, actor)
      for (const [method, path] of [
        ['POST', '/properties/color'],
        ['PUT', '/properties/color'],
        ['DELETE', '/properties/color'],
        ['DELETE', ''],
      ] as const) {
        const answer = await actor.request(method, path, method === 'DELETE' ? undefined : 'red', {
          'sec-fetch-site': 'cross-site',
        })
        assert.equal(answer.status, 403)
      }
      assert.deepEqual(await stored(service, actor), before)
    })
  })

  describe('a page of an actor where a sign-in provider is configured', () => {
    it('does not open with the passphrase, but redirects the browser to sign-in (WEB-15)', async () => {
      const signIn = [google({ clientId: 'web', clientSecret: 'hush' })]
      for (const options of [{ signIn }, { localSignIn: true }] satisfies StartOptions[]) {
        const { service, actor } = await startOne(options)
        const before = await stored(service, actor)
        const answer = await service.request(`/${actor.id}/www`, {
          headers: { ...asBrowser, authorization: actor.authorization },
        })
        const login = `http://troupe.test/login?actor=${actor.id}&redirect=%2F${actor.id}%2Fwww`
        assert.deepEqual([answer.status, answer.headers.get('location')], [302, login])
        const form = await send(service, actor, { value: 'red' }, { 'sec-fetch-site': 'same-origin' })
        assert.equal(form.status, 302)
        assert.match(form.headers.get('location') ?? '', /^http:\/\/troupe\.test\/login\?/)
        assert.deepEqual(await stored(service, actor), before)
      }
    })
  })
})
