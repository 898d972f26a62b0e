/** Tells the application what became of a relationship, after it did. */
import { fire } from '../app/events.ts'
import { completedBy } from './handshake/judge-request.ts'
import { trustRecord } from './record.ts'
import type { Trust } from './trust.ts'
import type { Self, TrustParts } from './trust-parts.ts'

type EventParts = Pick<TrustParts, 'registry' | 'log' | 'handleOf' | 'onMutual'>

export async function fireTrust(
  parts: EventParts,
  event: 'trust_initiated' | 'trust_request_received' | 'trust_fully_approved_local' | 'trust_fully_approved_remote',
  actor: Self,
  trust: Trust,
): Promise<void> {
  await fire(parts.registry, parts.log, event, argumentsOf(parts, actor, trust))
}

/** When the change from `before` to `after` completed the approval of both sides. */
export async function fireIfCompleted(
  parts: EventParts,
  actor: Self,
  before: Trust | null,
  after: Trust,
): Promise<void> {
  const by = completedBy(before, after)
  if (by === null) return
  parts.onMutual(actor, after.peerId)
  await fireTrust(parts, `trust_fully_approved_${by}`, actor, after)
}

export async function fireDeleted(parts: EventParts, actor: Self, trust: Trust, byPeer: boolean): Promise<void> {
  await fire(parts.registry, parts.log, 'trust_deleted', {
    ...argumentsOf(parts, actor, trust),
    initiated_by_peer: byPeer,
  })
}

function argumentsOf(parts: EventParts, actor: Self, trust: Trust) {
  return {
    actor: parts.handleOf(actor),
    peer_id: trust.peerId,
    relationship: trust.relationship,
    trust_data: trustRecord(trust),
  }
}
