/** Makes failed deliveries and failed background work due again. */
import { type RedrivenJobs, redriveJobs } from '../job/redrive-store.ts'
import { redriveSchedules } from '../job/schedule-store.ts'
import { redriveNotices } from '../outbox/notice-store.ts'
import { type QueueKey, redriveQueues } from '../publication/queue-store.ts'
import { lockResident } from '../actor/actor-store.ts'
import { ServiceError } from '../errors.ts'
import type { Transaction } from '../store/store.ts'

export interface RedrivenWork extends RedrivenJobs {
  /** Updates of subscriptions. */
  readonly changes: number
  readonly notices: number
  readonly schedules: number
}

/**
 * @param of Limits the work. Absent members: all actors of the store that are here. @param now Unix milliseconds.
 * @throws ServiceError `conflict` for a suspended actor.
 */
export async function redriveAll(tx: Transaction, of: Partial<QueueKey>, now: number): Promise<RedrivenWork> {
  const { actorId, peerId, subscriptionId } = of
  if (actorId !== undefined && (await lockResident(tx, actorId))?.residence === 'suspended')
    throw new ServiceError('conflict', 'Cannot retry the work of the actor: it is suspended. Resume the actor first')
  const ofPeer = { ...(actorId === undefined ? {} : { actorId }), ...(peerId === undefined ? {} : { peerId }) }
  return {
    changes: await redriveQueues(tx, of, now),
    // Notices belong to no subscription.
    notices: subscriptionId === undefined ? await redriveNotices(tx, ofPeer, now) : 0,
    // Queues and alarms belong to no peer, and schedules to no actor.
    ...(peerId === undefined ? await redriveJobs(tx, { actorId }, now) : { entries: 0, alarms: 0 }),
    schedules: actorId === undefined ? await redriveSchedules(tx, now) : 0,
  }
}
