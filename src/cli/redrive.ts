/** `troupe redrive`: retries failed deliveries to peers, while the service runs or before it starts. */
import { resolveConfig } from '../config/config.ts'
import { processEnvironment } from '../config/env.ts'
import { redriveQueues } from '../publication/queue-store.ts'
import { redriveNotices } from '../outbox/notice-store.ts'
import { openStore } from '../open-store.ts'
import { UsageError } from './usage-error.ts'

export async function redrive(args: readonly string[]): Promise<number> {
  const [actorId, peerId, subscriptionId, ...more] = args
  if (more.length > 0)
    throw new UsageError('Cannot run troupe redrive: expected at most an actor, a peer and a subscription.')
  const config = resolveConfig({}, { TROUPE_MODE: 'development', ...processEnvironment() })
  // `mustExist`: with a wrong DATABASE_URL, "0 changes" would look like a true result.
  const store = await openStore({ url: config.database, schema: config.databaseSchema, workers: 1, mustExist: true })
  try {
    const ofPeer = { ...named('actorId', actorId), ...named('peerId', peerId) }
    const now = store.now()
    const { changes, notices } = await store.write(async (tx) => ({
      changes: await redriveQueues(tx, { ...ofPeer, ...named('subscriptionId', subscriptionId) }, now),
      // Notices belong to no subscription.
      notices: subscriptionId === undefined ? await redriveNotices(tx, ofPeer, now) : 0,
    }))
    process.stdout.write(`${count(changes, 'change')} and ${count(notices, 'notice')} will be sent again.\n`)
  } finally {
    await store.close()
  }
  return 0
}

function named<K extends string>(name: K, value: string | undefined): { [N in K]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [N in K]: string })
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
