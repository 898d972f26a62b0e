/** Authorizes an AI client as the owner: registration, consent on the owner's browser, and tokens. */
import { createHash } from 'node:crypto'
import { CookieNames } from '../http/edge/cookies/cookie-names.ts'
import { browserCookieName } from '../http/edge/cookies/cookies.ts'
import { randomToken } from '../secret/random.ts'
import type { Service } from '../service.ts'
import { AiClient, type ClientTokens } from './ai-client.ts'
import { requestTo } from './browser.ts'
import type { TestPerson } from './person.ts'
import { bodyOf, RequestRefused } from './refused.ts'

export interface ClientOptions {
  /** The name that the owner sees. Default: `Test client`. */
  readonly name?: string
  /** A trust type that the application offers to clients. Default: the first one. */
  readonly type?: string
}

export interface AuthorizeDeps {
  readonly baseUrl: string
  readonly service: Pick<Service, 'parts'>
  readonly fetch: (request: Request) => Promise<Response>
  readonly now: () => number
}

const redirectUri = 'https://client.test/callback'

export async function authorizeClient(
  { baseUrl, service, fetch, now }: AuthorizeDeps,
  owner: TestPerson,
  { name = 'Test client', type = service.parts.config.clientTrustTypes[0] ?? 'mcp_client' }: ClientOptions,
): Promise<AiClient> {
  const send = async (path: string, init: Parameters<typeof requestTo>[1]): Promise<unknown> => {
    const response = await fetch(requestTo(baseUrl + path, init))
    const body = await bodyOf(response)
    if (response.status >= 400) throw new RequestRefused(`POST ${path}`, response.status, body ?? null)
    return body
  }
  const registration = { client_name: name, redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }
  const { client_id: clientId } = (await send('/oauth/register', { json: registration })) as { client_id: string }

  const verifier = randomToken()
  const request = {
    clientId,
    redirectUri,
    state: null,
    scope: 'mcp',
    codeChallenge: createHash('sha256').update(verifier).digest('base64url'),
    audience: `${baseUrl}/mcp`,
  }
  await owner.renew()
  // The page of the consent may be the application's own, so the form is sent without it.
  const browser = new CookieNames({ baseUrl, config: service.parts.config }).nameOnWire(browserCookieName)
  const consent = await service.parts.consents.ask(request, owner.actor.id, owner.cookies.get(browser) ?? '')
  const decided = await owner.fetch(`${baseUrl}/oauth/authorize`, {
    method: 'POST',
    body: new URLSearchParams({ consent, decision: 'allow', trust_type: type }),
  })
  const code = URL.parse(decided.headers.get('location') ?? '')?.searchParams.get('code')
  if (typeof code !== 'string')
    throw new RequestRefused(`Cannot authorize the client as ${type}`, decided.status, (await bodyOf(decided)) ?? null)

  const tokens = async (grant: Readonly<Record<string, string>>): Promise<ClientTokens> => {
    const body = new URLSearchParams({ client_id: clientId, ...grant })
    return (await send('/oauth/token', { method: 'POST', body })) as ClientTokens
  }
  const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
  return new AiClient({ url: `${baseUrl}/mcp`, clientId, fetch, now, tokens }, await tokens(grant))
}
