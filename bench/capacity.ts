/** Measures the costs of the capacity model on one store: bytes, pages, processor time, memory and connections. */
import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { type BenchActor, createActor, requestText, send, signIn, value } from './client.ts'
import { type Costs, bytesOfActor, type Profile } from './capacity-model.ts'
import { median, type Slices } from './compare.ts'
import { type Loader, type Peers, type Running, startPeers, startServer } from './process.ts'
import { createPublishers } from './publishers.ts'
import { changing } from './requests.ts'
import type { Subject } from './subject.ts'

export interface CapacityRun {
  readonly store: Costs['store']
  /** Creates an empty database. */
  readonly database: () => Promise<Subject>
  /** Folder of `buildService`. */
  readonly folder: string
  /** Restarts the database server, so that its cache is empty. */
  readonly restart: () => Promise<void>
  readonly actors: number
  readonly slices: Slices
}

export interface MeasuredCapacity {
  readonly costs: Costs
  /** Bytes of other data, as the costs predict them and as the database stores them. */
  readonly predictedBytes: number
  readonly storedBytes: number
}

/** Data of each actor from which the costs are measured. */
const measured: Profile = {
  properties: 20,
  lists: 1,
  items: 100,
  trusts: 5,
  subscriptions: 5,
  waitingDiffs: 40,
  deliveredDiffs: 10,
  sessions: 1,
  auditEntries: 20,
}
/** Different data, for which the model must be right too. */
const checked: Profile = {
  properties: 7,
  lists: 1,
  items: 30,
  trusts: 2,
  subscriptions: 2,
  waitingDiffs: 5,
  deliveredDiffs: 5,
  sessions: 1,
  auditEntries: 5,
}

const item = { text: 'Buy milk and bread on the way home', tags: ['home', 'shopping'], done: false }
/** Number of actors whose first reads are counted. */
const readActors = 100
const subscribers = 100
/** Number of uncounted requests, as a warm-up for the JIT compiler. */
const warmUp = 5000

export async function measureCapacity(loader: Loader, run: CapacityRun): Promise<MeasuredCapacity> {
  const peers = await startPeers()
  try {
    const subject = await run.database()
    const { costs: bytes, actors } = await measureBytes(run, subject, peers)
    const publishers = await createPublishers(subject, {
      actors: 10,
      subscribers,
      diffs: 0,
      granularity: 'high',
      peers: peers.url,
    })
    const pages = await measurePages(run, subject, actors)
    const work = await measureWork(loader, run, subject, actors, publishers, peers)
    const costs: Costs = { store: run.store, bytes, ...pages, ...work }
    const other = await run.database()
    const stored = await fill(run, other, checked, peers)
    const total = (tables: Sizes): number => [...tables.values()].reduce((sum, size) => sum + size, 0)
    return {
      costs,
      predictedBytes: run.actors * bytesOfActor(costs, { ...checked, auditEntries: auditEntriesOf(checked) }),
      storedBytes: total(stored.end) - total(stored.empty),
    }
  } finally {
    peers.stop()
  }
}

async function measureBytes(
  run: CapacityRun,
  subject: Subject,
  peers: Peers,
): Promise<{ costs: Costs['bytes']; actors: readonly BenchActor[] }> {
  const { actors, empty, values, lists, delivered, end } = await fill(run, subject, measured, peers)
  const count = run.actors
  const size = (from: Sizes, to: Sizes, ...tables: string[]): number =>
    tables.reduce((sum, table) => sum + (to.get(table) ?? 0) - (from.get(table) ?? 0), 0)
  const heads = size(values, lists, 'property')
  const costs = {
    actor: size(empty, end, 'actor', 'creator') / count,
    property: (size(empty, end, 'property') - heads) / count / measured.properties,
    list: heads / count / measured.lists,
    item: size(empty, end, 'list_item', 'list_node') / count / measured.items,
    trust: size(empty, end, 'trust', 'attribute') / count / measured.trusts,
    subscription: size(empty, end, 'publisher_subscription') / count / measured.subscriptions,
    diff: size(delivered, end, ...diffTables) / count / measured.waitingDiffs,
    delivered: size(empty, delivered, ...diffTables) / count / measured.deliveredDiffs,
    session: size(empty, end, 'token', 'token_chain') / count / measured.sessions,
    auditEntry: size(empty, end, 'activity') / count / auditEntriesOf(measured),
  }
  return { costs, actors }
}

