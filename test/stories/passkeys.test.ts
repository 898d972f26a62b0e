/** Passkeys: sign-up, sign-in, recovery codes, and the owner's list. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { passkey } from '../../src/index.ts'
import {
  authorizePath,
  consentIn,
  mcpStatus,
  newPkce,
  redemption,
  redirectUri,
  registerClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { archiveOf, linesOf, restore } from '../support/archives.ts'
import { codesIn, PasskeyPage, signInWith, signUpWith } from '../support/passkey-page.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import {
  actorIn,
  beginSinglePage,
  newPerson,
  sharedProvider,
  signIn,
  signInAt,
  TestBrowser,
} from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'

const baseUrl = 'https://notes.example.com'
const provider = sharedProvider()

interface Session {
  readonly began_with: string
  readonly device: string
}

async function sessionsOf(service: TestService, actorId: string, browser: TestBrowser): Promise<readonly Session[]> {
  const cookie = `oauth_token=${browser.cookies.get('oauth_token')}`
  return (await (await service.request(`/${actorId}/sessions`, { headers: { cookie } })).json()) as Session[]
}

/** Sends a form of the owner's page of passkeys. */
async function sendOwn(browser: TestBrowser, actorId: string, fields: Record<string, string>): Promise<Response> {
  const page = await (await browser.get(`/${actorId}/www/passkeys`)).text()
  const [, token = ''] = /name="csrf_token" value="([^"]+)"/.exec(page) ?? []
  return browser.post(`/${actorId}/www/passkeys`, { csrf_token: token, ...fields })
}

/** The creation that the owner's page offers. */
async function offeredCreation(browser: TestBrowser, actorId: string): Promise<{ options: string; ticket: string }> {
  const page = await (await browser.get(`/${actorId}/www/passkeys`)).text()
  const [, options = ''] = /data-passkey="create" data-options="([^"]*)"/.exec(page) ?? []
  const [, ticket = ''] = /name="ticket" value="([^"]+)"/.exec(page) ?? []
  return { options: options.replaceAll('&quot;', '"'), ticket }
}

async function add(browser: TestBrowser, actorId: string, added: SoftPasskey, name: string): Promise<Response> {
  const { options, ticket } = await offeredCreation(browser, actorId)
  return sendOwn(browser, actorId, { action: 'add', ticket, name, response: added.create(options, baseUrl) })
}

