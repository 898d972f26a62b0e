/** A real OpenID provider on a loopback port. Its users sign in without a screen, and tests can replace its responses. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import type { InteractionResult, OidcContext, Provider } from 'oidc-provider/lib/provider.js'

/** Claims of the provider about a person, besides `sub`. */
export type PersonClaims = Readonly<Record<string, unknown>>

export interface IdentityProviderOptions {
  readonly clientId?: string
  readonly clientSecret?: string
  /** The registered redirect URIs, compared exactly. Default: any URI is accepted. */
  readonly redirectUris?: readonly string[]
  /** Claims by `sub`. Default: Ada, with a verified address. */
  readonly people?: Readonly<Record<string, PersonClaims>>
  /** Puts the claims into the id_token as well. */
  readonly claimsInIdToken?: boolean
  /** The signature algorithm of id_tokens and the key set. */
  readonly algorithm?: 'RS256' | 'ES256'
}

/** The redirect of the browser at the end: a URL for `query`, a URL and form fields for `form_post`. */
export interface SentBack {
  readonly url: URL
  readonly form: URLSearchParams | null
}

export interface IdentityProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** Claims by `sub`. A test may change them at any time. */
  readonly people: Map<string, PersonClaims>
  /** All requests, in the form `POST /token`. */
  readonly requests: string[]
  /** Handlers by path, such as `/token`, `/me`, `/jwks`, that answer in place of the provider. */
  readonly answers: Map<string, RequestListener>
  /** Acts as a browser with this person, from the authorization URL to the redirect back. */
  signIn(authorizationUrl: string | URL, sub: string): Promise<SentBack>
  /** Acts as a browser whose user cancels, which returns `error=access_denied`. */
  cancel(authorizationUrl: string | URL): Promise<SentBack>
  /** Signs an id_token as a native application receives it, without members that are undefined. */
  assertion(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): Promise<string>
  close(): Promise<void>
}

/** Names the user of the browser, in place of a screen. `-` cancels the sign-in. */
const personHeader = 'x-test-person'

export async function startIdentityProvider(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const { clientId = 'troupe-test', clientSecret = 'troupe-test-secret', algorithm = 'RS256' } = options
  const people = new Map(
    Object.entries(options.people ?? { ada: { email: 'ada@example.com', email_verified: true, name: 'Ada Lovelace' } }),
  )
  const requests: string[] = []
  const answers = new Map<string, RequestListener>()
  const { privateKey } = await keyPair(algorithm)
  const key: JWK = { ...(await exportJWK(privateKey)), kid: 'test-key', alg: algorithm, use: 'sig' }

  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // Loaded on demand: most tests that may sign in by a provider never start one, and it has 200 modules.
  const { Provider } = await import('oidc-provider/lib/provider.js')
  const { createMemoryAdapter } = await import('oidc-provider/lib/adapters/memory_adapter.js')
  const configuration = configurationOf({ ...options, clientId, clientSecret, algorithm }, key, people)
  const provider = new Provider(issuer, { ...configuration, adapter: createMemoryAdapter() })
  if (options.redirectUris === undefined) provider.Client.prototype.redirectUriAllowed = () => true
  const answer = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url?.split('?', 1)[0] ?? ''
    requests.push(`${request.method} ${path}`)
    const other = answers.get(path)
    if (other !== undefined) other(request, response)
    else if (path.startsWith('/interaction/')) void interact(provider, people, request, response)
    else answer(request, response)
  })

  const walk = async (from: string | URL, person: string): Promise<SentBack> => {
    const cookies = new Map<string, string>()
    for (let url = new URL(from); ; ) {
      const response = await fetch(url, {
        redirect: 'manual',
        headers: { [personHeader]: person, cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      })
      for (const cookie of response.headers.getSetCookie()) {
        const [name = '', value = ''] = (cookie.split(';', 1)[0] ?? '').split('=')
        cookies.set(name, value)
      }
      const body = await response.text()
      const location = response.headers.get('location')
      if (location === null) return formOf(body, response.status)
      url = new URL(location, issuer)
      if (url.origin !== issuer) return { url, form: null }
    }
  }

  return {
    issuer,
    clientId,
    clientSecret,
    people,
    requests,
    answers,
    signIn: (authorizationUrl, sub) => walk(authorizationUrl, sub),
    cancel: (authorizationUrl) => walk(authorizationUrl, '-'),
    assertion: async (claims, header = {}) => {
      const now = Math.floor(Date.now() / 1000)
      const payload: JWTPayload = { iss: issuer, aud: clientId, iat: now, exp: now + 600, ...claims }
      return new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
        .setProtectedHeader({ alg: algorithm, kid: 'test-key', ...header })
        .sign(privateKey)
    },
    close: () => closed(server),
  }
}

