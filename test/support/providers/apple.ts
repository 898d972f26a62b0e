/** Imitates Apple: the client secret is a recent ES256 token, the response is a form, and the name comes only once. */
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { jwtVerify } from 'jose'
import { createSigner, type Signer } from './signer.ts'
import { startStandIn, type Reply, type StandIn } from './stand-in.ts'

export interface Apple extends StandIn {
  readonly clientId: string
  readonly teamId: string
  readonly keyId: string
  /** The PEM key that a developer downloads. */
  readonly privateKey: string
  readonly signer: Signer
  /** Additional claims of the next id_token. */
  claims: Record<string, unknown>
  /** The current time in Unix milliseconds. */
  now: () => number
  /** Returns the form that the browser posts after a sign-in. It contains the name only the first time. */
  signIn(redirectUri: string, nonce: string): { readonly code: string; readonly user?: string }
}

/** The key is created once, because its creation is slow. */
const key = createSigner('apple-key')

/** Maximum lifetime of a client secret at Apple: six months, in seconds. */
const longestSecret = 15_777_000

export async function startApple(): Promise<Apple> {
  const clientId = 'com.example.web'
  const teamId = 'TEAM123456'
  const keyId = 'KEY1234567'
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signer = await key
  const codes = new Map<string, { readonly redirectUri: string; readonly nonce: string }>()
  let isFirst = true
  let made = 0
  const server: Apple = {
    ...(await startStandIn({
      'POST /auth/token': async ({ form }): Promise<Reply> => {
        const code = codes.get(form.get('code') ?? '')
        codes.delete(form.get('code') ?? '')
        const wrong = (error: string): Reply => ({ status: 400, json: { error } })
        const secret = form.get('client_secret') ?? ''
        if (form.get('client_id') !== clientId) return wrong('invalid_client')
        if (
          !(await isSecret(secret, createPublicKey(pair.privateKey), { clientId, teamId, keyId, now: server.now() }))
        ) {
          return wrong('invalid_client')
        }
        // Apple has no PKCE, so a verifier is an unknown parameter.
        if (form.has('code_verifier')) return wrong('invalid_request')
        if (code === undefined || form.get('redirect_uri') !== code.redirectUri) return wrong('invalid_grant')
        const seconds = Math.floor(server.now() / 1000)
        const id_token = await signer.sign({
          iss: 'https://appleid.apple.com',
          aud: clientId,
          sub: '000123.abc.0456',
          iat: seconds,
          exp: seconds + 86_400,
          nonce: code.nonce,
          nonce_supported: true,
          email: 'ada@icloud.example',
          email_verified: 'true',
          ...server.claims,
        })
        return {
          json: { access_token: 'a.test', token_type: 'Bearer', expires_in: 3600, refresh_token: 'r.test', id_token },
        }
      },
      'GET /auth/keys': () => ({ json: { keys: [signer.publicKey] } }),
    })),
    clientId,
    teamId,
    keyId,
    privateKey: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    signer,
    claims: {},
    now: Date.now,
    signIn(redirectUri, nonce) {
      const code = `c.${(made += 1)}`
      codes.set(code, { redirectUri, nonce })
      const user = JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' }, email: 'forged@example.com' })
      const sent = isFirst ? { code, user } : { code }
      isFirst = false
      return sent
    },
  }
  return server
}

async function isSecret(
  secret: string,
  key: KeyObject,
  expected: { readonly clientId: string; readonly teamId: string; readonly keyId: string; readonly now: number },
): Promise<boolean> {
  try {
    const { payload, protectedHeader } = await jwtVerify(secret, key, {
      algorithms: ['ES256'],
      issuer: expected.teamId,
      subject: expected.clientId,
      audience: 'https://appleid.apple.com',
      requiredClaims: ['iat', 'exp'],
      currentDate: new Date(expected.now),
    })
    const { iat = 0, exp = 0 } = payload
    return protectedHeader.kid === expected.keyId && iat * 1000 <= expected.now && exp - iat <= longestSecret
  } catch {
    return false
  }
}
