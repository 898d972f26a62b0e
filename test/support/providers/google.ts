/** Imitates Google: an issuer in two spellings, userinfo in two versions, and the client secret in the form. */
import { challengeOf } from './github.ts'
import { createSigner, type Signer } from './signer.ts'
import { startStandIn, type Reply, type StandIn } from './stand-in.ts'

export interface Google extends StandIn {
  readonly clientId: string
  readonly clientSecret: string
  readonly signer: Signer
  /** The issuer in id_tokens. */
  issuer: string
  /** The response of userinfo. The older version has `id` and `verified_email`. */
  userinfo: Record<string, unknown>
  /** Additional claims of the next id_token, or null for a response without an id_token. */
  claims: Record<string, unknown> | null
  /** The current time in Unix milliseconds. */
  now: () => number
  code(redirectUri: string, challenge: string, nonce: string): string
}

/** The key is created once, because its creation is slow. */
const key = createSigner('google-key')

export async function startGoogle(): Promise<Google> {
  const clientId = 'web.apps.googleusercontent.com'
  const clientSecret = 'google-secret'
  const signer = await key
  const codes = new Map<string, { readonly redirectUri: string; readonly challenge: string; readonly nonce: string }>()
  let made = 0
  const server: Google = {
    ...(await startStandIn({
      'POST /token': async ({ form }): Promise<Reply> => {
        const code = codes.get(form.get('code') ?? '')
        codes.delete(form.get('code') ?? '')
        const wrong = (error: string): Reply => ({ status: 400, json: { error } })
        if (form.get('grant_type') !== 'authorization_code') return wrong('unsupported_grant_type')
        if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) {
          return { status: 401, json: { error: 'invalid_client' } }
        }
        if (code === undefined || form.get('redirect_uri') !== code.redirectUri) return wrong('invalid_grant')
        if ((await challengeOf(form.get('code_verifier') ?? '')) !== code.challenge) return wrong('invalid_grant')
        const seconds = Math.floor(server.now() / 1000)
        return {
          json: {
            access_token: 'ya29.test',
            refresh_token: '1//test',
            token_type: 'Bearer',
            expires_in: 3599,
            ...(server.claims === null
              ? {}
              : {
                  id_token: await signer.sign({
                    iss: server.issuer,
                    aud: clientId,
                    sub: '1042',
                    iat: seconds,
                    exp: seconds + 3600,
                    nonce: code.nonce,
                    ...server.claims,
                  }),
                }),
          },
        }
      },
      'GET /userinfo': ({ headers }) =>
        headers.authorization === 'Bearer ya29.test' ? { json: server.userinfo } : { status: 401, json: {} },
      'GET /certs': () => ({ json: { keys: [signer.publicKey] } }),
    })),
    clientId,
    clientSecret,
    signer,
    issuer: 'https://accounts.google.com',
    userinfo: { id: '1042', email: 'Ada@Gmail.example', verified_email: true, name: 'Ada Lovelace', given_name: 'Ada' },
    claims: {},
    now: Date.now,
    code(redirectUri, challenge, nonce) {
      const code = `4/${(made += 1)}`
      codes.set(code, { redirectUri, challenge, nonce })
      return code
    },
  }
  return server
}
