import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { authorizePath, consent, newPkce, redirectUri, registerClient, requestTokens } from '../support/oauth-client.ts'
import { forEachService, type TestService } from '../support/service.ts'
import {
  actorIn,
  peopleStored,
  sharedProvider,
  signIn,
  signInAt,
  TestBrowser,
  singlePageReturn,
} from '../support/sign-in.ts'

describe('a peer that asks under a name of somebody else’s relationship', () => {
  const provider = sharedProvider()
  const secret = 'a-secret-that-only-the-stranger-has'

  forEachService((start) => {
    it('PEER-06 OAZ-11 is refused the names that the relationships with clients have, before and after the client came', async () => {
      const service = await start({
        ...signInAt(await provider()),
        peerClient: new FakePeers(),
        timers: stoppedTimers,
        peerProfileAttributes: [],
      })
      const browser = new TestBrowser(service)
      const actorId = actorIn(await signIn(browser, await provider(), 'ada'))
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const peerId = `oauth2_client:ada_at_example_dot_com:${client.client_id}`
      const ask = (id: string): Promise<Response> =>
        service.request(`/${actorId}/trust/mcp_client`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ id, baseuri: `https://stranger.example/${id}`, secret }),
        })
      const open = (): Promise<Response> =>
        service.request(`/${actorId}/trust/mcp_client/${peerId}`, { headers: { authorization: `Bearer ${secret}` } })
      const names = [
        peerId,
        `oauth2_client:${client.client_id}:${client.client_id}`,
        'oauth2_interactive:ada_at_example_dot_com',
      ]
      for (const name of names) assert.equal((await ask(name)).status, 400, name)
      const pkce = newPkce()
      const back = await consent(browser, await provider(), authorizePath(client, pkce))
      const tokens = await requestTokens(service, {
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code: back.searchParams.get('code') ?? '',
        redirect_uri: redirectUri,
        code_verifier: pkce.verifier,
      })
      assert.equal(tokens.status, 200)
      assert.equal((await open()).status, 403)
      for (const name of names) assert.equal((await ask(name)).status, 400, name)
      assert.equal((await open()).status, 403)
    })
  })
})

describe('a link of a stranger that ends in the page of this service', () => {
  const provider = sharedProvider()

  forEachService((start) => {
    /** Mallory begins with a program and signs in as Mallory: where the browser is sent back to. */
    const planted = async (service: TestService, sub: string, redirect_uri: string): Promise<URLSearchParams> =>
      singlePageReturn(service, await provider(), sub, { redirect_uri })
    const startOne = async (): Promise<TestService> =>
      start({ ...signInAt(await provider()), spaRedirectOrigins: ['https://app.example.com'] })
    const ofPage = { 'sec-fetch-site': 'same-origin' }

    for (const target of ['/login', 'https://app.example.com/signed-in']) {
      it(`IDP-03 WEB-09 signs nobody in as the stranger, begun by a program for ${target}`, async () => {
        const service = await startOne()
        const victim = new TestBrowser(service)
        await victim.get('/oauth/login/acme')
        for (const browser of [victim, new TestBrowser(service)]) {
          const session = (await planted(service, 'bob', target)).get('session') ?? ''
          const answer = await browser.get(`/oauth/spa/session/${session}`, ofPage)
          assert.equal(answer.status, 404)
        }
        // The program itself, and a page elsewhere, get what they began.
        const own = (await planted(service, 'bob', target)).get('session') ?? ''
        assert.equal((await service.request(`/oauth/spa/session/${own}`)).status, 200)
        const ofApp = (await planted(service, 'bob', target)).get('session') ?? ''
        const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example.com' }
        assert.equal((await service.request(`/oauth/spa/session/${ofApp}`, { headers })).status, 200)
      })
    }

    it('IDP-03 WEB-09 signs nobody in as the stranger, begun in a browser of the stranger’s', async () => {
      const service = await startOne()
      const stranger = new TestBrowser(service)
      const begun = (await (
        await stranger.fetchJson('/oauth/spa/authorize', { redirect_uri: 'https://app.example.com/signed-in' })
      ).json()) as { authorization_url: string }
      const { url } = await (await provider()).signIn(begun.authorization_url, 'bob')
      const back = await stranger.get(url.href)
      const session = new URL(back.headers.get('location') ?? '').searchParams.get('session') ?? ''
      const victim = new TestBrowser(service)
      await victim.get('/oauth/login/acme')
      assert.equal((await victim.get(`/oauth/spa/session/${session}`, ofPage)).status, 404)
    })

    it('IDP-08 IDP-09 asks nobody for an address that would become the stranger’s', async () => {
      const service = await startOne()
      const victim = new TestBrowser(service)
      await victim.get('/oauth/login/acme')
      const before = await peopleStored(service)
      const query = await planted(service, 'silent', '/login')
      assert.equal(query.get('email_required'), 'true')
      const session = query.get('session') ?? ''
      const asked = await victim.get(`/oauth/email?session=${session}`, { ...ofPage, accept: 'application/json' })
      assert.equal(asked.status, 400)
      const typed = await victim.fetchJson('/oauth/email', { session, email: 'ada@example.com' })
      assert.equal(typed.status, 400)
      assert.deepEqual(await peopleStored(service), before)
      assert.equal(await service.app.actors.findByCreator('ada@example.com'), undefined)
    })
  })
})
