import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { authorizePath, consent, newPkce, redirectUri, registerClient, requestTokens } from '../support/oauth-client.ts'
import { forEachService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

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
