/** The requests of every route on a Citus cluster use few shards, however many the cluster has. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { everything, TestCallers } from '../support/callers.ts'
import { type Cluster, createCluster } from '../support/cluster.ts'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { registerClient } from '../support/oauth-client.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes, sampleOf } from '../support/routes.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { ShardWatch } from '../support/shard-watch.ts'

/**
 * The tables by whose keys the sample request of a route finds its shards: `actor` and `name` are groups of tables with the same
 * key. A request that names an actor uses one shard, and one more for each look-up or record that has another key.
 * Routes that are not listed use the shard of their actor, or none without an actor.
 */
const more: Readonly<Record<string, readonly string[]>> = {
  createActor: ['actor', 'name'],
  createKey: ['actor', 'token'],
  // Counts the rows of all shards: operators read the metrics, at their own intervals.
  metrics: ['actor', 'actor', 'actor', 'actor'],
  registerClient: ['actor', 'oauth_client'],
  revokeToken: ['token'],
  revokeSpaToken: ['token'],
  exchangeSpaSession: ['one_time'],
  enterEmail: ['one_time'],
  verifyEmail: ['actor', 'one_time'],
  spaToken: ['token'],
  deleteActor: ['actor', 'name'],
  connectService: ['actor', 'one_time'],
  deviceForm: ['one_time'],
  // These routes name an actor after the path that they share.
  sendMovedArchive: ['actor'],
  activateMove: ['actor'],
  cancelMove: ['actor'],
  getMove: ['actor'],
  moveClaimPage: ['actor'],
  getArrivedReaders: ['actor'],
  takeArrivedActor: ['actor'],
}

describe('a request on a cluster', () => {
  const callers = new TestCallers()
  let cluster: Cluster
  let watch: ShardWatch
  let service: TestService

  before(async () => {
    cluster = await createCluster()
    watch = await ShardWatch.start(cluster)
    service = await startService(cluster.url, {
      ...callers.parts,
      peerProfileAttributes: [],
      peerClient: new FakePeers(),
      timers: stoppedTimers,
      declare: (app) => declareAll(app),
    })
    await registerClient(service)
  })

  after(async () => {
    await service.close()
    watch.stop()
    await cluster.remove()
  })

  async function shardsOf(
    route: (typeof routes)[number],
    actor: TestActor,
    authorization: string,
  ): Promise<readonly string[]> {
    await service.settled()
    watch.take()
    const [path, init] = requestOf(route, actor.id, { authorization })
    const answer = await service.request(path, { ...init, method: route.method })
    await answer.text()
    return watch.take()
  }

  for (const route of routes) {
    const expected = more[route.id] ?? (isBelowActor(route) ? ['actor'] : [])
    it(`uses the shards ${expected.join(', ') || 'of no table'} for ${route.id}`, async () => {
      const actor = await service.createActor(`${route.id}@example.com`)
      await furnish(actor)
      assert.deepEqual(await shardsOf(route, actor, actor.authorization), expected)
      if (sampleOf(route).peer !== undefined) return
      const peer = callers.peer(actor.id, { grants: everything })
      const used = await shardsOf(route, actor, `Bearer ${peer}`)
      assert.ok(used.length <= Math.max(expected.length, 1), `a peer uses ${used.join(', ')}`)
    })
  }

  it('uses, for the page of connected apps, one statement and the shards of the clients that it shows', async () => {
    const actor = await service.createActor('apps@example.com')
    const browser = await OwnersBrowser.open(service, actor)
    const [first, second] = await clientsByShard()
    for (const clientId of [...first, ...second]) await authorizeClient(service, actor, { clientId })
    await service.settled()
    watch.take()
    service.reset()
    const answer = await browser.get('/apps')
    assert.equal(answer.status, 200)
    await answer.text()
    assert.deepEqual(watch.take(), ['actor', 'oauth_client', 'oauth_client', 'token'])
    assert.equal(service.statements.filter((sql) => sql.includes('FROM oauth_client')).length, 1)
  })

  /** Ids of clients for two of the four shards, two for each. */
  async function clientsByShard(): Promise<readonly [first: readonly string[], second: readonly string[]]> {
    const placed = await cluster.query<{ id: string; shard: string }>(
      `SELECT 'app-' || n AS id, get_shard_id_for_distribution_column('oauth_client', 'app-' || n)::text AS shard
       FROM generate_series(1, 100) AS n`,
    )
    const [first = [], second = []] = [...Map.groupBy(placed, ({ shard }) => shard).values()]
    const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.slice(0, 2).map(({ id }) => id)
    return [idsOf(first), idsOf(second)]
  }
})
