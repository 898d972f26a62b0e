/** Measures the cost of subscriptions: until a write is answered, and until all subscribers have the change. */
import { Agent, request as httpRequest } from 'node:http'
import type { BenchActor } from './client.ts'
import { median } from './compare.ts'
import type { Arrived } from './peers.ts'
import { type Peers, type Running, startCaller, startPeers, startServer } from './process.ts'
import { createPublishers } from './publishers.ts'
import { type Line, megabytes, micros, rate } from './report.ts'
import type { Subject } from './subject.ts'

export interface DeliveryAmounts {
  /** Number of writes of each kind. */
  readonly writes: number
  /** Number of callbacks for the rate. */
  readonly calls: number
  readonly foreign: number
  readonly backlog: number
}

const fanOut = 1000
const largestFanOut = 10_000
/** Number of subscribers, and the rounds of which one measures a write with so many. Default: every round. */
const seldom: ReadonlyMap<number, number> = new Map([
  [fanOut, 10],
  [largestFanOut, 10],
])
/** Number of uncounted callbacks, as a warm-up for the JIT compiler. */
const warmUp = 20_000

export async function measureDelivery(
  store: string,
  database: () => Promise<Subject>,
  amounts: DeliveryAmounts,
): Promise<Line[]> {
  const peers = await startPeers()
  try {
    return [
      ...(await measureWrites(store, await database(), peers, amounts)),
      ...(await measureForeign(store, await database(), await database(), peers, amounts)),
      ...(await measureRate(store, await database(), peers, amounts)),
      ...(await measureBacklog(store, await database(), peers, amounts)),
    ]
  } finally {
    peers.stop()
  }
}

/** The longest time until a write with a thousand subscribers or more is answered, in milliseconds. */
const maxMilliseconds = 10

/** A write with few subscribers may take twice as long as without. */
function aimOf(subscribers: number, took: number, ratio: number): Pick<Line, 'aim' | 'met'> {
  if (subscribers >= fanOut) return { aim: `≤ ${maxMilliseconds} ms`, met: took <= maxMilliseconds }
  return subscribers === 10 ? { aim: '≤ 2', met: ratio <= 2 } : { aim: '', met: null }
}

/** Measures sequential writes. Each starts after all subscribers have received the previous change. */
async function measureWrites(
  store: string,
  subject: Subject,
  peers: Peers,
  { writes }: DeliveryAmounts,
): Promise<Line[]> {
  const counts = [0, 1, 10, 100, fanOut, largestFanOut]
  const actors: BenchActor[] = []
  for (const subscribers of counts) {
    const wanted = { actors: 1, subscribers, diffs: 0, granularity: 'high', peers: peers.url } as const
    actors.push(...(await createPublishers(subject, wanted)))
  }
  const server = await startServer('troupe', subject)
  try {
    const times: number[][] = counts.map(() => [])
    const spreads: number[] = []
    for (let round = -2; round < writes; round += 1) {
      for (const [index, actor] of actors.entries()) {
        const subscribers = counts[index] ?? 0
        if (round % (seldom.get(subscribers) ?? 1) !== 0) continue
        await peers.reset()
        const before = performance.timeOrigin + performance.now()
        const took = await timed(server, actor)
        const { last } = await peers.until(subscribers)
        if (round < 0) continue
        times[index]?.push(took)
        if (subscribers === fanOut) spreads.push(last - before)
      }
    }
    const [none = Number.NaN, ...others] = times.map(median)
    const lines = others.map((took, index): Line => {
      const subscribers = counts[index + 1] ?? 0
      const ratio = took / none
      return {
        store,
        what: `PUT with ${subscribers.toLocaleString('en')} subscriber${subscribers === 1 ? '' : 's'}, until answered`,
        measured: milliseconds(took),
        bound: `${milliseconds(none)} with none`,
        ratio,
        ...aimOf(subscribers, took, ratio),
      }
    })
    return [
      ...lines,
      {
        store,
        what: `… until the last of ${fanOut.toLocaleString('en')} peers has it`,
        measured: milliseconds(median(spreads)),
        bound: '',
        ratio: null,
        aim: '',
        met: null,
      },
    ]
  } finally {
    await server.stop()
  }
}

