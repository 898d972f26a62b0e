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

describe('a peer that claims the id of another relationship', () => {
  const provider = sharedProvider()
  const secret = 'a-secret-that-only-the-stranger-has'

  forEachService((start) => {
    it('cannot take the ids of relationships with clients, before or after the client connects (PEER-06, OAZ-11)', async () => {
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

describe('an attacker’s link to this service’s own sign-in page', () => {
  const provider = sharedProvider()

  forEachService((start) => {
    /** Starts a sign-in as Mallory outside of a browser and returns the query of the redirect. */
    const planted = async (service: TestService, sub: string, redirect_uri: string): Promise<URLSearchParams> =>
      singlePageReturn(service, await provider(), sub, { redirect_uri })
    const startOne = async (): Promise<TestService> =>
      start({ ...signInAt(await provider()), spaRedirectOrigins: ['https://app.example.com'] })
    const ofPage = { 'sec-fetch-site': 'same-origin' }

    for (const target of ['/login', 'https://app.example.com/signed-in']) {
      it(`does not sign the victim in as the attacker, when a program began the flow for ${target} (IDP-03, WEB-09)`, async () => {
        const service = await startOne()
        const victim = new TestBrowser(service)
        await victim.get('/oauth/login/acme')
        for (const browser of [victim, new TestBrowser(service)]) {
          const session = (await planted(service, 'bob', target)).get('session') ?? ''
          const answer = await browser.get(`/oauth/spa/session/${session}`, ofPage)
          assert.equal(answer.status, 404)
        }
        // The program itself, and a page of another origin, can redeem the session that they began.
        const own = (await planted(service, 'bob', target)).get('session') ?? ''
        assert.equal((await service.request(`/oauth/spa/session/${own}`)).status, 200)
        const ofApp = (await planted(service, 'bob', target)).get('session') ?? ''
        const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://app.example.com' }
        assert.equal((await service.request(`/oauth/spa/session/${ofApp}`, { headers })).status, 200)
      })
    }

    it('does not sign the victim in as the attacker, when the attacker’s browser began the flow (IDP-03, WEB-09)', async () => {
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

    it('does not let the victim enter an address into the attacker’s flow (IDP-08, IDP-09)', async () => {
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
