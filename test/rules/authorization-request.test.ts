import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { judgeAuthorization, parseScope } from '../../src/authorization-server/authorization-request.ts'
import { audienceOf, isForActor, isForMcp, scopesOf } from '../../src/authorization-server/resources.ts'
import type { Client } from '../../src/authorization-server/client.ts'

const client: Client = {
  clientId: 'mcp_1',
  ownerId: 'owner',
  name: 'A program',
  secretHash: null,
  authMethod: 'none',
  redirectUris: ['https://program.example/back'],
  grantTypes: ['authorization_code', 'refresh_token'],
  trustType: 'mcp_client',
  metadata: {},
  createdAt: 1,
  lastUsedAt: null,
  expiresAt: null,
  until: null,
}
const baseUrl = 'https://troupe.test'
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const good = {
  redirect_uri: 'https://program.example/back',
  response_type: 'code',
  code_challenge: challenge,
  code_challenge_method: 'S256',
}

const own = { baseUrl, otherBaseUrls: [] }

function judged(changed: Readonly<Record<string, string | undefined>> = {}, of: Partial<Client> | null = {}) {
  const given: Readonly<Record<string, string | undefined>> = { ...good, ...changed }
  const who = of === null ? null : { ...client, ...of }
  return judgeAuthorization({ get: (name) => given[name], repeated: given['repeated'] ?? null }, who, own)
}

describe('a request at the authorization endpoint', () => {
  it('becomes the request that the owner consents to (R-AS-02)', () => {
    assert.deepEqual(judged({ state: 'é+ %2b', scope: 'mcp', resource: 'https://troupe.test/mcp' }), {
      kind: 'good',
      request: {
        clientId: 'mcp_1',
        redirectUri: 'https://program.example/back',
        state: 'é+ %2b',
        scope: 'mcp',
        codeChallenge: challenge,
        audience: 'https://troupe.test/mcp',
      },
    })
    assert.deepEqual(judged(), {
      kind: 'good',
      request: {
        clientId: 'mcp_1',
        redirectUri: 'https://program.example/back',
        state: null,
        scope: 'mcp actor',
        codeChallenge: challenge,
        audience: '',
      },
    })
  })

  it('may name any redirect URI that the client registered (OAZ-02)', () => {
    const redirectUris = ['https://program.example/back', 'https://program.example/other']
    for (const redirect_uri of redirectUris) assert.equal(judged({ redirect_uri }, { redirectUris }).kind, 'good')
  })

  const refusals: [ids: string, changed: Record<string, string | undefined>, message: string][] = [
    ['OAZ-09', { repeated: 'scope' }, 'scope is given twice'],
    ['OAZ-02', { redirect_uri: undefined }, 'redirect_uri is not registered for this client'],
    ['OAZ-02', { redirect_uri: 'https://program.example/other' }, 'redirect_uri is not registered for this client'],
    ['OAZ-10', { state: 'a\ufffdb' }, 'state is not in UTF-8'],
    [
      'OAZ-07',
      { code_challenge: undefined, code_challenge_method: undefined },
      'A public client must send code_challenge',
    ],
    ['OAZ-07', { code_challenge: undefined }, 'code_challenge is missing'],
    ['OAZ-08', { code_challenge_method: undefined }, 'code_challenge_method must be S256'],
    ['OAZ-08', { code_challenge_method: 'plain' }, 'code_challenge_method must be S256'],
    ['OAZ-07', { code_challenge: 'A'.repeat(42) }, 'code_challenge must be 43 characters of base64url'],
    ['OAZ-07', { code_challenge: 'A'.repeat(44) }, 'code_challenge must be 43 characters of base64url'],
    ['OAZ-07', { code_challenge: '='.repeat(43) }, 'code_challenge must be 43 characters of base64url'],
  ]
  for (const [ids, changed, message] of refusals) {
    it(`is rejected without a redirect when it has ${JSON.stringify(changed)} (${ids})`, () => {
      assert.throws(() => judged(changed), { code: 'invalid_request', message })
    })
  }

  it('is rejected without a redirect when the client is unknown (OAZ-01)', () => {
    assert.throws(() => judged({}, null), { code: 'invalid_request', message: 'The client is not known here' })
  })

  it('of a client with a secret may omit the code challenge or send one (OAZ-07)', () => {
    const confidential = { authMethod: 'client_secret_post' } as const
    const without = judged({ code_challenge: undefined, code_challenge_method: undefined }, confidential)
    assert.equal(without.kind === 'good' ? without.request.codeChallenge : 'none', null)
    const withOne = judged({}, confidential)
    assert.equal(withOne.kind === 'good' ? withOne.request.codeChallenge : 'none', challenge)
    assert.throws(() => judged({ code_challenge: undefined }, confidential), { message: 'code_challenge is missing' })
  })

  const redirected: [changed: Record<string, string | undefined>, code: string, message: string][] = [
    [{ request: 'x' }, 'invalid_request', 'request is not supported'],
    [{ request_uri: 'x' }, 'invalid_request', 'request_uri is not supported'],
    [{ response_mode: 'fragment' }, 'invalid_request', 'response_mode must be query'],
    [{ response_type: 'token' }, 'unsupported_response_type', 'response_type must be code'],
    [{ response_type: undefined }, 'unsupported_response_type', 'response_type must be code'],
    [{ state: 's'.repeat(2049) }, 'invalid_request', 'state is too long'],
    [{ scope: 'admin' }, 'invalid_scope', 'scope must contain mcp or actor'],
    [{ resource: 'https://other.test/mcp' }, 'invalid_target', 'resource is not served here'],
  ]
  for (const [changed, code, message] of redirected) {
    it(`with ${JSON.stringify(changed).slice(0, 60)} is answered with an error redirect that carries its state (OAZ-06)`, () => {
      const answer = judged({ state: 'state-1', ...changed })
      assert.equal(answer.kind, 'redirect')
      if (answer.kind !== 'redirect') return
      assert.deepEqual(
        [answer.redirectUri, answer.state, answer.error.code, answer.error.message],
        ['https://program.example/back', changed['state'] ?? 'state-1', code, message],
      )
    })
  }

  it('may have a state of 2048 characters and name the only response mode (OAZ-10)', () => {
    assert.equal(judged({ state: 's'.repeat(2048), response_mode: 'query' }).kind, 'good')
  })
})

