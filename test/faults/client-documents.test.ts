import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { isClientAddress, MetadataDocuments } from '../../src/authorization-server/documents/metadata-document.ts'
import { GuardedClient } from '../../src/peer/guarded-client.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import { createAuthority } from '../support/certificates.ts'
import { ManualClock } from '../support/manual-clock.ts'
import {
  authorizePath,
  codeFor,
  consentIn,
  mcpStatus,
  newPkce,
  redemption,
  redirectUri,
  requestTokens,
} from '../support/oauth-client.ts'
import { forEachService, type StartOptions, sqliteService, testKeys } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { dumpStore } from '../support/store-dump.ts'
import { stored } from '../support/stored.ts'

const clientId = 'https://program.example/client.json'
const client = { client_id: clientId }

function documentWith(members: object = {}): object {
  return { client_id: clientId, client_name: 'A documented program', redirect_uris: [redirectUri], ...members }
}

/** Answers with the given response and records the requests. */
class Site implements PeerClient {
  readonly asked: PeerRequest[] = []
  answer: (request: PeerRequest) => Promise<PeerOutcome> | PeerOutcome = () => found(documentWith())

  async call(request: PeerRequest): Promise<PeerOutcome> {
    this.asked.push(request)
    return this.answer(request)
  }

  async close(): Promise<void> {}
}

