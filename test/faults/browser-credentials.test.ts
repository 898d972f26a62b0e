/** Cookies that other hosts plant, secrets in the wrong place, and stored files that a page would run. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { actorIn, newPerson, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const provider = sharedProvider()

forEachService((start) => {
  describe('a second session cookie, as another host of the domain can set it', () => {
    it('makes the request one without a session, whichever comes first (WEB-21)', async () => {
      const idp = await provider()
      const service = await start(signInAt(idp))
      const enter = async (): Promise<[id: string, token: string]> => {
        const browser = new TestBrowser(service)
        const id = actorIn(await signIn(browser, idp, newPerson(idp).sub))
        return [id, browser.cookies.get('oauth_token') ?? '']
      }
      const [id, token] = await enter()
      const [, planted] = await enter()
      const send = (cookie: string, accept: string): Promise<Response> =>
        service.request(`/${id}/www`, { headers: { cookie, accept, 'sec-fetch-site': 'same-origin' } })
      assert.equal((await send(`oauth_token=${token}`, 'text/html')).status, 200)
      for (const cookie of [
        `oauth_token=${token}; oauth_token=${planted}`,
        `oauth_token=${planted}; oauth_token=${token}`,
        `oauth_token=${token}; other=1; oauth_token=nonsense`,
        `oauth_token=${token};oauth_token=${token}`,
      ]) {
        const page = await send(cookie, 'text/html')
        assert.equal(page.status, 302, cookie)
        assert.match(page.headers.get('location') ?? '', /\/oauth\/login\/acme\?/)
        const data = await service.request(`/${id}/properties`, { headers: { cookie } })
        assert.equal(data.status, 401, cookie)
        const session = await service.request('/oauth/session', { headers: { cookie } })
        assert.equal(((await session.json()) as { authenticated: boolean }).authenticated, false, cookie)
      }
    })
  })

  describe('the secret of a peer', () => {
    it('counts in the header alone, where programs send it, and not in the cookie of a session (WEB-22)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const asked = await actor.request('POST', '/trust/friend', {
        id: 'ben',
        baseuri: 'https://peer.example.com/ben',
        secret: 'a-secret-of-enough-characters-0123456789',
      })
      const { secret = 'a-secret-of-enough-characters-0123456789' } = (await asked.json()) as { secret?: string }
      await actor.request('PUT', '/trust/friend/ben', { approved: true })
      const path = `/${actor.id}/trust/friend/ben`
      const read = (headers: Record<string, string>): Promise<Response> => service.request(path, { headers })
      assert.equal((await read({ authorization: `Bearer ${secret}` })).status, 200)
      assert.equal((await read({ cookie: `oauth_token=${secret}`, 'sec-fetch-site': 'same-origin' })).status, 403)
      const ended = await service.request(path, {
        method: 'DELETE',
        headers: { cookie: `oauth_token=${secret}`, 'sec-fetch-site': 'same-origin' },
      })
      assert.equal(ended.status, 403)
      assert.equal((await actor.request('GET', '/trust/friend/ben')).status, 200)
    })
  })

  describe('a stored file', () => {
    it('is sent neither as a script, nor as a style, nor to a worker, whatever its type (WEB-20)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const stored = await actor.request('PUT', '/files/evil.js', 'alert(document.domain)', {
        'content-type': 'text/javascript',
      })
      assert.equal(stored.status, 201)
      const browser = await OwnersBrowser.open(service, actor)
      const read = (dest: string, method = 'GET'): Promise<Response> =>
        service.request(`/${actor.id}/files/evil.js`, {
          method,
          headers: { cookie: browser.headers['cookie'] ?? '', 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': dest },
        })
      for (const dest of [
        'script',
        'style',
        'worker',
        'sharedworker',
        'serviceworker',
        'audioworklet',
        'paintworklet',
        'xslt',
        'Script',
      ])
        for (const method of ['GET', 'HEAD']) assert.equal((await read(dest, method)).status, 403, dest)
      // Pages show images, and browsers save a file that a person opens. Programs send no such header.
      for (const dest of ['image', 'document', 'empty', 'video']) {
        const answer = await read(dest)
        assert.equal(answer.status, 200, dest)
        assert.equal(await answer.text(), 'alert(document.domain)')
        assert.match(answer.headers.get('content-security-policy') ?? '', /sandbox$/)
      }
      assert.equal((await actor.request('GET', '/files/evil.js')).status, 200)
    })
  })

  describe('an address that the provider gave to another person, in provider-id mode', () => {
    it('does not enter the account of the person before (IDP-24)', async () => {
      const idp = await provider()
      const service = await start({ ...signInAt(idp), signInIdentity: 'provider' })
      const { sub, email } = newPerson(idp)
      const id = actorIn(await signIn(new TestBrowser(service), idp, sub))
      const later = newPerson(idp).sub
      idp.people.set(later, { email, email_verified: true })
      const browser = new TestBrowser(service)
      const refused = await signIn(browser, idp, later)
      assert.deepEqual([refused.status, browser.cookies.get('oauth_token')], [403, undefined])
      // The first person keeps the account, also after the address changed at the provider.
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, sub)), id)
      idp.people.set(sub, { email: `new-${email}`, email_verified: true })
      assert.equal(actorIn(await signIn(new TestBrowser(service), idp, sub)), id)
    })
  })
})
