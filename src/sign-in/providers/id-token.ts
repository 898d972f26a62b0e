/** Verification of id_tokens (OpenID Connect Core section 3.1.3.7, RFC 8725). */
import { createHash } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { sameSecret } from '../../secret/hash.ts'
import type { KeySets } from './key-sets.ts'

export interface IdTokenRules {
  /** Every spelling of its issuer that the provider uses. */
  readonly issuers: readonly string[]
  readonly keySet: string
  /** The configured algorithm. A token with another `alg` is refused. */
  readonly algorithm: string
  /** True when the claim `nonce` may also be the SHA-256 of the application's nonce. */
  readonly hashesNonce: boolean
}

export interface IdTokenClaims {
  readonly [claim: string]: unknown
  readonly iss: string
  readonly sub: string
  /** Unix seconds. */
  readonly iat: number
  readonly exp: number
}

/** An id_token is invalid. The message contains no value of the token. */
export class InvalidIdToken extends Error {
  override readonly name = 'InvalidIdToken'
}

/** Allowed difference between the clocks of provider and service, in seconds. */
const skewSeconds = 60

/** Maximum lifetime: one year. The service must store the fingerprint of an assertion until it expires. */
const longestSeconds = 31_536_000

/** OpenID Connect Core section 2: at most 255 characters. */
const longestSubject = 255

/**
 * Verifies an id_token and returns its claims.
 *
 * @param audiences Accepted client ids. A token with several audiences is refused, because the others are unknown here.
 * @param nonce Null when the service sent no nonce.
 * @param now Unix milliseconds.
 * @throws InvalidIdToken; ProviderError `unreachable` when the keys cannot be fetched.
 */
export async function verifyIdToken(
  token: string,
  rules: IdTokenRules,
  expected: { readonly audiences: readonly string[]; readonly nonce: string | null },
  keySets: KeySets,
  now: number,
): Promise<IdTokenClaims> {
  const payload = await verifiedPayload(token, rules, expected.audiences, keySets, now)
  const { iss, sub, iat, exp, aud, nonce } = payload
  const nowSeconds = now / 1000
  if (Array.isArray(aud) && aud.length !== 1) throw new InvalidIdToken('it has several audiences')
  if (iss === undefined || typeof sub !== 'string' || sub === '' || sub.length > longestSubject) {
    throw new InvalidIdToken('its issuer or subject is missing or invalid')
  }
  if (iat === undefined || iat > nowSeconds + skewSeconds) throw new InvalidIdToken('it was issued in the future')
  if (exp === undefined || exp > nowSeconds + longestSeconds) throw new InvalidIdToken('its lifetime is too long')
  if (expected.nonce !== null && !isNonce(nonce, expected.nonce, rules.hashesNonce)) {
    throw new InvalidIdToken('its nonce does not match')
  }
  return { ...payload, iss, sub, iat, exp }
}

async function verifiedPayload(
  token: string,
  rules: IdTokenRules,
  audiences: readonly string[],
  keySets: KeySets,
  now: number,
): Promise<JWTPayload> {
  // Loaded with the first token, so that a start does not load it.
  const { errors, jwtVerify } = await import('jose')
  try {
    const { payload } = await jwtVerify(token, (header) => keySets.find(rules.keySet, header), {
      algorithms: [rules.algorithm],
      issuer: [...rules.issuers],
      audience: [...audiences],
      requiredClaims: ['exp', 'iat', 'sub'],
      clockTolerance: skewSeconds,
      currentDate: new Date(now),
    })
    return payload
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new InvalidIdToken(error.message)
    // jose throws a TypeError when a key does not fit the algorithm.
    if (error instanceof TypeError) throw new InvalidIdToken('its key does not fit the algorithm')
    throw error
  }
}

function isNonce(presented: unknown, expected: string, mayBeHashed: boolean): boolean {
  if (typeof presented !== 'string' || expected === '') return false
  return (
    sameSecret(presented, expected) ||
    (mayBeHashed && sameSecret(presented, createHash('sha256').update(expected).digest('hex')))
  )
}

/** Identifies an assertion in any encoding: by issuer and `jti`, else by issuer, subject and `iat`. */
export function fingerprintOf({ iss, sub, iat, jti }: IdTokenClaims): string {
  const identity = typeof jti === 'string' && jti !== '' ? ['jti', iss, jti] : ['sub', iss, sub, iat]
  return createHash('sha256').update(JSON.stringify(identity)).digest('base64url')
}

/** Returns the time until which a fingerprint must be stored, in Unix seconds. It exceeds the assertion's validity. */
export function rememberedUntil({ exp }: IdTokenClaims): number {
  return Math.ceil(exp) + 2 * skewSeconds
}
