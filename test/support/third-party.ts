/** A third-party service on loopback that requires PKCE and the same redirect_uri, and accepts a code or refresh token once. */
import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ThirdParty {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** All requests, in the form `POST /token refresh_token`. */
  readonly requests: string[]
  /** All tokens and secrets that the service issued or accepted. */
  readonly secrets: string[]
  readonly revoked: string[]
  /** Lifetime of tokens issued from now on, in seconds. */
  expiresIn: number
  /** A faulty response of `/token` and `/revoke`, sent for the next `times` requests. */
  broken: { status: number; body: string; times: number }
  /** Makes all access tokens invalid. */
  expireAll(): void
  /** Makes all refresh tokens invalid. */
  withdrawConsent(): void
  /** Allows the request as a user in a browser would, and returns the redirect URL. */
  allow(authorizationUrl: string): URL
  close(): Promise<void>
}

export async function startThirdParty(): Promise<ThirdParty> {
  const codes = new Map<string, { challenge: string; redirectUri: string }>()
  const access = new Set<string>()
  const refresh = new Set<string>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { pathname } = new URL(request.url ?? '/', 'http://service')
      const form = new URLSearchParams(Buffer.concat(chunks).toString())
      requests.push(`${request.method} ${pathname} ${form.get('grant_type') ?? ''}`.trim())
      const answer = (status: number, body: object | string): void => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      }
      if (pathname.startsWith('/api')) {
        const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
        if (!access.has(token)) return answer(401, { error: 'invalid_token' })
        return answer(200, { path: pathname, method: request.method, body: Buffer.concat(chunks).toString() })
      }
      if (service.broken.times > 0) {
        service.broken.times -= 1
        return answer(service.broken.status, service.broken.body)
      }
      if (!isClient(request.headers.authorization, form)) return answer(401, { error: 'invalid_client' })
      if (pathname === '/revoke') {
        service.revoked.push(form.get('token') ?? '')
        return answer(200, {})
      }
      if (pathname !== '/token') return answer(404, {})
      if (!mayRedeem(form)) return answer(400, { error: 'invalid_grant' })
      const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` }
      access.add(tokens.access_token)
      refresh.add(tokens.refresh_token)
      service.secrets.push(tokens.access_token, tokens.refresh_token)
      answer(200, { ...tokens, token_type: 'Bearer', expires_in: service.expiresIn, scope: 'files.read' })
    })
  })
  const requests: string[] = []
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const service: ThirdParty = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: 'troupe-client',
    clientSecret: 'planted+third/party=secret',
    requests,
    secrets: ['planted+third/party=secret'],
    revoked: [],
    expiresIn: 3600,
    broken: { status: 500, body: 'broken', times: 0 },
    expireAll: () => access.clear(),
    withdrawConsent: () => refresh.clear(),
    allow(authorizationUrl) {
      const { searchParams } = new URL(authorizationUrl)
      const redirectUri = searchParams.get('redirect_uri') ?? ''
      if (searchParams.get('client_id') !== service.clientId || searchParams.get('response_type') !== 'code')
        throw new Error(`The authorization request is not from this client: ${authorizationUrl}`)
      if (searchParams.get('code_challenge_method') !== 'S256')
        throw new Error('The authorization request has no S256 challenge')
      const code = `code-${randomUUID()}`
      codes.set(code, { challenge: searchParams.get('code_challenge') ?? '', redirectUri })
      service.secrets.push(code)
      const back = new URL(redirectUri)
      back.searchParams.set('code', code)
      back.searchParams.set('state', searchParams.get('state') ?? '')
      return back
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  function isClient(authorization: string | undefined, form: URLSearchParams): boolean {
    const basic = /^Basic (.+)$/.exec(authorization ?? '')?.[1]
    if (basic === undefined) {
      return form.get('client_id') === service.clientId && form.get('client_secret') === service.clientSecret
    }
    const expected = `${service.clientId}:${encodeURIComponent(service.clientSecret)}`
    return Buffer.from(basic, 'base64').toString() === expected && !form.has('client_secret')
  }

  function mayRedeem(form: URLSearchParams): boolean {
    if (form.get('grant_type') === 'refresh_token') return refresh.delete(form.get('refresh_token') ?? '')
    const code = form.get('code') ?? ''
    const known = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    return known !== undefined && known.challenge === challenge && known.redirectUri === form.get('redirect_uri')
  }
  return service
}
