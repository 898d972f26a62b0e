/** Cache of the providers' public keys (RFC 7517). */
import type { createLocalJWKSet, JSONWebKeySet, JWTHeaderParameters } from 'jose'
import { ProviderError } from '../provider.ts'
import type { Outbound } from './outbound.ts'
import { Cached } from './cached.ts'

const keepMs = 3_600_000
const failureMs = 60_000
/** Minimum interval between fetches for unknown keys. It limits the fetches that a client causes with invented key ids. */
const leastMs = 5000

type KeySet = ReturnType<typeof createLocalJWKSet>
type PublicKey = Awaited<ReturnType<KeySet>>

export class KeySets {
  readonly #outbound: Outbound
  readonly #now: () => number
  readonly #sets = new Map<string, Cached<KeySet>>()

  constructor(outbound: Outbound, now: () => number) {
    this.#outbound = outbound
    this.#now = now
  }

  /**
   * Finds the key that a token names. While the provider is unreachable, cached keys stay valid for one hour after their
   * fetch; then verification fails.
   *
   * @throws ProviderError `unreachable`; JWKSNoMatchingKey when the provider has no such key.
   */
  async find(url: string, header: JWTHeaderParameters): Promise<PublicKey> {
    const { errors } = await import('jose')
    const cached = this.#of(url)
    const set = await cached.get()
    // OpenID Connect Core section 10.1: a token may lack the id of its key where the provider has one key.
    if (typeof header.kid !== 'string' && signatureKeys(set) !== 1)
      throw new errors.JWKSNoMatchingKey('the token has no kid, and the provider has several keys')
    try {
      return await set(header)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const newer = await cached.renewed(leastMs)
      if (newer === null || newer === set) throw error
      return newer(header)
    }
  }

  /** Returns whether a key fits one of the algorithms, by the choice that verifies a token. @throws ProviderError `unreachable` */
  async fits(url: string, algorithms: readonly string[]): Promise<boolean> {
    const { errors } = await import('jose')
    const set = await this.#of(url).get()
    for (const alg of algorithms) {
      try {
        await set({ alg })
        return true
      } catch (error) {
        if (error instanceof errors.JWKSMultipleMatchingKeys) return true
      }
    }
    return false
  }

  /** Fetches the keys again, at most every five seconds. False: they are the same. */
  async renew(url: string): Promise<boolean> {
    const cached = this.#of(url)
    const before = await cached.get()
    const newer = await cached.renewed(leastMs)
    return newer !== null && newer !== before
  }

  #of(url: string): Cached<KeySet> {
    const known = this.#sets.get(url)
    if (known !== undefined) return known
    const cached = new Cached({ fetch: () => this.#fetch(url), keepMs, failureMs, now: this.#now })
    this.#sets.set(url, cached)
    return cached
  }

  async #fetch(url: string): Promise<KeySet> {
    const set = (await this.#outbound.json('keys', url)) as JSONWebKeySet
    const { createLocalJWKSet } = await import('jose')
    try {
      return createLocalJWKSet(set)
    } catch (error) {
      throw new ProviderError('unreachable', 'The response is not a JSON Web Key Set', { cause: error })
    }
  }
}

function signatureKeys(set: KeySet): number {
  return set.jwks().keys.filter(({ use, kty }) => use !== 'enc' && kty !== 'oct').length
}