function found(body: object | string, headers: Record<string, string> = {}, status = 200): PeerOutcome {
  return { kind: 'answered', status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

const provider = sharedProvider()

forEachService((start) => {
  describe('a client identified by the URL of a metadata document', () => {
    it('is authorized like a registered client, on a page that names the host, and only its relationship is stored', async () => {
      const site = new Site()
      const service = await start({ ...signInAt(await provider()), peerClient: site })
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const pkce = newPkce()
      const page = await (await browser.get(authorizePath(client, pkce))).text()
      for (const named of ['A documented program', 'Verified publisher', 'program.example'])
        assert.ok(page.includes(named))
      const code = await codeFor(browser, client, pkce)
      const answer = await requestTokens(service, redemption(client, code, pkce))
      assert.equal(answer.status, 200)
      const tokens = (await answer.json()) as { access_token: string; refresh_token: string; actor_id: string }
      assert.equal(await mcpStatus(service, tokens.access_token), 200)
      const refreshed = await requestTokens(service, {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: tokens.refresh_token,
      })
      assert.equal(refreshed.status, 200)
      assert.deepEqual(
        site.asked.map(({ method, url, maxAnswerBytes }) => [method, url, maxAnswerBytes]),
        [['GET', clientId, 5120]],
      )
      const { oauth_client: kept } = await dumpStore((await service.app.running()).store)
      assert.deepEqual(kept, [])
      // The peer id has no slashes, unlike the client id, so that the owner can address the relationship in a path.
      const owner = { authorization: `Bearer ${browser.cookies.get('oauth_token') ?? ''}` }
      const trusts = (await (await service.request(`/${tokens.actor_id}/trust`, { headers: owner })).json()) as {
        peerid: string
        oauth_client_id: string
      }[]
      assert.deepEqual(
        trusts.map(({ oauth_client_id: id }) => id),
        [clientId],
      )
      const peerId = trusts[0]?.peerid ?? ''
      assert.match(peerId, /^oauth2_client:ada_at_example_dot_com:document_[0-9a-f]{32}$/)
      const ended = await service.request(`/${tokens.actor_id}/trust/mcp_client/${peerId}`, {
        method: 'DELETE',
        headers: owner,
      })
      assert.equal(ended.status, 204)
      assert.equal(await mcpStatus(service, tokens.access_token), 401)
    })

    it('is rejected by an error page when its document is invalid, and nothing is stored', async () => {
      const site = new Site()
      const service = await start({ peerClient: site })
      const before = await stored(service)
      const bad: PeerOutcome[] = [
        { kind: 'unreached', reason: 'connection refused' },
        { kind: 'unknown', reason: 'too long' },
        found(documentWith(), {}, 404),
        found(documentWith(), {}, 500),
        found(documentWith(), {}, 204),
        found(documentWith(), { location: 'https://program.example/other.json' }, 302),
        found('not JSON'),
        found('[]'),
        found('null'),
        found('7'),
        found(`${'['.repeat(2000)}${']'.repeat(2000)}`),
        found(documentWith({ client_id: 'https://program.example/other.json' })),
        found(documentWith({ client_id: `${clientId}/` })),
        found(documentWith({ client_id: undefined })),
        found(documentWith({ client_name: '<>' })),
        found(documentWith({ client_name: 7 })),
        found(documentWith({ redirect_uris: undefined })),
        found(documentWith({ redirect_uris: [] })),
        found(documentWith({ redirect_uris: redirectUri })),
        found(documentWith({ redirect_uris: ['javascript:alert(1)', 'http://program.example/back', 7] })),
        found(documentWith({ redirect_uris: Array.from({ length: 21 }, () => redirectUri) })),
        found(documentWith({ token_endpoint_auth_method: 'client_secret_basic' })),
        found(documentWith({ client_secret: 'public' })),
        found(documentWith({ token_endpoint_auth_method: 'private_key_jwt' })),
        found(documentWith({ token_endpoint_auth_methods_supported: ['client_secret_post'] })),
      ]
      for (const outcome of bad) {
        site.answer = () => outcome
        const what = JSON.stringify(outcome).slice(0, 200)
        const page = await service.request(authorizePath(client, newPkce()), { headers: { accept: 'text/html' } })
        assert.deepEqual(
          [page.status, page.headers.get('location'), page.headers.getSetCookie()],
          [400, null, []],
          what,
        )
        const answer = await requestTokens(service, redemption(client, 'ac_x', newPkce()))
        assert.deepEqual([answer.status, ((await answer.json()) as { error: string }).error], [401, 'invalid_client'])
      }
      assert.deepEqual(await stored(service), before)
      // Failures are not cached.
      site.answer = () => found(documentWith())
      assert.equal((await new TestBrowser(service).get(authorizePath(client, newPkce()))).status, 200)
    })

    it('may lack a name and list redirect URIs that cannot be used', async () => {
      const site = new Site()
      site.answer = () => found(documentWith({ client_name: undefined, redirect_uris: ['urn:x', redirectUri, 7] }))
      const service = await start({ peerClient: site })
      const page = await service.request(authorizePath(client, newPkce()), { headers: { accept: 'text/html' } })
      assert.equal(page.status, 200)
      assert.match(await page.text(), /program\.example/)
      const other = authorizePath(client, newPkce(), { redirect_uri: 'urn:x' })
      assert.equal((await service.request(other, { headers: { accept: 'text/html' } })).status, 400)
    })

    it('has no secret and cannot use client_credentials (OTK-11)', async () => {
      const service = await start({ peerClient: new Site() })
      for (const [form, expected] of [
        [{ grant_type: 'client_credentials' }, [400, 'unauthorized_client']],
        [{ grant_type: 'client_credentials', client_secret: 'x' }, [401, 'invalid_client']],
      ] as const) {
        const answer = await requestTokens(service, { ...form, client_id: clientId })
        assert.deepEqual([answer.status, ((await answer.json()) as { error: string }).error], expected)
      }
    })
  })
})

describe('client metadata documents', () => {
  const clock = new ManualClock()

  it('are fetched again when the cached response expires, within bounds of a minute and a day', async () => {
    for (const [headers, seconds] of [
      [{}, 300],
      [{ 'cache-control': 'max-age=120' }, 120],
      [{ 'cache-control': 'public, max-age="600"' }, 600],
      [{ 'cache-control': 'MAX-AGE=3600, must-revalidate' }, 3600],
      [{ 'cache-control': 'max-age=0' }, 60],
      [{ 'cache-control': 'max-age=1' }, 60],
      [{ 'cache-control': 'no-store' }, 60],
      [{ 'cache-control': 'max-age=3600, no-cache' }, 60],
      [{ 'cache-control': 'max-age=999999999' }, 86_400],
      [{ 'cache-control': 's-maxage=7200' }, 300],
      [{ 'cache-control': 'max-age=never' }, 300],
    ] as const) {
      const site = new Site()
      site.answer = () => found(documentWith(), headers)
      const documents = new MetadataDocuments(site, clock.now)
      await documents.find(clientId)
      clock.pass(seconds * 1000 - 1)
      await documents.find(clientId)
      assert.equal(site.asked.length, 1, JSON.stringify(headers))
      clock.pass(1)
      await documents.find(clientId)
      assert.equal(site.asked.length, 2, JSON.stringify(headers))
    }
  })

  it('are fetched with a connect timeout of 5 s, a read timeout of 5 s and at most 5120 bytes (OUT-06, OUT-10)', async () => {
    const site = new Site()
    await new MetadataDocuments(site, clock.now).find(clientId)
    assert.deepEqual(site.asked, [
      {
        method: 'GET',
        url: clientId,
        headers: { accept: 'application/json' },
        maxAnswerBytes: 5120,
        timeouts: { connectSeconds: 5, readSeconds: 5 },
      },
    ])
  })

  it('are never fetched from a URL that is not a valid client id (OUT-01)', async () => {
    const site = new Site()
    const documents = new MetadataDocuments(site, clock.now)
    for (const address of [
      'https://program.example/',
      'https://user@program.example/a',
      'https://program.example/../a',
    ])
      await assert.rejects(documents.find(address), { code: 'invalid_request' }, address)
    assert.deepEqual(site.asked, [])
  })

  it('accept up to 20 redirect URIs', async () => {
    const documentOf = (count: number): object =>
      documentWith({ redirect_uris: Array.from({ length: count }, (_, n) => `https://program.example/${n}`) })
    const site = new Site()
    site.answer = () => found(documentOf(21))
    await assert.rejects(new MetadataDocuments(site, clock.now).find(clientId), { code: 'invalid_request' })
    site.answer = () => found(documentOf(20))
    assert.equal((await new MetadataDocuments(site, clock.now).find(clientId)).redirectUris.length, 20)
  })

  it('accept only an https URL as client_uri (ODR-04)', async () => {
    for (const [uri, metadata] of [
      ['https://program.example/about', { client_uri: 'https://program.example/about' }],
      ['http://program.example/about', {}],
      ['javascript:alert(1)', {}],
      ['about', {}],
      [1, {}],
    ] as const) {
      const site = new Site()
      site.answer = () => found(documentWith({ client_uri: uri }))
      assert.deepEqual((await new MetadataDocuments(site, clock.now).find(clientId)).metadata, metadata, `${uri}`)
    }
  })

  it('are fetched once for concurrent requests', async () => {
    const site = new Site()
    const answered = Promise.withResolvers<PeerOutcome>()
    site.answer = () => answered.promise
    const documents = new MetadataDocuments(site, clock.now)
    const asking = Array.from({ length: 50 }, () => documents.find(clientId))
    answered.resolve(found(documentWith()))
    await Promise.all(asking)
    assert.equal(site.asked.length, 1)
    const failing = new Site()
    failing.answer = () => ({ kind: 'unreached', reason: 'gone' })
    const others = new MetadataDocuments(failing, clock.now)
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => others.find(clientId)))
    assert.ok(results.every(({ status }) => status === 'rejected'))
    assert.equal(failing.asked.length, 1)
    await assert.rejects(others.find(clientId))
    assert.equal(failing.asked.length, 2)
  })

  it('are cached up to a limit, with the newest kept (ODR-08)', async () => {
    const site = new Site()
    site.answer = ({ url }) => found(documentWith({ client_id: url }))
    const documents = new MetadataDocuments(site, clock.now)
    const address = (index: number): string => `https://program.example/${index}.json`
    for (let index = 0; index <= 500; index += 1) await documents.find(address(index))
    await documents.find(address(500))
    await documents.find(address(1))
    assert.equal(site.asked.length, 501)
    await documents.find(address(0))
    assert.equal(site.asked.length, 502)
  })

  it('require an https URL with a path in normalized form', () => {
    for (const address of [
      'https://program.example/client.json',
      'https://program.example:8443/a/b',
      'https://program.example/client?id=1',
    ]) {
      assert.equal(isClientAddress(address), true, address)
    }
    for (const address of [
      'http://program.example/client.json',
      'https://program.example',
      'https://program.example/',
      'https://program.example/client.json#x',
      'https://program.example/client.json#',
      'https://me@program.example/client.json',
      'https://me:x@program.example/client.json',
      'https://PROGRAM.example/client.json',
      'HTTPS://program.example/client.json',
      'https://program.example:443/client.json',
      'https://program.example/../client.json',
      'https://program.example/a/../client.json',
      'https://program.example/%2e%2e/client.json',
      'https://program.example/./client.json',
      'https://program.example\\client.json',
      'https://program.example/cli ent',
      'https://127.1/client.json',
      'https://0x7f.1/client.json',
      'https:program.example/client.json',
      'ftp://program.example/client.json',
    ]) {
      assert.equal(isClientAddress(address), false, address)
    }
  })
})

