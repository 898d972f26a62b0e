/** A service with alarms, in a separate process that can be killed. Each alarm is reported to the measuring process. */
import { troupe } from '../src/index.ts'
import type { Subject } from './subject.ts'

const { database, keys } = JSON.parse(process.argv[2] ?? '{}') as Subject

/** Creates actors with alarms that are all due at one time. */
export interface SetAlarms {
  readonly actors: number
  readonly each: number
  /** Unix milliseconds. */
  readonly at: number
}

/** Creates actors with a webhook each. */
export interface AddWebhooks {
  readonly actors: number
  readonly url: string
}

const app = troupe({
  type: 'urn:actingweb:example.com:bench',
  mode: 'development',
  database,
  secretKeys: keys,
  allowPrivatePeers: true,
  logLevel: 'error',
  port: 0,
  env: {},
})
const due = app.alarm('due', ({ actor, key }) => void process.send?.({ fired: `${actor.id} ${key}` }))

async function setAlarms({ actors, each, at }: SetAlarms): Promise<void> {
  for (let n = 0; n < actors; n++) {
    const { actor } = await app.actors.create()
    await actor.transaction(async (tx) => {
      for (let key = 0; key < each; key++) await tx.alarm(at, due, undefined, { key: String(key) })
    })
  }
}

async function addWebhooks({ actors, url }: AddWebhooks): Promise<readonly string[]> {
  const added: string[] = []
  for (let n = 0; n < actors; n++) {
    const { actor } = await app.actors.create()
    const { id } = await actor.webhooks.add(url, { events: ['property_changed'] })
    added.push(`${actor.id} ${id}`)
  }
  return added
}

process.on('message', (message: SetAlarms | AddWebhooks | 'usage' | 'stop') => {
  if (message === 'stop') void app.close().then(() => process.exit(0))
  else if (message === 'usage') {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpu: user + system })
  } else if ('at' in message) void setAlarms(message).then(() => process.send?.({ done: [] }))
  else void addWebhooks(message).then((done) => process.send?.({ done }))
})
await app.start()
process.send?.({ ready: true })
