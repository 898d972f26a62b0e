/** The bearer kind of trustees: whoever had the actor made as a companion shows its passphrase. */
import type { Actor } from '../actor/actor.ts'
import type { BearerKind } from '../auth/authenticate.ts'
import { sameSecret } from '../secret/hash.ts'

/** A passphrase that people chose is not enough. */
const leastBits = 80
const bitsPerCharacter = Math.log2(94)

export function trusteeBearer(passphraseOf: (actor: Actor) => string): BearerKind {
  return async (token, actor, via) => {
    if (via !== 'bearer' || actor.trusteeRoot === null || actor.creator.toLowerCase() !== 'trustee') return null
    if (Math.floor(token.length * bitsPerCharacter) <= leastBits) return null
    return sameSecret(token, passphraseOf(actor)) ? { kind: 'trustee', via } : null
  }
}
