/** Compares presented credentials with the creators and sealed passphrases of actors, and replaces passphrases. */
import { hasDigest, type SecretDigest, secretDigest } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import type { Transaction } from '../store/store.ts'
import { setPassphrase } from './actor-store.ts'
import type { Actor } from './actor.ts'

/** The number of digests in memory, about 2 MB. Forgetting one only costs the next comparison of that actor an unsealing. */
const maxDigests = 10_000

/** The creator and the passphrase of an actor, as Basic credentials name them. */
export interface Login {
  readonly creator: string
  readonly passphrase: string
}

interface Known {
  readonly sealed: Actor['passphrase']
  readonly digest: SecretDigest
}

/**
 * Remembers the digest of each passphrase that it unsealed, by actor, because unsealing takes a tenth of a request with Basic
 * credentials. A new passphrase has another sealed text, so no old one is accepted. The sealed text of another actor is not
 * accepted either: unsealing binds it to its actor.
 */
export class Passphrases {
  readonly #open: (actor: Actor) => string
  readonly #digests = new Map<string, Known>()

  constructor(open: (actor: Actor) => string) {
    this.#open = open
  }

  /** Compares the passphrase alone, in constant time. */
  fits(actor: Actor, presented: string): boolean {
    return hasDigest(
      presented,
      this.#digestOf(actor, `alone ${actor.id}`, (passphrase) => passphrase),
    )
  }

  /**
   * Compares both together in constant time, so that the response time does not reveal which one was wrong.
   *
   * @param creator the creator that the credentials must name.
   */
  fitsLogin(actor: Actor, creator: string, presented: Login): boolean {
    const expected = this.#digestOf(actor, `login ${actor.id} ${creator}`, (passphrase) =>
      joined({ creator, passphrase }),
    )
    return hasDigest(joined(presented), expected)
  }

  #digestOf(actor: Actor, key: string, textOf: (passphrase: string) => string): SecretDigest {
    const known = this.#digests.get(key)
    if (known?.sealed === actor.passphrase) return known.digest
    const digest = secretDigest(textOf(this.#open(actor)))
    if (this.#digests.size >= maxDigests) this.#digests.clear()
    this.#digests.set(key, { sealed: actor.passphrase, digest })
    return digest
  }
}

/** The length makes the end of the creator clear, so that no other pair has the same text. */
function joined({ creator, passphrase }: Login): string {
  return `${creator.length} ${creator}${passphrase}`
}

/** Stores a random passphrase in the place of the current one. @returns the new passphrase, which only its holder keeps. */
export async function replacePassphrase(tx: Transaction, keyRing: KeyRing, actorId: string): Promise<string> {
  const passphrase = randomPassphrase()
  await setPassphrase(tx, actorId, seal(keyRing, passphrase, bindingOf(actorPassphrase, actorId)))
  return passphrase
}
