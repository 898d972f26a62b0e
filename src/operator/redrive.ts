/** Makes failed deliveries and failed background work due again. */
import { type RedrivenJobs, redriveJobs } from '../job/redrive-store.ts'
import { redriveSchedules } from '../job/schedule-store.ts'
import { redriveNotices } from '../outbox/notice-store.ts'
import { type QueueKey, redriveQueues } from '../publication/queue-store.ts'
import type { Transaction } from '../store/store.ts'

export interface RedrivenWork extends RedrivenJobs {
  /** Updates of subscriptions. */
  readonly changes: number
  readonly notices: number
  readonly schedules: number
}

/** @param of Limits the work. Absent members: all of the store. @param now Unix milliseconds. */
export async function redriveAll(tx: Transaction, of: Partial<QueueKey>, now: number): Promise<RedrivenWork> {
  const { actorId, peerId, subscriptionId } = of
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
