/** Reads from a real read replica, which streams from its server. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { openReadReplicas } from '../../src/open-store.ts'
import { administer, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { relate } from '../support/friends.ts'
import { type StartOptions, startService, type TestActor, type TestService } from '../support/service.ts'
import { createPostgresDatabase, createTestDatabase, forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

describe('a read replica', () => {
  let server: PostgresServer
  let replica: PostgresServer
  before(async () => {
    server = await startPostgres()
    replica = await server.replica()
  })
  after(async () => {
    await replica.remove()
    await server.remove()
  })

  /** Starts a service with an actor whose property `a` is "one", and waits until the replica serves it. */
  async function startWithReplica(options: StartOptions = {}): Promise<{ service: TestService; actor: TestActor }> {
    const { url } = await createPostgresDatabase(server.url)
    const service = await startService(url, { readReplicas: [replicaOf(url)], ...options })
    const actor = await service.createActor()
    await actor.request('PUT', '/properties/a', 'one')
    await until(async () => (await get(actor, 600)).age !== null)
    return { service, actor }
  }

  const replicaOf = (url: string): string => {
    const address = new URL(url)
    address.port = new URL(replica.url).port
    return address.href
  }

  /** Reads `a`, and accepts old data of `seconds`. */
  async function get(actor: TestActor, seconds?: number): Promise<{ value: string; age: string | null }> {
    const headers = seconds === undefined ? {} : { 'Cache-Control': `max-stale=${seconds}` }
    const response = await actor.request('GET', '/properties/a', undefined, headers)
    return { value: await response.text(), age: response.headers.get('age') }
  }

  async function pauseReplay(): Promise<void> {
    await administer(replica.url, 'SELECT pg_wal_replay_pause()')
    const client = new pg.Client({ connectionString: replica.url })
    await client.connect()
    await until(async () => {
      const { rows } = await client.query<{ state: string }>('SELECT pg_get_wal_replay_pause_state() AS state')
      return rows[0]?.state === 'paused'
    })
    await client.end()
  }
  const resumeReplay = () => administer(replica.url, 'SELECT pg_wal_replay_resume()')

  it('answers the owner and the application where they accept old data, and says how old', async (t) => {
    const { service, actor } = await startWithReplica()
    t.after(() => service.close())
    await pauseReplay()
    t.after(resumeReplay)
    await actor.request('PUT', '/properties/a', 'two')
    await actor.request('PUT', '/properties/b', 'new')

    assert.deepEqual(await get(actor), { value: 'two', age: null })
    const old = await get(actor, 600)
    assert.equal(old.value, 'one')
    assert.match(old.age ?? '', /^\d+$/)
    const listing = await actor.request('GET', '/properties', undefined, {
      'Cache-Control': 'no-transform, max-stale=600',
    })
    assert.deepEqual(await listing.json(), { a: 'one' })

    const handle = await service.app.actors.get(actor.id)
    assert.ok(handle)
    const stale = handle.within({ seconds: 600 })
    assert.equal(stale.ageSeconds(), 0)
    assert.equal(await stale.get('a'), 'one')
    assert.deepEqual(await stale.all(), { a: 'one' })
    assert.ok(stale.ageSeconds() > 0)
    assert.equal(await handle.get('a'), 'two')
    assert.deepEqual(await handle.within({ seconds: 0 }).all(), { a: 'two', b: 'new' })
  })

  it('never decides about a credential, and never answers a peer', async (t) => {
    const { service, actor } = await startWithReplica({ listen: true })
    t.after(() => service.close())
    const { secret } = await relate(await service.createActor('friend'), [service, actor], 'admin')
    await pauseReplay()
    t.after(resumeReplay)
    await actor.request('PUT', '/properties/a', 'two')

    const read = await service.request(`/${actor.id}/properties/a`, {
      headers: { Authorization: `Bearer ${secret}`, 'Cache-Control': 'max-stale=600' },
    })
    assert.equal(read.status, 200)
    assert.equal(await read.text(), 'two')
    assert.equal(read.headers.get('age'), null)

    assert.equal((await actor.request('DELETE', '')).status, 204)
    const gone = await actor.request('GET', '/properties/a', undefined, { 'Cache-Control': 'max-stale=600' })
    assert.equal(gone.status, 404)
  })

  it('does not answer with data that is older than the request accepts', async (t) => {
    let time = 1_900_000_000_000
    const { service, actor } = await startWithReplica({ now: () => time })
    t.after(() => service.close())
    await pauseReplay()
    t.after(resumeReplay)
    await actor.request('PUT', '/properties/a', 'two')
    time += 10_000
    assert.deepEqual(await get(actor, 9), { value: 'two', age: null })
    assert.deepEqual(await get(actor, 10), { value: 'one', age: '10' })
    assert.deepEqual(await get(actor, 600), { value: 'one', age: '10' })
  })

  it('is replaced by the database while it is stopped, and serves again afterwards', async (t) => {
    const { service, actor } = await startWithReplica()
    t.after(() => service.close())
    await replica.stop('fast')
    await actor.request('PUT', '/properties/a', 'two')
    assert.deepEqual(await get(actor, 600), { value: 'two', age: null })
    const warnings = service.log.filter((line) => line.includes('The read replica 127.0.0.1:'))
    assert.equal(warnings.length, 1)
    assert.deepEqual(await get(actor, 600), { value: 'two', age: null })
    assert.equal(service.log.filter((line) => line.includes('The read replica 127.0.0.1:')).length, 1)
    await replica.start()
    // Real time: the service uses a failed replica again after five seconds.
    await until(async () => (await get(actor, 600)).age !== null)
  })
})

describe('without a read replica', () => {
  forEachStore((_dialect, open) => {
    it('the database answers at once', async () => {
      const replicas = await openReadReplicas(await open(), [])
      const reads = replicas.within(60_000)
      assert.deepEqual(await reads.read((q) => q.all('SELECT id FROM actor')), [])
      assert.deepEqual(await reads.snapshot((q) => q.all('SELECT id FROM actor')), [])
      assert.equal(reads.ageMs, null)
      await replicas.close()
    })
  })

  it('the start refuses replicas of SQLite', async () => {
    const database = await createTestDatabase('sqlite')
    try {
      await assert.rejects(startService(database.url, { readReplicas: ['postgres://me:hunter2@127.0.0.1/notes'] }), {
        name: 'StoreStartError',
        message: 'Cannot use read replicas: the database is SQLite; set DATABASE_URL to a PostgreSQL.',
      })
    } finally {
      await database.remove()
    }
  })
})