const diffTables = ['diff', 'delivery', 'delivery_run']

/** The requests of a profile, and the one that creates each subscription. */
const auditEntriesOf = ({ auditEntries, subscriptions }: Profile): number => auditEntries + subscriptions

type Sizes = ReadonlyMap<string, number>

interface Filled {
  readonly actors: readonly BenchActor[]
  readonly empty: Sizes
  readonly values: Sizes
  readonly lists: Sizes
  readonly delivered: Sizes
  readonly end: Sizes
}

/** Writes the data of a profile through the interface of the service, and returns the sizes of the tables meanwhile. */
async function fill(run: CapacityRun, subject: Subject, profile: Profile, peers: Peers): Promise<Filled> {
  const server = await startServer('troupe', subject, run.folder)
  const { port } = server
  const actors: BenchActor[] = []
  const each = (work: (actor: BenchActor) => Promise<void>): Promise<void> => inParallel(actors, work)
  const post = (actor: BenchActor, path: string, body: object): Promise<void> =>
    send(port, actor, 'POST', path, JSON.stringify(body))
  try {
    const empty = await sizesOf(subject.database)
    const numbers = Array.from({ length: run.actors }, (_, at) => at)
    await inParallel(numbers, async (at) => void actors.push(await createActor(port, `someone${at}@example.com`)))
    const names = numbers
      .slice(0, profile.properties)
      .map((at): [string, object] => [`p${at}`, JSON.parse(value) as object])
    await each((actor) => post(actor, '/properties', Object.fromEntries(names)))
    const values = await sizesOf(subject.database)
    const items = Array.from({ length: profile.items }, (_, index) => ({ index, ...item }))
    await each(async (actor) => {
      await post(actor, '/properties', { notes: { _type: 'list' } })
      await post(actor, '/properties', { notes: { items } })
    })
    const lists = await sizesOf(subject.database)
    await each(async (actor) => {
      for (let at = 0; at < profile.trusts; at += 1) {
        const peer = peerOf(actor, at)
        await post(actor, '/trust/friend', { baseuri: `${peers.url}/${peer.id}`, id: peer.id, secret: peer.secret })
        await send(port, actor, 'PUT', `/trust/friend/${peer.id}`, '{"approved":true}')
        if (at >= profile.subscriptions) continue
        // The first subscriber receives callbacks for p0. The others fetch the diffs of p1.
        const scope = at === 0 ? { subtarget: 'p0', granularity: 'high' } : { subtarget: 'p1', granularity: 'none' }
        await post(peer.caller, `/subscriptions/${peer.id}`, { target: 'properties', ...scope })
      }
    })
    const change = async (name: string, changes: number): Promise<void> => {
      const texts = Array.from({ length: changes }, (_, at) => value.replace('dark', `dar${at + 100}`))
      for (const text of texts) await each((actor) => send(port, actor, 'PUT', `/properties/${name}`, text))
    }
    await change('p0', profile.deliveredDiffs)
    await untilDelivered(subject.database)
    const delivered = await sizesOf(subject.database)
    await change('p1', profile.waitingDiffs / (profile.subscriptions - 1))
    // One actor in twenty signs in twenty times.
    await inParallel(
      actors.filter((_, at) => at % 20 === 0),
      async (actor) => void (await signIn(port, actor, 20 * profile.sessions)),
    )
    await each(async (actor) => {
      const { caller } = peerOf(actor, 0)
      for (let at = 0; at < profile.auditEntries; at += 1)
        await send(port, caller, 'GET', `/properties/p${at % profile.properties}`)
    })
    // Stopping writes the remaining entries of the audit log.
    await server.stop()
    return { actors, empty, values, lists, delivered, end: await sizesOf(subject.database) }
  } catch (error) {
    await server.stop()
    throw error
  }
}

function peerOf(actor: BenchActor, at: number): { id: string; secret: string; caller: BenchActor } {
  const id = `p${at}${actor.id.slice(2)}`
  const secret = `secret-${at}-${actor.id}`
  return { id, secret, caller: { id: actor.id, authorization: `Bearer ${secret}` } }
}

