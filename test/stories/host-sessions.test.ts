/** An embedding program that signs in its own users, and finds the caller of its own requests. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { serve } from '@hono/node-server'
import type { BegunSession, HostRequest } from '../../src/index.ts'
import { readSetCookie } from '../../src/testing/browser.ts'
import { requestTokens } from '../support/oauth-client.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { asBrowser, signIn } from '../support/sessions.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0'

function hostRequest(headers: Record<string, string> = {}, method = 'GET'): Request {
  return new Request('http://troupe.test/orders', { method, headers })
}

/** Returns the `Cookie` header of a browser that received these cookies. */
function cookieHeader({ cookies }: Pick<BegunSession, 'cookies'>): string {
  return cookies
    .map(readSetCookie)
    .filter(({ value }) => value !== '')
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ')
}

function clearedIn(cookies: readonly string[]): string[] {
  return cookies
    .map(readSetCookie)
    .filter(({ value, maxAge }) => value === '' && maxAge === 0)
    .map(({ name }) => name)
}

/** Sends a request to a server of node:http, and returns it as the server received it. */
async function receivedByNode(headers: Record<string, string | string[]>): Promise<IncomingMessage> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const received = once(server, 'request') as Promise<[IncomingMessage]>
  const { request } = await import('node:http')
  const sent = request({ port, host: '127.0.0.1', headers }).end()
  sent.on('error', () => {})
  const [message] = await received
  sent.destroy()
  server.close()
  server.closeAllConnections()
  return message
}

