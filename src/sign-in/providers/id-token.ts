/** Verification of id_tokens (OpenID Connect Core section 3.1.3.7, RFC 8725). */
import { createHash } from 'node:crypto'
import type { JWTHeaderParameters, JWTPayload } from 'jose'
import { sameSecret } from '../../secret/hash.ts'
import type { KeySets } from './key-sets.ts'

export interface IdTokenRules {
  /** Every spelling of its issuer that the provider uses. `{tenantid}` stands for the claim `tid` (Microsoft Entra). */
  readonly issuers: readonly string[]
  readonly keySet: string
  /** The accepted algorithms. A token with another `alg` is refused. */
  readonly algorithms: readonly string[]
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

/** Stands for the tenant in the issuer of Microsoft Entra, at addresses for several tenants. */
export const tenantPlaceholder = '{tenantid}'

/** Allowed difference between the clocks of provider and service, in seconds. */
const skewSeconds = 60

/** Maximum lifetime: one year. The service must store the fingerprint of an assertion until it expires. */
const longestSeconds = 31_536_000

/** OpenID Connect Core section 2: at most 255 characters. */
const longestSubject = 255

/**
 * Verifies an id_token and returns its claims.
 *
 * @param audiences Accepted client ids. A token with several audiences must name one of them as its authorized party.
 * @param isForOthers True when another client may have requested the token, such as Google's for Android.
 * @param nonce Null when the service sent no nonce.
 * @param now Unix milliseconds.
 * @throws InvalidIdToken; ProviderError `unreachable` when the keys cannot be fetched.
 */
export async function verifyIdToken(
  token: string,
  rules: IdTokenRules,
  expected: { readonly audiences: readonly string[]; readonly nonce: string | null; readonly isForOthers: boolean },
  keySets: KeySets,
  now: number,
): Promise<IdTokenClaims> {
  const payload = await verifiedPayload(token, rules, expected.audiences, keySets, now)
  const { iss, sub, iat, exp, nonce } = payload
  const nowSeconds = now / 1000
  requireParty(payload, expected)
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
  const options = {
    algorithms: [...rules.algorithms],
    audience: [...audiences],
    requiredClaims: ['exp', 'iat', 'sub'],
    clockTolerance: skewSeconds,
    currentDate: new Date(now),
  }
  let hasKeyId = true
  const verify = () =>
    jwtVerify(
      token,
      (header: JWTHeaderParameters) => {
        hasKeyId = typeof header.kid === 'string'
        return keySets.find(rules.keySet, header)
      },
      options,
    )
  try {
    const { payload } = await verify().catch(async (error: unknown) => {
      // Without the id of the key, only the signature shows that the provider has another key now.
      const isOtherKey = error instanceof errors.JWSSignatureVerificationFailed && !hasKeyId
      if (isOtherKey && (await keySets.renew(rules.keySet))) return verify()
      throw error
    })
    if (!rules.issuers.some((issuer) => isIssuerOf(payload, issuer)))
      throw new InvalidIdToken(otherIssuer(payload, rules))
    return payload
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new InvalidIdToken(error.message)
    // jose throws a TypeError when a key does not fit the algorithm.
    if (error instanceof TypeError) throw new InvalidIdToken('its key does not fit the algorithm')
    throw error
  }
}

/** OpenID Connect Core section 3.1.3.7: several audiences need `azp`, and it must be this client. */
function requireParty(
  { aud, azp }: JWTPayload,
  { audiences, isForOthers }: { readonly audiences: readonly string[]; readonly isForOthers: boolean },
): void {
  const isSeveral = Array.isArray(aud) && aud.length !== 1
  if (isSeveral && azp === undefined) throw new InvalidIdToken('it has several audiences and no azp')
  if (azp === undefined || (isForOthers && !isSeveral)) return
  if (typeof azp !== 'string' || !audiences.includes(azp)) throw new InvalidIdToken('its azp is another client')
}

/** The tenant of personal Microsoft accounts. */
const personalTenant = '9188040d-6c67-4c5b-b112-36a304b66dad'

/** Returns the tenant of an issuer; null when it does not fit the template of the provider. */
function tenantIn(iss: string, template: string): string | null {
  const [before = '', after = ''] = (template.split('#', 1)[0] ?? '').split(tenantPlaceholder)
  const tenant = iss.slice(before.length, iss.length - after.length)
  if (`${before}${tenant}${after}` !== iss) return null
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(tenant) ? tenant : null
}

/** Compares an issuer with that of the provider, which may be a template for tenants. */
export function isIssuer(iss: string | undefined, issuer: string): boolean {
  if (iss === undefined || !issuer.includes(tenantPlaceholder)) return iss === issuer
  const tenant = tenantIn(iss, issuer)
  if (tenant === null) return false
  if (issuer.endsWith('#organizations')) return tenant !== personalTenant
  return !issuer.endsWith('#consumers') || tenant === personalTenant
}

/** The template of an issuer for the tenants of a configured address, such as `…/organizations/v2.0`; null for no template. */
export function tenantIssuer(found: string, configured: string): string | null {
  const kind = ['common', 'organizations', 'consumers'].find(
    (each) => found.replace(tenantPlaceholder, each) === configured && found !== configured,
  )
  return kind === undefined ? null : `${found}#${kind}`
}

/**
 * Returns the tenant of the person where the provider has an issuer for each tenant. A subject is unique within one issuer
 * alone (OpenID Connect Core section 5.7). Null for a provider with one issuer.
 */
export function tenantOf({ iss }: Pick<IdTokenClaims, 'iss'>, issuers: readonly string[]): string | null {
  const template = issuers.find((issuer) => issuer.includes(tenantPlaceholder))
  return template === undefined ? null : tenantIn(iss, template)
}

function isIssuerOf({ iss, tid }: JWTPayload, issuer: string): boolean {
  if (!isIssuer(iss, issuer)) return false
  return !issuer.includes(tenantPlaceholder) || (typeof tid === 'string' && tenantIn(iss ?? '', issuer) === tid)
}

/** Names both issuers when only a slash differs. Other values of a token are not shown. */
function otherIssuer({ iss }: JWTPayload, { issuers }: IdTokenRules): string {
  const bare = (text: string): string => text.replace(/\/$/, '')
  const near = issuers.find((issuer) => bare(issuer) === bare(String(iss)))
  return near === undefined
    ? 'its issuer is another one'
    : `its issuer is ${String(iss)}, and the provider says ${near}`
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
