/** The bearer kind of trustees. The actor that created a companion authenticates with the companion's passphrase. */
import { lowerAscii } from '../actor/address.ts'
import type { Passphrases } from '../actor/passphrases.ts'
import type { BearerKind } from '../auth/authenticate.ts'

/** A passphrase must have more entropy than this, in bits. People often choose weaker ones. */
const leastBits = 80
const bitsPerCharacter = Math.log2(94)

export function trusteeBearer(passphrases: Pick<Passphrases, 'fits'>): BearerKind {
  return (token, actor, via) => {
    if (via !== 'bearer' || actor.trusteeRoot === null || lowerAscii(actor.creator) !== 'trustee') return null
    if (Math.floor(token.length * bitsPerCharacter) <= leastBits) return null
    return passphrases.fits(actor, token) ? Promise.resolve({ kind: 'trustee', via }) : null
  }
}