/** Key pairs that all instances share, because their creation is slow. */
const keyPairs = new Map<string, ReturnType<typeof generateKeyPair>>()

function keyPair(algorithm: string): ReturnType<typeof generateKeyPair> {
  const made = keyPairs.get(algorithm) ?? generateKeyPair(algorithm, { extractable: true })
  keyPairs.set(algorithm, made)
  return made
}

function configurationOf(
  options: IdentityProviderOptions & { readonly clientId: string; readonly clientSecret: string },
  key: JWK,
  people: ReadonlyMap<string, PersonClaims>,
): Readonly<Record<string, unknown>> {
  return {
    clients: [
      {
        client_id: options.clientId,
        client_secret: options.clientSecret,
        redirect_uris: [...(options.redirectUris ?? ['https://any.example.com/callback'])],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: options.algorithm,
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['test'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    // Every client must use PKCE: a request without a challenge is rejected.
    pkce: { required: () => true },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['name', 'given_name', 'family_name', 'preferred_username', 'firstName', 'lastName'],
    },
    conformIdTokenClaims: options.claimsInIdToken !== true,
    ttl: { AccessToken: 3600, AuthorizationCode: 60, IdToken: 3600, Interaction: 600, Session: 600, Grant: 600 },
    findAccount: (_: unknown, sub: string) => {
      const claims = people.get(sub)
      return claims === undefined ? undefined : { accountId: sub, claims: () => ({ ...claims, sub }) }
    },
    loadExistingGrant: async ({ oidc }: OidcContext) => {
      const grant = new oidc.provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId })
      grant.addOIDCScope('openid email profile offline_access')
      await grant.save()
      return grant
    },
    renderError: (context: OidcContext, out: Readonly<Record<string, string>>) => {
      context.type = 'text'
      context.body = `${out['error']}: ${out['error_description']}`
    },
  }
}

/** Finishes the sign-in of the person in the header. Without the header, shows a page with a button for each person. */
async function interact(
  provider: Provider,
  people: ReadonlyMap<string, PersonClaims>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const said = request.headers[personHeader]
  if (request.method === 'GET' && said === undefined) {
    const buttons = ['-', ...people.keys()].map((sub) => `<button name="person" value="${sub}">${sub}</button>`)
    response.setHeader('content-type', 'text/html').end(`<form method="post">${buttons.join('')}</form>`)
    return
  }
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += String(piece)
  const person = typeof said === 'string' ? said : (new URLSearchParams(body).get('person') ?? '-')
  const result: InteractionResult =
    person === '-'
      ? { error: 'access_denied', error_description: 'The person changed their mind' }
      : { login: { accountId: person } }
  await provider.interactionFinished(request, response, result)
}

/** Parses the form that a script on the page would send. */
function formOf(page: string, status: number): SentBack {
  const action = /<form[^>]*action="([^"]*)"/.exec(page)?.[1]
  if (action === undefined) throw new Error(`The provider ended with ${status}: ${page.slice(0, 500)}`)
  const fields = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return {
    url: new URL(unescaped(action)),
    form: new URLSearchParams(fields.map(([, name = '', value = '']) => [name, unescaped(value)])),
  }
}

function unescaped(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

async function closed(server: Server): Promise<void> {
  const end = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await end
}
