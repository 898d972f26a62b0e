/** Rows of a deleted actor on other servers of a Citus cluster. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'

const tables = ['token', 'one_time', 'oauth_client'] as const

describe('an actor that is deleted on a cluster', () => {
  let cluster: Cluster
  let services: TestService[]

  before(async () => {
    cluster = await createCluster()
    services = [await startService(cluster.url)]
  })

  after(async () => {
    for (const service of services) await service.close()
    await cluster.remove()
  })

  /** Creates an actor with two sessions, a link for its address and a client. */
  async function createOwner(creator: string): Promise<TestActor> {
    const [service] = services
    assert.ok(service !== undefined)
    const actor = await service.createActor(creator)
    for (let session = 0; session < 2; session += 1) {
      const answer: Response = await service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }),
      })
      assert.equal(answer.status, 200)
    }
    const handle = await service.app.actors.get(actor.id)
    await handle?.clients.create({ name: 'Reader' })
    await cluster.query(
      `INSERT INTO one_time (hash, purpose, actor_id, provider, data, expires_at) VALUES ($1, 'test', $2, '', '', $3)`,
      [`hash of ${actor.id}`, actor.id, Date.now() + 86_400_000],
    )
    return actor
  }

  async function rowsOf({ id }: TestActor): Promise<Record<string, number>> {
    const counts = await Promise.all(
      tables.map(async (table) => {
        const [row] = await cluster.query<{ rows: number }>(
          `SELECT count(*)::int AS rows FROM ${table} WHERE actor_id = $1`,
          [id],
        )
        return [table, row?.rows ?? -1] as const
      }),
    )
    return Object.fromEntries(counts)
  }

  it('leaves no token, one-time record or client, and others keep theirs', async () => {
    const [service] = services
    const [leaving, staying] = [await createOwner('leaving@example.com'), await createOwner('staying@example.com')]
    assert.deepEqual(await rowsOf(leaving), { token: 4, one_time: 1, oauth_client: 1 })
    assert.equal((await leaving.request('DELETE', '')).status, 204)
    await (await service?.app.running())?.parts.deletedOwners.settled()
    assert.deepEqual(await rowsOf(leaving), { token: 0, one_time: 0, oauth_client: 0 })
    assert.deepEqual(await rowsOf(staying), { token: 4, one_time: 1, oauth_client: 1 })
  })

  it('loses the rest at the next purge when its process stopped in between', async () => {
    const leaving = await createOwner('late@example.com')
    const rows = await rowsOf(leaving)
    // The rows of a process that stopped right after the deletion.
    await cluster.query('DELETE FROM actor WHERE id = $1', [leaving.id])
    await cluster.query('INSERT INTO deleted_actor (id, deleted_at) VALUES ($1, $2)', [leaving.id, Date.now()])
    assert.deepEqual(await rowsOf(leaving), rows)
    const restarted = await startService(cluster.url)
    services.push(restarted)
    const { parts } = await restarted.app.running()
    parts.purge.occasionally()
    await parts.purge.settled()
    await parts.deletedOwners.settled()
    assert.deepEqual(await rowsOf(leaving), { token: 0, one_time: 0, oauth_client: 0 })
  })

  it('that was created again with its id keeps its new rows', async () => {
    const [service] = services
    assert.ok(service !== undefined)
    const actor = await createOwner('again@example.com')
    const { parts, store } = await service.app.running()
    await cluster.query('DELETE FROM deleted_actor')
    await store.write((tx) => parts.deletedOwners.follow(tx, [actor.id]))
    await parts.deletedOwners.settled()
    assert.deepEqual(await rowsOf(actor), { token: 4, one_time: 1, oauth_client: 1 })
  })
})
