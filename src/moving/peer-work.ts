/** The SQL that lets work for a peer begin at once, when its address and secret are known. */
import type { Transaction } from '../store/store.ts'

/** Ends the pauses of callbacks, messages and fetches, and closes the circuit of the peer. */
export async function endPauses(tx: Transaction, actorId: string, peerId: string, now: number): Promise<void> {
  const key = [actorId, peerId] as const
  await tx.run('UPDATE trust SET failures = 0, open_until = NULL WHERE actor_id = $1 AND peer_id = $2', ...key)
  await tx.run(
    `UPDATE publisher_subscription SET due_at = $3
     WHERE actor_id = $1 AND peer_id = $2 AND due_at > $3 AND leased_until = 0`,
    ...key,
    now,
  )
  await tx.run(
    'UPDATE notice SET due_at = $3 WHERE sender = $1 AND recipient = $2 AND due_at > $3 AND leased_until = 0',
    ...key,
    now,
  )
  await tx.run(
    `UPDATE subscriber_subscription SET gap_due_at = $3
     WHERE actor_id = $1 AND peer_id = $2 AND gap_due_at > $3 AND leased_until = 0`,
    ...key,
    now,
  )
}
