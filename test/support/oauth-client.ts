/** An OAuth client of a test: it registers, sends the owner's browser to the authorization server, and receives tokens. */
import { createHash, randomBytes } from 'node:crypto'
import type { IdentityProvider } from './identity-provider.ts'
import type { TestService } from './service.ts'
import { TestBrowser } from './sign-in.ts'

export const redirectUri = 'https://program.example/back'

export interface RegisteredClient {
  readonly client_id: string
  readonly client_secret?: string
}

/** Deletes expired clients as the purge of a sharded database does. A plain database does so at each registration. */
export async function deleteExpiredClients(service: TestService, now: number): Promise<void> {
  const { store, parts } = await service.app.running()
  if (store.isSharded) await store.write((tx) => parts.clients.purge(tx, now))
}

export async function registerClient(service: TestService, members: object = {}): Promise<RegisteredClient> {
  const answer = await register(service, members)
  if (answer.status !== 201) throw new Error(`Cannot register the client: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as RegisteredClient
}

export function register(service: TestService, members: object = {}): Promise<Response> {
  return service.request('/oauth/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'A program', redirect_uris: [redirectUri], ...members }),
  })
}

export interface Pkce {
  readonly verifier: string
  readonly challenge: string
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** Returns the path of a valid authorization request with changed parameters. Undefined omits a parameter. */
export function authorizePath(
  client: RegisteredClient,
  pkce: Pkce,
  changed: Record<string, string | undefined> = {},
): string {
  const parameters = {
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    state: 'state-1',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    ...changed,
  }
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `/oauth/authorize?${new URLSearchParams(given).toString()}`
}

/** Returns the consent id in the form of the page. */
export function consentIn(page: string): string {
  const found = /name="consent" value="([\w-]{43})"/.exec(page)?.[1]
  if (found === undefined) throw new Error(`The page has no consent form: ${page.slice(0, 2000)}`)
  return found
}

/** Authorizes and signs in as a user in a browser, and returns the redirect URL of the client. */
export async function consent(
  browser: TestBrowser,
  provider: IdentityProvider,
  path: string,
  sub = 'ada',
  form: Record<string, string> = {},
): Promise<URL> {
  const page = await browser.get(path)
  if (page.status !== 200) throw new Error(`Cannot open the consent page: ${page.status} ${await page.text()}`)
  const decided = await browser.post('/oauth/authorize', {
    consent: consentIn(await page.text()),
    provider: 'acme',
    trust_type: 'mcp_client',
    ...form,
  })
  if (decided.status !== 303)
    throw new Error(`Cannot submit the consent form: ${decided.status} ${await decided.text()}`)
  const begun = await browser.get(decided.headers.get('location') ?? '')
  const { url } = await provider.signIn(begun.headers.get('location') ?? '', sub)
  const signedIn = await browser.get(url.href)
  const finished = await browser.get(signedIn.headers.get('location') ?? '')
  if (finished.status !== 302)
    throw new Error(`Cannot finish the authorization: ${finished.status} ${await finished.text()}`)
  return new URL(finished.headers.get('location') ?? '')
}

/** Returns an authorization code for an owner who is signed in at the browser. */
export async function codeFor(
  browser: TestBrowser,
  client: RegisteredClient,
  pkce: Pkce,
  changed: Record<string, string | undefined> = {},
): Promise<string> {
  const page = await browser.get(authorizePath(client, pkce, changed))
  if (page.status !== 200) throw new Error(`Cannot open the consent page: ${page.status} ${await page.text()}`)
  const form = { consent: consentIn(await page.text()), decision: 'allow' }
  const answer = await browser.post('/oauth/authorize', form)
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code')
  if (code === null) throw new Error(`The response has no code: ${answer.status} ${answer.headers.get('location')}`)
  return code
}

/** Returns the form that exchanges the code of a public client for tokens. */
export function redemption(client: RegisteredClient, code: string, pkce: Pkce): Record<string, string> {
  return {
    grant_type: 'authorization_code',
    client_id: client.client_id,
    code,
    redirect_uri: redirectUri,
    code_verifier: pkce.verifier,
  }
}

/** Returns the status of `/mcp` for this token: 200 when the token is valid. */
export async function mcpStatus(service: TestService, token: string): Promise<number> {
  const answer = await service.request('/mcp', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
  return answer.status
}

export function requestTokens(
  service: TestService,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return service.request('/oauth/token', { method: 'POST', headers, body: new URLSearchParams(form) })
}

export interface ClientTokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly actor_id: string
  readonly scope: string
}

/** Registers a public client, authorizes it with owner consent, and exchanges the code for tokens. */
export async function authorizeClientByConsent(
  service: TestService,
  provider: IdentityProvider,
  {
    sub = 'ada',
    browser = new TestBrowser(service),
    form = {},
  }: {
    sub?: string
    browser?: TestBrowser
    form?: Record<string, string>
  } = {},
): Promise<{ client: RegisteredClient; tokens: ClientTokens; code: string; pkce: Pkce; browser: TestBrowser }> {
  const client = await registerClient(service, { token_endpoint_auth_method: 'none' })
  const pkce = newPkce()
  const back = await consent(browser, provider, authorizePath(client, pkce), sub, form)
  const code = back.searchParams.get('code') ?? ''
  const answer = await requestTokens(service, redemption(client, code, pkce))
  if (answer.status !== 200) throw new Error(`Cannot exchange the code: ${answer.status} ${await answer.text()}`)
  return { client, tokens: (await answer.json()) as ClientTokens, code, pkce, browser }
}