forEachService((start) => {
  const open = (options: StartOptions = {}): Promise<TestService> => start({ baseUrl, signIn: [passkey()], ...options })

  describe('a new account with a passkey', () => {
    it('belongs to the person from the first sign-in on (R-PASS-01)', async () => {
      const service = await open()
      const device = new SoftPasskey({ isSynced: true })
      const { answer, browser, codes } = await signUpWith(service, device, '  Ada Lovelace ')
      assert.equal(answer.status, 302)
      const id = actorIn(answer)
      assert.equal(answer.headers.get('location'), `${baseUrl}/${id}/www`)
      assert.equal((await service.app.actors.get(id))?.creator, 'Ada Lovelace')
      assert.equal(codes.length, 10)
      assert.deepEqual(
        (await sessionsOf(service, id, browser)).map(({ began_with }) => began_with),
        ['web'],
      )
      const again = await signInWith(service, device)
      assert.equal(again.headers.get('location'), `${baseUrl}/${id}/www`)
    })

    it('does not exist before the person has seen the recovery codes (R-PASS-01)', async () => {
      const service = await open()
      const page = await PasskeyPage.open(service)
      const shown = await page.signUp(new SoftPasskey(), 'Ada')
      assert.equal(shown.status, 200)
      assert.equal(codesIn(await shown.text()).length, 10)
      assert.equal(await service.app.actors.findByCreator('Ada'), undefined)
    })

    it('is one of several under the same name, which proves nothing (R-PASS-02)', async () => {
      const service = await open()
      const first = actorIn((await signUpWith(service, new SoftPasskey(), 'Ada')).answer)
      const second = actorIn((await signUpWith(service, new SoftPasskey(), 'Ada')).answer)
      assert.notEqual(first, second)
      assert.equal(await service.app.actors.findByCreator('Ada', { proven: true }), undefined)
    })

    it('is refused under a name that is taken, when creators are unique', async () => {
      const service = await open({ uniqueCreator: true })
      await signUpWith(service, new SoftPasskey(), 'Ada')
      const { answer } = await signUpWith(service, new SoftPasskey(), 'Ada')
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /That name is already in use/)
    })

    for (const [what, name] of [
      ['without text', '   '],
      ['like an address', 'ada@example.com'],
      ['like an id at a provider', 'github:1234'],
      ['of more than 100 characters', 'a'.repeat(101)],
    ] as const) {
      it(`is refused for a name ${what} (R-PASS-02)`, async () => {
        const service = await open()
        const page = await PasskeyPage.open(service)
        const answer = await page.signUp(new SoftPasskey(), name)
        assert.equal(answer.status, 400)
        const html = await answer.text()
        assert.match(html, /Enter a name of 1 to 100 characters, without @ and colon\./)
        assert.match(html, /aria-describedby="owner-hint owner-error"/)
      })
    }

    it('is refused where creators must be addresses', async () => {
      const service = await open({ forceEmailAsCreator: true })
      const page = await PasskeyPage.open(service)
      assert.equal(page.options('create'), null)
      assert.equal((await page.send('sign_up', { owner: 'Ada', response: '{}' })).status, 403)
    })

    it('is refused in a sign-in for the page of an existing account', async () => {
      const service = await open()
      const actor = await service.createActor('Ben')
      const page = await PasskeyPage.open(service, `/oauth/login/passkey?actor=${actor.id}`)
      assert.equal(page.options('create'), null)
      assert.equal((await page.send('sign_up', { owner: 'Ada', response: '{}' })).status, 403)
    })

    it('tells the application about the sign-in, which may refuse it and so leaves nothing', async () => {
      const seen: unknown[] = []
      const service = await open({
        declare: (app) =>
          app.on('oauth_success', ({ email, user_info }) => {
            seen.push([email, Object.keys(user_info)])
            return false
          }),
      })
      const device = new SoftPasskey()
      const { answer } = await signUpWith(service, device, 'Ada')
      assert.equal(answer.status, 403)
      assert.equal(await service.app.actors.findByCreator('Ada'), undefined)
      const [[identifier, members] = []] = seen as [string, string[]][]
      assert.match(identifier ?? '', /^passkey:[0-9a-f]{32}$/)
      assert.deepEqual(members, ['sub', 'name'])
      const page = await PasskeyPage.open(service)
      assert.equal((await page.signIn(device)).status, 403)
    })
  })

  describe('a sign-in with a passkey', () => {
    it('says that it needs JavaScript, before and after a form without a response', async () => {
      const service = await open()
      const page = await PasskeyPage.open(service)
      assert.match(page.html, /<noscript><p class="field-error">Passkeys need JavaScript\./)
      const answer = await page.send('sign_in', { response: '' })
      assert.equal(answer.status, 400)
      assert.match(await answer.text(), /<p class="error" role="alert">Passkeys need JavaScript\./)
    })

    it('continues at the page that the person opened', async () => {
      const service = await open()
      const device = new SoftPasskey()
      const id = actorIn((await signUpWith(service, device, 'Ada')).answer)
      const path = `/${id}/www/properties?q=a`
      const answer = await signInWith(service, device, `/oauth/login/passkey?redirect=${encodeURIComponent(path)}`)
      assert.equal(answer.headers.get('location'), `${baseUrl}${path}`)
    })

    it('refuses another account than that of the opened page', async () => {
      const service = await open()
      const device = new SoftPasskey()
      await signUpWith(service, device, 'Ada')
      const ben = actorIn((await signUpWith(service, new SoftPasskey(), 'Ben')).answer)
      const answer = await signInWith(service, device, `/oauth/login/passkey?actor=${ben}`)
      assert.equal(answer.status, 403)
      assert.match(await answer.text(), /different account/)
    })

    it('gives a single-page application its session', async () => {
      const service = await open({ spaRedirectOrigins: ['https://app.example.com'] })
      const device = new SoftPasskey()
      const id = actorIn((await signUpWith(service, device, 'Ada')).answer)
      const page = await PasskeyPage.at(new URL(await beginSinglePage(service)), new TestBrowser(service))
      const answer = await page.browser.get((await page.signIn(device)).headers.get('location') ?? '')
      const back = new URL(answer.headers.get('location') ?? '')
      assert.equal(back.origin, 'https://app.example.com')
      const redeemed = await page.browser.get(`/oauth/spa/session/${back.searchParams.get('session')}`)
      assert.equal(((await redeemed.json()) as { actor_id: string }).actor_id, id)
    })

    it('lets the owner of an account without address connect an AI client', async () => {
      const service = await open()
      const device = new SoftPasskey()
      await signUpWith(service, device, 'Ada')
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const pkce = newPkce()
      const browser = new TestBrowser(service)
      const consent = consentIn(await (await browser.get(authorizePath(client, pkce))).text())
      const form = { consent, provider: 'passkey', trust_type: 'mcp_client' }
      const decided = await browser.post('/oauth/authorize', form)
      const entered = await signInWith(service, device, decided.headers.get('location') ?? '', browser)
      const finished = await browser.get(entered.headers.get('location') ?? '')
      const back = new URL(finished.headers.get('location') ?? '')
      assert.equal(back.origin + back.pathname, redirectUri)
      const code = back.searchParams.get('code') ?? ''
      const redeemed = await requestTokens(service, redemption(client, code, pkce))
      const { access_token: token } = (await redeemed.json()) as { access_token: string }
      assert.equal(await mcpStatus(service, token), 200)
    })
  })

  describe('a recovery code', () => {
    it('signs in once, in any spelling (R-PASS-03)', async () => {
      const service = await open()
      const { answer, codes } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const typed = ` ${codes[3]?.replaceAll('-', ' ').toUpperCase()} `
      const page = await PasskeyPage.open(service)
      const recovered = await page.send('recover', { code: typed })
      assert.equal(recovered.status, 302)
      const entered = await page.browser.get(recovered.headers.get('location') ?? '')
      assert.equal(entered.headers.get('location'), answer.headers.get('location'))
      const again = await PasskeyPage.open(service)
      const refused = await again.send('recover', { code: typed })
      assert.equal(refused.status, 403)
      assert.match(await refused.text(), /That isn’t an unused recovery code\./)
    })

    for (const [what, code] of [
      ['unknown', '0000-1111-2222-3333-4444-5555-6666'],
      ['too short', '0000-1111'],
      ['of other characters', 'uuuu-uuuu-uuuu-uuuu-uuuu-uuuu-uuuu'],
      ['empty', ''],
    ] as const) {
      it(`is refused when it is ${what}`, async () => {
        const service = await open()
        const page = await PasskeyPage.open(service)
        assert.equal((await page.send('recover', { code })).status, 403)
      })
    }

    it('ends when the owner creates new ones', async () => {
      const service = await open()
      const { answer, browser, codes } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const id = actorIn(answer)
      const shown = await sendOwn(browser, id, { action: 'new_codes' })
      assert.equal(shown.status, 200)
      const fresh = codesIn(await shown.text())
      assert.equal(fresh.length, 10)
      const old = await PasskeyPage.open(service)
      assert.equal((await old.send('recover', { code: codes[0] ?? '' })).status, 403)
      assert.equal((await old.send('recover', { code: fresh[9] ?? '' })).status, 302)
      assert.match(await (await browser.get(`/${id}/www/passkeys`)).text(), /You have 9 unused recovery codes/)
    })

    it('ends with the account', async () => {
      const service = await open()
      const { answer, codes } = await signUpWith(service, new SoftPasskey(), 'Ada')
      await service.app.actors.delete(actorIn(answer))
      await service.settled()
      const page = await PasskeyPage.open(service)
      assert.equal((await page.send('recover', { code: codes[0] ?? '' })).status, 403)
    })
  })

  describe('the passkeys of an owner', () => {
    it('can be several, each with a name (R-PASS-04)', async () => {
      const service = await open()
      const { answer, browser } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const id = actorIn(answer)
      const phone = new SoftPasskey({ isSynced: true })
      assert.equal((await add(browser, id, phone, 'My phone')).headers.get('location'), `${baseUrl}/${id}/www/passkeys`)
      assert.equal((await signInWith(service, phone)).headers.get('location'), `${baseUrl}/${id}/www`)
      await sendOwn(browser, id, { action: 'rename', passkey: phone.id, name: 'Pocket' })
      const page = await (await browser.get(`/${id}/www/passkeys`)).text()
      assert.match(page, /<strong>Pocket<\/strong>/)
      assert.match(page, /synced between your devices/)
      assert.doesNotMatch(page, /My phone/)
    })

    it('can be removed, except for the last one of an account that nothing else opens (R-PASS-04)', async () => {
      const service = await open()
      const first = new SoftPasskey()
      const { answer, browser } = await signUpWith(service, first, 'Ada')
      const id = actorIn(answer)
      const refused = await sendOwn(browser, id, { action: 'remove', passkey: first.id })
      assert.equal(refused.status, 409)
      assert.match(await refused.text(), /You can’t remove your only passkey/)
      const second = new SoftPasskey()
      await add(browser, id, second, 'Key')
      assert.equal((await sendOwn(browser, id, { action: 'remove', passkey: first.id })).status, 302)
      const page = await PasskeyPage.open(service)
      assert.equal((await page.signIn(first)).status, 403)
      assert.equal((await signInWith(service, second)).status, 302)
    })

    it('open the account of a provider too, and may all be removed there', async () => {
      const idp = await provider()
      const { sub, email } = newPerson(idp)
      const { signIn: providers } = signInAt(idp)
      const service = await open({ signIn: [...providers, passkey()] })
      const browser = new TestBrowser(service)
      const id = actorIn(await signIn(browser, idp, sub))
      const device = new SoftPasskey()
      await add(browser, id, device, 'Key')
      const other = new TestBrowser(service)
      const entered = await signInWith(service, device, undefined, other)
      assert.equal(actorIn(entered), id)
      assert.equal((await service.app.actors.findByCreator(email, { proven: true }))?.id, id)
      assert.equal((await sendOwn(other, id, { action: 'remove', passkey: device.id })).status, 302)
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, sub)), id)
    })

    it('are named by their owner alone', async () => {
      const service = await open()
      const ada = await signUpWith(service, new SoftPasskey(), 'Ada')
      const ben = await signUpWith(service, new SoftPasskey(), 'Ben')
      const benId = actorIn(ben.answer)
      const asAda = await sendOwn(ada.browser, actorIn(ada.answer), {
        action: 'rename',
        passkey: ben.passkey.id,
        name: 'Mine',
      })
      assert.equal(asAda.status, 404)
      assert.doesNotMatch(await (await ben.browser.get(`/${benId}/www/passkeys`)).text(), /Mine/)
    })

    it('are in the activity when they change', async () => {
      const service = await open({ activityPerActor: 100 })
      const { answer, browser, codes, passkey: first } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const id = actorIn(answer)
      await add(browser, id, new SoftPasskey(), 'Key')
      await sendOwn(browser, id, { action: 'remove', passkey: first.id })
      const page = await PasskeyPage.open(service)
      await page.send('recover', { code: codes[0] ?? '' })
      await sendOwn(browser, id, { action: 'new_codes' })
      await (await service.app.running()).parts.auditLog.flush()
      const shown = await (await browser.get(`/${id}/www/activity`)).text()
      for (const words of [
        'signed in',
        'added a passkey',
        'removed a passkey',
        'used a recovery code',
        'created recovery codes',
      ]) {
        assert.match(shown, new RegExp(`<strong>You</strong> ${words}`))
      }
    })

    it('come back with an archive of the operator, but not with one of the owner', async () => {
      const service = await open()
      const { answer, passkey: device } = await signUpWith(service, new SoftPasskey({ isSynced: true }), 'Ada')
      const id = actorIn(answer)
      await signInWith(service, device)
      const [whole, own] = [await archiveOf(service, id), await archiveOf(service, id, false)]
      assert.equal(linesOf(own).filter(({ kind }) => kind === 'passkey').length, 0)
      await service.app.actors.delete(id)
      await service.settled()
      await restore(service, whole)
      const page = await (await PasskeyPage.open(service)).signIn(device)
      assert.equal(page.status, 302)
      const old = new SoftPasskey()
      assert.equal((await (await PasskeyPage.open(service)).signIn(old, { userHandle: device.userHandle })).status, 403)
    })

    it('are deleted with the account', async () => {
      const service = await open()
      const { answer, passkey: device } = await signUpWith(service, new SoftPasskey(), 'Ada')
      await service.app.actors.delete(actorIn(answer))
      await service.settled()
      const page = await PasskeyPage.open(service)
      assert.equal((await page.signIn(device)).status, 403)
    })
  })

  describe('passkeys as the default', () => {
    it('are the way to sign in to a service in production without a provider (R-PASS-05)', async () => {
      const service = await start({ baseUrl, mode: 'production' })
      const page = await (await service.request('/login', { headers: { accept: 'text/html' } })).text()
      assert.match(page, /Continue with Passkey/)
      const { answer } = await signUpWith(service, new SoftPasskey(), 'Ada')
      assert.match(answer.headers.get('location') ?? '', /\/www$/)
    })

    it('leave the API of an actor to its passphrase, and its pages too when the person chooses so', async () => {
      const service = await start({ baseUrl, mode: 'production', openCreation: true })
      const actor = await service.createActor('Ben')
      const asked = await service.request(`/${actor.id}/www`, { headers: { accept: 'text/html' } })
      assert.equal(asked.status, 302)
      const login = await (
        await service.request(`/login?actor=${actor.id}`, { headers: { accept: 'text/html' } })
      ).text()
      const [, address = ''] = /href="([^"]*sign_in=passphrase)"/.exec(login) ?? []
      assert.equal(address, `/${actor.id}/www?sign_in=passphrase`)
      const prompt = await service.request(address, { headers: { accept: 'text/html' } })
      assert.equal(prompt.status, 401)
      assert.match(prompt.headers.get('www-authenticate') ?? '', /^Basic /)
      const { authorization } = actor
      assert.equal((await service.request(address, { headers: { accept: 'text/html', authorization } })).status, 200)
    })

    it('do not exist with an empty list of providers', async () => {
      for (const options of [{ signIn: [] }, { env: { TROUPE_PROVIDERS: '' } }]) {
        const service = await start({ baseUrl, mode: 'production', ...options })
        const page = await (await service.request('/login', { headers: { accept: 'text/html' } })).text()
        assert.doesNotMatch(page, /Passkey/)
        assert.equal((await service.request('/oauth/login/passkey')).status, 400)
        assert.equal((await service.request('/oauth/passkey?state=a&code_challenge=b')).status, 404)
      }
    })

    it('do not exist without the pages of the service', async () => {
      const service = await start({ baseUrl, mode: 'production', webUi: false })
      assert.equal((await service.request('/oauth/passkey?state=a&code_challenge=b')).status, 404)
    })

    it('do not exist at an address for which browsers create none', async () => {
      const service = await start({ baseUrl: 'http://192.0.2.1:3000', mode: 'production', allowHttp: true })
      const page = await (await service.request('/login', { headers: { accept: 'text/html' } })).text()
      assert.doesNotMatch(page, /Passkey/)
    })
  })
})