describe('the scope of a request', () => {
  const scopes: [text: string | undefined, scope: string | null][] = [
    [undefined, 'mcp actor'],
    ['mcp', 'mcp'],
    ['actor', 'actor'],
    ['actor mcp', 'actor mcp'],
    ['openid mcp offline_access', 'mcp'],
    ['mcp mcp', 'mcp'],
    ['openid', 'mcp actor'],
    // Open WebUI, LibreChat and generic OAuth clients send these by default.
    ['openid profile email offline_access', 'mcp actor'],
    ['openid other', 'mcp actor'],
    ['other', null],
    ['openid OTHER', 'mcp actor'],
    ['', null],
    [' mcp', null],
    ['mcp ', null],
    ['mcp  openid', null],
    ['mcp "', null],
    ['mcp \\', null],
    ['mcp\u007f', null],
    ['MCP', null],
  ]
  for (const [text, scope] of scopes) {
    it(`is ${scope ?? 'rejected'} for ${JSON.stringify(text)} (OTK-18)`, () => {
      assert.equal(parseScope(text, ['mcp', 'actor']), scope)
    })
  }
})

describe('the resource of a request', () => {
  const named: [text: string | undefined, audience: string | null][] = [
    [undefined, ''],
    ['https://troupe.test/mcp', 'https://troupe.test/mcp'],
    ['https://troupe.test/mcp/', 'https://troupe.test/mcp'],
    ['HTTPS://TROUPE.test/mcp', 'https://troupe.test/mcp'],
    ['https://troupe.test', 'https://troupe.test'],
    ['https://troupe.test/mcp#x', null],
    ['https://troupe.test/mcp#', null],
    ['https://troupe.test/ada', 'https://troupe.test/ada'],
    ['https://troupe.test/ada/', 'https://troupe.test/ada'],
    ['https://troupe.test/ada/properties', null],
    ['https://troupe.test/ad%61', null],
    ['https://troupe.test/_actingweb_oauth2', null],
    ['https://troupe.test/oauth', null],
    ['https://troupe.test.evil/ada', null],
    ['https://other.test/ada', null],
    ['https://troupe.test/mcp?x', null],
    ['ftp://troupe.test/mcp', null],
    ['/mcp', null],
    ['', null],
  ]
  for (const [text, audience] of named) {
    it(`${JSON.stringify(text)} is ${audience === null ? 'rejected' : `the audience ${JSON.stringify(audience)}`} (OTK-17)`, () => {
      assert.equal(audienceOf(text, own), audience)
    })
  }
})

describe('a token of a resource', () => {
  const uses: [audience: string, mcp: boolean, ada: boolean, bob: boolean, scopes: string][] = [
    ['', true, true, true, 'mcp actor'],
    ['https://troupe.test', true, true, true, 'mcp actor'],
    ['https://troupe.test/mcp', true, false, false, 'mcp'],
    ['https://troupe.test/ada', false, true, false, 'actor'],
    ['https://other.test/mcp', false, false, false, 'actor'],
  ]
  for (const [audience, mcp, ada, bob, scopes] of uses) {
    it(`${JSON.stringify(audience)} is valid there alone, with its scopes (MCP-04)`, () => {
      assert.deepEqual(
        [isForMcp(audience, baseUrl), isForActor(audience, 'ada', baseUrl), isForActor(audience, 'bob', baseUrl)],
        [mcp, ada, bob],
      )
      assert.equal(scopesOf(audience, baseUrl).join(' '), scopes)
    })
  }
})
