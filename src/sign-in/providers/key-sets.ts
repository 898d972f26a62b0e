/** The public keys of providers (RFC 7517), kept as long as they may be trusted to be current. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose'
import { ProviderError } from '../provider.ts'
import type { Outbound } from './outbound.ts'
import { Remembered } from './cached.ts'

const keepMs = 3_600_000
const failureMs = 60_000
/** Between two fetches that unknown keys cause: whoever sends made-up key ids makes us ask no more often than that. */
const leastMs = 5000

type KeySet = ReturnType<typeof createLocalJWKSet>
type PublicKey = Awaited<ReturnType<KeySet>>

export class KeySets {
  readonly #outbound: Outbound
  readonly #now: () => number
  readonly #sets = new Map<string, Remembered<KeySet>>()

  constructor(outbound: Outbound, now: () => number) {
    this.#outbound = outbound
    this.#now = now
  }

  /**
   * The key that a token names. Keys that cannot be asked for any more are good until their hour is over, then nothing
   * is verified.
   *
   * @throws ProviderError `unreachable`; JWKSNoMatchingKey when the provider has no such key.
   */
  async find(url: string, header: JWTHeaderParameters): Promise<PublicKey> {
    if (typeof header.kid !== 'string') throw new errors.JWKSNoMatchingKey('A key has to be named')
    const remembered = this.#of(url)
    const set = await remembered.get()
    try {
      return await set(header)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const newer = await remembered.renewed(leastMs)
      if (newer === null || newer === set) throw error
      return newer(header)
    }
  }

  #of(url: string): Remembered<KeySet> {
    const known = this.#sets.get(url)
    if (known !== undefined) return known
    const remembered = new Remembered({ fetch: () => this.#fetch(url), keepMs, failureMs, now: this.#now })
    this.#sets.set(url, remembered)
    return remembered
  }

  async #fetch(url: string): Promise<KeySet> {
    const set = (await this.#outbound.json('keys', url)) as JSONWebKeySet
    try {
      return createLocalJWKSet(set)
    } catch (error) {
      throw new ProviderError('unreachable', 'The key set is none', { cause: error })
    }
  }
}
