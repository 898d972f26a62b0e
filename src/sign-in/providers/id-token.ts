/** What an id_token says, once it is proven (OpenID Connect Core section 3.1.3.7, RFC 8725). */
import { createHash } from 'node:crypto'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { sameSecret } from '../../secret/hash.ts'
import type { KeySets } from './key-sets.ts'

export interface IdTokenRules {
  /** Every spelling that the provider uses. */
  readonly issuers: readonly string[]
  readonly keySet: string
  /** As configured; what the token itself names counts for nothing. */
  readonly algorithm: string
  /** A native application of this provider may send the SHA-256 of the nonce that it gave us. */
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

/** Says in one sentence what is wrong, without a value of the token. */
export class InvalidIdToken extends Error {
  override readonly name = 'InvalidIdToken'
}

/** Seconds by which the provider's clock may differ from ours. */
const skewSeconds = 60

/** A year: no honest token lives so long, and its mark would have to be kept as long. */
const longestSeconds = 31_536_000

/** OpenID Connect Core section 2: at most 255 characters. */
const longestSubject = 255

/**
 * @param audiences The clients for whom it may have been made. It names exactly one: whom else it is for, we do not know.
 * @param nonce Null when none was asked for by us.
 * @param now Unix milliseconds.
 * @throws InvalidIdToken; ProviderError `unreachable` when the keys cannot be had.
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
  if (Array.isArray(aud) && aud.length !== 1) throw new InvalidIdToken('it is for several audiences')
  if (iss === undefined || typeof sub !== 'string' || sub === '' || sub.length > longestSubject) {
    throw new InvalidIdToken('it names no subject')
  }
  if (iat === undefined || iat > nowSeconds + skewSeconds) throw new InvalidIdToken('it was issued in the future')
  if (exp === undefined || exp > nowSeconds + longestSeconds) throw new InvalidIdToken('it lives too long')
  if (expected.nonce !== null && !isNonce(nonce, expected.nonce, rules.hashesNonce)) {
    throw new InvalidIdToken('its nonce is another one')
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
    // jose says so when a key does not fit the algorithm.
    if (error instanceof TypeError) throw new InvalidIdToken('it cannot be read')
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

/** The same for every showing of one assertion, however it was encoded: by `jti`, else by issuer, subject and time. */
export function fingerprintOf({ iss, sub, iat, jti }: IdTokenClaims): string {
  const identity = typeof jti === 'string' && jti !== '' ? ['jti', iss, jti] : ['sub', iss, sub, iat]
  return createHash('sha256').update(JSON.stringify(identity)).digest('base64url')
}

/** In Unix seconds: until then a showing has to be remembered. Longer than the assertion is accepted. */
export function rememberedUntil({ exp }: IdTokenClaims): number {
  return Math.ceil(exp) + 2 * skewSeconds
}
