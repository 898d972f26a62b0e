/** During a secret rotation, 401 or 403 may only mean that the peer still has the other secret. The call is retried then. */
import type { PeerOutcome } from '../peer/peer-client.ts'
import type { Sealed } from '../secret/sealed.ts'
import type { Store } from '../store/store.ts'
import { isSecretInDoubt } from './notice-store.ts'

const refusals: ReadonlySet<number> = new Set([401, 403])

/** Whether the outcome may be caused by the secret alone. */
export function mayBeOfAnotherSecret(outcome: PeerOutcome): boolean {
  return outcome.kind === 'answered' && refusals.has(outcome.status)
}

/** Turns a refusal into "unreached", which is retried, when the peer may have another secret. */
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
