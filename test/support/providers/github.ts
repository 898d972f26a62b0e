/** Imitates GitHub: requires a User-Agent (403) and JSON in Accept (422), and reports errors with status 200. */
import { startStandIn, type Asked, type Reply, type StandIn } from './stand-in.ts'

export interface GitHubAddress {
  readonly email: string
  readonly primary: boolean
  readonly verified: boolean
}

export interface GitHub extends StandIn {
  readonly clientId: string
  readonly clientSecret: string
  /** The response of `/user`. */
  user: Record<string, unknown>
  addresses: readonly GitHubAddress[]
  /** Issues a code for one exchange, with this redirect URI and the verifier of this challenge. */
  code(redirectUri: string, challenge?: string): string
}

export async function startGitHub(): Promise<GitHub> {
  const clientId = 'Iv1.test'
  const clientSecret = 'github-secret'
  const codes = new Map<string, { readonly redirectUri: string; readonly challenge: string | undefined }>()
  let made = 0
  const insist = (asked: Asked): Reply | null => {
    if (asked.headers['user-agent'] === undefined)
      return { status: 403, text: 'Request forbidden by administrative rules.' }
    if (!(asked.headers.accept ?? '').includes('application/json'))
      return { status: 422, json: { message: 'Unprocessable' } }
    return null
  }
  const authorized = (asked: Asked, reply: Reply): Reply =>
    insist(asked) ??
    (asked.headers.authorization === 'Bearer gho_test' ? reply : { status: 401, json: { message: 'Bad credentials' } })

  const server: GitHub = {
    ...(await startStandIn({
      'POST /login/oauth/access_token': async (asked) => {
        const refused = insist(asked)
        if (refused !== null) return refused
        const { form } = asked
        const code = codes.get(form.get('code') ?? '')
        codes.delete(form.get('code') ?? '')
        const wrong = (error: string): Reply => ({
          json: { error, error_description: 'described', error_uri: 'https://docs' },
        })
        if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret) {
          return wrong('incorrect_client_credentials')
        }
        if (form.get('redirect_uri') !== code?.redirectUri) return wrong('bad_verification_code')
        if (code?.challenge !== undefined && (await challengeOf(form.get('code_verifier') ?? '')) !== code.challenge) {
          return wrong('bad_verification_code')
        }
        return { json: { access_token: 'gho_test', token_type: 'bearer', scope: 'user:email' } }
      },
      'GET /user': (asked): Reply => authorized(asked, { json: server.user }),
      'GET /user/emails': (asked): Reply => authorized(asked, { json: server.addresses }),
    })),
    clientId,
    clientSecret,
    user: { id: 583231, login: 'octocat', name: 'The Octocat', email: null },
    addresses: [
      { email: 'other@example.com', primary: false, verified: true },
      { email: 'octocat@example.com', primary: true, verified: true },
    ],
    code(redirectUri, challenge) {
      const code = `code-${(made += 1)}`
      codes.set(code, { redirectUri, challenge })
      return code
    },
  }
  return server
}

export async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return Buffer.from(digest).toString('base64url')
}
