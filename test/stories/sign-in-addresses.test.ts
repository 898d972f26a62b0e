import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { github } from '../../src/index.ts'
import type { Events } from '../../src/app/declarations.ts'
import type { App } from '../../src/troupe.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { type GitHub, startGitHub } from '../support/providers/github.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import {
  actorIn,
  peopleStored,
  sharedProvider,
  signIn,
  signInAt,
  assertNoSignIn,
  TestBrowser,
  statusesOf,
} from '../support/sign-in.ts'

const provider = sharedProvider()

class Post {
  readonly sent: Events['email_verification_required'][] = []
  readonly verified: string[] = []
  readonly successes: Events['oauth_success'][] = []
  answer: unknown = undefined

  readonly declare = (app: App): void => {
    app.on('email_verification_required', (event) => void this.sent.push(event))
    app.on('email_verified', ({ email }) => void this.verified.push(email))
    app.on('oauth_success', (event) => {
      this.successes.push(event)
      return this.answer
    })
  }

  get last(): Events['email_verification_required'] {
    return this.sent.at(-1) ?? assert.fail('Nothing was sent')
  }
}

forEachService((start) => {
  async function startWith(
    options: StartOptions = {},
  ): Promise<{ service: TestService; browser: TestBrowser; post: Post }> {
    const post = new Post()
    const service = await start({ ...signInAt(await provider()), declare: post.declare, ...options })
    return { service, browser: new TestBrowser(service), post }
  }

  /** Signs in until the form for the address appears, and returns the session of the form. */
  async function askedFor(browser: TestBrowser, sub = 'silent'): Promise<string> {
    const answer = await signIn(browser, await provider(), sub)
    const location = new URL(answer.headers.get('location') ?? 'none:')
    assert.equal(location.pathname, '/oauth/email')
    return location.searchParams.get('session') ?? ''
  }

  async function enter(browser: TestBrowser, email: string, sub = 'silent'): Promise<Response> {
    return browser.post('/oauth/email', { session: await askedFor(browser, sub), email })
  }

  async function fieldsOf(service: TestService, id: string): Promise<Readonly<Record<string, string>>> {
    return (await (await service.app.actors.get(id))?.signIn.get())?.fields ?? {}
  }

  describe('a user whose provider vouches for no address', () => {
    for (const sub of ['silent', 'unverified']) {
      it(`must enter an address (${sub}) before anything is created (R-OC-12, IDP-07)`, async () => {
        const { service, browser } = await startWith()
        const session = await assertNoSignIn(service, () => askedFor(browser, sub))
        const page = await browser.get(`/oauth/email?session=${session}`)
        assert.equal(page.status, 200)
        const text = await page.text()
        assert.match(text, /<form method="post" action="\/oauth\/email">/)
        assert.ok(text.includes('Acme doesn’t say which email address is yours.'))
        assert.ok(!text.includes('victim@example.com'))
      })
    }

    it('receives an actor for the typed address, which is unverified until the link is opened (R-OC-09, R-OC-13, R-EVT-01)', async () => {
      const { service, browser, post } = await startWith()
      const answer = await enter(browser, '  New.Person@Example.COM ')
      const id = actorIn(answer)
      assert.equal(answer.status, 302)
      assert.match(
        browser.lastCookies[0] ?? '',
        /^oauth_token=[0-9a-f]{40}; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/,
      )
      const actor = await service.app.actors.get(id)
      assert.equal(actor?.creator, 'new.person@example.com')
      const { created_at, ...fields } = await fieldsOf(service, id)
      assert.match(created_at ?? '', /^\d+$/)
      assert.deepEqual(fields, {
        auth_method: 'acme_oauth2',
        email: 'new.person@example.com',
        email_verified: 'false',
        oauth_provider: 'acme',
        oauth_sub: 'silent',
      })
      assert.equal((await actor?.signIn.get())?.emailVerified, false)
      const [success = assert.fail()] = post.successes
      assert.equal(success.email, 'new.person@example.com')
      assert.equal('email' in success.user_info, false)
      assert.equal(success.user_info['display_name'], 'Without Address')
      const { email, verification_url, token } = post.last
      assert.equal(email, 'new.person@example.com')
      assert.match(token, /^[\w-]{43}$/)
      assert.equal(verification_url, `http://troupe.test/oauth/email?verify=${token}`)
    })

    it('receives JSON when the form was sent as JSON, with tokens of the service but none of the provider (R-OC-09)', async () => {
      const { service, browser } = await startWith()
      const session = await askedFor(browser)
      const answer = await browser.fetchJson('/oauth/email', { session, email: 'Json@Example.com' })
      assert.equal(answer.status, 200)
      const body = (await answer.json()) as Record<string, string>
      assert.deepEqual(
        [body['success'], body['status'], body['email'], body['email_requires_verification'], body['token_type']],
        [true, 'success', 'json@example.com', true, 'Bearer'],
      )
      assert.equal(body['redirect_url'], `/${body['actor_id']}/www`)
      const actor = await service.app.actors.get(body['actor_id'] ?? '')
      assert.notEqual((await actor?.signIn.providerTokens())?.accessToken, body['access_token'])
      const opened = await service.request(`/${body['actor_id']}/properties`, {
        headers: { authorization: `Bearer ${body['access_token']}` },
      })
      assert.equal(opened.status, 200)
    })

    it('returns to the same actor by the same provider, without the form (R-OC-09)', async () => {
      const { service, browser } = await startWith()
      const id = actorIn(await enter(browser, 'returning@example.com'))
      const again = await signIn(new TestBrowser(service), await provider(), 'silent')
      assert.equal(actorIn(again), id)
      assert.equal((await fieldsOf(service, id))['email_verified'], 'false')
    })

    it('is redirected to the requested page (R-OC-09)', async () => {
      const { browser } = await startWith()
      const asked = await signIn(browser, await provider(), 'silent', '/oauth/login/acme?redirect=%2Fwanted')
      const session = new URL(asked.headers.get('location') ?? '').searchParams.get('session') ?? ''
      const answer = await browser.post('/oauth/email', { session, email: 'wanted@example.com' })
      assert.equal(answer.headers.get('location'), 'http://troupe.test/wanted')
    })

    it('must submit the form within ten minutes, once, in the same browser (R-OC-09)', async () => {
      const clock = new ManualClock(Date.now())
      const { service, browser } = await startWith({ now: clock.now })
      const used = await askedFor(browser)
      const stranger = new TestBrowser(service)
      for (const other of [stranger, new TestBrowser(service)]) {
        await stranger.get('/oauth/login/acme')
        assert.equal(
          (await assertNoSignIn(service, () => other.post('/oauth/email', { session: used, email: 'a@example.com' })))
            .status,
          400,
        )
        assert.equal((await other.get(`/oauth/email?session=${used}`)).status, 400)
      }
      assert.equal((await browser.post('/oauth/email', { session: used, email: 'a@example.com' })).status, 302)
      assert.equal(
        (await assertNoSignIn(service, () => browser.post('/oauth/email', { session: used, email: 'b@example.com' })))
          .status,
        400,
      )
      const idp = await provider()
      idp.people.set('late', {})
      const late = await askedFor(browser, 'late')
      clock.pass(600_001)
      const tooLate = await assertNoSignIn(service, () =>
        browser.post('/oauth/email', { session: late, email: 'late@example.com' }),
      )
      assert.equal(tooLate.status, 400)
      for (const none of [{}, { session: '' }, { session: 'x'.repeat(43) }]) {
        assert.equal((await browser.post('/oauth/email', { ...none, email: 'c@example.com' })).status, 400)
      }
      assert.equal((await browser.get('/oauth/email')).status, 400)
    })

    for (const typed of [
      '',
      ' ',
      'no-address',
      'a@b@example.com',
      'two words@example.com',
      'a@exam\u200bple.com',
      '"q"@example.com',
      'taken＠example.com',
      'ｔａｋｅｎ@example.com',
      'taken@example。com',
      'ta\u212Aen@example.com',
    ]) {
      it(`may try again after the invalid address ${JSON.stringify(typed)} (IDP-10, R-OC-09)`, async () => {
        const { service, browser } = await startWith()
        const session = await askedFor(browser)
        const answer = await assertNoSignIn(service, () => browser.post('/oauth/email', { session, email: typed }))
        assert.equal(answer.status, 400)
        assert.match(await answer.text(), /name="session"[^]*aria-invalid="true"[^]*role="alert"/)
        assert.equal((await browser.post('/oauth/email', { session, email: 'right@example.com' })).status, 302)
      })
    }
  })

  describe('an address that already has an actor', () => {
    const variants = ['taken@example.com', 'TAKEN@Example.com', ' taken@example.com ']
    for (const typed of variants) {
      it(`answers 409 to ${JSON.stringify(typed)} and stores nothing (IDP-09, IDP-10, R-OC-09)`, async () => {
        const { service, browser } = await startWith()
        const idp = await provider()
        idp.people.set('owner', { email: 'taken@example.com', email_verified: true })
        await signIn(new TestBrowser(service), idp, 'owner')
        const session = await askedFor(browser)
        const before = await peopleStored(service)
        service.reset()
        const page = await browser.post('/oauth/email', { session, email: typed })
        assert.equal(page.status, 409)
        assert.deepEqual(
          service.statements.filter((sql) => !sql.startsWith('SELECT')),
          [],
        )
        assert.match(await page.text(), /This email address is already in use/)
        const json = await browser.fetchJson('/oauth/email', { session, email: typed })
        assert.equal(json.status, 409)
        assert.equal(((await json.json()) as { error: string }).error, 'actor_exists')
        assert.deepEqual(await peopleStored(service), before)
        assert.equal((await browser.post('/oauth/email', { session, email: 'free@example.com' })).status, 302)
      })
    }

    it('answers 409 also when the API created the actor or another user typed the address (IDP-09)', async () => {
      const { service, browser } = await startWith()
      await service.createActor('api@example.com')
      const session = await askedFor(browser)
      assert.equal(
        (await assertNoSignIn(service, () => browser.post('/oauth/email', { session, email: 'api@example.com' })))
          .status,
        409,
      )
      assert.equal((await browser.post('/oauth/email', { session, email: 'typed@example.com' })).status, 302)
      const idp = await provider()
      idp.people.set('mute', {})
      const other = new TestBrowser(service)
      assert.equal((await enter(other, 'typed@example.com', 'mute')).status, 409)
    })

    it('is given to one of four users who type it concurrently (IDP-09)', async () => {
      const { service } = await startWith()
      const idp = await provider()
      const people = ['p1', 'p2', 'p3', 'p4']
      for (const sub of people) idp.people.set(sub, {})
      const waiting = await Promise.all(
        people.map(async (sub) => {
          const browser = new TestBrowser(service)
          return { browser, session: await askedFor(browser, sub) }
        }),
      )
      const answers = await Promise.all(
        waiting.map(({ browser, session }) =>
          browser.post('/oauth/email', { session, email: 'fought-for@example.com' }),
        ),
      )
      assert.deepEqual(statusesOf(answers), [302, 409, 409, 409])
      const stored = await peopleStored(service)
      assert.deepEqual([stored['actor']?.length, stored['account']?.length], [1, 1])
    })

    it('answers 403 and stores nothing when the application rejects the sign-in (IDP-09, R-EVT-02, R-OC-13)', async () => {
      const { service, browser, post } = await startWith()
      const session = await askedFor(browser)
      post.answer = false
      const answer = await assertNoSignIn(
        service,
        () => browser.post('/oauth/email', { session, email: 'no@example.com' }),
        ['deleted_actor'],
      )
      assert.equal(answer.status, 403)
      assert.deepEqual([post.sent, browser.lastCookies], [[], []])
    })
  })

  describe('the pages of /oauth/email', () => {
    for (const [which, options, allowed] of [
      ['without configured origins', {}, 'https://any.example'],
      ['with a configured origin', { spaCorsOrigins: ['https://any.example'] }, 'https://any.example'],
    ] as const) {
      it(`have no Access-Control-Allow-Origin, unlike the JSON for programs, ${which} (R-OC-12)`, async () => {
        const { service, browser } = await startWith(options)
        const session = await askedFor(browser)
        const path = `/oauth/email?session=${session}`
        const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
        const origin = 'https://any.example'
        const ask = (accept: string, to = path): Promise<Response> =>
          service.request(to, { headers: { accept, origin, cookie } })
        const isHtml = (answer: Response): boolean =>
          answer.headers.get('content-type')?.startsWith('text/html') === true
        for (const [answer, status] of [
          [await ask('text/html'), 200],
          [await ask('text/html', '/oauth/email?session=none'), 400],
          [await ask('text/html', '/oauth/email?verify=none'), 403],
          [await browser.post('/oauth/email', { session, email: 'no address' }, { origin }), 400],
        ] as const) {
          assert.deepEqual([answer.status, isHtml(answer)], [status, true])
          const shared = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))
          assert.deepEqual(shared, [])
        }
        for (const answer of [
          await ask('application/json'),
          await ask('application/json', '/oauth/email?session=none'),
        ]) {
          assert.equal(isHtml(answer), false)
          assert.equal(answer.headers.get('access-control-allow-origin'), allowed)
        }
      })
    }
  })

  describe('a verification link', () => {
    it('shows a button, and opening it by GET or HEAD changes nothing (R-OC-09, IDP-18)', async () => {
      const { service, browser, post } = await startWith()
      await enter(browser, 'link@example.com')
      const path = `/oauth/email?verify=${post.last.token}`
      await assertNoSignIn(service, async () => {
        const page = await browser.get(path)
        assert.equal(page.status, 200)
        assert.match(
          await page.text(),
          /<form method="post" action="\/oauth\/email">\n<input type="hidden" name="verify"/,
        )
        for (const accept of ['text/html', 'application/json', '*/*']) {
          assert.equal((await service.request(path, { method: 'HEAD', headers: { accept } })).status, 200)
        }
        assert.equal(
          (await service.request(path, { headers: { accept: '*/*', 'user-agent': 'MailScanner' } })).status,
          200,
        )
      })
      assert.deepEqual(post.verified, [])
    })

    it('verifies the address once, by the button (R-OC-09, R-OC-13, R-EVT-01)', async () => {
      const { service, browser, post } = await startWith()
      const id = actorIn(await enter(browser, 'button@example.com'))
      const { token } = post.last
      const answer = await browser.post('/oauth/email', { verify: token })
      assert.equal(answer.status, 200)
      assert.match(await answer.text(), /Your email address is verified[^]*button@example\.com/)
      const fields = await fieldsOf(service, id)
      assert.equal(fields['email_verified'], 'true')
      assert.match(fields['email_verified_at'] ?? '', /^\d+$/)
      assert.deepEqual(post.verified, ['button@example.com'])
      const again = await assertNoSignIn(service, () => browser.post('/oauth/email', { verify: token }))
      assert.equal(again.status, 403)
      assert.equal((await browser.get(`/oauth/email?verify=${token}`)).status, 403)
      assert.deepEqual(post.verified, ['button@example.com'])
    })

    it('verifies the address for a program that requests JSON (R-OC-09)', async () => {
      const { service, browser, post } = await startWith()
      const id = actorIn(await enter(browser, 'program@example.com'))
      const answer = await service.request(`/oauth/email?verify=${post.last.token}&format=json`)
      assert.deepEqual(await answer.json(), {
        success: true,
        status: 'verified',
        message: 'Thank you: the address is verified.',
        email: 'program@example.com',
        redirect_url: `/${id}/www`,
      })
      assert.equal((await fieldsOf(service, id))['email_verified'], 'true')
    })

    it('is accepted for one of ten concurrent requests, with one event (IDP-18)', async () => {
      const { service, browser, post } = await startWith()
      await enter(browser, 'race@example.com')
      const path = `/oauth/email?verify=${post.last.token}&format=json`
      const answers = await Promise.all(Array.from({ length: 10 }, () => service.request(path)))
      assert.deepEqual(statusesOf(answers), [200, ...Array.from({ length: 9 }, () => 403)])
      assert.deepEqual(post.verified, ['race@example.com'])
    })

    it('is valid for a day, then answers 410; an invented link answers 403 (IDP-18)', async () => {
      const clock = new ManualClock(Date.now())
      const { service, browser, post } = await startWith({ now: clock.now })
      await enter(browser, 'day@example.com')
      const { token } = post.last
      clock.pass(86_400_000)
      assert.equal((await browser.get(`/oauth/email?verify=${token}`)).status, 200)
      clock.pass(1)
      for (const work of [
        () => browser.get(`/oauth/email?verify=${token}`),
        () => browser.post('/oauth/email', { verify: token }),
      ]) {
        assert.equal((await assertNoSignIn(service, work)).status, 410)
      }
      assert.equal((await browser.get(`/oauth/email?verify=${'x'.repeat(43)}`)).status, 403)
    })

    it('also works in its older form (R-WEB-03, R-VER-01)', async () => {
      const { service, browser, post } = await startWith()
      const id = actorIn(await enter(browser, 'legacy@example.com'))
      const path = `/${id}/www/verify_email?token=${post.last.token}`
      const page = await assertNoSignIn(service, () => new TestBrowser(service).get(path))
      assert.equal(page.status, 200)
      assert.match(await page.text(), /legacy@example\.com[^]*name="verify"/)
      const answer = await service.request(path, { headers: { accept: 'application/json' } })
      assert.equal(((await answer.json()) as { status: string }).status, 'verified')
      assert.equal((await fieldsOf(service, id))['email_verified'], 'true')
    })

    it('is rejected at another actor and without a token (IDP-18, R-WEB-03)', async () => {
      const { service, browser, post } = await startWith()
      await enter(browser, 'mine@example.com')
      const { token } = post.last
      const other = await service.createActor('other@example.com')
      const json = { headers: { accept: 'application/json' } }
      assert.equal(
        (await assertNoSignIn(service, () => service.request(`/${other.id}/www/verify_email?token=${token}`, json)))
          .status,
        403,
      )
      assert.equal((await service.request(`/${other.id}/www/verify_email`, json)).status, 400)
      assert.equal((await service.request(`/${'0'.repeat(32)}/www/verify_email?token=${token}`, json)).status, 404)
      assert.equal((await browser.post('/oauth/email', { verify: token })).status, 200)
    })

    it('is sent again only at the owner’s request (R-WEB-03)', async () => {
      const { service, browser, post } = await startWith()
      const id = actorIn(await enter(browser, 'again@example.com'))
      const first = post.last.token
      const path = `/${id}/www/verify_email`
      assert.equal((await service.request(path, { method: 'POST' })).status, 401)
      assert.equal(post.sent.length, 1)
      assert.equal((await browser.post(path, {})).status, 204)
      assert.equal(post.sent.length, 2)
      assert.notEqual(post.last.token, first)
      assert.equal((await browser.post('/oauth/email', { verify: post.last.token })).status, 200)
      assert.equal((await browser.post(path, {})).status, 400)
    })

    it('is deleted with its actor (IDP-18)', async () => {
      const { service, browser, post } = await startWith()
      const id = actorIn(await enter(browser, 'gone@example.com'))
      await service.app.actors.delete(id)
      assert.equal((await browser.post('/oauth/email', { verify: post.last.token })).status, 403)
    })

    it('is logged in development when no handler sends it, but never in production (R-OC-13)', async () => {
      const idp = await provider()
      const development = await start({ ...signInAt(idp) })
      await enter(new TestBrowser(development), 'log@example.com')
      const links = development.log.filter((line) => line.includes('http://troupe.test/oauth/email?verify='))
      assert.equal(links.length, 1)
      assert.match(links[0] ?? '', /"level":"info"/)
      const production = await start({
        ...signInAt(idp),
        mode: 'production',
        devtest: false,
        allowHttp: true,
      })
      await enter(new TestBrowser(production), 'log@example.com')
      assert.ok(!production.log.some((line) => line.includes('verify=')))
      assert.ok(production.log.some((line) => line.includes('email_verification_required has no handler')))
    })
  })

  describe('a provider with a list of addresses', () => {
    let known: Promise<GitHub> | undefined
    const hub = (): Promise<GitHub> => (known ??= startGitHub())
    after(async () => (await known)?.close())

    async function atGitHub(
      addresses: GitHub['addresses'],
      status = 200,
    ): Promise<{ answer: Response; service: TestService }> {
      const server = await hub()
      server.addresses = addresses
      if (status === 200) server.answers.delete('/user/emails')
      else server.answers.set('/user/emails', (_request, response) => response.writeHead(status).end('{}'))
      const { service, browser } = await startWith({
        signIn: [
          github({
            clientId: server.clientId,
            clientSecret: server.clientSecret,
            authUri: `${server.url}/login/oauth/authorize`,
            tokenUri: `${server.url}/login/oauth/access_token`,
            userinfoUri: `${server.url}/user`,
          }),
        ],
      })
      const begun = new URL((await browser.get('/oauth/login/github')).headers.get('location') ?? '')
      const query = new URLSearchParams({
        state: begun.searchParams.get('state') ?? '',
        code: server.code('http://troupe.test/oauth/callback', begun.searchParams.get('code_challenge') ?? ''),
      })
      return { answer: await browser.get(`/oauth/callback?${query.toString()}`), service }
    }

    it('signs in by the first verified address when the primary address is not verified (R-OC-12, IDP-07)', async () => {
      const { answer, service } = await atGitHub([
        { email: 'primary@example.com', primary: true, verified: false },
        { email: 'second@example.com', primary: false, verified: true },
      ])
      assert.equal((await service.app.actors.get(actorIn(answer)))?.creator, 'second@example.com')
    })

    it('leads to the form when no address is verified (R-OC-12, IDP-07)', async () => {
      const { answer } = await atGitHub([{ email: 'primary@example.com', primary: true, verified: false }])
      assert.match(answer.headers.get('location') ?? '', /\/oauth\/email\?session=/)
    })

    it('answers 502 without a form when the list cannot be fetched (R-OC-12, IDP-07)', async () => {
      const { answer, service } = await atGitHub([], 500)
      assert.equal(answer.status, 502)
      assert.deepEqual((await peopleStored(service))['actor'], [])
    })
  })
})
