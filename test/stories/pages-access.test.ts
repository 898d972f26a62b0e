import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { github, google } from '../../src/index.ts'
import { CookieNames } from '../../src/http/edge/cookies/cookie-names.ts'
import { everything, TestCallers } from '../support/callers.ts'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { declareAll, furnish, planted, requestOf, routes, sampleOf } from '../support/routes.ts'
import { basic, forEachService, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, signIn } from '../support/sessions.ts'
import { dumpStore, rowsOf } from '../support/store-dump.ts'

const providers = {
  none: [],
  one: [google({ clientId: 'web', clientSecret: 'hush' })],
  several: [google({ clientId: 'web', clientSecret: 'hush' }), github({ clientId: 'hub', clientSecret: 'hush' })],
}
type Configured = keyof typeof providers

const basePath = '/aw'
const baseUrl = `http://troupe.test${basePath}`

/** URL of the sign-in page, which leads back to `path`. */
function login(actorId: string, path: string): string {
  return `${baseUrl}/login?actor=${actorId}&redirect=${encodeURIComponent(`${basePath}/${actorId}${path}`)}`
}

type Sent = [status: number, location: string | null, cookies: string[]]

/** The response to a browser that must sign in to see `path`. */
function asked(configured: Configured, actorId: string, path: string, cookies: string[] = []): Sent {
  return configured === 'none' ? [401, null, []] : [302, choosing(configured, actorId, path), cookies]
}

/** The redirect of a browser that must sign in to see `path`. */
function choosing(configured: Configured, actorId: string, path: string): string {
  if (configured !== 'one') return login(actorId, path)
  const asked = encodeURIComponent(`${basePath}/${actorId}${path}`)
  return `${baseUrl}/oauth/login/google?actor=${actorId}&redirect=${asked}`
}

const names = new CookieNames({ baseUrl, config: { mode: 'development' } })
const ownCookie = names.nameOnWire('__Host-oauth_token')

const expired = [
  `${ownCookie}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`,
  `${names.nameOnWire('__Host-notice')}=sessionExpired; Max-Age=600; Path=/; HttpOnly; SameSite=Lax`,
]

const start = sqliteService()

