/** Clients that prove themselves by a JWT which they sign (`private_key_jwt`). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { ClientKeys } from '../../src/authorization-server/documents/client-keys.ts'
import type { PeerClient, PeerOutcome } from '../../src/peer/peer-client.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { codeFor, newPkce, redemption, redirectUri, registerClient, requestTokens } from '../support/oauth-client.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const documentUrl = 'https://program.example/client.json'
const keysUrl = 'https://program.example/keys.json'

interface Signer {
  readonly jwk: JWK
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
}

async function newSigner(alg = 'ES256', kid = 'one'): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return {
    jwk: { ...(await exportJWK(publicKey)), kid },
    sign: (claims, header) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  }
}

function claimsOf(clientId: string, service: TestService, changed: Record<string, unknown> = {}) {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: clientId, sub: clientId, aud: service.url, iat: now, exp: now + 60, jti: crypto.randomUUID() }
  return { ...claims, ...changed }
}

const asserted = (assertion: string): Record<string, string> => ({
  client_assertion_type: assertionType,
  client_assertion: assertion,
})

async function outcomeOf(service: TestService, form: Record<string, string>, headers = {}): Promise<unknown[]> {
  const answer = await requestTokens(service, { grant_type: 'client_credentials', ...form }, headers)
  const { error } = (await answer.json()) as { error?: string }
  return error === undefined ? [answer.status] : [answer.status, error]
}

/** Serves documents by URL. */
class Documents implements PeerClient {
  readonly asked: string[] = []
  readonly served = new Map<string, object>()

  async call({ url }: { readonly url: string }): Promise<PeerOutcome> {
    this.asked.push(url)
    const body = this.served.get(url)
    if (body === undefined) return { kind: 'unreached', reason: 'refused' }
    return { kind: 'answered', status: 200, headers: {}, body: JSON.stringify(body) }
  }

  async close(): Promise<void> {}
}

const provider = sharedProvider()

