/** Reports changes of relationships to the application, after the commit. */
import { fire } from '../app/events.ts'
import { completedBy } from './handshake/judge-request.ts'
import { trustRecord } from './record.ts'
import type { Trust } from './trust.ts'
import type { Self, TrustDeps } from './trust-deps.ts'

type EventDeps = Pick<TrustDeps, 'registry' | 'log' | 'handleOf' | 'onMutual'>

export async function fireTrust(
  deps: EventDeps,
  event: 'trust_initiated' | 'trust_request_received' | 'trust_fully_approved_local' | 'trust_fully_approved_remote',
  actor: Self,
  trust: Trust,
): Promise<void> {
  await fire(deps.registry, deps.log, event, argumentsOf(deps, actor, trust))
}

/** Fires the event when the change from `before` to `after` completed the approval of both sides. */
export async function fireIfCompleted(deps: EventDeps, actor: Self, before: Trust | null, after: Trust): Promise<void> {
  const by = completedBy(before, after)
  if (by === null) return
  deps.onMutual(actor, after.peerId)
  await fireTrust(deps, `trust_fully_approved_${by}`, actor, after)
}

export async function fireDeleted(deps: EventDeps, actor: Self, trust: Trust, byPeer: boolean): Promise<void> {
  await fire(deps.registry, deps.log, 'trust_deleted', {
    ...argumentsOf(deps, actor, trust),
    initiated_by_peer: byPeer,
  })
}

function argumentsOf(deps: EventDeps, actor: Self, trust: Trust) {
  return {
    actor: deps.handleOf(actor),
    peer_id: trust.peerId,
    relationship: trust.relationship,
    trust_data: trustRecord(trust),
  }
}
