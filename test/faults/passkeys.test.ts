/** Attacks on sign-in with passkeys, and faults in the middle of it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { codesIn, continueUrlIn, PasskeyPage, signInWith, signUpWith } from '../support/passkey-page.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { actorIn, assertNoSignIn, TestBrowser } from '../support/sign-in.ts'
import { type DeviceAnswer, SoftPasskey } from '../support/soft-passkey.ts'

const baseUrl = 'https://notes.example.com'

forEachService((start) => {
  const open = (options: StartOptions = {}): Promise<TestService> => start({ baseUrl, signIn: [passkey()], ...options })

  describe('the response of a device', () => {
    const forgeries: readonly (readonly [what: string, change: Partial<DeviceAnswer>])[] = [
      ['for another challenge', { challenge: 'A'.repeat(43) }],
      ['from another origin', { origin: 'https://evil.example.com' }],
      ['from a subdomain', { origin: 'https://a.notes.example.com' }],
      ['for another host', { rpId: 'evil.example.com' }],
      ['without the fingerprint or PIN of the person', { verified: false }],
    ]
    for (const [what, change] of forgeries) {
      it(`is refused at sign-in ${what}`, async () => {
        const service = await open()
        const device = new SoftPasskey()
        await signUpWith(service, device, 'Ada')
        await assertNoSignIn(service, async () => {
          const answer = await (await PasskeyPage.open(service)).signIn(device, change)
          assert.equal(answer.status, 400)
          assert.match(await answer.text(), /The passkey didn’t work/)
        })
      })

      it(`is refused at sign-up ${what}`, async () => {
        const service = await open()
        await assertNoSignIn(service, async () => {
          const answer = await (await PasskeyPage.open(service)).signUp(new SoftPasskey(), 'Ada', change)
          assert.equal(answer.status, 400)
        })
      })
    }

    it('is refused when it is that of a sign-up, or the other way around', async () => {
      const service = await open()
      const device = new SoftPasskey()
      await signUpWith(service, device, 'Ada')
      const page = await PasskeyPage.open(service)
      assert.equal((await page.signIn(device, { type: 'webauthn.create' })).status, 400)
      const created = device.create(page.options('create') ?? '', baseUrl)
      assert.equal((await page.send('sign_in', { response: created })).status, 400)
    })

    it('is refused with the signature of another passkey (R-PASS-06)', async () => {
      const service = await open()
      const victim = new SoftPasskey()
      await signUpWith(service, victim, 'Ada')
      const page = await PasskeyPage.open(service)
      const forged = JSON.parse(new SoftPasskey().get(page.options('get') ?? '', baseUrl)) as {
        response: Record<string, string>
      }
      const response = { ...forged.response, userHandle: victim.userHandle }
      const sent = JSON.stringify({ ...forged, id: victim.id, rawId: victim.id, response })
      await assertNoSignIn(service, async () =>
        assert.equal((await page.send('sign_in', { response: sent })).status, 400),
      )
    })

    it('is refused when it names the account of another person (R-PASS-06)', async () => {
      const service = await open()
      const attacker = new SoftPasskey()
      const victim = new SoftPasskey()
      await signUpWith(service, attacker, 'Eve')
      await signUpWith(service, victim, 'Ada')
      const page = await PasskeyPage.open(service)
      await assertNoSignIn(service, async () =>
        assert.equal((await page.signIn(attacker, { userHandle: victim.userHandle })).status, 403),
      )
    })

    it('is refused with a counter that does not grow, as that of a copied key (R-PASS-07)', async () => {
      const service = await open()
      const device = new SoftPasskey()
      await signUpWith(service, device, 'Ada')
      await signInWith(service, device)
      await signInWith(service, device)
      await assertNoSignIn(service, async () =>
        assert.equal((await (await PasskeyPage.open(service)).signIn(device, { counter: 1 })).status, 400),
      )
    })

    for (const [what, response] of [
      ['no JSON', '{'],
      ['an array', '[]'],
      ['null', 'null'],
      ['without members', '{}'],
      ['with members of other types', '{"id":7,"rawId":{},"response":{"userHandle":[]}}'],
      ['with a user handle of another form', '{"id":"a","response":{"userHandle":"Ly4u"}}'],
      ['too long', `{"id":"${'a'.repeat(40_000)}"}`],
    ] as const) {
      it(`is refused when it is ${what}`, async () => {
        const service = await open()
        for (const [action, more] of [
          ['sign_in', {}],
          ['sign_up', { owner: 'Ada' }],
        ] as const) {
          const page = await PasskeyPage.open(service)
          const answer = await assertNoSignIn(service, () => page.send(action, { response, ...more }))
          assert.equal(answer.status, 400)
        }
      })
    }
  })

  describe('the page of a sign-in with a passkey', () => {
    it('is shown only in the browser that began the sign-in', async () => {
      const service = await open()
      const begun = await new TestBrowser(service).get('/oauth/login/passkey')
      const address = new URL(begun.headers.get('location') ?? '')
      assert.equal((await PasskeyPage.at(address, new TestBrowser(service))).status, 400)
    })

    it('does not end a sign-in that another browser began', async () => {
      const service = await open()
      const device = new SoftPasskey()
      await signUpWith(service, device, 'Ada')
      const page = await PasskeyPage.open(service)
      const answer = await page.signIn(device)
      const stranger = new TestBrowser(service)
      assert.equal((await stranger.get(answer.headers.get('location') ?? '')).status, 400)
      assert.equal(stranger.cookies.has('oauth_token'), false)
    })

    it('does not accept its code in another sign-in (R-PASS-06)', async () => {
      const service = await open()
      const device = new SoftPasskey()
      await signUpWith(service, device, 'Ada')
      const page = await PasskeyPage.open(service)
      const code = new URL((await page.signIn(device)).headers.get('location') ?? '').searchParams.get('code') ?? ''
      const victim = new TestBrowser(service)
      const begun = await victim.get('/oauth/login/passkey')
      const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
      const answer = await victim.get(`/oauth/callback?${new URLSearchParams({ state, code }).toString()}`)
      assert.equal(answer.status, 502)
      assert.equal(victim.cookies.has('oauth_token'), false)
    })

    it('creates one account, however often its last link is opened', async () => {
      const service = await open()
      const page = await PasskeyPage.open(service)
      const html = await (await page.signUp(new SoftPasskey(), 'Ada')).text()
      const url = continueUrlIn(html)
      const answers = await Promise.all([page.browser.get(url), page.browser.get(url), page.browser.get(url)])
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [302, 400, 400],
      )
      const found: string[] = []
      for await (const actor of service.app.actors.all()) found.push(actor.creator)
      assert.deepEqual(
        found.filter((creator) => creator === 'Ada'),
        ['Ada'],
      )
    })

    it('leaves an account that its passkey opens when the process stops after the creation', async () => {
      let isCreated = (): void => {}
      const created = new Promise<void>((resolve) => (isCreated = resolve))
      const service = await open({
        declare: (app) =>
          app.on('actor_created', () => {
            isCreated()
            return new Promise<void>(() => {})
          }),
      })
      const device = new SoftPasskey()
      const page = await PasskeyPage.open(service)
      const html = await (await page.signUp(device, 'Ada')).text()
      // The process never answers: to the person, it stopped here.
      void page.browser.get(continueUrlIn(html)).catch(() => undefined)
      await created
      const next = await open({ database: service.databaseUrl })
      const actor = await next.app.actors.findByCreator('Ada')
      assert.equal(actorIn(await signInWith(next, device)), actor?.id)
      const recovered = await (await PasskeyPage.open(next)).send('recover', { code: codesIn(html)[9] ?? '' })
      assert.equal(recovered.status, 302)
    })

    it('takes a recovery code once when two requests send it at the same time', async () => {
      const service = await open()
      const { codes } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const pages = await Promise.all([PasskeyPage.open(service), PasskeyPage.open(service)])
      const answers = await Promise.all(pages.map((page) => page.send('recover', { code: codes[0] ?? '' })))
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [302, 403],
      )
    })

    it('ends after ten minutes, also for a person who saves the recovery codes', async () => {
      const clock = new ManualClock()
      const service = await open({ now: clock.now, timers: clock.timers })
      const page = await PasskeyPage.open(service)
      const html = await (await page.signUp(new SoftPasskey(), 'Ada')).text()
      clock.pass(601_000)
      assert.equal((await page.browser.get(continueUrlIn(html))).status, 400)
      assert.equal((await page.signUp(new SoftPasskey(), 'Ada')).status, 400)
      assert.equal(await service.app.actors.findByCreator('Ada'), undefined)
    })

    it('limits new accounts like other new actors, and guesses of codes like passphrases', async () => {
      const rateLimits = {
        '*': null,
        'create_actor/source': { count: 1, seconds: 600 },
        'passphrase/source': { count: 2, seconds: 600 },
      }
      const plain = await open({ rateLimits, now: () => 1_900_000_000_000 })
      const service: TestService = {
        ...plain,
        request: (path, init) =>
          plain.app.fetch(new Request(`${plain.url}${path}`, { redirect: 'manual', ...init }), {
            remoteAddress: '192.0.2.66',
          }),
      }
      await signUpWith(service, new SoftPasskey(), 'Ada')
      const page = await PasskeyPage.open(service)
      assert.equal((await page.signUp(new SoftPasskey(), 'Ben')).status, 429)
      const guess = (): Promise<Response> => page.send('recover', { code: '0000-1111-2222-3333-4444-5555-6666' })
      assert.deepEqual([(await guess()).status, (await guess()).status, (await guess()).status], [403, 403, 429])
    })

    it('has no secret of an account in what it stores', async () => {
      const service = await open()
      const { codes } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const { store } = await service.app.running()
      const stored = JSON.stringify(await store.read((q) => q.all('SELECT * FROM recovery_code')))
      for (const code of codes) assert.doesNotMatch(stored, new RegExp(code.slice(0, 9)))
    })
  })

  describe('the passkeys of an owner', () => {
    async function ownPage(browser: TestBrowser, id: string) {
      const page = await (await browser.get(`/${id}/www/passkeys`)).text()
      const field = (name: string): string => new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1] ?? ''
      const [, options = ''] = /data-passkey="create" data-options="([^"]*)"/.exec(page) ?? []
      return { token: field('csrf_token'), ticket: field('ticket'), options: options.replaceAll('&quot;', '"') }
    }

    it('take no form from another site', async () => {
      const service = await open()
      const { answer, browser, passkey: device } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const id = actorIn(answer)
      const { ticket, options } = await ownPage(browser, id)
      const added = new SoftPasskey()
      const form = { action: 'add', ticket, name: 'Evil', response: added.create(options, baseUrl) }
      for (const from of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
        assert.equal((await browser.post(`/${id}/www/passkeys`, form, from)).status, 403)
        const codes = await browser.post(`/${id}/www/passkeys`, { action: 'new_codes' }, from)
        assert.equal(codes.status, 403)
        assert.deepEqual(codesIn(await codes.text()), [])
      }
      assert.equal((await (await PasskeyPage.open(service)).signIn(added)).status, 403)
      assert.equal((await signInWith(service, device)).status, 302)
    })

    it('refuse a ticket of another account, a changed one, and an old one', async () => {
      const clock = new ManualClock()
      const service = await open({ now: clock.now, timers: clock.timers, freshSignInMinutes: 0 })
      const ada = await signUpWith(service, new SoftPasskey(), 'Ada')
      const eve = await signUpWith(service, new SoftPasskey(), 'Eve')
      const [adaId, eveId] = [actorIn(ada.answer), actorIn(eve.answer)]
      const own = await ownPage(eve.browser, eveId)
      const other = await ownPage(ada.browser, adaId)
      const send = (ticket: string, options: string): Promise<Response> => {
        const response = new SoftPasskey().create(options, baseUrl)
        return eve.browser.post(`/${eveId}/www/passkeys`, {
          csrf_token: own.token,
          action: 'add',
          name: 'Key',
          ticket,
          response,
        })
      }
      assert.equal((await send(other.ticket, other.options)).status, 400)
      assert.equal((await send(`${own.ticket.slice(0, -2)}AA`, own.options)).status, 400)
      assert.equal((await send('', own.options)).status, 400)
      clock.pass(601_000)
      assert.equal((await send(own.ticket, own.options)).status, 400)
      const fresh = await ownPage(eve.browser, eveId)
      assert.equal((await send(fresh.ticket, fresh.options)).status, 302)
    })

    it('refuse the same passkey twice', async () => {
      const service = await open()
      const { answer, browser } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const id = actorIn(answer)
      const { token, ticket, options } = await ownPage(browser, id)
      const form = {
        csrf_token: token,
        action: 'add',
        ticket,
        name: 'Key',
        response: new SoftPasskey().create(options, baseUrl),
      }
      assert.equal((await browser.post(`/${id}/www/passkeys`, form)).status, 302)
      const again = await browser.post(`/${id}/www/passkeys`, form)
      assert.equal(again.status, 409)
      assert.match(await again.text(), /You already have this passkey/)
    })

    it('keep one passkey when two are removed at the same time', async () => {
      const service = await open()
      const first = new SoftPasskey()
      const { answer, browser } = await signUpWith(service, first, 'Ada')
      const id = actorIn(answer)
      const second = new SoftPasskey()
      const { token, ticket, options } = await ownPage(browser, id)
      const post = (fields: Record<string, string>): Promise<Response> =>
        browser.post(`/${id}/www/passkeys`, { csrf_token: token, ...fields })
      await post({ action: 'add', ticket, name: 'Key', response: second.create(options, baseUrl) })
      const removals = await Promise.all([first, second].map((each) => post({ action: 'remove', passkey: each.id })))
      assert.deepEqual(
        removals.map(({ status }) => status).toSorted((a, b) => a - b),
        [302, 409],
      )
    })

    it('are closed to strangers', async () => {
      const service = await open()
      const { answer } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const id = actorIn(answer)
      const stranger = await service.request(`/${id}/www/passkeys`, { headers: { accept: 'text/html' } })
      assert.equal(stranger.status, 302)
      const bearer = { accept: 'application/json', authorization: 'Bearer unknown' }
      assert.equal((await service.request(`/${id}/www/passkeys`, { headers: bearer })).status, 403)
    })
  })
})
