/** Measures the outbound client alone: sends `count` POSTs of a callback's size, `atOnce` concurrently. */
import { GuardedClient } from '../src/peer/guarded-client.ts'

export interface BareCalls {
  readonly peers: string
  readonly count: number
  readonly atOnce: number
}

const client = new GuardedClient({
  allowPrivatePeers: true,
  allowHttp: true,
  connectSeconds: 5,
  readSeconds: 10,
  release: 'bench',
})
const body = JSON.stringify({
  id: 'a'.repeat(32),
  subscriptionid: 'b'.repeat(32),
  target: 'properties',
  sequence: 1,
  timestamp: new Date().toISOString(),
  granularity: 'high',
  data: { theme: { mode: 'dark', size: 12, note: 'x'.repeat(130) } },
  replaces: true,
})

process.on('message', (calls: BareCalls) => {
  const before = process.cpuUsage()
  void run(calls).then(() => {
    const { user, system } = process.cpuUsage(before)
    process.send?.({ cpu: user + system })
  })
})

async function run({ peers, count, atOnce }: BareCalls): Promise<void> {
  let left = count
  const one = async (): Promise<void> => {
    while (left-- > 0) {
      const outcome = await client.call({
        method: 'POST',
        url: `${peers}/peer/callbacks/subscriptions/actor/subscription`,
        bearer: { secret: 'c'.repeat(40), baseuri: `${peers}/peer` },
        body,
      })
      if (outcome.kind !== 'answered' || outcome.status !== 204)
        throw new Error('Cannot measure: a peer did not answer 204')
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}
