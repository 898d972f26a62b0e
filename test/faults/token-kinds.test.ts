import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes } from '../support/routes.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore, rowsOf } from '../support/store-dump.ts'

/** Routes that authenticate the sender by its request, not by a credential of the actor. */
const forAskers = ['receiveTrust', 'followEmail', 'postSubscriptionCallback', 'putSubscriptionCallback']
const opensActors = routes.filter(
  (route) =>
    isBelowActor(route) && route.access !== 'public' && !forAskers.includes(route.id) && !route.id.endsWith('Callback'),
)

forEachService((start) => {
  describe('a real token of one kind', () => {
    let service: TestService
    let actor: TestActor
    /** Credentials that are valid elsewhere for this actor, but not on its routes. */
    let others: Readonly<Record<string, string>>
    let session: { readonly accessToken: string; readonly refreshToken: string }
    let client: Awaited<ReturnType<typeof authorizeClient>>
    let clientRefresh: string
    const peerSecret = 'the-secret-of-a-friend-of-the-actor'
    const done: string[] = []

    before(async () => {
      const began = Date.now()
      service = await start({
        peerClient: new FakePeers(),
        timers: stoppedTimers,
        // A token that is used a minute later has a new time of last use, and the rows differ.
        now: () => began,
        peerProfileAttributes: [],
        declare: (app) => declareAll(app, done),
      })
      actor = await service.createActor('ada@example.com')
      await furnish(actor)
      const { parts, store } = await service.app.running()
      session = await parts.sessions.begin({
        actorId: actor.id,
        identifier: actor.creator,
        beganWith: 'web',
        device: '',
      })
      client = await authorizeClient(service, actor, { relationship: 'admin' })
      const { clientId, peerId } = client
      const second = await store.writeActor(actor.id, (tx) =>
        parts.tokens.startClient(
          tx,
          { actorId: actor.id, identifier: actor.creator, beganWith: 'mcp', device: '' },
          { clientId, peerId, audience: '', scope: 'mcp' },
        ),
      )
      clientRefresh = second.refreshToken
      const records = await store.write(async (tx) => ({
        code: await parts.oneTime.create(tx, { purpose: 'code', data: {}, actorId: actor.id }),
        ticket: await parts.oneTime.create(tx, { purpose: 'ticket', data: {}, actorId: actor.id }),
      }))
      await actor.request('POST', '/trust/friend', {
        id: 'friend-of-ada',
        baseuri: 'https://peer.example.com/friend-of-ada',
        secret: peerSecret,
      })
      assert.equal((await actor.request('PUT', '/trust/friend/friend-of-ada', { approved: true })).status, 204)
      others = {
        'an access token of a client': client.token,
        'an access token of a client for every audience': second.accessToken,
        'a refresh token of a client': clientRefresh,
        'a refresh token of a session': session.refreshToken,
        'an authorization code': records.code,
        'a ticket': records.ticket,
        'the passphrase': actor.passphrase,
      }
    })

    const rows = async (): Promise<unknown> => {
      const all = { ...(rowsOf(await dumpStore((await service.app.running()).store), actor.id) as object) }
      return { ...all, rate_limit: null }
    }

    for (const route of opensActors) {
      it(`is rejected by ${route.id} in the header and in a cookie, when the route expects another kind (ACL-01, ORF-09)`, async () => {
        const before_ = await rows()
        for (const [kind, token] of Object.entries(others)) {
          const ways = [
            { authorization: `Bearer ${token}` },
            { cookie: `oauth_token=${token}`, 'sec-fetch-site': 'same-origin' },
            { cookie: `access_token=${token}`, 'sec-fetch-site': 'same-origin' },
          ]
          for (const headers of ways) {
            const answer = await service.request(...requestOf(route, actor.id, headers))
            assert.ok([401, 403].includes(answer.status), `${kind}: ${answer.status}`)
            assert.ok(!(await answer.text()).includes('planted'), kind)
          }
        }
        assert.deepEqual(await rows(), before_)
        assert.deepEqual(done, [])
      })
    }

    it('authenticates at /mcp only as an access token of a client for this audience (OTK-01)', async () => {
      const ask = (headers: Record<string, string>): Promise<Response> =>
        service.request('/mcp', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
        })
      const elsewhere = await authorizeClient(service, actor, { audience: 'https://other.example/mcp' })
      const refused = [
        session.accessToken,
        session.refreshToken,
        clientRefresh,
        peerSecret,
        actor.passphrase,
        elsewhere.token,
        others['an authorization code'] ?? '',
      ]
      for (const token of refused) {
        assert.equal((await ask({ authorization: `Bearer ${token}` })).status, 401)
        assert.equal((await ask({ cookie: `oauth_token=${token}; access_token=${token}` })).status, 401)
      }
      assert.equal((await ask({ cookie: `oauth_token=${client.token}` })).status, 401)
      assert.equal((await ask({ authorization: actor.authorization })).status, 401)
      assert.equal((await ask({ authorization: `Bearer ${client.token}` })).status, 200)
    })

    it('cannot be refreshed by the endpoint of another kind, and the attempt does not consume it (ORF-09)', async () => {
      const asSession = (refresh_token: string): Promise<Response> =>
        service.request('/oauth/spa/token', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ grant_type: 'refresh_token', refresh_token }),
        })
      const asClient = (refresh_token: string): Promise<Response> =>
        service.request('/oauth/token', {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token, client_id: client.clientId }),
        })
      for (const token of [clientRefresh, client.token, session.accessToken, peerSecret, actor.passphrase]) {
        assert.equal((await asSession(token)).status, 401)
      }
      for (const token of [session.refreshToken, session.accessToken, client.token, peerSecret]) {
        assert.ok([400, 401].includes((await asClient(token)).status))
      }
      assert.equal((await asSession(session.refreshToken)).status, 200)
    })

    it('does not sign a user in when it belongs to a client, and a sign-out does not revoke it (WEB-10)', async () => {
      for (const headers of [{ authorization: `Bearer ${client.token}` }, { cookie: `access_token=${client.token}` }]) {
        const answer = await service.request('/oauth/session', { headers })
        assert.equal(((await answer.json()) as { authenticated: boolean }).authenticated, false)
      }
      for (const path of ['/oauth/revoke', '/oauth/logout', '/oauth/spa/logout']) {
        const answer = await service.request(path, {
          method: 'POST',
          headers: { authorization: `Bearer ${client.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ token: clientRefresh }),
        })
        assert.equal(answer.status, 200)
      }
      assert.equal((await client.legacy('tools/list')).status, 200)
    })
  })
})
