import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { afterEach, describe, it } from 'node:test'
import { github } from '../../src/index.ts'
import { startGitHub } from '../support/providers/github.ts'
import { sqliteService, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser, wayBack } from '../support/sign-in.ts'

const provider = sharedProvider()
const start = sqliteService()

interface Line {
  readonly level: string
  readonly provider?: string
  readonly failure?: string
  readonly status?: number
  readonly reason?: string
  readonly msg: string
}

/** Log entries about providers, without time and request. */
function reported(service: TestService): object[] {
  return service.log
    .map((text) => JSON.parse(text) as Line)
    .filter(({ msg }) => msg === 'A sign-in provider refused or failed')
    .map(({ level, provider: name, failure, status, reason }) => ({
      level,
      provider: name,
      failure,
      ...(status === undefined ? {} : { status }),
      reason,
    }))
}

describe('the log of an operator', () => {
  afterEach(async () => (await provider()).answers.clear())

  async function failing(path: string, answer: RequestListener): Promise<{ service: TestService; status: number }> {
    const idp = await provider()
    const service = await start({ ...signInAt(idp), logLevel: 'info' })
    const browser = new TestBrowser(service)
    const back = await wayBack(browser, idp, 'ada')
    idp.answers.set(path, answer)
    const { status } = await browser.get(back.href)
    const code = back.searchParams.get('code') ?? ''
    assert.ok(code.length > 10)
    for (const secret of [code, back.searchParams.get('state') ?? '', idp.clientSecret])
      assert.ok(!service.log.join('\n').includes(secret))
    return { service, status }
  }

  it('names a provider that refuses the code, with status and reason (IDP-19)', async () => {
    const { service, status } = await failing('/token', (_request, response) =>
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}'),
    )
    assert.equal(status, 502)
    assert.deepEqual(reported(service), [
      {
        level: 'warn',
        provider: 'acme',
        failure: 'exchange',
        status: 400,
        reason: 'acme rejected the code: invalid_client',
      },
    ])
  })

  it('names a provider whose token endpoint fails, with status and reason (IDP-19)', async () => {
    const { service, status } = await failing('/token', (_request, response) => response.writeHead(503).end('down'))
    assert.equal(status, 502)
    const { issuer } = await provider()
    assert.deepEqual(reported(service), [
      {
        level: 'warn',
        provider: 'acme',
        failure: 'unreachable',
        status: 503,
        reason: `POST ${issuer}/token returned 503`,
      },
    ])
  })

  it('names a provider that proves the identity but does not list addresses (IDP-07)', async () => {
    const hub = await startGitHub()
    try {
      hub.answers.set('/user/emails', (_request, response) => response.writeHead(403).end('{}'))
      const { clientId, clientSecret, url } = hub
      const service = await start({
        logLevel: 'info',
        signIn: [
          github({
            clientId,
            clientSecret,
            authUri: `${url}/login/oauth/authorize`,
            tokenUri: `${url}/login/oauth/access_token`,
            userinfoUri: `${url}/user`,
          }),
        ],
      })
      const browser = new TestBrowser(service)
      const begun = new URL((await browser.get('/oauth/login/github')).headers.get('location') ?? '')
      const code = hub.code('http://troupe.test/oauth/callback', begun.searchParams.get('code_challenge') ?? '')
      const state = begun.searchParams.get('state') ?? ''
      assert.equal((await browser.get(`/oauth/callback?state=${state}&code=${code}`)).status, 502)
      assert.deepEqual(reported(service), [
        {
          level: 'warn',
          provider: 'github',
          failure: 'identity',
          status: 403,
          reason: `GET ${url}/user/emails returned 403`,
        },
      ])
      assert.ok(!service.log.join('\n').includes('gho_test'))
    } finally {
      await hub.close()
    }
  })

  it('reports an error that a provider sends with the browser on a single line', async () => {
    const service = await start({ ...signInAt(await provider()), logLevel: 'info' })
    const browser = new TestBrowser(service)
    const begun = new URL((await browser.get('/oauth/login/acme')).headers.get('location') ?? '')
    const query = new URLSearchParams({
      state: begun.searchParams.get('state') ?? '',
      error: 'unauthorized_client',
      error_description: 'AADSTS700016:\nnot found in the directory',
    })
    assert.equal((await browser.get(`/oauth/callback?${query.toString()}`)).status, 400)
    assert.deepEqual(reported(service), [
      {
        level: 'warn',
        provider: 'acme',
        failure: 'authorization',
        reason: 'unauthorized_client: AADSTS700016: not found in the directory',
      },
    ])
  })

  it('does not warn when a user cancels', async () => {
    const idp = await provider()
    const service = await start({ ...signInAt(idp), logLevel: 'info' })
    const browser = new TestBrowser(service)
    const begun = await browser.get('/oauth/login/acme')
    const { url } = await idp.cancel(begun.headers.get('location') ?? '')
    assert.equal((await browser.get(url.href)).status, 400)
    assert.deepEqual(reported(service), [
      {
        level: 'info',
        provider: 'acme',
        failure: 'authorization',
        reason: 'access_denied: The person changed their mind',
      },
    ])
  })

  it('reports nothing about a successful sign-in, or about an assertion that a client invented', async () => {
    const idp = await provider()
    const service = await start({ ...signInAt(idp, { name: 'acme-native', audiences: ['app'] }), logLevel: 'info' })
    assert.equal((await signIn(new TestBrowser(service), idp, 'ada')).status, 302)
    const answer = await service.request('/oauth/spa/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        provider: 'acme-native',
        assertion: await idp.assertion({ sub: 'ada', aud: 'another', nonce: 'n' }),
        nonce: 'n',
      }),
    })
    assert.equal(answer.status, 400)
    assert.deepEqual(reported(service), [])
  })
})
