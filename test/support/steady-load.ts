/**
 * Runs a service for a long time under a part of the load that it can answer, and samples its memory, open files, log of
 * the database and latency. The data stays the same size, so that whatever grows is a leak.
 */
import { statSync } from 'node:fs'
import pg from 'pg'
import type { Dialect } from '../../src/store/portable.ts'
import type { Send } from './history.ts'
import { startPostgres } from './postgres.ts'
import { type Random, seeded } from './random.ts'
import { startServiceProcess } from './service-process.ts'
import { createPostgresDatabase, createTestDatabase } from './stores.ts'

export interface LoadSample {
  readonly requests: number
  /** Requests with a status of 400 or more, or without a response. */
  readonly failed: number
  /** Latencies in milliseconds, from the time at which the request was due. */
  readonly p50: number
  readonly p99: number
  readonly residentBytes: number
  readonly openFiles: number
  /** Size of the write-ahead log of the database. */
  readonly walBytes: number
}

export interface SteadyLoadOptions {
  readonly store: Dialect
  readonly seed: number
  /** Percentage of the rate that the service can answer. */
  readonly percent: number
  readonly samples: number
  /** Duration of each sample, and of the measurement of the rate before them. */
  readonly sampleMs: number
  readonly onRate?: (perSecond: number) => void
  readonly onSample?: (sample: LoadSample) => void
}

const actors = 20
const items = 20
/** Clients that measure the rate. */
const clients = 16
/** When so many requests wait, the service cannot answer the load. */
const maxWaiting = 2000
const tickMs = 5

interface Subject {
  readonly send: Send
  readonly accounts: readonly Account[]
}

interface Account {
  readonly id: string
  readonly authorization: string
}

/** @throws Error when the service cannot answer the load. */
export async function runSteadyLoad(options: SteadyLoadOptions): Promise<LoadSample[]> {
  const server = options.store === 'postgres' ? await startPostgres({ fsync: true }) : null
  const database = server === null ? await createTestDatabase('sqlite') : await createPostgresDatabase(server.url)
  // The load of one address would exceed the rate of new actors after five minutes.
  const service = await startServiceProcess({ database: database.url, env: { TROUPE_RATE_LIMITS: '*=off' } })
  try {
    const subject = await prepare(service.send, service.url)
    const random = seeded(options.seed)
    const perSecond = (await rateOf(subject, random, options.sampleMs)) * (options.percent / 100)
    options.onRate?.(perSecond)
    const samples: LoadSample[] = []
    while (samples.length < options.samples) {
      const load = await loadFor(subject, random, perSecond, options.sampleMs)
      const sample = { ...load, ...(await usageOf(service.send)), walBytes: await walBytesOf(database.url) }
      samples.push(sample)
      options.onSample?.(sample)
    }
    return samples
  } finally {
    await service.stop()
    await database.remove()
    await server?.remove()
  }
}

/** Creates the actors. Each follows the one before, so that a change causes a callback. */
async function prepare(send: Send, url: string): Promise<Subject> {
  const accounts: Account[] = []
  for (let n = 0; n < actors; n++) {
    const account = await createAccount(send, `steady-${n}@example.com`)
    const { id, authorization } = account
    const before = accounts.at(-1)
    await expect(send, 'POST', `/${id}/properties`, { authorization, body: { log: { _type: 'list' }, p0: 0 } })
    for (let item = 0; item < items; item++)
      await expect(send, 'POST', `/${id}/properties/log`, { authorization, body: { item } })
    if (before !== undefined) {
      const peer = `/${before.id}/trust/friend/${id}`
      const asked = { url: `${url}/${before.id}`, relationship: 'friend' }
      await expect(send, 'POST', `/${id}/trust`, { authorization, body: asked })
      await expect(send, 'PUT', peer, { authorization: before.authorization, body: { approved: true } })
      const wanted = { peerid: before.id, target: 'properties', granularity: 'high' }
      await expect(send, 'POST', `/${id}/subscriptions`, { authorization, body: wanted })
    }
    accounts.push(account)
  }
  return { send, accounts }
}

async function createAccount(send: Send, creator: string): Promise<Account> {
  const { id, passphrase } = JSON.parse(await expect(send, 'POST', '/', { body: { creator } })) as Record<
    string,
    string
  >
  return { id: id ?? '', authorization: `Basic ${Buffer.from(`${creator}:${passphrase}`).toString('base64')}` }
}

/** Returns the text of a response. @throws Error for a status of 400 or more. */
async function expect(send: Send, ...[method, path, request]: Parameters<Send>): Promise<string> {
  const { status, text } = await send(method, path, request)
  if (status >= 400) throw new Error(`${method} ${path}: ${status} ${text}`)
  return text
}

/** Returns the number of operations per second that the clients can do. */
async function rateOf(subject: Subject, random: Random, ms: number): Promise<number> {
  const began = performance.now()
  let done = 0
  const client = async (): Promise<void> => {
    for (; performance.now() - began < ms; done += 1) await operate(subject, random)
  }
  await Promise.all(Array.from({ length: clients }, client))
  return (done * 1000) / (performance.now() - began)
}

