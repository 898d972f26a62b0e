/** Answers of addresses that their actors have left (308). The new address counts only when signed notices lead to it. */
import type { PeerOutcome } from './peer-client.ts'

/** A home of an actor from which notices lead on. */
export interface KnownHome {
  readonly address: string
  readonly actorId: string
  /** The public key of the home. Null: the address itself states it. */
  readonly publicKey: string | null
}

export type Followed =
  | { readonly kind: 'followed'; readonly to: string; readonly publicKey: string }
  /** The home to which the notices lead states with its key that the actor was deleted there. */
  | { readonly kind: 'deleted' }
  /** No signed notice leads on, or the address that it names does not confirm it. */
  | { readonly kind: 'unproven'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

/** Follows the signed notices from a home to the last one. */
export type FindMovedPeer = (known: KnownHome) => Promise<Followed>

/** The answer of a service about an actor that was deleted there. */
export const deletedThere: PeerOutcome = {
  kind: 'answered',
  status: 404,
  headers: {},
  body: '{"error":"actor_not_found"}',
}

/** Whether a former address answers, whose actor has moved. */
export function hasMoved(outcome: PeerOutcome): boolean {
  return outcome.kind === 'answered' && outcome.status === 308
}

/** The outcome of a call. A redirect of an actor that was deleted at its last home is the answer of that home. */
export async function outcomeAfterMoves(
  outcome: PeerOutcome,
  known: KnownHome,
  find: FindMovedPeer,
): Promise<PeerOutcome> {
  if (!hasMoved(outcome)) return outcome
  return (await find(known)).kind === 'deleted' ? deletedThere : outcome
}
