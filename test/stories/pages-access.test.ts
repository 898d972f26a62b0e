import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { github, google } from '../../src/index.ts'
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

/** The page where the browser chooses how to sign in, with the page that it asked for. */
function login(actorId: string, path: string): string {
  return `${baseUrl}/login?actor=${actorId}&redirect=${encodeURIComponent(`${basePath}/${actorId}${path}`)}`
}

type Sent = [status: number, location: string | null, cookies: string[]]

/** The answer to a browser that has to sign in, when it asked for the page. */
function asked(configured: Configured, actorId: string, path: string, cookies: string[] = []): Sent {
  return configured === 'none' ? [401, null, []] : [302, choosing(configured, actorId, path), cookies]
}

/** Where the browser goes that has to sign in, when it asked for the page. */
function choosing(configured: Configured, actorId: string, path: string): string {
  if (configured !== 'one') return login(actorId, path)
  const asked = encodeURIComponent(`${basePath}/${actorId}${path}`)
  return `${baseUrl}/oauth/login/google?actor=${actorId}&redirect=${asked}`
}

const expired = [
  'oauth_token=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax',
  '__Host-notice=sessionExpired; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax',
]

const start = sqliteService()

for (const configured of ['none', 'one', 'several'] as const) {
  describe(`the pages of an actor, with ${configured} of the providers`, () => {
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

      it(`R-WEB-01 ${path}: a session opens it, by cookie or as a bearer`, async () => {
        assert.deepEqual(await ask(path, { ...asBrowser, cookie: `oauth_token=${token}` }), [shown, null, []])
        assert.deepEqual(await ask(path, { cookie: `oauth_token=${token}` }), [shown, null, []])
        assert.deepEqual(await ask(path, { ...asBrowser, authorization: `Bearer ${token}` }), [shown, null, []])
      })

      it(`R-WEB-01 ${path}: nobody is sent to sign in as a browser, and asked for credentials as a program`, async () => {
        assert.deepEqual(await ask(path, asBrowser), asked(configured, actor.id, path))
        for (const headers of [{}, { accept: 'application/json' }, { accept: '*/*' }]) {
          const answer = await service.request(`/${actor.id}${path}`, { headers })
          assert.equal(answer.status, 401)
          assert.equal(answer.headers.get('www-authenticate'), 'Basic realm="troupe.test", charset="UTF-8"')
          assert.equal(answer.headers.get('content-type'), 'application/json')
          assert.equal(answer.headers.get('vary'), 'Accept')
        }
      })

      it(`R-WEB-05 WEB-15 ${path}: ${configured === 'none' ? 'the passphrase opens it, and a wrong one does not' : 'the passphrase opens nothing, right or wrong, and the answer does not tell which'}`, async () => {
        if (configured === 'none') {
          for (const accept of [asBrowser, {}, { accept: 'application/json' }]) {
            const right = { ...accept, authorization: actor.authorization }
            assert.deepEqual(await ask(path, right), [shown, null, []])
            for (const wrong of [basic(actor.creator, 'wrong'), basic('nobody@example.com', actor.passphrase)])
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
          basic('nobody@example.com', actor.passphrase),
          basic(actor.creator, 'grüße: mit Doppelpunkt'),
        ]) {
          for (const accept of [asBrowser, {}, { accept: 'application/json' }])
            assert.deepEqual(await ask(path, { ...accept, authorization }), [302, login(actor.id, path), []])
        }
      })

      it(`WEB-14 R-WEB-01 ${path}: a header that is no good is refused, whatever cookie comes with it`, async () => {
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

      it(`R-WEB-01 ${path}: the session of another actor opens nothing, and stays a session`, async () => {
        // The page where one signs in says that this is another account's page, so no provider is asked before.
        const cookie = `oauth_token=${stranger}`
        const other: Sent = configured === 'none' ? [401, null, []] : [302, login(actor.id, path), []]
        assert.deepEqual(await ask(path, { ...asBrowser, cookie }), other)
        assert.deepEqual(
          await ask(path, { ...asBrowser, authorization: `Bearer ${stranger}` }),
          asked(configured, actor.id, path),
        )
        assert.deepEqual(await ask(path, { cookie: `oauth_token=${stranger}` }), [403, null, []])
      })

      it(`R-WEB-01 ${path}: a cookie that opens nothing any more is taken away on the way to sign-in`, async () => {
        const answer = await ask(path, { ...asBrowser, cookie: 'oauth_token=gone' })
        assert.deepEqual(answer, asked(configured, actor.id, path, expired))
      })

      it(`R-WEB-01 ${path}: peers, clients and trustees do not come in, whatever else they may do`, async () => {
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

      it(`R-WEB-01 ${path}: there are none of an actor that does not exist, for anybody (CHOICE-50)`, async () => {
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

    it('R-ACT-06 WEB-15 the actor itself: a browser goes to its pages with a session, else to the page for signing in', async () => {
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
      const [status, location, cookies] = await ask('', { ...asBrowser, cookie: 'oauth_token=gone' })
      assert.deepEqual([status, location, cookies], [302, login(actor.id, ''), expired])
    })

    it('WEB-15 a cache keeps the answer to a browser from a program', async () => {
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

    it('R-WEB-01 other addresses of the actor: a browser that nobody knows goes to sign-in, a program is asked for credentials', async () => {
      for (const path of ['/properties', '/trust', '/methods', '/subscriptions']) {
        assert.deepEqual(await ask(path, asBrowser), asked(configured, actor.id, path))
        assert.equal((await ask(path, {}))[0], 401)
        assert.equal((await ask(path, { ...asBrowser, authorization: basic(actor.creator, 'wrong') }))[0], 403)
      }
    })

    it('R-WEB-01 a form of a browser without a session goes nowhere but to sign-in, and changes nothing', async () => {
      const before = rowsOf(await dumpStore((await service.app.running()).store), actor.id)
      for (const headers of [
        asBrowser,
        { ...asBrowser, cookie: 'oauth_token=gone' },
        // Where no provider is configured, this form is taken: test/stories/pages-by-passphrase.test.ts.
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

describe('a provider of phones', () => {
  it('R-WEB-01 is none that a browser is sent to by itself', async () => {
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

describe('without pages', () => {
  it('R-WEB-04 R-ACT-06 nothing is at /www, and a session is sent to the application', async () => {
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
  describe('every page and form of the table', () => {
    const callers = new TestCallers()
    let service: TestService
    const done: string[] = []
    before(async () => {
      service = await start({
        ...callers.parts,
        // Without a provider, the passphrase opens them: test/stories/pages-by-passphrase.test.ts.
        signIn: providers.several,
        peerClient: new FakePeers(),
        timers: stoppedTimers,
        peerProfileAttributes: [],
        declare: (app) => declareAll(app, done),
      })
    })

    for (const route of routes.filter(({ access }) => access === 'www')) {
      it(`ACL-01 R-WEB-01 ${route.id} serves a session of the owner and nobody else, who learns and changes nothing`, async () => {
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
          // A cookie alone does not show that a page of the service sent a form.
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
