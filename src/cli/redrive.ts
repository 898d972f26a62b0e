/** `troupe redrive`: retries failed deliveries and failed background work, while the service runs or before it starts. */
import { redriveAll } from '../operator/redrive.ts'
import { UsageError } from './usage-error.ts'
import { print } from './output.ts'
import { commandConfig, openExistingStore } from './project/known-project.ts'

export async function redrive(args: readonly string[]): Promise<number> {
  const [actorId, peerId, subscriptionId, ...more] = args
  if (more.length > 0)
    throw new UsageError('Cannot run troupe redrive: expected at most an actor, a peer and a subscription.')
  const config = commandConfig()
  const store = await openExistingStore(config)
  try {
    const now = store.now()
    const of = {
      ...named('actorId', actorId),
      ...named('peerId', peerId),
      ...named('subscriptionId', subscriptionId),
    }
    const { changes, notices, entries, alarms, schedules } = await store.write((tx) => redriveAll(tx, of, now))
    print(`${count(changes, 'change')} and ${count(notices, 'notice')} will be sent again.`)
    const work = [
      count(entries, 'event or message', 'events or messages'),
      count(alarms, 'alarm'),
      count(schedules, 'schedule'),
    ]
    if (entries + alarms + schedules > 0) print(`${work.slice(0, 2).join(', ')} and ${work[2]} will run again.`)
  } finally {
    await store.close()
  }
  return 0
}

function named<K extends string>(name: K, value: string | undefined): { [N in K]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [N in K]: string })
}

function count(number: number, what: string, several = `${what}s`): string {
  return `${number} ${number === 1 ? what : several}`
}
