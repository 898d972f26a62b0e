/** What a refusal says while two actors change from one secret to the next: nothing of what was told. */
import type { PeerOutcome } from '../peer/peer-client.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Store } from '../store/store.ts'
import { isSecretInDoubt } from './notice-store.ts'

const refusals: ReadonlySet<number> = new Set([401, 403])

/** Whether the outcome may come of the secret alone. */
export function mayBeOfAnotherSecret(outcome: PeerOutcome): boolean {
  return outcome.kind === 'answered' && refusals.has(outcome.status)
}

/** The outcome of a call with this secret, as far as it counts: told again later where the secret may be another one. */
export async function outcomeWith(
  store: Store,
  of: { readonly actorId: string; readonly peerId: string },
  secret: Sealed,
  outcome: PeerOutcome,
): Promise<PeerOutcome> {
  if (!mayBeOfAnotherSecret(outcome)) return outcome
  const isInDoubt = await store.read((q) => isSecretInDoubt(q, of, secret))
  return isInDoubt ? { kind: 'unreached', reason: 'The secret is being renewed' } : outcome
}