forEachService((start) => {
  const members = (keys: readonly JWK[]): object => ({
    grant_types: ['client_credentials', 'authorization_code'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys },
  })

  describe('a client that registered public keys', () => {
    it('gets tokens by an assertion of each kind of key, for the issuer or the token endpoint (OTK-20)', async () => {
      const service = await start()
      for (const alg of ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']) {
        const signer = await newSigner(alg)
        const { client_id: id } = await registerClient(service, members([signer.jwk]))
        for (const aud of [service.url, `${service.url}/`, `${service.url}/oauth/token`, [service.url]]) {
          const assertion = await signer.sign(claimsOf(id, service, { aud }))
          assert.deepEqual(await outcomeOf(service, asserted(assertion)), [200], `${alg} ${String(aud)}`)
        }
        const named = await signer.sign(claimsOf(id, service))
        assert.deepEqual(await outcomeOf(service, { client_id: id, ...asserted(named) }), [200])
      }
    })

    it('uses each assertion once, also in another encoding and in concurrent requests (OTK-20)', async () => {
      const service = await start()
      const signer = await newSigner()
      const { client_id: id } = await registerClient(service, members([signer.jwk]))
      for (const changed of [{}, { jti: undefined }]) {
        const assertion = await signer.sign(claimsOf(id, service, changed))
        const form = asserted(assertion)
        const outcomes = await Promise.all(Array.from({ length: 5 }, () => outcomeOf(service, form)))
        assert.equal(outcomes.filter(([status]) => status === 200).length, 1)
        assert.deepEqual(await outcomeOf(service, form), [401, 'invalid_client'])
      }
      const jti = crypto.randomUUID()
      const first = await signer.sign(claimsOf(id, service, { jti }))
      const second = await signer.sign(claimsOf(id, service, { jti, iat: undefined }))
      assert.deepEqual(await outcomeOf(service, asserted(first)), [200])
      assert.deepEqual(await outcomeOf(service, asserted(second)), [401, 'invalid_client'])
    })

    it('gets none by an assertion that is expired, foreign, too long, or for another server, too (OTK-20)', async () => {
      const service = await start()
      const [signer, stranger] = [await newSigner(), await newSigner()]
      const { client_id: id } = await registerClient(service, members([signer.jwk]))
      const { client_id: other } = await registerClient(service, members([stranger.jwk]))
      const open = await registerClient(service, { token_endpoint_auth_method: 'none' })
      const secret = await registerClient(service, { grant_types: ['client_credentials'] })
      const now = Math.floor(Date.now() / 1000)
      const bad: [what: string, assertion: string][] = [
        ['another key', await stranger.sign(claimsOf(id, service))],
        ['another issuer', await signer.sign(claimsOf(id, service, { iss: other }))],
        ['another client', await signer.sign(claimsOf(other, service))],
        ['another audience', await signer.sign(claimsOf(id, service, { aud: 'https://other.example' }))],
        ['two audiences', await signer.sign(claimsOf(id, service, { aud: [service.url, 'https://other.example'] }))],
        ['no audience', await signer.sign(claimsOf(id, service, { aud: undefined }))],
        ['no end', await signer.sign(claimsOf(id, service, { exp: undefined }))],
        ['past', await signer.sign(claimsOf(id, service, { exp: now - 120 }))],
        ['longer than an hour', await signer.sign(claimsOf(id, service, { exp: now + 7200 }))],
        ['not yet valid', await signer.sign(claimsOf(id, service, { nbf: now + 600 }))],
        ['of the future', await signer.sign(claimsOf(id, service, { iat: now + 600 }))],
        ['longer than 8192 characters', await signer.sign(claimsOf(id, service, { more: 'x'.repeat(8192) }))],
        ['a client without keys', await signer.sign(claimsOf(open.client_id, service))],
        ['a client with a secret', await signer.sign(claimsOf(secret.client_id, service))],
        ['an unknown client', await signer.sign(claimsOf(`mcp_${'0'.repeat(32)}`, service))],
        ['no signature', `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify(claimsOf(id, service)))}.`],
        [
          'the public key as a secret',
          await new SignJWT(claimsOf(id, service))
            .setProtectedHeader({ alg: 'HS256', kid: 'one' })
            .sign(new TextEncoder().encode(JSON.stringify(signer.jwk))),
        ],
        ['no JWT', 'x.y.z'],
        ['nothing', '.'],
      ]
      for (const [what, assertion] of bad)
        assert.deepEqual(await outcomeOf(service, asserted(assertion)), [401, 'invalid_client'], what)
      assert.deepEqual(await outcomeOf(service, { client_id: id }), [401, 'invalid_client'])
      assert.deepEqual(await outcomeOf(service, { client_id: id, client_secret: 'x' }), [401, 'invalid_client'])
    })

    it('gets none with keys that are no keys, and causes no server error (OTK-20)', async () => {
      const service = await start()
      const signer = await newSigner()
      for (const changed of [
        { x: 'AA', y: 'AA' },
        { x: 7 },
        { crv: 'P-999' },
        { kty: 'none' },
        { kty: null },
        { kty: 'RSA', n: '', e: 'AQAB' },
        { alg: 'ES384' },
        { use: 'enc' },
        { key_ops: 'verify' },
      ]) {
        const key = { ...signer.jwk, ...changed } as JWK
        const { client_id: id } = await registerClient(service, members([key]))
        const assertion = await signer.sign(claimsOf(id, service))
        const outcome = await outcomeOf(service, asserted(assertion))
        assert.deepEqual(outcome, [401, 'invalid_client'], JSON.stringify(changed))
      }
    })

    it('authenticates in one way (OTK-20)', async () => {
      const service = await start()
      const signer = await newSigner()
      const { client_id: id } = await registerClient(service, members([signer.jwk]))
      const form = asserted(await signer.sign(claimsOf(id, service)))
      for (const [changed, headers] of [
        [{ client_secret: 'x' }, {}],
        [{ client_assertion_type: 'jwt' }, {}],
        [{ client_id: 'other' }, {}],
        [{}, { authorization: `Basic ${btoa(`${id}:x`)}` }],
      ] as const)
        assert.deepEqual(await outcomeOf(service, { ...form, ...changed }, headers), [400, 'invalid_request'])
      assert.deepEqual(await outcomeOf(service, form), [200])
    })
  })

  describe('a client whose document prefers private_key_jwt', () => {
    const documentWith = (changed: object): object => ({
      client_id: documentUrl,
      client_name: 'A documented program',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: keysUrl,
      ...changed,
    })

    // The document of ChatGPT prefers private_key_jwt and lists both methods.
    it('may be public where the document lists none, and may sign, too (OTK-20)', async () => {
      const documents = new Documents()
      const signer = await newSigner('RS256')
      documents.served.set(keysUrl, { keys: [signer.jwk] })
      documents.served.set(
        documentUrl,
        documentWith({ token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] }),
      )
      const service = await start({ ...signInAt(await provider()), peerClient: documents })
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const client = { client_id: documentUrl }
      for (const isSigned of [false, true]) {
        const pkce = newPkce()
        const form = redemption(client, await codeFor(browser, client, pkce), pkce)
        const proof = isSigned ? asserted(await signer.sign(claimsOf(documentUrl, service))) : {}
        assert.equal((await requestTokens(service, { ...form, ...proof })).status, 200)
      }
    })

    it('must sign where the document lists nothing else (OTK-20)', async () => {
      const documents = new Documents()
      const signer = await newSigner()
      documents.served.set(keysUrl, { keys: [signer.jwk] })
      documents.served.set(documentUrl, documentWith({}))
      const service = await start({ ...signInAt(await provider()), peerClient: documents })
      const browser = new TestBrowser(service)
      await signIn(browser, await provider(), 'ada')
      const client = { client_id: documentUrl }
      const pkce = newPkce()
      const form = redemption(client, await codeFor(browser, client, pkce), pkce)
      assert.equal((await requestTokens(service, form)).status, 401)
      documents.served.delete(keysUrl)
      const proof = await signer.sign(claimsOf(documentUrl, service))
      const answer = await requestTokens(service, { ...form, ...asserted(proof) })
      assert.deepEqual(
        [answer.status, await answer.json()],
        [
          401,
          {
            error: 'invalid_client',
            error_description: 'Cannot use the key set of the client: it cannot be fetched',
          },
        ],
      )
      documents.served.set(keysUrl, { keys: [signer.jwk] })
      assert.equal((await requestTokens(service, { ...form, ...asserted(proof) })).status, 200)
    })
  })
})

