import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authorizePath,
  codeFor,
  authorizeClientByConsent,
  deleteExpiredClients,
  mcpStatus,
  newPkce,
  redemption,
  redirectUri,
  registerClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { onShards } from '../support/citus.ts'
import { EventRecorder } from '../support/event-recorder.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { dumpStore } from '../support/store-dump.ts'

const provider = sharedProvider()

function tokenRequest(service: TestService, clientId: string, secret: string): Promise<Response> {
  return requestTokens(service, { grant_type: 'client_credentials', client_id: clientId, client_secret: secret })
}

async function tokenOf(service: TestService, clientId: string, secret: string): Promise<string> {
  const answer = await tokenRequest(service, clientId, secret)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { access_token: string }).access_token
}

/** Waits for what a deleted actor leaves on other servers. A plain database deletes it before the response. */
async function deletedElsewhere(service: TestService): Promise<void> {
  if (onShards()) await (await service.app.running()).parts.deletedOwners.settled()
}

forEachService((start) => {
  describe('the clients of an actor', () => {
    it('are created with a secret that is shown once, and act only for that actor', async () => {
      const moment = Date.now()
      const service = await start({
        now: () => moment,
        declare: (app) => app.action('get_owner', { mcp: true }, async ({ actor }) => ({ owner: actor.creator })),
      })
      const actor = await service.app.actors.get((await service.createActor('ada@example.com')).id)
      const { client, secret } = (await actor?.clients.create({ name: ' My <b>script</b> ' })) ?? assert.fail()
      assert.match(client.clientId, /^mcp_[0-9a-f]{32}$/)
      assert.match(secret, /^[\w-]{43}$/)
      assert.equal(client.createdAt.getTime(), moment)
      const { createdAt: _at, clientId, ...rest } = client
      assert.deepEqual(rest, {
        name: 'My b script /b',
        trustType: 'mcp_client',
        redirectUris: [],
        lastUsedAt: null,
        until: null,
      })
      const token = await tokenOf(service, clientId, secret)
      const answer = await service.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'get_owner', arguments: {} },
        }),
      })
      assert.ok((await answer.text()).includes('ada@example.com'))
      const dump = JSON.stringify(await dumpStore((await service.app.running()).store))
      assert.ok(!dump.includes(secret))
      assert.notEqual((await actor?.clients.get(clientId))?.lastUsedAt, null)
    })

    it('are refused with a name that cannot be shown, or a redirect URI that is not allowed', async () => {
      const service = await start()
      const actor = (await service.app.actors.create()).actor
      for (const wanted of [
        { name: '' },
        { name: ' <> ' },
        { name: 'A', redirectUris: ['http://program.example/back'] },
        { name: 'A', redirectUris: [redirectUri, 'javascript:alert(1)'] },
      ]) {
        await assert.rejects(actor.clients.create(wanted), { code: 'invalid_value' })
      }
      assert.deepEqual(await actor.clients.list(), [])
      await service.app.actors.delete(actor.id)
      await assert.rejects(actor.clients.create({ name: 'A' }), { code: 'actor_not_found' })
    })

    it('are listed and counted separately for each actor, the newest first', async () => {
      let now = Date.now()
      const service = await start({ now: () => now })
      const one = (await service.app.actors.create()).actor
      const other = (await service.app.actors.create()).actor
      const made: { clientId: string; secret: string }[] = []
      for (const [name, trustType] of [
        ['A', 'mcp_client'],
        ['B', 'viewer'],
        ['C', 'mcp_client'],
      ] as const) {
        now += 1000
        const { client, secret } = await one.clients.create({ name, trustType })
        made.push({ clientId: client.clientId, secret })
      }
      assert.deepEqual(
        (await one.clients.list()).map(({ name }) => name),
        ['C', 'B', 'A'],
      )
      assert.deepEqual(await one.clients.stats(), { total: 3, active: 0, trustTypes: { mcp_client: 2, viewer: 1 } })
      const [first] = made
      await tokenOf(service, first?.clientId ?? '', first?.secret ?? '')
      assert.deepEqual(await one.clients.stats(), { total: 3, active: 1, trustTypes: { mcp_client: 2, viewer: 1 } })
      assert.deepEqual(await other.clients.list(), [])
      assert.deepEqual(await other.clients.stats(), { total: 0, active: 0, trustTypes: {} })
      for (const clientId of [first?.clientId ?? '', 'mcp_none', '', 'https://program.example/x']) {
        assert.equal(await other.clients.get(clientId), undefined)
        assert.equal(await other.clients.rotateSecret(clientId), undefined)
        assert.equal(await other.clients.delete(clientId), false)
        assert.equal(await service.app.clients.delete(clientId), false)
      }
      await tokenOf(service, first?.clientId ?? '', first?.secret ?? '')
    })

    it('receive a new secret by rotation, which invalidates the previous one', async () => {
      const service = await start()
      const actor = (await service.app.actors.create()).actor
      const { client, secret } = await actor.clients.create({ name: 'A' })
      const next = (await actor.clients.rotateSecret(client.clientId)) ?? ''
      assert.match(next, /^[\w-]{43}$/)
      assert.notEqual(next, secret)
      assert.equal((await tokenRequest(service, client.clientId, secret)).status, 401)
      assert.equal(await mcpStatus(service, await tokenOf(service, client.clientId, next)), 200)
      const open = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const { parts } = await service.app.running()
      assert.equal(await parts.clients.rotateSecret('_actingweb_oauth2', open.client_id), null)
    })

    it('lose everything that any owner granted when they are deleted, also relationships without a token (ORF-14)', async () => {
      const later = 0
      const service = await start({ ...signInAt(await provider()), now: () => Date.now() + later })
      const actor = (await service.app.actors.create()).actor
      const { client, secret } = await actor.clients.create({ name: 'A', redirectUris: [redirectUri] })
      const own = await tokenOf(service, client.clientId, secret)
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const asClient = { client_id: client.clientId }
      const pkce = newPkce()
      const redeemed = await codeFor(browser, asClient, pkce)
      const answer = await requestTokens(service, { ...redemption(asClient, redeemed, pkce), client_secret: secret })
      assert.equal(answer.status, 200)
      const { access_token: granted } = (await answer.json()) as { access_token: string }
      // Another owner approves, and no client redeems the code.
      const bob = new TestBrowser(service)
      await signIn(bob, await provider(), 'bob')
      const code = await codeFor(bob, asClient, pkce)
      const beside = await authorizeClientByConsent(service, await provider(), { browser })
      const about = async (): Promise<string[]> => {
        const dump = await dumpStore((await service.app.running()).store)
        return ['oauth_client', 'trust', 'token_chain'].flatMap((table) =>
          (dump[table] ?? []).filter((row) => row.includes(client.clientId)).map(() => table),
        )
      }
      assert.deepEqual(await about(), ['oauth_client', 'trust', 'trust', 'trust', 'token_chain', 'token_chain'])
      assert.equal(await actor.clients.delete(client.clientId), true)
      assert.deepEqual(await about(), [])
      for (const token of [own, granted]) assert.equal(await mcpStatus(service, token), 401)
      assert.equal(await mcpStatus(service, beside.tokens.access_token), 200)
      const late = await requestTokens(service, { ...redemption(asClient, code, pkce), client_secret: secret })
      assert.equal(late.status, 401)
      assert.equal((await new TestBrowser(service).get(authorizePath(asClient, pkce))).status, 400)
      assert.equal(await actor.clients.delete(client.clientId), false)
    })

    it('lose the grants of every owner when their actor is deleted (ORF-14)', async () => {
      const service = await start({ ...signInAt(await provider()) })
      const actor = (await service.app.actors.create()).actor
      const { client, secret } = await actor.clients.create({ name: 'A', redirectUris: [redirectUri] })
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const pkce = newPkce()
      const asClient = { client_id: client.clientId }
      const code = await codeFor(browser, asClient, pkce)
      const answer = await requestTokens(service, { ...redemption(asClient, code, pkce), client_secret: secret })
      const { access_token: granted } = (await answer.json()) as { access_token: string }
      assert.equal(await mcpStatus(service, granted), 200)
      assert.equal(await service.app.actors.delete(actor.id), true)
      await deletedElsewhere(service)
      assert.equal(await mcpStatus(service, granted), 401)
      assert.equal((await tokenRequest(service, client.clientId, secret)).status, 401)
    })

    it('obtain no token after their owner withdrew the approval or deleted the relationship (ORF-14)', async () => {
      const service = await start()
      const made = await service.createActor('ada@example.com')
      const actor = await service.app.actors.get(made.id)
      const { client, secret } = (await actor?.clients.create({ name: 'A' })) ?? assert.fail()
      const token = await tokenOf(service, client.clientId, secret)
      const trust = `/trust/mcp_client/oauth2_client:${client.clientId}:${client.clientId}`
      assert.ok((await made.request('PUT', trust, { approved: false })).ok)
      assert.equal((await tokenRequest(service, client.clientId, secret)).status, 401)
      assert.ok((await made.request('PUT', trust, { approved: true })).ok)
      assert.equal((await tokenRequest(service, client.clientId, secret)).status, 200)
      assert.equal((await made.request('DELETE', trust)).status, 204)
      assert.equal(await mcpStatus(service, token), 401)
      assert.equal((await tokenRequest(service, client.clientId, secret)).status, 401)
      assert.deepEqual(await actor?.clients.list(), [])
    })
  })

  describe('the deletion of a client', () => {
    /** The `trust_deleted` events, sorted: actor, peer, relationship, client, and whether the peer ended the relationship. */
    const events = ({ all }: EventRecorder): string[] =>
      lines(
        all.map(({ name, event }) => [
          name,
          event.actor.id,
          event.peer_id,
          event.relationship,
          event.trust_data['oauth_client_id'],
          event.initiated_by_peer,
        ]),
      )
    const lines = (rows: readonly unknown[][]): string[] =>
      rows.map((row) => row.join(' ')).toSorted((one, other) => one.localeCompare(other))

    /** Creates a client of one actor that ada and bob authorize, too. */
    async function shared(): Promise<{
      service: TestService
      heard: EventRecorder
      owner: TestActor
      clientId: string
      ada: string
      bob: string
    }> {
      const heard = new EventRecorder()
      const service = await start({ ...signInAt(await provider()), declare: heard.declare })
      const owner = await service.createActor('owner@example.com')
      const handle = await service.app.actors.get(owner.id)
      const { client } = (await handle?.clients.create({ name: 'A', redirectUris: [redirectUri] })) ?? assert.fail()
      for (const person of ['ada', 'bob']) {
        const browser = new TestBrowser(service)
        await signIn(browser, await provider(), person)
        await codeFor(browser, { client_id: client.clientId }, newPkce())
      }
      const actorOf = async (email: string): Promise<string> =>
        (await service.app.actors.findByCreator(email))?.id ?? assert.fail()
      const [ada, bob] = [await actorOf('ada@example.com'), await actorOf('bob@example.com')]
      assert.deepEqual(heard.names(), [])
      return { service, heard, owner, clientId: client.clientId, ada, bob }
    }

    const peerOf = (clientId: string, name: string): string => `oauth2_client:${name}_at_example_dot_com:${clientId}`

    it('notifies the application once for each relationship that it deletes (R-EVT-01, R-TRUST-06)', async () => {
      const { service, heard, owner, clientId, ada, bob } = await shared()
      const clients = (await service.app.actors.get(owner.id))?.clients
      const answers = await Promise.all([clients?.delete(clientId), clients?.delete(clientId)])
      assert.deepEqual(answers.toSorted(), [false, true])
      assert.deepEqual(
        events(heard),
        lines([
          ['trust_deleted', ada, peerOf(clientId, 'ada'), 'mcp_client', clientId, true],
          ['trust_deleted', bob, peerOf(clientId, 'bob'), 'mcp_client', clientId, true],
          ['trust_deleted', owner.id, `oauth2_client:${clientId}:${clientId}`, 'mcp_client', clientId, false],
        ]),
      )
      assert.equal('secret' in (heard.all[0]?.event.trust_data ?? {}), false)
    })

    it("notifies the application also when the owner deletes the client's own relationship (R-EVT-01, R-TRUST-06)", async () => {
      const { heard, owner, clientId, ada, bob } = await shared()
      const own = `oauth2_client:${clientId}:${clientId}`
      assert.equal((await owner.request('DELETE', `/trust/mcp_client/${own}`)).status, 204)
      assert.deepEqual(
        events(heard),
        lines([
          ['trust_deleted', ada, peerOf(clientId, 'ada'), 'mcp_client', clientId, true],
          ['trust_deleted', bob, peerOf(clientId, 'bob'), 'mcp_client', clientId, true],
          ['trust_deleted', owner.id, own, 'mcp_client', clientId, false],
        ]),
      )
    })

    it("notifies the other actors when the client's actor is deleted, and fires no event for that actor (R-EVT-01)", async () => {
      const { service, heard, owner, clientId, ada, bob } = await shared()
      assert.equal(await service.app.actors.delete(owner.id), true)
      await deletedElsewhere(service)
      assert.deepEqual(
        events(heard),
        lines([
          ['trust_deleted', ada, peerOf(clientId, 'ada'), 'mcp_client', clientId, true],
          ['trust_deleted', bob, peerOf(clientId, 'bob'), 'mcp_client', clientId, true],
        ]),
      )
    })

    it('does not follow from the end of one other relationship, which fires at most its own event (R-EVT-01)', async () => {
      const { service, heard, clientId, ada, bob } = await shared()
      assert.equal(await service.app.actors.delete(ada), true)
      assert.deepEqual(events(heard), [])
      const handle = (await service.app.actors.get(bob)) ?? assert.fail()
      assert.equal(await handle.trust.delete(peerOf(clientId, 'bob')), true)
      assert.deepEqual(
        events(heard),
        lines([['trust_deleted', bob, peerOf(clientId, 'bob'), 'mcp_client', clientId, false]]),
      )
    })

    it('notifies the application once when an unused client expires (R-EVT-01)', async () => {
      let now = Date.now()
      const heard = new EventRecorder()
      const service = await start({ declare: heard.declare, now: () => now })
      const { client_id: clientId } = await registerClient(service, {
        grant_types: ['client_credentials'],
        redirect_uris: undefined,
      })
      now += 8 * 86_400_000
      await registerClient(service)
      await registerClient(service)
      await deleteExpiredClients(service, now)
      const own = `oauth2_client:${clientId}:${clientId}`
      assert.deepEqual(
        events(heard),
        lines([['trust_deleted', '_actingweb_oauth2', own, 'mcp_client', clientId, false]]),
      )
    })

    it('notifies the application when it is complete, and a handler that throws reverts nothing (R-EVT-01, R-TRUST-06)', async () => {
      const seen: unknown[] = []
      const service = await start({
        declare: (app) =>
          app.on('trust_deleted', async ({ actor, peer_id: peerId }) => {
            seen.push([await actor.trust.get(peerId), await actor.clients.list()])
            throw new Error('no')
          }),
      })
      const actor = await service.app.actors.get((await service.createActor('ada@example.com')).id)
      const { client } = (await actor?.clients.create({ name: 'A' })) ?? assert.fail()
      assert.equal(await actor?.clients.delete(client.clientId), true)
      assert.deepEqual(seen, [[undefined, []]])
    })
  })

  describe('self-registered programs', () => {
    it('are found, counted and deleted by the application', async () => {
      const service = await start({ ...signInAt(await provider()) })
      assert.deepEqual(await service.app.clients.stats(), { total: 0, active: 0, trustTypes: {} })
      const { client, tokens } = await authorizeClientByConsent(service, await provider())
      await registerClient(service)
      assert.deepEqual(await service.app.clients.stats(), { total: 2, active: 1, trustTypes: { mcp_client: 2 } })
      assert.equal((await service.app.clients.get(client.client_id))?.name, 'A program')
      assert.equal(await service.app.clients.delete(client.client_id), true)
      assert.equal(await mcpStatus(service, tokens.access_token), 401)
      assert.equal(await service.app.clients.get(client.client_id), undefined)
    })
  })
})
