/** Server of the local provider: a real OpenID provider on a loopback port. It keeps all its data in memory. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
// Imported by path: the index of the package warns on stderr about every runtime that is newer than the package.
import { createMemoryAdapter } from 'oidc-provider/lib/adapters/memory_adapter.js'
import { type OidcContext, Provider } from 'oidc-provider/lib/provider.js'
import { parseAddress } from '../../actor/address.ts'
import type { Log } from '../../observe/log.ts'
import { randomToken } from '../../secret/random.ts'
import { lifetimes } from '../../token/one-time.ts'

/** The person whom developers can choose with one click. */
const testPerson = { name: 'Ada Lovelace', email: 'ada@example.com' } as const

/** Returns the display name of a typed address: its part before the `@`. */
function personName(address: string): string {
  return address === testPerson.email ? testPerson.name : (address.split('@', 1)[0] ?? '')
}

export interface LocalServerOptions {
  /** The service's callback, the only URL to which the provider redirects. */
  readonly redirectUri: string
  readonly pages: LocalPages
  readonly log: Log
}

/** Pages of the local provider. The caller renders them, in a language of the header `Accept-Language`. */
export interface LocalPages {
  /** The page on which a developer chooses a person. */
  choice(values: LocalChoice, acceptLanguage: string): Promise<string>
  /** The page for a sign-in that is unknown or has ended. */
  ended(acceptLanguage: string): Promise<string>
  /** Finds a file below `/assets/` by its name. Null: it does not exist. */
  asset(name: string): { readonly type: string; readonly text: string } | null
}

export interface LocalChoice {
  readonly person: { readonly name: string; readonly email: string }
  /** The rejected input, or the address that the service expects. */
  readonly email: string
  readonly isRefused: boolean
}

export interface LocalServer {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  close(): Promise<void>
}

/**
 * Host of the local provider: 127.0.0.1, because browsers would send it the cookies of a service on `localhost`.
 */
const host = '127.0.0.1'

const maxFormBytes = 4096

/** A code outlives the ticket by which a mobile application redeems it. */
const codeSeconds = lifetimes.ticket + 60

export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  // The server must not keep the process alive.
  server.unref()
  const { port } = server.address() as AddressInfo
  const issuer = `http://${host}:${port}`
  const [clientId, clientSecret] = ['troupe', randomToken()]
  const provider = new Provider(issuer, configurationOf(clientId, clientSecret, options.redirectUri, port))
  provider.on('server_error', (_context, error) => options.log.error({ error }, 'The local provider failed'))
  const answer = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // Rejects other host names, which prevents DNS rebinding.
    if (request.headers.host !== `${host}:${port}`) {
      response.writeHead(421).end()
      return
    }
    const [path = ''] = (request.url ?? '').split('?', 1)
    const asset = path.startsWith('/assets/') ? options.pages.asset(path.slice('/assets/'.length)) : null
    if (asset !== null) response.writeHead(200, { 'content-type': asset.type }).end(asset.text)
    else if (path.startsWith('/interaction/')) {
      void choose(provider, options.pages, request, response).catch((error: unknown) => {
        options.log.error({ error }, 'The local provider failed')
        if (!response.headersSent) response.writeHead(500)
        response.end()
      })
    } else answer(request, response)
  })
  return { issuer, clientId, clientSecret, close: () => closed(server) }
}

function configurationOf(
  clientId: string,
  clientSecret: string,
  redirectUri: string,
  port: number,
): Readonly<Record<string, unknown>> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    adapter: createMemoryAdapter(),
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'local', alg: 'ES256', use: 'sig' }] },
    cookies: {
      keys: [randomBytes(32).toString('base64url')],
      // Browsers share the cookies of a host among all ports, and each service in development has such a server.
      names: { interaction: `interaction-${port}`, resume: `resume-${port}`, session: `session-${port}` },
    },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: codeSeconds,
      IdToken: 3600,
      Interaction: 3600,
      Session: 3600,
      Grant: 3600,
    },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, email: sub, email_verified: true, name: personName(sub) }),
    }),
    // Skips the consent page: signing in here implies consent.
    loadExistingGrant: async ({ oidc }: OidcContext) => {
      const grant = new oidc.provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
    renderError: (context: OidcContext, out: Readonly<Record<string, string>>) => {
      context.type = 'text'
      context.body = `${out['error']}: ${out['error_description']}\n`
    },
  }
}

async function choose(
  provider: Provider,
  pages: LocalPages,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const show = async (status: number, page: Promise<string>): Promise<void> => {
    response.writeHead(status, headers)
    response.end(await page)
  }
  const language = request.headers['accept-language'] ?? ''
  const interaction = await provider.interactionDetails(request, response).catch(() => null)
  if (interaction === null) return show(400, pages.ended(language))
  const hint = interaction.params['login_hint']
  if (request.method !== 'POST') {
    return show(
      200,
      pages.choice({ person: testPerson, email: typeof hint === 'string' ? hint : '', isRefused: false }, language),
    )
  }
  const form = await formOf(request)
  if (form.has('cancel')) {
    const result = { error: 'access_denied', error_description: 'The person changed their mind' }
    return provider.interactionFinished(request, response, result)
  }
  const typed = form.get('email') ?? ''
  const address = parseAddress(typed)
  if (address === null) return show(422, pages.choice({ person: testPerson, email: typed, isRefused: true }, language))
  return provider.interactionFinished(request, response, { login: { accountId: address, remember: false } })
}

/** Response headers. The CSP has no `form-action`, because the form redirects to any application of the developer. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) {
    text += String(piece)
    if (text.length > maxFormBytes) return new URLSearchParams()
  }
  return new URLSearchParams(text)
}

async function closed(server: Server): Promise<void> {
  const end = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await end
}
