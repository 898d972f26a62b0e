import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import type { Store } from '../../src/store/store.ts'
import { BrittleDisk } from '../support/brittle-disk.ts'
import { dumpOf, violationsIn } from '../support/invariants.ts'
import { forEachService, type StartOptions, startService, type TestService } from '../support/service.ts'
import { bound, createTestDatabase } from '../support/stores.ts'
import { until } from '../support/until.ts'

interface Refusal {
  readonly status: number
  readonly retryAfter: string | null
  readonly error: string
  readonly message: string
}

async function refusalOf(answer: Response): Promise<Refusal> {
  const { error, message } = (await answer.json()) as { error: string; message: string }
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), error, message }
}

const unavailable: Refusal = {
  status: 503,
  retryAfter: '1',
  error: 'store_unavailable',
  message: 'Storage cannot be used right now',
}

async function health(service: TestService): Promise<number> {
  return (await service.request('/health/ready')).status
}

/** Starts a service on an SQLite store whose disk fails on demand. */
async function startOnDisk(t: TestContext, options: StartOptions = {}) {
  const database = await createTestDatabase('sqlite')
  const path = database.url.slice('sqlite:'.length)
  const disk = new BrittleDisk()
  const brittle = await disk.openStore(path)
  const wrapStore = (opened: Store): Store => ({
    ...bound(brittle),
    now: opened.now,
    close: async () => {
      await brittle.close()
      await opened.close()
    },
  })
  const service = await startService(database.url, { ...options, wrapStore })
  t.after(async () => {
    await service.close()
    await database.remove()
  })
  return { service, disk, database }
}

describe('a disk failure below the service', () => {
  it('gives 503 with an unknown outcome and fails the readiness check, until it ends (DUR-05)', async (t) => {
    const { service, disk, database } = await startOnDisk(t)
    const actor = await service.createActor()
    assert.equal((await actor.request('PUT', '/properties/a', 'before')).status, 204)
    disk.nextCommit = Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 1034 })
    assert.deepEqual(await refusalOf(await actor.request('PUT', '/properties/a', 'after')), {
      status: 503,
      retryAfter: null,
      error: 'store_unavailable',
      message: 'Storage failed during the commit: whether the change was made is unknown',
    })
    disk.nextCommit = Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 778 })
    assert.equal(await health(service), 503)
    assert.equal(await (await actor.request('GET', '/properties/a')).text(), 'before')
    assert.equal(await health(service), 200)
    assert.equal((await actor.request('PUT', '/properties/a', 'again')).status, 204)
    assert.deepEqual(await violationsIn(database.url), [])
  })

  it('for lack of space rejects changes with 503, keeps reads working and ends when there is space (DUR-06)', async (t) => {
    const { service, disk, database } = await startOnDisk(t)
    const actor = await service.createActor()
    assert.equal((await actor.request('PUT', '/properties/a', 'small')).status, 204)
    disk.setPragma('PRAGMA max_page_count = 1')
    const before = await dumpOf(database.url)
    const large = 'x'.repeat(200_000)
    for (const [method, path, body] of [
      ['PUT', '/properties/a', large],
      ['POST', '/properties', { b: large, l: { _type: 'list' } }],
    ] as const)
      assert.deepEqual(await refusalOf(await actor.request(method, path, body)), unavailable)
    assert.equal(await dumpOf(database.url), before)
    assert.equal(await (await actor.request('GET', '/properties/a')).text(), 'small')
    assert.deepEqual(await (await actor.request('GET', '/properties?format=full')).json(), { a: 'small' })
    disk.setPragma('PRAGMA max_page_count = 1000000')
    assert.equal((await actor.request('PUT', '/properties/a', large)).status, 204)
    assert.equal(await (await actor.request('GET', '/properties/a')).text(), large)
    assert.deepEqual(await violationsIn(database.url), [])
  })

  it('by a removed file gives 503, fails the readiness check and logs the cause (DUR-07)', async (t) => {
    const database = await createTestDatabase('sqlite')
    const service = await startService(database.url)
    t.after(async () => {
      await service.close()
      await database.remove()
    })
    const path = database.url.slice('sqlite:'.length)
    const actor = await service.createActor()
    service.reset()
    await rename(path, `${path}.away`)
    assert.deepEqual(await refusalOf(await actor.request('PUT', '/properties/a', 'x')), unavailable)
    assert.deepEqual(await refusalOf(await actor.request('GET', '/properties')), unavailable)
    assert.deepEqual(await refusalOf(await service.request('/health/ready')), unavailable)
    assert.equal((await service.request('/health/live')).status, 200)
    const reported = service.log.filter((line) => line.includes(`The database file ${path} was removed while in use`))
    assert.ok(reported.length > 0)
    await rename(`${path}.away`, path)
    assert.equal(await health(service), 200)
    assert.equal((await actor.request('PUT', '/properties/a', 'x')).status, 204)
    assert.deepEqual(await violationsIn(database.url), [])
  })

  it('by a read-only volume rejects changes with 503, keeps reads working and fails the readiness check (DUR-07)', async (t) => {
    const { service, disk, database } = await startOnDisk(t)
    const actor = await service.createActor()
    assert.equal((await actor.request('PUT', '/properties/a', 'before')).status, 204)
    disk.setPragma('PRAGMA query_only = ON')
    assert.deepEqual(await refusalOf(await actor.request('PUT', '/properties/a', 'x')), unavailable)
    assert.deepEqual(await refusalOf(await service.request('/health/ready')), unavailable)
    assert.equal(await (await actor.request('GET', '/properties/a')).text(), 'before')
    disk.setPragma('PRAGMA query_only = OFF')
    assert.equal(await health(service), 200)
    assert.equal((await actor.request('PUT', '/properties/a', 'x')).status, 204)
    assert.deepEqual(await violationsIn(database.url), [])
  })
})