async function inParallel<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
  const left = values.values()
  const one = async (): Promise<void> => {
    for (const next of left) await work(next)
  }
  await Promise.all(Array.from({ length: 16 }, one))
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
    const rows = database.prepare(sql).all() as Record<string, unknown>[]
    database.close()
    return rows
  }
  const client = new pg.Client({ connectionString: url, options: '-c search_path=troupe' })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

/** Returns the bytes of each table with its indexes, without the maps of free space, which small tables have too. */
async function sizesOf(url: string): Promise<Sizes> {
  const isFile = url.startsWith('sqlite:')
  // VACUUM marks the rows that are no longer visible as free space. The tables keep their size.
  if (!isFile) await query(url, 'VACUUM')
  const rows = await query(
    url,
    isFile
      ? `SELECT tables.tbl_name AS name, sum(pages.pgsize) AS size FROM dbstat('main', 1) AS pages
         JOIN sqlite_schema AS tables ON tables.name = pages.name GROUP BY tables.tbl_name`
      : `SELECT relname AS name, pg_relation_size(pg_class.oid) + pg_relation_size(reltoastrelid) + coalesce(
           (SELECT sum(pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid IN (pg_class.oid, reltoastrelid)), 0)
         AS size FROM pg_class WHERE relkind = 'r' AND relnamespace = 'troupe'::regnamespace`,
  )
  return new Map(rows.map(({ name, size }) => [String(name), Number(size)]))
}

async function untilDelivered(url: string): Promise<void> {
  const due = 'SELECT count(*) AS count FROM publisher_subscription WHERE due_at IS NOT NULL'
  for (;;) {
    const [row] = await query(url, due)
    if (Number(row?.['count']) === 0) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Counts the pages that the first read of an actor loads into an empty cache. */
async function measurePages(
  run: CapacityRun,
  subject: Subject,
  actors: readonly BenchActor[],
): Promise<Pick<Costs, 'pages' | 'pageBytes'>> {
  const every = Math.floor(actors.length / readActors)
  const chosen = actors.filter((_, at) => at % every === 0).slice(0, readActors)
  if (run.store === 'PostgreSQL') {
    const without = await pagesRead(run, subject, [])
    return { pages: ((await pagesRead(run, subject, chosen)) - without) / chosen.length, pageBytes: 8192 }
  }
  const server = await startServer('troupe', subject, run.folder)
  try {
    const bytes = [await bytesRead(server, chosen), await bytesRead(server, chosen)]
    // The second reads find their pages in the cache, so they show the bytes that are not pages.
    return { pages: ((bytes[0] ?? 0) - (bytes[1] ?? 0)) / 4096 / chosen.length, pageBytes: 4096 }
  } finally {
    await server.stop()
  }
}

async function readAll(server: Running, actors: readonly BenchActor[]): Promise<void> {
  for (const actor of actors) {
    await send(server.port, actor, 'GET', '/properties/p5')
    await send(server.port, actor, 'GET', '/properties/notes')
  }
}

async function bytesRead(server: Running, actors: readonly BenchActor[]): Promise<number> {
  const before = await server.usage()
  await readAll(server, actors)
  return (await server.usage()).read - before.read
}

async function pagesRead(run: CapacityRun, subject: Subject, actors: readonly BenchActor[]): Promise<number> {
  await run.restart()
  const total = 'SELECT sum(heap_blks_read + coalesce(idx_blks_read, 0)) AS count FROM pg_statio_user_tables'
  const read = async (): Promise<number> => Number((await query(subject.database, total))[0]?.['count'])
  const before = await read()
  const server = await startServer('troupe', subject, run.folder)
  await readAll(server, actors)
  // A connection reports its reads at its end.
  await server.stop()
  await untilAlone(subject.database)
  return (await read()) - before
}

const connectionCount = 'SELECT count(*) - 1 AS count FROM pg_stat_activity WHERE datname = current_database()'

async function untilAlone(url: string): Promise<void> {
  while (Number((await query(url, connectionCount))[0]?.['count']) > 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
}

type Work = Pick<Costs, 'service' | 'database' | 'logPerChange' | 'process'>

async function measureWork(
  loader: Loader,
  run: CapacityRun,
  subject: Subject,
  actors: readonly BenchActor[],
  publishers: readonly BenchActor[],
  peers: Peers,
): Promise<Work> {
  const server = await startServer('troupe', subject, run.folder)
  try {
    const idleBytes = (await server.usage()).rss
    const meter = await meterOf(subject.database, server)
    const under = (requests: readonly string[]): Promise<Cost> => costOf(loader, run.slices, server, meter, requests)
    const read = await under(actors.map((actor) => requestText(actor, 'GET', '/properties/p5')))
    const change = await under(actors.flatMap((actor) => changing(actor, '/properties/p6').slice(0, 20)))
    const connections =
      run.store === 'SQLite' ? 0 : Number((await query(subject.database, connectionCount))[0]?.['count'])
    const callback = await measureCallbacks(server, meter, publishers, peers, change)
    return {
      service: { read: read.service, change: change.service, callback: callback.service },
      database: { read: read.database, change: change.database, callback: callback.database },
      logPerChange: change.log,
      process: { idleBytes, loadedBytes: (await server.usage()).rss, connections },
    }
  } finally {
    await server.stop()
  }
}

/** Cost of one request. */
interface Cost {
  readonly service: number
  readonly database: number
  readonly log: number
}

/** Returns totals since the start, of which differences are costs. */
type Meter = () => Promise<Cost>

async function meterOf(url: string, server: Running): Promise<Meter> {
  if (url.startsWith('sqlite:')) {
    return async () => {
      const { cpu, written } = await server.usage()
      return { service: cpu, database: 0, log: written }
    }
  }
  const [file] = await query(url, "SELECT pg_read_file('postmaster.pid') AS text")
  const postmaster = Number.parseInt(String(file?.['text']), 10)
  return async () => {
    const [position] = await query(url, `SELECT pg_current_wal_lsn() - '0/0' AS bytes`)
    return { service: (await server.usage()).cpu, database: cpuOfTree(postmaster), log: Number(position?.['bytes']) }
  }
}

/** Returns the processor time of a process and its children in microseconds, also of children that have ended. */
function cpuOfTree(pid: number): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = statOf(name)
    if (fields === null || (Number(name) !== pid && Number(fields[1]) !== pid)) continue
    // User and system time of the process, then of the children that have ended.
    for (const field of fields.slice(11, 15)) ticks += Number(field)
  }
  return ticks * 10_000
}

/** Returns the fields of `/proc/<pid>/stat` from the state on. Null when the process has ended. */
function statOf(pid: string): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}