/** Measures whether subscriptions to other actors slow a write down. */
async function measureForeign(
  store: string,
  few: Subject,
  many: Subject,
  peers: Peers,
  { foreign, writes }: DeliveryAmounts,
): Promise<Line[]> {
  const others = { diffs: 0, granularity: 'high', peers: peers.url } as const
  const actors: BenchActor[] = []
  for (const [subject, count] of [
    [few, 10],
    [many, foreign],
  ] as const) {
    await createPublishers(subject, { ...others, actors: count / 10, subscribers: 10 })
    actors.push(...(await createPublishers(subject, { ...others, actors: 1, subscribers: 1 })))
  }
  const servers = [await startServer('troupe', few), await startServer('troupe', many)]
  try {
    const times: number[][] = [[], []]
    for (let round = -5; round < writes * 2; round += 1) {
      for (const [index, server] of servers.entries()) {
        const actor = actors[index]
        if (actor === undefined) continue
        await peers.reset()
        const took = await timed(server, actor)
        await peers.until(1)
        if (round >= 0) times[index]?.push(took)
      }
    }
    const [small = Number.NaN, large = Number.NaN] = times.map(median)
    return [
      {
        store,
        what: `PUT with 1 subscriber beside ${foreign.toLocaleString('en')} subscriptions to others`,
        measured: milliseconds(large),
        bound: `${milliseconds(small)} beside 10`,
        ratio: large / small,
        aim: '≤ 1.2',
        met: large / small <= 1.2,
      },
    ]
  } finally {
    for (const server of servers) await server.stop()
  }
}

/** Compares the callback rate of many actors with the best rate of the outbound client alone. */
async function measureRate(store: string, subject: Subject, peers: Peers, { calls }: DeliveryAmounts): Promise<Line[]> {
  const perSecond = async (from: Arrived, count: number): Promise<number> => {
    const { last } = await peers.until(count)
    return ((count - from.count) / (last - from.last)) * 1000
  }
  let best = { perSecond: 0, cpu: Number.NaN }
  for (const atOnce of [32, 64, 256]) {
    await peers.reset()
    const caller = startCaller()
    await caller.run({ peers: peers.url, count: warmUp, atOnce })
    const from = await peers.until(warmUp)
    const cpu = await caller.run({ peers: peers.url, count: calls, atOnce })
    caller.stop()
    const bare = { perSecond: await perSecond(from, warmUp + calls), cpu: cpu / calls }
    if (bare.perSecond > best.perSecond) best = bare
  }
  const actors = 100
  const diffs = Math.ceil((warmUp + calls) / actors / 4)
  const expected = actors * 4 * diffs
  await createPublishers(subject, { actors, subscribers: 4, diffs, granularity: 'high', peers: peers.url })
  await peers.reset()
  const server = await startServer('troupe', subject)
  try {
    const from = await peers.until(warmUp)
    const before = await server.usage()
    const delivered = await perSecond(from, expected)
    const cpu = ((await server.usage()).cpu - before.cpu) / (expected - from.count)
    return [
      {
        store,
        what: `callbacks of ${actors} actors with 4 peers each`,
        measured: `${rate(delivered)}, ${micros(cpu)} CPU`,
        bound: `${rate(best.perSecond)}, ${micros(best.cpu)} CPU the client alone`,
        ratio: delivered / best.perSecond,
        aim: '≥ 0.5',
        met: delivered / best.perSecond >= 0.5,
      },
    ]
  } finally {
    await server.stop()
  }
}

/** Measures how fast a new process delivers the backlog of a stopped one. */
async function measureBacklog(
  store: string,
  subject: Subject,
  peers: Peers,
  { backlog }: DeliveryAmounts,
): Promise<Line[]> {
  const wanted = { actors: backlog / 100, subscribers: 1, diffs: 100, granularity: 'high', peers: peers.url } as const
  await createPublishers(subject, wanted)
  await peers.reset()
  const server = await startServer('troupe', subject)
  const started = performance.now()
  const atStart = (await server.usage()).rss
  let most = atStart
  try {
    while ((await peers.arrived()).count < backlog) {
      most = Math.max(most, (await server.usage()).rss)
      if (performance.now() - started > 600_000)
        throw new Error('Cannot measure: the backlog was not delivered in 10 minutes')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const seconds = (performance.now() - started) / 1000
    return [
      {
        store,
        what: `${backlog.toLocaleString('en')} changes left by a stopped service`,
        measured: `sent in ${seconds.toFixed(1)} s (${rate(backlog / seconds)}), at most ${megabytes(most)}`,
        bound: `${megabytes(atStart)} at the start`,
        ratio: null,
        aim: '',
        met: null,
      },
    ]
  } finally {
    await server.stop()
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

let written = 0

/** Returns the milliseconds until a write is answered. Each value is new: a write that changes nothing has no diff. */
function timed(server: Running, actor: BenchActor): Promise<number> {
  const started = performance.now()
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        agent,
        host: '127.0.0.1',
        port: server.port,
        method: 'PUT',
        path: `/${actor.id}/properties/p`,
        headers: { authorization: actor.authorization, 'content-type': 'application/json' },
      },
      (response) => {
        response.resume()
        response.on('end', () => {
          if (response.statusCode === 204) resolve(performance.now() - started)
          else reject(new Error(`Cannot measure: a write returned ${response.statusCode}`))
        })
      },
    )
    request.on('error', reject)
    written += 1
    request.end(JSON.stringify({ theme: { mode: 'dark', size: written, note: 'x'.repeat(130) } }))
  })
}

const milliseconds = (time: number): string => `${time.toFixed(2)} ms`
