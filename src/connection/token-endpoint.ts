/** Client of a third-party service's token and revocation endpoints (RFC 6749 sections 4.1.3 and 6, RFC 7009). */
import { ServiceError } from '../errors.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../peer/peer-client.ts'
import type { ThirdPartyService } from './configured.ts'

export interface ServiceTokens {
  readonly accessToken: string
  readonly refreshToken: string | null
  /** Unix milliseconds. Null when the service sends no expiry. */
  readonly expiresAt: number | null
  /** Granted scopes, separated by spaces. */
  readonly scope: string
}

/** `dead`: the service reports that the code or refresh token is no longer valid, so a retry cannot succeed. */
export type Redeemed =
  | { readonly kind: 'tokens'; readonly tokens: ServiceTokens }
  | { readonly kind: 'dead'; readonly reason: string }

const timeouts = { connectSeconds: 5, readSeconds: 30 }
const maxAnswerBytes = 262_144
/** Maximum lifetime: ten years. Tokens with a longer one count as tokens without expiry. */
const longestSeconds = 315_360_000

export class ServiceTokenEndpoint {
  readonly #client: PeerClient
  readonly #now: () => number

  constructor(client: PeerClient, now: () => number) {
    this.#client = client
    this.#now = now
  }

  /** @throws ServiceError `service_failed` */
  async redeem(service: ThirdPartyService, grant: Readonly<Record<string, string>>): Promise<Redeemed> {
    const answer = await this.#post(service, service.tokenUrl, grant)
    if (answer.kind !== 'answered') throw failed(service, answer.reason)
    const said = parse(answer.body)
    const error = typeof said['error'] === 'string' ? said['error'].slice(0, 100) : null
    // Some services answer errors with 200.
    if (error === 'invalid_grant') return { kind: 'dead', reason: error }
    if (answer.status !== 200 || error !== null)
      throw failed(service, `returned ${answer.status} ${error ?? ''}`.trim())
    return { kind: 'tokens', tokens: this.#tokensIn(service, said) }
  }

  #tokensIn(service: ThirdPartyService, said: Readonly<Record<string, unknown>>): ServiceTokens {
    const { access_token: accessToken, refresh_token: refreshToken, scope, token_type: type } = said
    if (typeof accessToken !== 'string' || accessToken === '') throw failed(service, 'returned no access_token')
    if (typeof type === 'string' && type.toLowerCase() !== 'bearer') throw failed(service, 'returned no bearer token')
    const seconds = Number(said['expires_in'])
    return {
      accessToken,
      refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : null,
      expiresAt: seconds > 0 && seconds <= longestSeconds ? this.#now() + Math.floor(seconds) * 1000 : null,
      scope: typeof scope === 'string' ? scope : '',
    }
  }

  /** @throws ServiceError `service_failed` */
  async revoke(service: ThirdPartyService, { accessToken, refreshToken }: ServiceTokens): Promise<void> {
    if (service.revocationUrl === null) return
    const answer = await this.#post(service, service.revocationUrl, {
      token: refreshToken ?? accessToken,
      token_type_hint: refreshToken === null ? 'access_token' : 'refresh_token',
    })
    if (answer.kind !== 'answered') throw failed(service, answer.reason)
    if (answer.status < 200 || answer.status > 299)
      throw failed(service, `returned ${answer.status} for the revocation`)
  }

  #post(service: ThirdPartyService, url: string, fields: Readonly<Record<string, string>>): Promise<PeerOutcome> {
    const { clientId, clientSecret, clientAuthentication } = service
    const own = clientAuthentication === 'body' ? { client_id: clientId, client_secret: clientSecret } : {}
    const request: PeerRequest = {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...fields, ...own }).toString(),
      timeouts,
      maxAnswerBytes,
    }
    if (clientAuthentication === 'body') return this.#client.call(request)
    // Id and secret are form-encoded before Basic encoding (RFC 6749 section 2.3.1).
    const [user = '', password = ''] = [clientId, clientSecret].map(encodeURIComponent)
    return this.#client.call({ ...request, basic: { user, password, baseuri: new URL(url).origin } })
  }
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}

/** Creates the error for a failed call. Only the log gets the reason, because callers cannot act on it. */
export function failed(service: ThirdPartyService, reason: string): ServiceError {
  return new ServiceError('service_failed', `Cannot use ${service.name} now: it returned no valid response`, {
    reason: `${service.name}: ${reason}`,
  })
}