async function costOf(
  loader: Loader,
  { rounds, milliseconds, connections }: Slices,
  { port }: Running,
  meter: Meter,
  requests: readonly string[],
): Promise<Cost> {
  const costs: Cost[] = []
  let warm = 0
  while (costs.length < rounds) {
    const before = await meter()
    const { answers, refused, refusal } = await loader.run({ port, connections, milliseconds, requests })
    if (refused > 0) throw new Error(`Cannot measure: ${refused} requests were refused, the first with ${refusal}`)
    if (warm >= warmUp) costs.push(perUnit(before, await meter(), answers))
    warm += answers
  }
  const middle = (figure: keyof Cost): number => median(costs.map((cost) => cost[figure]))
  return { service: middle('service'), database: middle('database'), log: middle('log') }
}

function perUnit(before: Cost, after: Cost, units: number): Cost {
  return {
    service: (after.service - before.service) / units,
    database: (after.database - before.database) / units,
    log: (after.log - before.log) / units,
  }
}

/** Measures changes with many subscribers, and returns the share of one subscriber. */
async function measureCallbacks(
  server: Running,
  meter: Meter,
  publishers: readonly BenchActor[],
  peers: Peers,
  change: Cost,
): Promise<Pick<Cost, 'service' | 'database'>> {
  const round = async (number: number): Promise<void> => {
    await peers.reset()
    for (const actor of publishers) {
      await send(server.port, actor, 'PUT', '/properties/p', value.replace('dark', `dar${number}`))
    }
    await peers.until(publishers.length * subscribers)
  }
  for (let number = 0; number < 5; number += 1) await round(number)
  const before = await meter()
  const rounds = 20
  for (let number = 10; number < 10 + rounds; number += 1) await round(number)
  const each = perUnit(before, await meter(), rounds * publishers.length)
  return {
    service: (each.service - change.service) / subscribers,
    database: (each.database - change.database) / subscribers,
  }
}
