/**
 * Runs two services with a subscription between them under a mixed load, with a fault in most periods. After each period,
 * the test repairs the fault, waits for all deliveries, and measures resources. A resource that grows in each period leaks.
 */
import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Timers } from '../../src/timers.ts'
import type { Dialect } from '../../src/store/portable.ts'
import { relate } from './friends.ts'
import { violationsIn } from './invariants.ts'
import { type Random, seeded } from './random.ts'
import { type StartOptions, startService, type TestActor, type TestService } from './service.ts'
import { createTestDatabase, faulty, type FaultyStore, type TestDatabase } from './stores.ts'
import { untilEqual } from './until.ts'

export interface Period {
  readonly fault: Fault
  /** The number of requests. */
  readonly requests: number
  /** Requests with a status of 500 or more, or without a response. */
  readonly failed: number
  /** The heap size after a garbage collection. */
  readonly heapBytes: number
  /** The number of sockets, timers, servers and other active resources. */
  readonly handles: number
  /** Median duration of a write without a fault. */
  readonly medianMs: number
  /** The number of rows by table, in both databases together. */
  readonly rows: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

export interface SoakOptions {
  readonly store: Dialect
  readonly seed: number
  /** Operations in each period. */
  readonly operations: number
  /** Called after each period. False ends the test. */
  readonly goesOn: (periods: number) => boolean
  readonly onPeriod?: (period: Period) => void
}

const faults = ['none', 'publisher restarts', 'listener is away', 'store fails', 'listener restarts'] as const
type Fault = (typeof faults)[number]

/** The number of stored diffs, and of timeline entries, for each subscription. */
export const maxDiffs = 16

/** The factor by which time runs faster, because retries have long delays in which nothing happens. */
const haste = 100
const began = Date.now()
const now = (): number => Math.floor(began + (Date.now() - began) * haste)
const timers: Timers = {
  setTimer(ms, then) {
    // Real time: a soak test needs real timers, which run faster here.
    const timer = setTimeout(then, ms / haste)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** A service that can stop and start again at the same address with the same data. */
class Phoenix {
  readonly database: TestDatabase
  store: FaultyStore | undefined
  #service: TestService | undefined
  #port = 0

  constructor(database: TestDatabase) {
    this.database = database
  }

  get service(): TestService {
    if (this.#service === undefined) throw new Error('The service is stopped')
    return this.#service
  }

  async start(): Promise<void> {
    const options: StartOptions = {
      listen: true,
      port: this.#port,
      logLevel: 'silent',
      maxDiffs,
      now,
      timers,
      wrapStore: (inner) => (this.store = faulty(inner)),
    }
    this.#service = await startService(this.database.url, options)
    this.#port = Number(new URL(this.#service.url).port)
  }

  async stop(): Promise<void> {
    await this.#service?.close()
    this.#service = undefined
  }
}

export async function runSoak(options: SoakOptions): Promise<Period[]> {
  const random = seeded(options.seed)
  const [publisher, listener] = [
    new Phoenix(await createTestDatabase(options.store)),
    new Phoenix(await createTestDatabase(options.store)),
  ]
  const periods: Period[] = []
  try {
    await publisher.start()
    await listener.start()
    const soak = new Soak(publisher, listener, random)
    await soak.prepare()
    do {
      const fault = faults[periods.length % faults.length] ?? 'none'
      const period = await soak.period(fault, options.operations)
      periods.push(period)
      options.onPeriod?.(period)
    } while (options.goesOn(periods.length))
  } finally {
    for (const phoenix of [publisher, listener]) {
      await phoenix.stop()
      await phoenix.database.remove()
    }
  }
  return periods
}

class Soak {
  readonly #publisher: Phoenix
  readonly #listener: Phoenix
  readonly #random: Random
  #source: TestActor | undefined
  #copy: TestActor | undefined
  #requests = 0
  #failed = 0
  #made = 0
  /** Actors that are not deleted yet. */
  #left: TestActor[] = []

  constructor(publisher: Phoenix, listener: Phoenix, random: Random) {
    this.#publisher = publisher
    this.#listener = listener
    this.#random = random
  }

  async prepare(): Promise<void> {
    this.#source = await this.#publisher.service.createActor('source@example.com')
    this.#copy = await this.#listener.service.createActor('copy@example.com')
    await relate(this.#copy, [this.#publisher.service, this.#source], 'friend')
    const wanted = { peerid: this.#source.id, target: 'properties', granularity: 'high' }
    const answer = await this.#copy.request('POST', '/subscriptions', wanted)
    assert.equal(answer.status, 204)
    await this.#own('POST', '/properties', { log: { _type: 'list' } })
  }

  async period(fault: Fault, operations: number): Promise<Period> {
    this.#requests = 0
    this.#failed = 0
    for (let step = 0; step < operations; step++) {
      if (step === Math.floor(operations / 3)) await this.#break(fault)
      if (step === Math.floor((operations * 2) / 3)) await this.#heal(fault)
      await this.#operate()
    }
    const [requests, failed] = [this.#requests, this.#failed]
    await this.#rest()
    const medianMs = await this.#latency()
    await this.#rest()
    // The records of the test services must not count as heap growth.
    for (const { service } of [this.#publisher, this.#listener]) service.reset()
    collectGarbage()
    return {
      fault,
      requests,
      failed,
      medianMs,
      heapBytes: process.memoryUsage().heapUsed,
      handles: process.getActiveResourcesInfo().length,
      rows: await this.#rows(),
      violations: [
        ...(await violationsIn(this.#publisher.database.url)),
        ...(await violationsIn(this.#listener.database.url)),
      ],
    }
  }

  async #break(fault: Fault): Promise<void> {
    if (fault === 'publisher restarts') {
      await this.#publisher.stop()
      await this.#publisher.start()
    } else if (fault === 'listener restarts' || fault === 'listener is away') {
      await this.#listener.stop()
      if (fault === 'listener restarts') await this.#listener.start()
    } else if (fault === 'store fails') {
      this.#publisher.store?.plan({ at: 1, times: 20 })
      this.#listener.store?.plan({ at: 1, times: 20 })
    }
  }

  async #heal(fault: Fault): Promise<void> {
    if (fault === 'listener is away') await this.#listener.start()
    for (const { store } of [this.#publisher, this.#listener]) store?.plan()
  }

  async #operate(): Promise<void> {
    const random = this.#random
    const value = { n: random.below(1_000_000), text: 'x'.repeat(random.below(200)) }
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
        return this.#own('PUT', `/properties/p${random.below(10)}`, value)
      case 3:
        return this.#own('PUT', `/properties/p${random.below(10)}/n`, value.n)
      case 4:
      case 5:
        await this.#own('POST', '/properties/log', value)
        return this.#own('DELETE', '/properties/log/12')
      case 6:
        return this.#own('PUT', '/properties/log/0', value)
      case 7:
        return this.#own('GET', '/properties')
      case 8:
        return this.#own('DELETE', `/properties/p${random.below(10)}`)
      default:
        return this.#pass()
    }
  }

  /** Creates an actor, subscribes to it, and deletes it. */
  async #pass(): Promise<void> {
    this.#requests += 1
    try {
      const passing = await this.#publisher.service.createActor(`passing-${this.#made++}@example.com`)
      this.#left.push(passing)
      const copy = this.#copy
      if (copy === undefined) return
      const url = `${this.#publisher.service.url}/${passing.id}`
      await copy.request('POST', '/trust', { url, relationship: 'friend' })
      await passing.request('PUT', `/trust/friend/${copy.id}`, { approved: true })
      await copy.request('POST', '/subscriptions', { peerid: passing.id, target: 'properties', granularity: 'high' })
      await passing.request('PUT', '/properties/p', 'passing')
      await this.#part()
    } catch {
      this.#failed += 1
    }
  }

  async #part(): Promise<void> {
    for (const actor of this.#left) {
      const answer = await this.#publisher.service.request(`/${actor.id}`, {
        method: 'DELETE',
        headers: { authorization: actor.authorization },
      })
      if (answer.status === 204) this.#left = this.#left.filter((other) => other !== actor)
      else this.#failed += 1
    }
  }

  /** Sends a request as the owner of the source actor. */
  async #own(method: string, path: string, body?: unknown): Promise<void> {
    this.#requests += 1
    try {
      const answer = await this.#source?.request(method, path, body)
      await answer?.arrayBuffer()
      if (answer === undefined || answer.status >= 500) this.#failed += 1
    } catch {
      this.#failed += 1
    }
  }

  async #latency(): Promise<number> {
    const times: number[] = []
    for (let count = 0; count < 11; count++) {
      const began = performance.now()
      await this.#own('PUT', '/properties/p0', { n: count })
      times.push(performance.now() - began)
    }
    return times.sort((one, other) => one - other)[5] ?? 0
  }

  /** Waits until no delivery waits and the copy equals its source. */
  async #rest(): Promise<void> {
    await this.#part()
    await untilEqual(
      async () => ({ copy: await this.#copied(), waiting: await this.#waiting() }),
      async () => ({ copy: await this.#sourceData(), waiting: 0 }),
    )
  }

  async #sourceData(): Promise<unknown> {
    const handle = await this.#publisher.service.app.actors.get(this.#source?.id ?? '')
    return sorted({ ...(await handle?.all()), log: await handle?.list('log').items() })
  }

  async #copied(): Promise<unknown> {
    const handle = await this.#listener.service.app.actors.get(this.#copy?.id ?? '')
    const copy = (await handle?.remote(this.#source?.id ?? '').all()) ?? {}
    return sorted({ log: [], ...copy })
  }

  async #waiting(): Promise<number> {
    const counts = await Promise.all(
      [this.#publisher, this.#listener].map(async ({ service }) => {
        const { store } = await service.app.running()
        const row = await store.read((q) =>
          q.get<{ waiting: number }>(
            `SELECT (SELECT COUNT(*) FROM publisher_subscription WHERE due_at IS NOT NULL)
               + (SELECT COUNT(*) FROM notice WHERE due_at IS NOT NULL)
               + (SELECT COUNT(*) FROM subscriber_subscription WHERE gap_due_at IS NOT NULL) AS waiting`,
          ),
        )
        return row?.waiting ?? 0
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async #rows(): Promise<Record<string, number>> {
    const rows: Record<string, number> = {}
    for (const { service } of [this.#publisher, this.#listener]) {
      const { store } = await service.app.running()
      for (const table of tables) {
        const row = await store.read((q) => q.get<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`))
        rows[table] = (rows[table] ?? 0) + (row?.count ?? 0)
      }
    }
    return rows
  }
}

/** Tables to which a change, a callback or a relationship adds rows. `deleted_actor` is omitted: its rows stay 30 days. */
const tables = [
  'actor',
  'property',
  'list_item',
  'list_node',
  'attribute',
  'trust',
  'publisher_subscription',
  'subscriber_subscription',
  'diff',
  'delivery',
  'delivery_run',
  'pending_callback',
  'notice',
]

function sorted(value: object): unknown {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