forEachService((start) => {
  const open = async (options: Parameters<typeof start>[0] = {}): Promise<[TestService, TestActor]> => {
    const service = await start(options)
    return [service, await service.createActor('ada@example.com')]
  }

  describe('app.sessions.begin', () => {
    it('gives the cookies of a session with which the pages open and their forms work', async () => {
      const [service, actor] = await open()
      const session = await service.app.sessions.begin(actor, { request: hostRequest({ 'user-agent': firefox }) })
      assert.deepEqual(
        session.cookies.map((line) => line.replace(/=[^;]+/, '=…')),
        [
          'oauth_token=…; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax',
          'troupe-signed-in=…; Max-Age=1209600; Path=/; HttpOnly; SameSite=Lax',
        ],
      )
      const headers = { ...asBrowser, cookie: cookieHeader(session) }
      assert.equal((await service.request(`/${actor.id}/www`, { headers })).status, 200)
      const form = { method: 'POST', body: new URLSearchParams({ action: 'end_other_sessions' }) }
      const own = { ...headers, 'sec-fetch-site': 'same-origin' }
      assert.equal((await service.request(`/${actor.id}/www/apps`, { ...form, headers: own })).status, 302)
      const foreign = { ...headers, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      assert.equal((await service.request(`/${actor.id}/www/apps`, { ...form, headers: foreign })).status, 403)
      const shown = await service.request('/oauth/session', { headers: { cookie: cookieHeader(session) } })
      assert.equal(((await shown.json()) as { actor_id: string }).actor_id, actor.id)
    })

    it('gives tokens to a client without cookies, which it can refresh', async () => {
      const [service, actor] = await open()
      const session = await service.app.sessions.begin(actor, { request: hostRequest() })
      const { actorId, expiresIn, refreshExpiresIn } = session
      assert.deepEqual([actorId, expiresIn, refreshExpiresIn], [actor.id, 3600, 1_209_600])
      const bearer = { authorization: `Bearer ${session.accessToken}` }
      assert.equal((await service.request(`/${actor.id}/properties`, { headers: bearer })).status, 200)
      const refreshed = await service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: session.refreshToken }),
      })
      assert.equal(refreshed.status, 200)
      assert.equal(((await refreshed.json()) as { actor_id: string }).actor_id, actor.id)
    })

    it('lists the session with its device, and as begun by the application', async () => {
      const [service, actor] = await open()
      const { id } = await service.app.sessions.begin(actor, { request: hostRequest({ 'user-agent': firefox }) })
      const listed = (await (await actor.request('GET', '/sessions')).json()) as Record<string, unknown>[]
      assert.deepEqual(
        listed.map((session) => [session['id'], session['device'], session['began_with']]),
        [[id, 'Firefox on Linux', 'host']],
      )
    })

    it('ends the session whose cookie the browser had, so that a planted cookie does not continue', async () => {
      const [service, actor] = await open()
      const planted = await signIn(service, actor)
      const elsewhere = await signIn(service, actor)
      await service.app.sessions.begin(actor, { request: hostRequest({ cookie: `oauth_token=${planted}` }) })
      const status = async (token: string): Promise<number> =>
        (await service.request(`/${actor.id}/properties`, { headers: { authorization: `Bearer ${token}` } })).status
      assert.deepEqual([await status(planted), await status(elsewhere)], [401, 200])
    })

    it('ends the sessions of another person in the same browser, and clears their cookies', async () => {
      const [service, ada] = await open()
      const ben = await service.createActor('ben@example.com')
      const before = await service.app.sessions.begin(ben, { request: hostRequest() })
      const cookie = `access_token=${before.accessToken}; refresh_token=${before.refreshToken}`
      const session = await service.app.sessions.begin(ada, { request: hostRequest({ cookie }) })
      assert.deepEqual(clearedIn(session.cookies), ['access_token', 'refresh_token'])
      assert.deepEqual(await (await ben.request('GET', '/sessions')).json(), [])
      const own = `access_token=${session.accessToken}; refresh_token=${session.refreshToken}`
      const again = await service.app.sessions.begin(ada, { request: hostRequest({ cookie: own }) })
      assert.deepEqual(clearedIn(again.cookies), [])
      assert.equal(((await (await ada.request('GET', '/sessions')).json()) as unknown[]).length, 2)
    })

    it('is refused for an actor that was deleted or never existed', async () => {
      const [service, actor] = await open()
      await service.app.actors.delete(actor.id)
      for (const id of [actor.id, 'none', '../x']) {
        await assert.rejects(service.app.sessions.begin({ id }, { request: hostRequest() }), {
          name: 'ServiceError',
          code: 'actor_not_found',
        })
        await assert.rejects(service.app.sessions.endAll({ id }), { name: 'ServiceError', code: 'actor_not_found' })
      }
    })
  })

  describe('app.sessions.end', () => {
    it('ends the session of the request at once, and clears the cookies of the browser', async () => {
      const [service, actor] = await open()
      const { sessions } = service.app
      const [ended, kept] = [
        await sessions.begin(actor, { request: hostRequest() }),
        await sessions.begin(actor, { request: hostRequest() }),
      ]
      const { cookies } = await sessions.end(hostRequest({ cookie: cookieHeader(ended) }))
      assert.deepEqual(clearedIn(cookies), ['oauth_token', 'troupe-signed-in'])
      const caller = (one: BegunSession): Promise<unknown> =>
        service.app.callerOf(hostRequest({ cookie: cookieHeader(one) }))
      assert.deepEqual([await caller(ended), (await caller(kept)) !== undefined], [undefined, true])
      await sessions.end(hostRequest({ authorization: `Bearer ${kept.refreshToken}` }))
      assert.equal(await caller(kept), undefined)
    })

    it('ends nothing for a request without a session, or with the token of a client', async () => {
      const [service, actor] = await open()
      const kept = await service.app.sessions.begin(actor, { request: hostRequest() })
      const handle = (await service.app.actors.get(actor.id)) ?? assert.fail()
      const { key } = await handle.keys.create({
        name: 'A',
        grants: { properties: { patterns: ['*'], operations: ['read'] } },
      })
      for (const headers of [{}, { cookie: 'oauth_token=none' }, { authorization: `Bearer ${key}` }])
        await service.app.sessions.end(hostRequest(headers))
      assert.equal((await service.app.callerOf(hostRequest({ cookie: cookieHeader(kept) })))?.actorId, actor.id)
      assert.equal((await service.app.callerOf(hostRequest({ authorization: `Bearer ${key}` })))?.kind, 'client')
    })
  })

  describe('app.sessions.endAll', () => {
    it('signs the owner out on all devices, and leaves other owners signed in', async () => {
      const [service, ada] = await open()
      const ben = await service.createActor('ben@example.com')
      const { sessions } = service.app
      const tokens = [await signIn(service, ada), await signIn(service, ada), await signIn(service, ben)]
      assert.equal(await sessions.endAll(ada), 2)
      assert.equal(await sessions.endAll(ada), 0)
      const callers = tokens.map(async (token) =>
        service.app.callerOf(hostRequest({ authorization: `Bearer ${token}` })),
      )
      assert.deepEqual(
        (await Promise.all(callers)).map((caller) => caller?.actorId),
        [undefined, undefined, ben.id],
      )
    })
  })

  describe('app.callerOf', () => {
    it('is the owner by a session, in a request of either kind', async () => {
      const [service, actor] = await open()
      const session = await service.app.sessions.begin(actor, { request: hostRequest() })
      const owner = { kind: 'creator', session: session.id, actorId: actor.id }
      const cookie = { cookie: cookieHeader(session) }
      const bearer = { authorization: `Bearer ${session.accessToken}` }
      const callers = async (headers: Record<string, string>): Promise<unknown[]> =>
        Promise.all([hostRequest(headers), await receivedByNode(headers)].map((one) => service.app.callerOf(one)))
      assert.deepEqual(await callers(cookie), [
        { ...owner, via: 'cookie' },
        { ...owner, via: 'cookie' },
      ])
      assert.deepEqual(await callers(bearer), [
        { ...owner, via: 'bearer' },
        { ...owner, via: 'bearer' },
      ])
    })

    it('is found in the requests of Hono on Node.js, which has a class of its own for them', async () => {
      const [service, actor] = await open()
      const session = await service.app.sessions.begin(actor, { request: hostRequest() })
      const handler = async (request: Request): Promise<Response> =>
        Response.json({ actorId: (await service.app.callerOf(request))?.actorId ?? null })
      const server = serve({ fetch: handler, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false })
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const ask = async (headers: Record<string, string>): Promise<unknown> =>
        (await fetch(`http://127.0.0.1:${port}/`, { headers })).json()
      assert.deepEqual(await ask({ cookie: cookieHeader(session) }), { actorId: actor.id })
      assert.deepEqual(await ask({}), { actorId: null })
      server.close()
    })

    it('is a client by an API key or a token for the actor, and undefined for a token for AI clients', async () => {
      const [service, actor] = await open()
      const handle = (await service.app.actors.get(actor.id)) ?? assert.fail()
      const { key } = await handle.keys.create({
        name: 'A',
        grants: { properties: { patterns: ['*'], operations: ['read'] } },
      })
      const { client, secret } = await handle.clients.create({ name: 'Robot' })
      const tokenFor = async (resource: string): Promise<string> => {
        const form = { grant_type: 'client_credentials', client_id: client.clientId, client_secret: secret, resource }
        return ((await (await requestTokens(service, form)).json()) as { access_token: string }).access_token
      }
      const caller = async (token: string): Promise<readonly (string | undefined)[]> => {
        const found = await service.app.callerOf(hostRequest({ authorization: `Bearer ${token}` }))
        return [found?.kind, found?.actorId, found?.kind === 'client' ? found.relationship : undefined]
      }
      assert.deepEqual(await caller(key), ['client', actor.id, 'api_key'])
      assert.deepEqual(await caller(await tokenFor(`${service.url}/${actor.id}`)), ['client', actor.id, 'mcp_client'])
      assert.deepEqual(await caller(await tokenFor(`${service.url}/mcp`)), [undefined, undefined, undefined])
      const inCookie = hostRequest({ cookie: `oauth_token=${key}` })
      assert.equal(await service.app.callerOf(inCookie), undefined)
    })

    it('is undefined for a request that proves no caller', async () => {
      const [service, actor] = await open()
      const session = await service.app.sessions.begin(actor, { request: hostRequest() })
      const { accessToken, refreshToken } = session
      for (const headers of [
        {},
        { authorization: actor.authorization },
        { authorization: 'Bearer none' },
        { authorization: 'Bearer' },
        { authorization: `Bearer ${refreshToken}` },
        { authorization: `Bearer ${accessToken.slice(0, -1)}_` },
        { authorization: 'Basic broken', cookie: `oauth_token=${accessToken}` },
        { authorization: `Bearer ${accessToken}, Bearer ${accessToken}` },
        { cookie: `oauth_token=${refreshToken}` },
        { cookie: 'oauth_token=' },
      ])
        assert.equal(await service.app.callerOf(hostRequest(headers)), undefined, JSON.stringify(headers))
      const twice = [`Bearer ${accessToken}`, `Bearer ${accessToken}`]
      assert.equal(await service.app.callerOf(await receivedByNode({ authorization: twice })), undefined)
    })

    it('is undefined after the session expired, and after the actor was deleted', async () => {
      let passed = 0
      const [service, actor] = await open({ now: () => 1_800_000_000_000 + passed })
      const other = await service.createActor('ben@example.com')
      const request = async (one: TestActor): Promise<HostRequest> =>
        hostRequest({ cookie: cookieHeader(await service.app.sessions.begin(one, { request: hostRequest() })) })
      const [expiring, deleted] = [await request(actor), await request(other)]
      await service.app.actors.delete(other.id)
      assert.equal(await service.app.callerOf(deleted), undefined)
      passed = 3_599_000
      assert.equal((await service.app.callerOf(expiring))?.actorId, actor.id)
      passed = 3_601_000
      assert.equal(await service.app.callerOf(expiring), undefined)
    })

    it('does not count a cookie in a change that another site may have sent', async () => {
      const [service, actor] = await open({ spaCorsOrigins: ['https://app.example.com'] })
      const session = await service.app.sessions.begin(actor, { request: hostRequest() })
      const page = await service.request(`/${actor.id}/www/apps`, {
        headers: { ...asBrowser, cookie: cookieHeader(session) },
      })
      const [, csrf = ''] = /name="csrf_token" value="([^"]+)"/.exec(await page.text()) ?? []
      const caller = async (headers: Record<string, string>, method = 'POST'): Promise<boolean> =>
        (await service.app.callerOf(hostRequest({ cookie: cookieHeader(session), ...headers }, method))) !== undefined
      for (const headers of [
        {},
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'x-csrf-token': 'forged' },
        { 'sec-fetch-site': 'cross-site', 'x-csrf-token': csrf },
      ])
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
          assert.equal(await caller(headers, method), false, `${method} ${JSON.stringify(headers)}`)
      assert.equal(await caller({ upgrade: 'websocket', origin: 'https://evil.example' }, 'GET'), false)
      for (const headers of [
        { 'sec-fetch-site': 'same-origin' },
        { origin: 'http://troupe.test' },
        { origin: 'https://app.example.com' },
        { 'x-csrf-token': csrf },
      ])
        assert.equal(await caller(headers), true, JSON.stringify(headers))
      for (const method of ['GET', 'HEAD']) assert.equal(await caller({}, method), true, method)
      assert.equal(await caller({ upgrade: 'websocket', origin: 'http://troupe.test' }, 'GET'), true)
      const bearer = { authorization: `Bearer ${session.accessToken}`, 'sec-fetch-site': 'cross-site' }
      assert.equal(await caller(bearer), true)
    })

    it('fails when the store cannot be read, instead of finding no caller', async () => {
      let store: FaultyStore | undefined
      const [service, actor] = await open({ wrapStore: (inner) => (store = faulty(inner)) })
      const session = await service.app.sessions.begin(actor, { request: hostRequest() })
      store?.plan({ matching: /token/ })
      const request = hostRequest({ cookie: cookieHeader(session) })
      await assert.rejects(service.app.callerOf(request), { name: 'ServiceError', code: 'store_unavailable' })
      assert.equal((await service.app.callerOf(request))?.actorId, actor.id)
    })
  })
})
