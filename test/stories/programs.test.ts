/** Programs with an access token of the authorization server, at the addresses of an actor. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import {
  authorizePath,
  codeFor,
  consentIn,
  mcpStatus,
  newPkce,
  redemption,
  redirectUri,
  registerClient,
  requestTokens,
} from '../support/oauth-client.ts'
import { challengeAt, forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { actorIn, sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { refused } from '../support/stored.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

const provider = sharedProvider()

const sensorType = {
  name: 'sensor',
  display_name: 'Sensor',
  description: 'Pushes values',
  permissions: {
    properties: { patterns: ['room'], operations: ['read'] },
    methods: { allowed: ['status'] },
    actions: { allowed: ['push', 'erase'] },
    resources: { patterns: ['manual'], operations: ['read'] },
  },
} as const

function declare(app: App): void {
  app.trustType(sensorType)
  app.action('push', ({ input, caller }) => ({ pushed: input, by: caller.kind }))
  app.action('erase', { confirm: 'owner' }, () => ({ erased: true }))
  app.action('other', () => ({ other: true }))
  app.method('status', () => ({ status: 'on' }))
  app.resource('manual', () => ({ text: 'manual' }))
}

interface Program {
  readonly actor: TestActor
  readonly clientId: string
  readonly secret: string
}

/** Creates an actor and a program of the type `sensor` that acts by itself. */
async function program(service: TestService): Promise<Program> {
  const actor = await service.createActor('ada@example.com')
  await actor.request('PUT', '/properties', { room: 'kitchen', diary: 'planted' })
  const handle = (await service.app.actors.get(actor.id)) ?? assert.fail()
  const { client, secret } = await handle.clients.create({ name: 'A sensor', trustType: 'sensor' })
  return { actor, clientId: client.clientId, secret }
}

async function tokenOf(service: TestService, { clientId, secret }: Program, more: Record<string, string> = {}) {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret, ...more }
  const answer = await requestTokens(service, form)
  const body = (await answer.json()) as { access_token: string; scope: string; error?: string }
  return { status: answer.status, token: body.access_token, scope: body.scope, error: body.error }
}

