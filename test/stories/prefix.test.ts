import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { declareAll, furnish, requestOf, routes } from '../support/routes.ts'
import { basic, sqliteService, type TestActor, type TestService } from '../support/service.ts'

interface Made {
  readonly id: string
  readonly authorization: string
}

for (const base of ['http://troupe.test/aw', 'https://troupe.test/deep/er/', 'http://troupe.test:8080/with%20blank']) {
  describe(`a service at ${base}`, () => {
    const start = sqliteService()
    const root = base.replace(/\/$/, '')
    const { origin, pathname } = new URL(root)
    let service: TestService
    let actor: Made
    before(async () => {
      service = await start({ baseUrl: base, declare: (app) => declareAll(app) })
      const answer = await request('/', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"creator":"me@example.com"}',
      })
      assert.equal(answer.status, 201)
      const { id, creator, passphrase } = (await answer.json()) as { id: string; creator: string; passphrase: string }
      assert.equal(answer.headers.get('location'), `${root}/${id}`)
      actor = { id, authorization: basic(creator, passphrase) }
    })

    /** Sends a request to a path below the prefix. */
    const request = (path: string, init: RequestInit = {}): Promise<Response> =>
      service.app.fetch(new Request(`${root}${path}`, { redirect: 'manual', ...init }))
    const own = (path: string, init: RequestInit = {}): Promise<Response> =>
      request(`/${actor.id}${path}`, { ...init, headers: { authorization: actor.authorization } })

    /** Creates an actor below an address, as the test support does. */
    const actorAt = async (app: TestService['app'], at: string): Promise<TestActor> => {
      const answer = await app.fetch(
        new Request(`${at}/`, { method: 'POST', headers: { accept: 'application/json' }, body: '{}' }),
      )
      const made = (await answer.json()) as { id: string; creator: string; passphrase: string }
      const authorization = basic(made.creator, made.passphrase)
      return {
        ...made,
        authorization,
        request: (method, path, body) =>
          app.fetch(
            new Request(`${at}/${made.id}${path}`, {
              method,
              headers: { authorization },
              ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
            }),
          ),
      }
    }

    it('answers every route below its prefix as a service without a prefix does (R-ACT-10)', async () => {
      const plain = await start({ baseUrl: 'http://plain.test', declare: (app) => declareAll(app) })
      const prefixed = await start({ baseUrl: base, declare: (app) => declareAll(app) })
      const owners = await Promise.all([actorAt(plain.app, 'http://plain.test'), actorAt(prefixed.app, root)])
      for (const owner of owners) await furnish(owner)
      // Both services receive the same requests in the same order, so that each change is made in both.
      const inOrder = [...routes].sort(
        (one, other) => Number(one.id === 'deleteActor') - Number(other.id === 'deleteActor'),
      )
      for (const route of inOrder) {
        const [one, other] = await Promise.all(
          (
            [
              [plain.app, 'http://plain.test', owners[0]],
              [prefixed.app, root, owners[1]],
            ] as const
          ).map(async ([app, at, owner]) => {
            const [path, init] = requestOf(route, owner.id, { authorization: owner.authorization })
            return (await app.fetch(new Request(`${at}${path}`, { redirect: 'manual', ...init }))).status
          }),
        )
        assert.equal(other, one, route.id)
      }
    })

    it('answers 404 outside its prefix, also when a path only begins with it (R-ACT-10)', async () => {
      for (const path of [
        '/',
        '/health/live',
        `/${actor.id}`,
        `/${actor.id}/properties`,
        '/openapi.json',
        `${pathname}x/health/live`,
        `${pathname.toUpperCase()}/health/live`,
        `${pathname.slice(0, -1)}/health/live`,
        `/x${pathname}/health/live`,
        `//${pathname}/health/live`,
      ]) {
        const answer = await service.app.fetch(
          new Request(`${origin}${path}`, { headers: { authorization: actor.authorization } }),
        )
        assert.equal(answer.status, 404, path)
        assert.deepEqual(await answer.json(), {
          error: 'not_found',
          message: 'There is nothing at this address: the service lives under a path prefix',
        })
      }
    })

    it('has its front page at the prefix, with and without a slash (R-ACT-10)', async () => {
      for (const path of ['', '/']) {
        const answer = await request(path)
        assert.equal(answer.status, 200)
        const page = await answer.text()
        assert.match(page, new RegExp(`<form[^>]* action="${pathname}/"`))
        const links = [...page.matchAll(/(?:href|src|action)="([^"#][^"]*)"/g)].map(([, link = '']) => link)
        assert.ok(links.length >= 4)
        for (const link of links) {
          assert.ok(link.startsWith(`${pathname}/`), link)
          const target = await service.app.fetch(new Request(`${origin}${link}`))
          assert.equal(target.status, 200, link)
        }
      }
    })

    it('sends browsers and programs to URLs below it (R-ACT-10)', async () => {
      const page = await request(`/${actor.id}`, { headers: { accept: 'text/html' } })
      assert.deepEqual(
        [page.status, page.headers.get('location')],
        [302, `${root}/login?actor=${actor.id}&redirect=${encodeURIComponent(`${pathname}/${actor.id}`)}`],
      )
      const slash = await request(`/${actor.id}/?a=b`)
      assert.deepEqual([slash.status, slash.headers.get('location')], [307, `${root}/${actor.id}?a=b`])
      const posted = await own('/properties/thing', { method: 'POST', body: '1' })
      assert.equal(posted.headers.get('location'), `${root}/${actor.id}/properties/thing`)
      await own('/properties', { method: 'POST', body: '{"things":{"_type":"list"}}' })
      const appended = await own('/properties/things', { method: 'POST', body: '1' })
      assert.equal(appended.headers.get('location'), `${root}/${actor.id}/properties/things/0`)
    })

    it('includes the prefix in its OpenAPI document and on the page of a new actor (R-ACT-10)', async () => {
      const { servers } = (await (await request('/openapi.json')).json()) as { servers: unknown }
      assert.deepEqual(servers, [{ url: root }])
      const created = await request('/', { method: 'POST', body: new URLSearchParams({ creator: 'new@example.com' }) })
      assert.match(await created.text(), new RegExp(`<code>${root}/[0-9a-f]{32}</code>`))
    })

    it('trusts its own configuration, not a Host header (R-ACT-10)', async () => {
      const answer = await service.app.fetch(
        new Request(`http://evil.test${pathname}/`, {
          method: 'POST',
          headers: {
            host: 'evil.test',
            'x-forwarded-host': 'evil.test',
            forwarded: 'host=evil.test',
            'content-type': 'application/json',
          },
          body: '{}',
        }),
      )
      assert.equal(answer.status, 201)
      assert.equal(answer.headers.get('location')?.startsWith(`${root}/`), true)
    })
  })
}

describe('a base address', () => {
  for (const [what, baseUrl] of [
    ['letters beyond ASCII in its path', 'http://troupe.test/ä'],
    ['letters beyond ASCII in its host', 'http://bücher.test/'],
    ['a space', 'http://troupe.test/a b'],
    ['a line break', 'http://troupe.test/a\r\nb'],
    ['a query', 'http://troupe.test/?a=b'],
    ['a password', 'http://me:secret@troupe.test/'],
  ] as const) {
    it(`with ${what} prevents the start, because every Location begins with it (R-ACT-10, HTTP-08)`, async () => {
      const { startService } = await import('../support/service.ts')
      await assert.rejects(startService('sqlite:/nowhere/at/all.db', { baseUrl }), { name: 'ConfigError' })
    })
  }
})