describe('the keys of a client', () => {
  it('are fetched again for an unknown key, at most every five seconds (OTK-20)', async () => {
    const clock = new ManualClock()
    const documents = new Documents()
    const [old, renewed] = [await newSigner('ES256', 'old'), await newSigner('ES256', 'new')]
    documents.served.set(keysUrl, { keys: [old.jwk] })
    const keys = new ClientKeys(documents, clock.now)
    const client = { metadata: { jwks_uri: keysUrl } }
    const find = (kid: string) => keys.find(client, { alg: 'ES256', kid })
    await find('old')
    await assert.rejects(find('new'), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
    documents.served.set(keysUrl, { keys: [renewed.jwk] })
    await assert.rejects(find('new'), { code: 'ERR_JWKS_NO_MATCHING_KEY' })
    assert.equal(documents.asked.length, 1)
    clock.pass(5000)
    await find('new')
    assert.equal(documents.asked.length, 2)
  })

  it('must be public (OTK-20)', async () => {
    const clock = new ManualClock()
    const documents = new Documents()
    const { jwk } = await newSigner()
    for (const served of [
      {},
      { keys: 'x' },
      { keys: [{ ...jwk, d: 'private' }] },
      { keys: [{ kty: 'oct', k: 'shared' }] },
    ]) {
      documents.served.set(keysUrl, served)
      const found = new ClientKeys(documents, clock.now).find({ metadata: { jwks_uri: keysUrl } }, { alg: 'ES256' })
      await assert.rejects(found, { code: 'invalid_client' }, JSON.stringify(served))
    }
  })
})