for (const configured of ['none', 'one', 'several'] as const) {
  describe(`the pages of an actor, with ${configured} of the sign-in providers`, () => {
    const callers = new TestCallers()
    let service: TestService
    let actor: TestActor
    let token: string
    let stranger: string
    before(async () => {
      service = await start({
        ...callers.parts,
        baseUrl,
        localSignIn: false,
        signIn: providers[configured],
        declare: (app) => declareAll(app),
      })
      actor = await service.createActor()
      await furnish(actor)
      token = await signIn(service, actor)
      stranger = await signIn(service, await service.createActor('stranger@example.com'))
    })

    const ask = async (path: string, headers: Record<string, string>): Promise<[number, string | null, string[]]> => {
      const answer = await service.request(`/${actor.id}${path}`, { headers })
      const text = await answer.text()
      if (answer.status !== 200) for (const secret of planted) assert.ok(!text.includes(secret))
      return [answer.status, answer.headers.get('location'), answer.headers.getSetCookie()]
    }

    for (const path of [
      '/www',
      '/www/properties',
      '/www/properties/color',
      '/www/init',
      '/www/report',
      '/www/nothing',
    ]) {
      const shown = path === '/www/nothing' ? 404 : 200

      it(`at ${path} open with a session, as a cookie or a bearer token (R-WEB-01, R-PAGE-01)`, async () => {
        assert.deepEqual(await ask(path, { ...asBrowser, cookie: `oauth_token=${token}` }), [shown, null, []])
        assert.deepEqual(await ask(path, { cookie: `oauth_token=${token}` }), [shown, null, []])
        assert.deepEqual(await ask(path, { ...asBrowser, authorization: `Bearer ${token}` }), [shown, null, []])
      })

      it(`at ${path} redirect a browser without credentials to sign-in, and answer a program with 401 (R-PAGE-01)`, async () => {
        assert.deepEqual(await ask(path, asBrowser), asked(configured, actor.id, path))
        for (const headers of [{}, { accept: 'application/json' }, { accept: '*/*' }]) {
          const answer = await service.request(`/${actor.id}${path}`, { headers })
          assert.equal(answer.status, 401)
          assert.equal(answer.headers.get('www-authenticate'), 'Basic realm="troupe.test", charset="UTF-8"')
          assert.equal(answer.headers.get('content-type'), 'application/json')
          assert.equal(answer.headers.get('vary'), 'Accept')
        }
      })

      it(`at ${path} ${configured === 'none' ? 'open with the passphrase, but not with a wrong one' : 'give one response to a right and to a wrong passphrase: a redirect to sign-in'} (R-WEB-05, WEB-15)`, async () => {
        if (configured === 'none') {
          for (const accept of [asBrowser, {}, { accept: 'application/json' }]) {
            const right = { ...accept, authorization: actor.authorization }
            assert.deepEqual(await ask(path, right), [shown, null, []])
            for (const wrong of [basic(actor.creator, 'wrong'), basic('unknown@example.com', actor.passphrase)])
              assert.deepEqual(await ask(path, { ...accept, authorization: wrong }), [
                accept === asBrowser ? 401 : 403,
                null,
                [],
              ])
          }
          return
        }
        for (const authorization of [
          actor.authorization,
          basic(actor.creator, 'wrong'),
          basic('unknown@example.com', actor.passphrase),
          basic(actor.creator, 'grüße: mit Doppelpunkt'),
        ]) {
          for (const accept of [asBrowser, {}, { accept: 'application/json' }])
            assert.deepEqual(await ask(path, { ...accept, authorization }), [302, login(actor.id, path), []])
        }
      })

      it(`at ${path} reject an invalid Authorization header, even beside a valid cookie (WEB-14, R-PAGE-01)`, async () => {
        for (const authorization of ['Bearer unknown', 'Basic', 'Basic !!!!', 'Digest x', 'Bearer two words', '']) {
          const headers = { authorization, cookie: `oauth_token=${token}` }
          const answer = await ask(path, { ...asBrowser, ...headers })
          assert.deepEqual(answer, asked(configured, actor.id, path), authorization)
          const expected = authorization === 'Bearer unknown' ? 403 : 401
          assert.deepEqual(await ask(path, headers), [expected, null, []], authorization)
        }
        assert.deepEqual(
          await ask(path, { ...asBrowser, authorization: actor.authorization, cookie: `oauth_token=${token}` }),
          configured === 'none' ? [shown, null, []] : [302, login(actor.id, path), []],
        )
      })

      it(`at ${path} reject the session of another actor, which remains valid (R-PAGE-01)`, async () => {
        // The sign-in page explains that the page belongs to another account, so no provider is contacted before.
        const cookie = `oauth_token=${stranger}`
        const other: Sent = configured === 'none' ? [401, null, []] : [302, login(actor.id, path), []]
        assert.deepEqual(await ask(path, { ...asBrowser, cookie }), other)
        assert.deepEqual(
          await ask(path, { ...asBrowser, authorization: `Bearer ${stranger}` }),
          asked(configured, actor.id, path),
        )
        assert.deepEqual(await ask(path, { cookie: `oauth_token=${stranger}` }), [403, null, []])
      })

      it(`at ${path} delete an expired cookie on the way to sign-in (R-PAGE-01)`, async () => {
        const answer = await ask(path, { ...asBrowser, cookie: `${ownCookie}=gone` })
        assert.deepEqual(answer, asked(configured, actor.id, path, expired))
        const ofOthers = await ask(path, { ...asBrowser, cookie: 'oauth_token=of-another-service' })
        assert.deepEqual(ofOthers, asked(configured, actor.id, path))
      })

      it(`at ${path} reject peers, clients and trustees, whatever their rights (R-PAGE-01)`, async () => {
        for (const other of [
          callers.peer(actor.id, { relationship: 'admin', grants: everything }),
          callers.client(actor.id, { grants: everything }),
          callers.trustee(actor.id),
        ]) {
          assert.deepEqual(await ask(path, { authorization: `Bearer ${other}` }), [403, null, []])
          const answer = await ask(path, { ...asBrowser, authorization: `Bearer ${other}` })
          assert.deepEqual(answer, asked(configured, actor.id, path))
        }
      })

      it(`at ${path} answer 404 to every caller when the actor does not exist (R-PAGE-01, CHOICE-50)`, async () => {
        for (const headers of [
          {},
          asBrowser,
          { ...asBrowser, cookie: `oauth_token=${token}` },
          { authorization: actor.authorization },
        ]) {
          const answer = await service.request(`/0123456789abcdef0123456789abcdef${path}`, { headers })
          assert.equal(answer.status, 404)
        }
      })
    }

    it('redirect a browser from the root of the actor to the pages with a session, otherwise to sign-in (R-ACT-06, WEB-15)', async () => {
      const cookie = `oauth_token=${token}`
      assert.deepEqual(await ask('', { ...asBrowser, cookie }), [302, `${baseUrl}/${actor.id}/www`, []])
      assert.deepEqual(await ask('', { ...asBrowser, authorization: `Bearer ${token}` }), [
        302,
        `${baseUrl}/${actor.id}/www`,
        [],
      ])
      assert.deepEqual(await ask('', asBrowser), [302, login(actor.id, ''), []])
      assert.deepEqual(await ask('', { ...asBrowser, authorization: actor.authorization }), [
        302,
        login(actor.id, ''),
        [],
      ])
      assert.deepEqual(await ask('', { ...asBrowser, authorization: basic(actor.creator, 'wrong') }), [
        302,
        login(actor.id, ''),
        [],
      ])
      assert.deepEqual(await ask('', { ...asBrowser, cookie: `oauth_token=${stranger}` }), [
        302,
        login(actor.id, ''),
        [],
      ])
      const [status, location, cookies] = await ask('', { ...asBrowser, cookie: `${ownCookie}=gone` })
      assert.deepEqual([status, location, cookies], [302, login(actor.id, ''), expired])
    })

    it('have a root whose responses differ by Accept, for caches, and are not stored (WEB-15)', async () => {
      for (const [headers, status] of [
        [asBrowser, 302],
        [{}, 401],
        [{ authorization: actor.authorization }, 200],
        [{ ...asBrowser, cookie: `oauth_token=${token}` }, 302],
      ] as const) {
        const answer = await service.request(`/${actor.id}`, { headers })
        assert.deepEqual(
          [answer.status, answer.headers.get('vary'), answer.headers.get('cache-control')],
          [status, 'Accept', 'no-store'],
        )
      }
    })

    it('follow the same rule as other paths: a browser without a session is redirected to sign-in, a program receives 401 (R-PAGE-01)', async () => {
      for (const path of ['/properties', '/trust', '/methods', '/subscriptions']) {
        assert.deepEqual(await ask(path, asBrowser), asked(configured, actor.id, path))
        assert.equal((await ask(path, {}))[0], 401)
        assert.equal((await ask(path, { ...asBrowser, authorization: basic(actor.creator, 'wrong') }))[0], 403)
      }
    })

    it('redirect a form without a session to sign-in, and change nothing (R-PAGE-01)', async () => {
      const before = rowsOf(await dumpStore((await service.app.running()).store), actor.id)
      for (const headers of [
        asBrowser,
        { ...asBrowser, cookie: 'oauth_token=gone' },
        // Where no provider is configured, this form is accepted: test/stories/pages-by-passphrase.test.ts.
        { ...asBrowser, authorization: configured === 'none' ? basic(actor.creator, 'wrong') : actor.authorization },
      ]) {
        const answer = await service.request(`/${actor.id}/www/properties/color`, {
          method: 'POST',
          headers: { ...headers, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
          body: 'value=red&_method=DELETE',
        })
        assert.deepEqual(
          [answer.status, answer.headers.get('location')],
          configured === 'none' ? [401, null] : [302, login(actor.id, '/www/properties/color')],
        )
      }
      assert.deepEqual(rowsOf(await dumpStore((await service.app.running()).store), actor.id), before)
    })
  })
}

describe('a sign-in provider for mobile apps', () => {
  it('is not chosen automatically for a browser (R-PAGE-01)', async () => {
    const service = await start({
      signIn: [
        google({ clientId: 'web', clientSecret: 'hush' }),
        google({ name: 'google-native', clientId: 'app', clientSecret: 'hush' }),
      ],
    })
    const { id } = await service.createActor()
    const answer = await service.request(`/${id}/www`, { headers: asBrowser })
    assert.match(answer.headers.get('location') ?? '', /^http:\/\/troupe\.test\/oauth\/login\/google\?/)
  })
})

describe('a service without pages', () => {
  it('answers 404 at /www, and redirects a session to the application (R-WEB-04, R-ACT-06)', async () => {
    const service = await start({ webUi: false })
    const actor = await service.createActor()
    const cookie = `oauth_token=${await signIn(service, actor)}`
    for (const path of ['/www', '/www/properties', '/www/init', '/www/anything'])
      assert.equal((await service.request(`/${actor.id}${path}`, { headers: { ...asBrowser, cookie } })).status, 404)
    const answer = await service.request(`/${actor.id}`, { headers: { ...asBrowser, cookie } })
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, `http://troupe.test/${actor.id}/app`])
    assert.equal((await service.request(`/${actor.id}/app`, { headers: { ...asBrowser, cookie } })).status, 404)
  })
})

