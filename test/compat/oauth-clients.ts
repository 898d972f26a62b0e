/** OAuth clients that npm installs. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { type RegisteredClient, mcpStatus, newPkce, redirectUri, registerClient } from '../support/oauth-client.ts'
import { codeOf } from './owner.ts'
import type { CompatRow, World } from './row.ts'

const require = createRequire(import.meta.url)
const insecure = { [oauth.allowInsecureRequests]: true }

type Confidential = Pick<RegisteredClient, 'client_id'> & { readonly client_secret: string }

/** Registers a client with a secret. It may send the secret in the header or in the body, whichever it registered. */
async function registered({ service }: World, method?: string): Promise<Confidential> {
  const members = method === undefined ? {} : { token_endpoint_auth_method: method }
  const client = await registerClient(service, members)
  assert.ok(client.client_secret !== undefined)
  return { client_id: client.client_id, client_secret: client.client_secret }
}

function authentication(method: (secret: string) => oauth.ClientAuth, name?: string): CompatRow['run'] {
  return async (world) => {
    const { service } = world
    const issuer = new URL(service.url)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    const client = await registered(world, name)
    const secret = method(client.client_secret)
    const { verifier, challenge } = newPkce()
    const query = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const back = await codeOf(await world.browser(), `/oauth/authorize?${query.toString()}`)
    const parameters = oauth.validateAuthResponse(server, client, back)
    const answer = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      secret,
      parameters,
      redirectUri,
      verifier,
      insecure,
    )
    const granted = await oauth.processAuthorizationCodeResponse(server, client, answer)
    const refreshed = await oauth.refreshTokenGrantRequest(
      server,
      client,
      secret,
      granted.refresh_token ?? '',
      insecure,
    )
    const last = await oauth.processRefreshTokenResponse(server, client, refreshed)
    assert.equal(await mcpStatus(service, last.access_token), 200)
    const revoked = await oauth.revocationRequest(server, client, secret, last.refresh_token ?? '', insecure)
    await oauth.processRevocationResponse(revoked)
    assert.equal(await mcpStatus(service, last.access_token), 401)
  }
}

function openidClient(authenticate: (secret: string) => openid.ClientAuth, name?: string): CompatRow['run'] {
  return async (world) => {
    const { service } = world
    const { client_id: id, client_secret: secret } = await registered(world, name)
    const config = await openid.discovery(new URL(service.url), id, undefined, authenticate(secret), {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    })
    const { verifier, challenge } = newPkce()
    const asked = {
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: 'a state',
    }
    const { pathname, search } = openid.buildAuthorizationUrl(config, asked)
    const back = await codeOf(await world.browser(), `${pathname}${search}`)
    const checks = { pkceCodeVerifier: verifier, expectedState: 'a state' }
    const granted = await openid.authorizationCodeGrant(config, back, checks)
    const last = await openid.refreshTokenGrant(config, granted.refresh_token ?? '')
    assert.equal(await mcpStatus(service, last.access_token), 200)
    await openid.tokenRevocation(config, last.refresh_token ?? '')
    assert.equal(await mcpStatus(service, last.access_token), 401)
  }
}

interface SimpleToken {
  readonly token: Readonly<Record<string, unknown>>
  refresh(): Promise<SimpleToken>
}

type SimpleOAuth = new (
  config: object,
) => {
  authorizeURL(parameters: object): string
  getToken(parameters: object): Promise<SimpleToken>
}

function simpleOAuth(authorizationMethod: 'header' | 'body'): CompatRow['run'] {
  return async (world) => {
    const { AuthorizationCode } = require('simple-oauth2') as { readonly AuthorizationCode: SimpleOAuth }
    const { service } = world
    const { client_id: id, client_secret: secret } = await registered(world)
    const auth = { tokenHost: service.url, tokenPath: '/oauth/token', authorizePath: '/oauth/authorize' }
    const client = new AuthorizationCode({ client: { id, secret }, auth, options: { authorizationMethod } })
    const { verifier, challenge } = newPkce()
    const asked = { redirect_uri: redirectUri, scope: 'mcp', code_challenge: challenge, code_challenge_method: 'S256' }
    const path = client.authorizeURL(asked).slice(service.url.length)
    const code = (await codeOf(await world.browser(), path)).searchParams.get('code')
    const granted = await client.getToken({ code, redirect_uri: redirectUri, code_verifier: verifier })
    const last = await granted.refresh()
    assert.equal(await mcpStatus(service, String(last.token['access_token'])), 200)
  }
}

interface PassportStrategy {
  redirect: (url: string) => void
  success: (person: unknown) => void
  error: (error: Error) => void
  fail: (why: unknown) => void
  authenticate(request: object, options?: object): void
}

type Passport = new (options: object, verify: (...given: unknown[]) => void) => PassportStrategy

async function passport(world: World): Promise<void> {
  const { Strategy } = require('passport-oauth2') as { readonly Strategy: Passport }
  const { service } = world
  const { client_id: clientID, client_secret: clientSecret } = await registered(world)
  const strategy = new Strategy(
    {
      clientID,
      clientSecret,
      authorizationURL: `${service.url}/oauth/authorize`,
      tokenURL: `${service.url}/oauth/token`,
      callbackURL: redirectUri,
      pkce: true,
      state: true,
      skipUserProfile: true,
    },
    (...given) => {
      const [token, , , done] = given as [string, string, unknown, (error: null, person: unknown) => void]
      done(null, token)
    },
  )
  const session = {}
  const redirected = await new Promise<string>((resolve) => {
    strategy.redirect = resolve
    strategy.authenticate({ session, query: {} })
  })
  const back = await codeOf(await world.browser(), redirected.slice(service.url.length))
  const token = await new Promise<unknown>((resolve, reject) => {
    strategy.success = resolve
    strategy.error = reject
    strategy.fail = (why) => reject(new Error(String(why)))
    strategy.authenticate({ session, query: Object.fromEntries(back.searchParams) })
  })
  assert.equal(await mcpStatus(service, String(token)), 200)
}

const row = (client: string, version: string, secret: string, run: CompatRow['run']) =>
  ({
    group: 'OAuth clients',
    client,
    version,
    flow: `code with PKCE, refresh; secret ${secret}`,
    expected: 'may call `/mcp`',
    source: client,
    run,
  }) satisfies CompatRow

export const oauthClients: readonly CompatRow[] = [
  row('oauth4webapi', '3.8.8', 'in the header', authentication(oauth.ClientSecretBasic, 'client_secret_basic')),
  row('oauth4webapi', '3.8.8', 'in the body', authentication(oauth.ClientSecretPost, 'client_secret_post')),
  row(
    'oauth4webapi',
    '3.8.8',
    'in the header, registered for the body',
    authentication(oauth.ClientSecretBasic, 'client_secret_post'),
  ),
  row('openid-client', '6.8.9', 'in the body, its default', openidClient(openid.ClientSecretPost)),
  row('openid-client', '6.8.9', 'in the header', openidClient(openid.ClientSecretBasic)),
  row('simple-oauth2', '5.1.0', 'in the header, its default', simpleOAuth('header')),
  row('simple-oauth2', '5.1.0', 'in the body', simpleOAuth('body')),
  row('passport-oauth2', '1.8.0', 'in the body, its only way', passport),
]