function asProgram(service: TestService, actor: Pick<TestActor, 'id'>, token: string) {
  return (method: string, path: string, body?: unknown): Promise<Response> =>
    service.request(`/${actor.id}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
}

forEachService((start) => {
  const open = (options: StartOptions = {}): Promise<TestService> => start({ declare, ...options })

  describe('a program with an access token', () => {
    it('calls what its trust type grants at the addresses of the actor, and nothing else (R-PERM-04)', async () => {
      const service = await open()
      const made = await program(service)
      const { token, scope } = await tokenOf(service, made)
      assert.equal(scope, 'mcp actor')
      const ask = asProgram(service, made.actor, token)
      const pushed = await ask('POST', '/actions/push', { value: 21 })
      assert.deepEqual([pushed.status, await pushed.json()], [200, { pushed: { value: 21 }, by: 'client' }])
      assert.deepEqual(await (await ask('GET', '/properties')).json(), { room: 'kitchen' })
      assert.deepEqual(await (await ask('GET', '/methods/status')).json(), { status: 'on' })
      assert.deepEqual(await (await ask('GET', '/resources/manual')).json(), { text: 'manual' })
      assert.equal((await ask('GET', '/meta')).status, 200)
      for (const [method, path] of [
        ['GET', '/properties/diary'],
        ['PUT', '/properties/room'],
        ['POST', '/actions/other'],
        ['GET', ''],
        ['DELETE', ''],
        ['GET', '/trust'],
        ['GET', '/activity'],
        ['GET', '/approvals'],
        ['GET', '/sessions'],
        ['GET', '/subscriptions'],
        ['GET', '/www'],
      ] as const) {
        assert.equal((await ask(method, path, method === 'GET' ? undefined : 'x')).status, 403, `${method} ${path}`)
      }
    })

    it('needs the owner’s approval for a call that declares it, once for each call', async () => {
      const service = await open()
      const made = await program(service)
      const ask = asProgram(service, made.actor, (await tokenOf(service, made)).token)
      const first = await ask('POST', '/actions/erase', {})
      const asked = (await first.json()) as { error: string; approval_id: string }
      assert.deepEqual([first.status, asked.error], [403, 'approval_required'])
      const decided = await made.actor.request('PUT', `/approvals/${asked.approval_id}`, { approved: true })
      assert.equal(((await decided.json()) as { client_id: string }).client_id, made.clientId)
      assert.deepEqual(await (await ask('POST', '/actions/erase', {})).json(), { erased: true })
      assert.equal((await ask('POST', '/actions/erase', {})).status, 403)
    })

    it('appears in the audit log with its relationship, and the log has no token (SEC-01)', async () => {
      const service = await open({ activityPerActor: 100, timers: stoppedTimers })
      const made = await program(service)
      const { token } = await tokenOf(service, made)
      const ask = asProgram(service, made.actor, token)
      assert.equal((await ask('POST', '/actions/push', {})).status, 200)
      assert.equal((await ask('POST', '/actions/other', {})).status, 403)
      await writtenAuditLog(service)
      const text = await (await made.actor.request('GET', '/activity')).text()
      const { activity } = JSON.parse(text) as { activity: Record<string, unknown>[] }
      const caller = `oauth2_client:${made.clientId}:${made.clientId}`
      assert.deepEqual(
        activity.map(({ caller_kind, caller, through, path, decision }) => [
          caller_kind,
          caller,
          through,
          path,
          decision,
        ]),
        [
          ['client', caller, 'http', '/actions/other', 'refused'],
          ['client', caller, 'http', '/actions/push', 'allowed'],
        ],
      )
      assert.ok(!text.includes(token))
      assert.ok(!service.log.join('\n').includes(token))
    })

    it('uses the token only for the requested resource by RFC 8707 (MCP-04)', async () => {
      const service = await open()
      const made = await program(service)
      const other = await service.createActor('ben@example.com')
      const own = `${service.url}/${made.actor.id}`
      for (const [resource, scope, atActor, atMcp] of [
        [undefined, 'mcp actor', 200, 200],
        [service.url, 'mcp actor', 200, 200],
        [`${service.url}/mcp`, 'mcp', 401, 200],
        [own, 'actor', 200, 401],
        [`${own}/`, 'actor', 200, 401],
      ] as const) {
        const given = await tokenOf(service, made, resource === undefined ? {} : { resource })
        assert.equal(given.scope, scope)
        const answer = await asProgram(service, made.actor, given.token)('GET', '/properties/room')
        assert.equal(answer.status, atActor, String(resource))
        assert.equal(await mcpStatus(service, given.token), atMcp, String(resource))
        assert.equal((await asProgram(service, other, given.token)('GET', '/properties')).status, 403, String(resource))
        if (atActor !== 401) continue
        assert.equal(
          answer.headers.get('www-authenticate'),
          'Bearer error="invalid_token", error_description="The access token was issued for another resource", ' +
            `resource_metadata="http://troupe.test/.well-known/oauth-protected-resource/${made.actor.id}", scope="actor"`,
        )
      }
      for (const resource of [`${service.url}/${other.id}`, `${own}/properties`, `${service.url}/www`]) {
        const given = await tokenOf(service, made, { resource })
        assert.deepEqual([given.status, given.error], [400, 'invalid_target'])
      }
    })

    it('uses the token only for the requested scope (RFC 6750)', async () => {
      const service = await open()
      const made = await program(service)
      const forMcp = await tokenOf(service, made, { scope: 'mcp' })
      assert.equal(await mcpStatus(service, forMcp.token), 200)
      const answer = await asProgram(service, made.actor, forMcp.token)('GET', '/properties/room')
      assert.equal(
        answer.headers.get('www-authenticate'),
        'Bearer error="insufficient_scope", error_description="The access token does not have the scope actor", ' +
          `resource_metadata="http://troupe.test/.well-known/oauth-protected-resource/${made.actor.id}", scope="actor"`,
      )
      await refused(answer, 403, 'forbidden', 'Cannot authenticate: the token does not have the scope actor')
      const forActor = await tokenOf(service, made, { scope: 'actor openid' })
      assert.equal(await mcpStatus(service, forActor.token), 403)
      assert.equal((await asProgram(service, made.actor, forActor.token)('GET', '/properties/room')).status, 200)
      for (const wanted of [
        { scope: 'mcp', resource: `${service.url}/${made.actor.id}` },
        { scope: 'actor', resource: `${service.url}/mcp` },
        { scope: 'admin' },
      ]) {
        const given = await tokenOf(service, made, wanted)
        assert.deepEqual([given.status, given.error], [400, 'invalid_scope'], wanted.scope)
      }
    })

    it('finds where to get a token from the refusal of a request without one (RFC 9728)', async () => {
      const service = await open()
      const { actor } = await program(service)
      const answer = await service.request(`/${actor.id}/properties`)
      const challenge = answer.headers.get('www-authenticate') ?? ''
      assert.equal(challenge, challengeAt(actor.id))
      const where = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ''
      const document = await service.request(where.slice(service.url.length))
      const { resource, scopes_supported } = (await document.json()) as Record<string, unknown>
      assert.deepEqual([resource, scopes_supported], [`${service.url}/${actor.id}`, ['actor']])
    })

    it('loses access with its client, its relationship, its approval and its token (OTK-12)', async () => {
      let time = Date.now()
      const service = await open({ now: () => time })
      const made = await program(service)
      const handle = (await service.app.actors.get(made.actor.id)) ?? assert.fail()
      const peerId = `oauth2_client:${made.clientId}:${made.clientId}`
      const { token } = await tokenOf(service, made)
      const read = async (): Promise<number> =>
        (await asProgram(service, made.actor, token)('GET', '/properties/room')).status
      assert.equal(await read(), 200)
      const approve = (approved: boolean): Promise<Response> =>
        made.actor.request('PUT', `/trust/sensor/${peerId}`, { approved })
      assert.equal((await approve(false)).status, 204)
      assert.equal(await read(), 403)
      assert.equal((await approve(true)).status, 204)
      assert.equal(await read(), 200)
      time += 3_600_001
      const ended = await asProgram(service, made.actor, token)('GET', '/properties/room')
      assert.equal(
        ended.headers.get('www-authenticate'),
        `Bearer resource_metadata="http://troupe.test/.well-known/oauth-protected-resource/${made.actor.id}", scope="actor", ` +
          'error="invalid_token"',
      )
      await refused(ended, 401, 'unauthorized', /expired, was revoked/)
      const next = asProgram(service, made.actor, (await tokenOf(service, made)).token)
      assert.equal((await next('GET', '/properties/room')).status, 200)
      assert.equal(await handle.trust.delete(peerId), true)
      assert.equal((await next('GET', '/properties/room')).status, 401)
    })
  })

  describe('a program that an owner authorized', () => {
    it('acts at the addresses of that owner’s actor alone, and is refused for another one (RFC 8707)', async () => {
      const service = await open({ ...signInAt(await provider()), clientTrustTypes: ['mcp_client', 'sensor'] })
      const browser = new TestBrowser(service)
      const actorId = actorIn(await signIn(browser, await provider(), 'ada'))
      const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const pkce = newPkce()
      const page = await browser.get(authorizePath(client, pkce, { resource: `${service.url}/${actorId}` }))
      const form = { consent: consentIn(await page.text()), decision: 'allow', trust_type: 'sensor' }
      const back = await browser.post('/oauth/authorize', form)
      const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''
      const answer = await requestTokens(service, redemption(client, code, pkce))
      const { access_token: token, scope } = (await answer.json()) as { access_token: string; scope: string }
      assert.equal(scope, 'actor')
      assert.equal((await asProgram(service, { id: actorId }, token)('POST', '/actions/push', {})).status, 200)
      const stranger = await service.createActor('ben@example.com')
      assert.equal((await asProgram(service, stranger, token)('GET', '/properties')).status, 403)
      const elsewhere = { resource: `${service.url}/${stranger.id}` }
      const asked = await browser.get(authorizePath(client, pkce, elsewhere))
      const allowed = { consent: consentIn(await asked.text()), decision: 'allow', trust_type: 'sensor' }
      const refusedBack = await browser.post('/oauth/authorize', allowed)
      const { origin, pathname, searchParams } = new URL(refusedBack.headers.get('location') ?? '')
      assert.deepEqual(
        [`${origin}${pathname}`, searchParams.get('error'), searchParams.get('code')],
        [redirectUri, 'invalid_target', null],
      )
      const free = await codeFor(browser, client, pkce)
      const late = await requestTokens(service, { ...redemption(client, free, pkce), ...elsewhere })
      assert.deepEqual([late.status, ((await late.json()) as { error: string }).error], [400, 'invalid_target'])
    })
  })
})