describe('client metadata documents at internal addresses', () => {
  const authority = createAuthority()
  const asked: string[] = []
  const server = createServer(authority.issue({ names: ['127.0.0.1', 'localhost'] }), (request, response) => {
    asked.push(request.url ?? '')
    const address = `https://127.0.0.1:${port()}${request.url}`
    if (request.url === '/moved.json')
      response.writeHead(302, { location: `https://127.0.0.1:${port()}/client.json` }).end()
    else if (request.url === '/long.json')
      response.end(JSON.stringify({ ...documentWith({ client_id: address }), x: 'x'.repeat(5120) }))
    else response.end(JSON.stringify(documentWith({ client_id: address })))
  })
  const port = (): number => (server.address() as AddressInfo).port
  before(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
  after(() => void server.close())
  const start = sqliteService()

  const guarded = (allowPrivatePeers: boolean): GuardedClient =>
    new GuardedClient({
      allowPrivatePeers,
      allowHttp: false,
      connectSeconds: 5,
      readSeconds: 5,
      release: 'test',
      authorities: [authority.cert],
    })

  const statusOf = async (options: StartOptions, id: string): Promise<number> => {
    const service = await start(options)
    const answer = await service.request(authorizePath({ client_id: id }, newPkce()), {
      headers: { accept: 'text/html' },
    })
    if (answer.status === 200) consentIn(await answer.text())
    return answer.status
  }

  it('are never fetched in production (OUT-01, OUT-02, OUT-07, OUT-09)', async () => {
    const production: StartOptions = {
      mode: 'production',
      baseUrl: 'https://troupe.test',
      secretKeys: testKeys,
      devtest: false,
      peerClient: guarded(false),
    }
    asked.length = 0
    for (const host of [
      `127.0.0.1:${port()}`,
      `localhost:${port()}`,
      `[::1]:${port()}`,
      `[::ffff:7f00:1]:${port()}`,
      '10.0.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '[fd00::1]',
      '[fe80::1]',
      'metadata.google.internal',
      'intranet',
      'printer.local',
    ]) {
      assert.equal(await statusOf(production, `https://${host}/client.json`), 400, host)
    }
    assert.deepEqual(asked, [])
  })

  it('are fetched in development, without redirects and within the size limit (OUT-06, OUT-10)', async () => {
    const development: StartOptions = { peerClient: guarded(true) }
    asked.length = 0
    assert.equal(await statusOf(development, `https://127.0.0.1:${port()}/client.json`), 200)
    assert.equal(await statusOf(development, `https://127.0.0.1:${port()}/moved.json`), 400)
    assert.equal(await statusOf(development, `https://127.0.0.1:${port()}/long.json`), 400)
    assert.deepEqual(asked, ['/client.json', '/moved.json', '/long.json'])
  })
})
