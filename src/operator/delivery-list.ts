/** The SQL that lists deliveries and background work that fail, of all actors. It never reads what is delivered. */
import { singleRuns } from '../job/job-store.ts'
import type { Store } from '../store/store.ts'

export interface FailingDelivery {
  readonly actorId: string
  readonly peerId: string
  readonly subscriptionId: string
  /** Root URL of the peer. */
  readonly baseuri: string
  /** True when nothing is sent until a redrive. */
  readonly isStopped: boolean
  /** Unix milliseconds. Null: unknown. */
  readonly failingSince: number | null
  /** Attempts for the first update that waits. */
  readonly attempts: number
  /** Why the last of these attempts failed, in English. Empty: unknown. */
  readonly reason: string
}

/** Reads up to `most` failing subscriptions: first those that stopped. It asks every server. */
export async function findFailingDeliveries(
  store: Pick<Store, 'readAllServers'>,
  most: number,
): Promise<FailingDelivery[]> {
  const select = `SELECT publisher_subscription.actor_id AS "actorId", publisher_subscription.peer_id AS "peerId",
       publisher_subscription.subscription_id AS "subscriptionId", trust.baseuri, publisher_subscription.state,
       publisher_subscription.failing_since AS "failingSince", publisher_subscription.attempts,
       COALESCE(delivery.reason, '') AS reason
     FROM publisher_subscription JOIN trust ON trust.actor_id = publisher_subscription.actor_id
       AND trust.peer_id = publisher_subscription.peer_id
     LEFT JOIN delivery ON delivery.actor_id = publisher_subscription.actor_id
       AND delivery.peer_id = publisher_subscription.peer_id
       AND delivery.subscription_id = publisher_subscription.subscription_id
       AND delivery.sequence = publisher_subscription.committed + 1`
  type Row = Omit<FailingDelivery, 'isStopped'> & { readonly state: string }
  const [stopped, retried] = await Promise.all([
    store.readAllServers<Row>(
      `/* operator */ ${select} WHERE publisher_subscription.state = 'stopped'
       ORDER BY publisher_subscription.actor_id LIMIT $1`,
      most,
    ),
    store.readAllServers<Row>(
      `/* operator */ ${select} WHERE publisher_subscription.due_at IS NOT NULL AND publisher_subscription.state = 'live'
         AND publisher_subscription.failing_since IS NOT NULL ORDER BY publisher_subscription.due_at LIMIT $1`,
      most,
    ),
  ])
  return [...stopped, ...retried]
    .slice(0, most)
    .map(({ state, ...row }) => ({ ...row, isStopped: state === 'stopped' }))
}

export interface StoppedWork {
  readonly actorId: string
  readonly kind: string
  /** Unix milliseconds. Null: unknown. */
  readonly failingSince: number | null
}

/** Reads up to `most` queues and alarms that stopped. It asks every server. */
export async function findStoppedWork(store: Pick<Store, 'readAllServers'>, most: number): Promise<StoppedWork[]> {
  const found = await store.readAllServers<StoppedWork>(
    `/* operator */ SELECT actor_id AS "actorId", kind, failing_since AS "failingSince" FROM job
     WHERE state = 'stopped' AND kind NOT IN ${singleRuns} ORDER BY failing_since LIMIT $1`,
    most,
  )
  return found.toSorted((a, b) => (a.failingSince ?? 0) - (b.failingSince ?? 0)).slice(0, most)
}