forEachService((start) => {
  describe('every page and form of the route table', () => {
    const callers = new TestCallers()
    let service: TestService
    const done: string[] = []
    before(async () => {
      service = await start({
        ...callers.parts,
        // Without a provider, the passphrase would open the pages: test/stories/pages-by-passphrase.test.ts.
        signIn: providers.several,
        peerClient: new FakePeers(),
        timers: stoppedTimers,
        peerProfileAttributes: [],
        declare: (app) => declareAll(app, done),
      })
    })

    for (const route of routes.filter(({ access }) => access === 'www')) {
      it(`${route.id} serves only a session of the owner; other callers learn and change nothing (ACL-01, R-PAGE-01)`, async () => {
        const actor = await service.createActor('owner@example.com')
        await furnish(actor)
        const stranger = await service.createActor('stranger@example.com')
        const { store } = await service.app.running()
        const untouched = rowsOf(await dumpStore(store), actor.id)
        const refused: readonly (readonly [headers: Record<string, string>, status: number])[] = [
          [{}, 401],
          [asBrowser, 302],
          [{ authorization: actor.authorization }, 302],
          [{ authorization: basic(actor.creator, 'wrong') }, 302],
          [{ authorization: 'Basic' }, 401],
          [{ authorization: 'Bearer unknown' }, 403],
          [{ cookie: 'oauth_token=unknown' }, 403],
          [{ authorization: `Bearer ${callers.session(stranger.id)}` }, 403],
          [{ cookie: `oauth_token=${callers.session(stranger.id)}` }, 403],
          [{ authorization: `Bearer ${callers.peer(actor.id, { relationship: 'admin', grants: everything })}` }, 403],
          [{ authorization: `Bearer ${callers.peer(actor.id, { grants: everything })}` }, 403],
          [{ authorization: `Bearer ${callers.client(actor.id, { grants: everything })}` }, 403],
          [{ authorization: `Bearer ${callers.trustee(actor.id)}` }, 403],
          // A cookie alone does not prove that a page of the service sent the form.
          ...(route.method === 'GET' ? [] : [[{ cookie: `oauth_token=${callers.session(actor.id)}` }, 403] as const]),
        ]
        for (const [headers, status] of refused) {
          const answer = await service.request(...requestOf(route, actor.id, headers))
          assert.equal(answer.status, status, JSON.stringify(headers))
          const text = await answer.text()
          for (const secret of [actor.creator, actor.passphrase, ...planted]) assert.ok(!text.includes(secret))
        }
        assert.deepEqual(rowsOf(await dumpStore(store), actor.id), untouched)
        assert.deepEqual(done, [])
        const answer = await service.request(
          ...requestOf(route, actor.id, { authorization: `Bearer ${callers.session(actor.id)}` }),
        )
        assert.equal(answer.status, sampleOf(route).status)
        done.length = 0
      })
    }
  })
})