async function loadFor(
  subject: Subject,
  random: Random,
  perSecond: number,
  ms: number,
): Promise<Pick<LoadSample, 'requests' | 'failed' | 'p50' | 'p99'>> {
  const began = performance.now()
  const latencies: number[] = []
  const waiting = new Set<Promise<void>>()
  let started = 0
  let failed = 0
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  const ticks = setInterval(() => {
    const now = performance.now() - began
    for (; started < (Math.min(now, ms) / 1000) * perSecond; started += 1) {
      const dueAt = began + (started * 1000) / perSecond
      const run: Promise<void> = operate(subject, random)
        .catch(() => void (failed += 1))
        .then(() => void latencies.push(performance.now() - dueAt))
        .finally(() => waiting.delete(run))
      waiting.add(run)
    }
    if (waiting.size > maxWaiting) reject(new Error(`${waiting.size} requests wait: the load is too high`))
    if (now >= ms) resolve()
  }, tickMs)
  await ended.finally(() => clearInterval(ticks))
  await Promise.all(waiting)
  latencies.sort((one, other) => one - other)
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0
  return { requests: started, failed, p50: at(0.5), p99: at(0.99) }
}

async function operate({ send, accounts }: Subject, random: Random): Promise<void> {
  const account = accounts[random.below(accounts.length)]
  if (account === undefined) throw new Error('The load has no actors')
  const { id, authorization } = account
  const name = `p${random.below(10)}`
  const value = { n: random.below(1_000_000), text: 'x'.repeat(100) }
  const kind = random.below(20)
  if (kind < 8) await expect(send, 'GET', `/${id}/properties/p0`, { authorization })
  else if (kind < 10) await expect(send, 'GET', `/${id}/properties`, { authorization })
  else if (kind < 12) await expect(send, 'GET', `/${id}/properties/log`, { authorization })
  else if (kind < 17) await expect(send, 'PUT', `/${id}/properties/${name}`, { authorization, body: value })
  else if (kind < 19) {
    await expect(send, 'POST', `/${id}/properties/log`, { authorization, body: value })
    await expect(send, 'DELETE', `/${id}/properties/log/0`, { authorization })
  } else {
    const passing = await createAccount(send, `passing-${random.below(1_000_000_000)}@example.com`)
    await expect(send, 'DELETE', `/${passing.id}`, { authorization: passing.authorization })
  }
}

async function usageOf(send: Send): Promise<Pick<LoadSample, 'residentBytes' | 'openFiles'>> {
  const text = await expect(send, 'GET', '/metrics')
  const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return {
    residentBytes: metric('process_resident_memory_bytes'),
    openFiles: metric('process_open_fds'),
  }
}

async function walBytesOf(url: string): Promise<number> {
  if (url.startsWith('sqlite:')) return statSync(`${url.slice('sqlite:'.length)}-wal`).size
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ bytes: string }>('SELECT SUM(size) AS bytes FROM pg_ls_waldir()')
    return Number(rows[0]?.bytes)
  } finally {
    await client.end()
  }
}

/** One sentence for each figure that grew from the second to the last quarter of the samples. The first quarter warms up. */
export function growthOf(samples: readonly LoadSample[]): string[] {
  const quarter = Math.max(1, Math.floor(samples.length / 4))
  const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)]
  const found = samples.some(({ failed }) => failed > 0) ? ['Requests failed.'] : []
  for (const { what, of, factor, plus, shown } of bounds) {
    const [before, after] = [median(early.map(of)), median(late.map(of))]
    if (!(after <= before * factor + plus)) found.push(`${what} grew from ${shown(before)} to ${shown(after)}.`)
  }
  return found
}

interface Bound {
  readonly what: string
  readonly of: (sample: LoadSample) => number
  /** The late value is at most the early one times `factor`, and `plus`. */
  readonly factor: number
  readonly plus: number
  readonly shown: (value: number) => string
}

const mib = 2 ** 20
const inMebibytes = (bytes: number): string => `${(bytes / mib).toFixed(1)} MiB`
const inMilliseconds = (ms: number): string => `${ms.toFixed(1)} ms`
const bounds: readonly Bound[] = [
  { what: 'The memory', of: (s) => s.residentBytes, factor: 1.1, plus: 8 * mib, shown: inMebibytes },
  { what: 'The number of open files', of: (s) => s.openFiles, factor: 1, plus: 8, shown: String },
  // PostgreSQL allocates its log in segments of 16 MiB.
  { what: 'The write-ahead log', of: (s) => s.walBytes, factor: 1.25, plus: 16 * mib, shown: inMebibytes },
  { what: 'The median latency', of: (s) => s.p50, factor: 1.5, plus: 1, shown: inMilliseconds },
  { what: 'The 99th percentile of the latency', of: (s) => s.p99, factor: 2, plus: 10, shown: inMilliseconds },
]

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

export function sampleLine({ requests, failed, p50, p99, residentBytes, openFiles, walBytes }: LoadSample): string {
  const latency = `${inMilliseconds(p50)}, p99 ${inMilliseconds(p99)}`
  return `${requests} requests, ${failed} failed; ${latency}; ${inMebibytes(residentBytes)}, ${openFiles} open files, log ${inMebibytes(walBytes)}`
}
