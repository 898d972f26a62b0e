/** Compares presented passphrases with the sealed passphrases of actors. */
import { hasDigest, type SecretDigest, secretDigest } from '../secret/hash.ts'
import type { Actor } from './actor.ts'

/** The number of digests in memory, about 2 MB. Forgetting one only costs the next comparison of that actor an unsealing. */
const mostDigests = 10_000

/**
 * Remembers the digest of each passphrase that it unsealed, by actor and sealed text, because unsealing takes a tenth of a
 * request with Basic credentials. A new passphrase has another sealed text, so no old one is accepted. The sealed text of
 * another actor is not accepted either: unsealing binds it to its actor.
 */
export class Passphrases {
  readonly #open: (actor: Actor) => string
  readonly #digests = new Map<string, SecretDigest>()

  constructor(open: (actor: Actor) => string) {
    this.#open = open
  }

  /** Compares in constant time. */
  fits(actor: Actor, presented: string): boolean {
    return hasDigest(presented, this.#digestOf(actor))
  }

  #digestOf(actor: Actor): SecretDigest {
    const key = `${actor.id} ${actor.passphrase}`
    const known = this.#digests.get(key)
    if (known !== undefined) return known
    const digest = secretDigest(this.#open(actor))
    if (this.#digests.size >= mostDigests) this.#digests.clear()
    this.#digests.set(key, digest)
    return digest
  }
}