/** Holds the lock that every change needs, as another program on the same database may. */
async function lockedBy(database: string, actorId: string): Promise<{ release(): Promise<void> }> {
  if (database.startsWith('sqlite:')) {
    const other = new DatabaseSync(database.slice('sqlite:'.length))
    other.exec('BEGIN IMMEDIATE')
    return { release: async () => other.close() }
  }
  const other = new pg.Client({ connectionString: database, options: '-c search_path=troupe' })
  await other.connect()
  await other.query('BEGIN')
  await other.query('SELECT 1 FROM actor WHERE id = $1 FOR UPDATE', [actorId])
  return { release: () => other.end() }
}

describe('a lock that another program holds', () => {
  forEachService((start) => {
    it('beyond the time limit gives 503 with Retry-After, changes nothing and does not affect reads (DUR-08)', async () => {
      const service = await start()
      const impatient = await start({ database: service.databaseUrl, storeTimeoutSeconds: 1 })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { a: 'before', log: { _type: 'list' } })
      const before = await dumpOf(service.databaseUrl)
      const lock = await lockedBy(service.databaseUrl, actor.id)
      const attempt = (method: string, path: string, body?: unknown): Promise<Response> =>
        impatient.request(`/${actor.id}${path}`, {
          method,
          headers: { authorization: actor.authorization, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
      const attempts = [
        attempt('PUT', '/properties/a', 'x'),
        attempt('PUT', '/properties/b/c', 'x'),
        attempt('POST', '/properties', { a: 'x', email: 'x@example.com' }),
        attempt('POST', '/properties/log', 'x'),
        attempt('DELETE', '/properties/a'),
        attempt('DELETE', ''),
      ]
      assert.equal(await (await actor.request('GET', '/properties/a')).text(), 'before')
      assert.equal(await health(service), 200)
      for (const answer of attempts) assert.deepEqual(await refusalOf(await answer), unavailable)
      await lock.release()
      assert.equal(await dumpOf(service.databaseUrl), before)
      assert.equal((await actor.request('PUT', '/properties/a', 'after')).status, 204)
    })
  })
})

describe('database connections that are all busy', () => {
  it('give 503 quickly to waiting requests, and serve again when one is free (DUR-15)', async (t) => {
    const database = await createTestDatabase('postgres')
    const held = new Set<string>()
    const holding: (() => void)[] = []
    let isReleased = false
    /** Changes of the actors in `held` keep their transactions open until `release()`. */
    const wrapStore = (store: Store): Store => ({
      ...bound(store),
      writeActor: (actorId, work, origin) =>
        store.writeActor(
          actorId,
          async (tx, actor) => {
            const result = await work(tx, actor)
            if (held.has(actorId)) {
              holding.pop()?.()
              // A transaction without statements would be ended by the server.
              await until(async () => {
                await tx.get('SELECT 1 AS one')
                return isReleased
              })
            }
            return result
          },
          origin,
        ),
    })
    const service = await startService(database.url, { workers: 2, storeTimeoutSeconds: 3, wrapStore })
    t.after(async () => {
      await service.close()
      await database.remove()
    })
    const holders = [await service.createActor('held 1'), await service.createActor('held 2')]
    const others = []
    for (let count = 0; count < 220; count++) others.push(await service.createActor(`other ${count}`))
    const inside = holders.map(({ id }) => {
      held.add(id)
      return new Promise<void>((resolve) => holding.push(resolve))
    })
    const changes = holders.map((holder) => holder.request('PUT', '/properties/p', 'x'))
    await Promise.all(inside)

    const before = await dumpOf(database.url)
    const refused = await Promise.all(others.map((other) => other.request('PUT', '/properties/p', 'x')))
    for (const answer of refused) assert.deepEqual(await refusalOf(answer), unavailable)
    assert.equal((await others[0]?.request('GET', '/properties'))?.status, 200)
    await until(async () => (await health(service)) === 200)
    assert.equal(await dumpOf(database.url), before)

    isReleased = true
    for (const change of changes) assert.equal((await change).status, 204)
    for (const other of others) assert.equal((await other.request('PUT', '/properties/p', 'x')).status, 204)
  })

  forEachService((start, dialect) => {
    it('do not leak after 10 000 failed requests (DUR-15)', async () => {
      const service = await start({ workers: 4 })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { a: 'kept', log: { _type: 'list' } })
      const before = await dumpOf(service.databaseUrl)
      const attempts: readonly (() => Promise<Response>)[] = [
        () => actor.request('PUT', '/properties/log', 'x'),
        () => actor.request('POST', '/properties', { b: 1, log: 2 }),
        () => actor.request('PUT', '/properties/log/7', 'x'),
        () => actor.request('PUT', '/properties/a/b', 'x'),
        () => actor.request('DELETE', '/properties/none/key'),
      ]
      const statuses = new Map<number, number>()
      for (let round = 0; round < 100; round++) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => attempts.map((attempt) => attempt())).flat())
        for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
      assert.deepEqual(Object.fromEntries(statuses), { 404: 4_000, 409: 6_000 })
      assert.equal(await dumpOf(service.databaseUrl), before)
      assert.equal((await actor.request('PUT', '/properties/a', 'x')).status, 204)
      if (dialect === 'postgres') {
        const states = await sessionStates(service.databaseUrl)
        // The pool has four connections for changes and two for reads.
        assert.ok(states.length <= 6, `${states.length} connections`)
        // Background work uses a connection now and then.
        await until(async () => (await sessionStates(service.databaseUrl)).every((state) => state === 'idle'))
      }
    })
  })
})

/** Returns the state of each database connection of the service. */
async function sessionStates(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ state: string }>(
    `SELECT CASE WHEN wait_event_type = 'Lock' THEN 'waits for a lock' ELSE state END AS state FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'troupe'`,
  )
  await client.end()
  return rows.map(({ state }) => state)
}
