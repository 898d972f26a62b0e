/** Measures background work: alarms that are due at once while a process is killed, and the throughput of webhooks. */
import { randomId } from '../src/secret/random.ts'
import { appendEntries } from '../src/job/entry-store.ts'
import { openStore } from '../src/open-store.ts'
import { type JobsServer, startCaller, startJobsServer, startPeers } from './process.ts'
import { type Line, micros, rate } from './report.ts'
import type { Subject } from './subject.ts'

export interface JobAmounts {
  readonly alarms: number
  readonly messages: number
}

/** The most seconds from the due time until all alarms ran. */
const aimSeconds = 10
const warmUp = 2000

export async function measureJobs(
  store: string,
  database: () => Promise<Subject>,
  amounts: JobAmounts,
): Promise<Line[]> {
  return [
    await measureAlarms(store, await database(), amounts),
    await measureWebhooks(store, await database(), amounts),
  ]
}

/** All alarms are due at once at two processes. One of them is killed after a third of the alarms. */
async function measureAlarms(store: string, subject: Subject, { alarms }: JobAmounts): Promise<Line> {
  const fired = new Map<string, number>()
  let last = 0
  const complete = Promise.withResolvers<void>()
  const third = Promise.withResolvers<void>()
  const note = (alarm: string): void => {
    fired.set(alarm, (fired.get(alarm) ?? 0) + 1)
    last = Date.now()
    if (fired.size === Math.floor(alarms / 3)) third.resolve()
    if (fired.size === alarms) complete.resolve()
  }
  const [first, second] = [await startJobsServer(subject, note), await startJobsServer(subject, note)]
  try {
    // The alarms must be set before the first one is due.
    const at = Date.now() + 30_000 + alarms * 3
    await first.order({ actors: alarms / 10, each: 10, at })
    if (Date.now() > at) throw new Error('Cannot measure: the alarms were due before all of them were set')
    await third.promise
    await first.kill()
    await complete.promise
    const seconds = (last - at) / 1000
    // Alarms of the killed process that had run before their end was stored may run again.
    await second.stop()
    const repeated = [...fired.values()].filter((count) => count > 1).length
    return {
      store,
      what: `${alarms.toLocaleString('en')} alarms due at once, one of two processes killed`,
      measured: `all ran in ${seconds.toFixed(1)} s, ${repeated} of them twice`,
      bound: `${aimSeconds} s`,
      ratio: seconds / aimSeconds,
      aim: '≤ 1',
      met: seconds <= aimSeconds,
    }
  } finally {
    await first.kill()
    await second.kill()
  }
}

/** Compares the rate of messages of many webhooks with the best rate of the outbound client alone. */
async function measureWebhooks(store: string, subject: Subject, { messages }: JobAmounts): Promise<Line> {
  const peers = await startPeers()
  const actors = 100
  const each = Math.ceil((messages + warmUp) / actors)
  let server: JobsServer | null = null
  try {
    const best = await bareRate(peers, messages)
    const setup = await startJobsServer(subject, () => {})
    const webhooks = await setup.order({ actors, url: `${peers.url}/hook` })
    await setup.stop()
    await fill(subject, webhooks, each)
    await peers.reset()
    server = await startJobsServer(subject, () => {})
    const from = await peers.until(warmUp)
    const before = await server.cpu()
    const { last, count } = await peers.until(actors * each)
    const sent = count - from.count
    const delivered = (sent / (last - from.last)) * 1000
    const cpu = ((await server.cpu()) - before) / sent
    return {
      store,
      what: `messages of ${actors} webhooks`,
      measured: `${rate(delivered)}, ${micros(cpu)} CPU`,
      bound: `${rate(best.perSecond)}, ${micros(best.cpu)} CPU the client alone`,
      ratio: delivered / best.perSecond,
      aim: '',
      met: null,
    }
  } finally {
    await server?.kill()
    peers.stop()
  }
}

async function bareRate(
  peers: Awaited<ReturnType<typeof startPeers>>,
  messages: number,
): Promise<{ readonly perSecond: number; readonly cpu: number }> {
  let best = { perSecond: 0, cpu: Number.NaN }
  for (const atOnce of [32, 64]) {
    await peers.reset()
    const caller = startCaller()
    await caller.run({ peers: peers.url, count: warmUp, atOnce })
    const from = await peers.until(warmUp)
    const cpu = await caller.run({ peers: peers.url, count: messages, atOnce })
    caller.stop()
    const { last, count } = await peers.until(warmUp + messages)
    const perSecond = ((count - from.count) / (last - from.last)) * 1000
    if (perSecond > best.perSecond) best = { perSecond, cpu: cpu / messages }
  }
  return best
}

/** Stores messages that wait, as changes of the actors would. */
async function fill(subject: Subject, webhooks: readonly string[], each: number): Promise<void> {
  const store = await openStore({ url: subject.database, synchronous: 'NORMAL' })
  try {
    for (const webhook of webhooks) {
      const [actorId = '', id = ''] = webhook.split(' ')
      const data = JSON.stringify({ name: 'theme', operation: 'set', path: [], value: { note: 'x'.repeat(130) } })
      const entries = Array.from({ length: each }, () => ({
        entryId: `msg_${randomId()}`,
        type: 'property_changed',
        data,
      }))
      const made = { now: store.now(), hops: 0, origin: '{"by":"creator"}' }
      await store.writeActor(actorId, (tx) => appendEntries(tx, { actorId, kind: 'webhook' }, [{ id, entries }], made))
    }
  } finally {
    await store.close()
  }
}
