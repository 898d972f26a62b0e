/** Client authentication by a JWT that the client signs (`private_key_jwt`; RFC 7523 sections 2.2 and 3). */
import { createHash } from 'node:crypto'
import type { JWTPayload } from 'jose'
import type { Store } from '../store/store.ts'
import type { OneTime } from '../token/one-time.ts'
import type { Client } from './client.ts'
import type { ClientKeys } from './documents/client-keys.ts'
import { OAuthError } from './oauth-error.ts'

/** Algorithms of public keys. A client signs with the key that it has. */
export const assertionAlgorithms: readonly string[] = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519']

/** Allowed difference between the clocks of client and service, in seconds. */
const skewSeconds = 60
/** The longest lifetime, in seconds: the service remembers an assertion until it expires. */
const longestSeconds = 3600
const maxCharacters = 8192

export interface ClientAssertionsDeps {
  readonly store: Store
  readonly oneTime: OneTime
  readonly keys: ClientKeys
  /** URL of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly otherBaseUrls: readonly string[]
  readonly now: () => number
}

export class ClientAssertions {
  readonly #deps: ClientAssertionsDeps

  constructor(deps: ClientAssertionsDeps) {
    this.#deps = deps
  }

  /**
   * Verifies an assertion, and marks it as used.
   *
   * @throws OAuthError `invalid_client` when the keys of the client cannot be fetched.
   */
  async isProven(client: Client, assertion: string): Promise<boolean> {
    const { store, oneTime } = this.#deps
    const payload = await this.#payload(client, assertion)
    if (payload === null || !this.#isAcceptable(payload)) return false
    const until = Math.ceil(payload.exp ?? 0) + 2 * skewSeconds
    const fingerprint = `client ${client.clientId} ${fingerprintOf(payload, assertion)}`
    return store.write((tx) => oneTime.markSeen(tx, { purpose: 'assertion', fingerprint, until }))
  }

  /** Null: the assertion is not one of the client for this service. */
  async #payload(client: Client, assertion: string): Promise<JWTPayload | null> {
    if (assertion.length > maxCharacters) return null
    // Loaded with the first assertion, so that a start does not load it.
    const { jwtVerify } = await import('jose')
    const { clientId } = client
    try {
      const { payload } = await jwtVerify(assertion, (header) => this.#deps.keys.find(client, header), {
        algorithms: [...assertionAlgorithms],
        issuer: clientId,
        subject: clientId,
        audience: this.#audiences(),
        requiredClaims: ['exp'],
        clockTolerance: skewSeconds,
        currentDate: new Date(this.#deps.now()),
      })
      return payload
    } catch (error) {
      // The client made the assertion and the keys, so every other failure is one of them: a key may be no point of its curve.
      if (error instanceof OAuthError) throw error
      return null
    }
  }

  #isAcceptable({ aud, exp, iat }: JWTPayload): boolean {
    const latest = this.#deps.now() / 1000 + skewSeconds
    // An assertion for another server, too, could be replayed by it.
    const isForUs = [aud].flat().every((each) => this.#audiences().includes(each ?? ''))
    return isForUs && (iat === undefined || iat <= latest) && exp !== undefined && exp <= latest + longestSeconds
  }

  /** The issuer, or the endpoint that clients of RFC 7523 name. */
  #audiences(): string[] {
    const { baseUrl, otherBaseUrls } = this.#deps
    return [baseUrl, ...otherBaseUrls].flatMap((base) => [base, `${base}/`, `${base}/oauth/token`])
  }
}

/** Identifies an assertion in any encoding: by its `jti`, else by what was signed. */
function fingerprintOf({ jti }: JWTPayload, assertion: string): string {
  const identity = typeof jti === 'string' && jti !== '' ? ['jti', jti] : ['signed', assertion.split('.', 2)]
  return createHash('sha256').update(JSON.stringify(identity)).digest('base64url')
}
