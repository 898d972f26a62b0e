import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PeerClient, PeerRequest } from '../../src/peer/peer-client.ts'
import {
  type BatchOutcome,
  commitOutcomes,
  hurryRepairs,
  type QueueKey,
  repairFirst,
} from '../../src/publication/queue-store.ts'
import type { Store, Transaction } from '../../src/store/store.ts'
import { onShards } from '../support/citus.ts'
import { explained, type Plan } from '../support/explained.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { StoreActivity } from '../support/store-activity.ts'
import { until } from '../support/until.ts'

/** Peers that answer no request until `open`, and then all requests at once. */
class GatedPeers implements PeerClient {
  readonly #gate = Promise.withResolvers<void>()
  calls = 0

  open(): void {
    this.#gate.resolve()
  }

  readonly hosts: string[] = []

  async call({ url }: PeerRequest) {
    this.calls += 1
    this.hosts.push(new URL(url).host)
    await this.#gate.promise
    return { kind: 'answered', status: 204, headers: {}, body: '' } as const
  }

  async close(): Promise<void> {
    this.open()
  }
}

async function subscribers(service: TestService, actor: TestActor, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const peer = await relateTo(service, actor, { baseuri: `http://peer${n}.test/them` })
    await peer.subscribe({ granularity: 'high' })
  }
}

async function waiting(store: Store): Promise<number> {
  const row = await store.read((q) =>
    q.get<{ queues: number }>('SELECT COUNT(*) AS queues FROM publisher_subscription WHERE due_at IS NOT NULL'),
  )
  return row?.queues ?? 0
}

forEachService((start, dialect) => {
  describe('the number of delivery statements', () => {
    /** On a sharded database, the process also claims the queues and the notices of the actor that was changed. */
    const expected = onShards() ? 8 : 6
    /** Returns the statements from the first response until all queues are empty: one diff of each peer is in flight, the rest wait. */
    async function statementsOf(peers: number, numbers: number): Promise<string[]> {
      const client = new GatedPeers()
      const service = await start({ peerClient: client, timers: stoppedTimers, now: () => 1_900_000_000_000 })
      const actor = await service.createActor()
      await subscribers(service, actor, peers)
      await actor.request('PUT', '/properties/mood', 0)
      await until(() => client.calls === peers)
      for (let n = 1; n < numbers; n++) await actor.request('PUT', '/properties/mood', n)
      const { store } = await service.app.running()
      service.reset()
      client.open()
      await until(async () => (await waiting(store)) === 0)
      assert.equal(client.calls, peers * numbers)
      // Each write makes the worker query the earliest due time; the test does not count these queries.
      return service.backgroundStatements.filter(
        (sql) => sql.startsWith('/* delivery */') && !sql.includes('MIN(due_at)'),
      )
    }

    for (const [peers, numbers] of [
      [1, 2],
      [1, 16],
      [10, 2],
      [10, 16],
    ] as const) {
      it(`is ${expected} for ${peers} queues with ${numbers} diffs each`, async () => {
        const statements = await statementsOf(peers, numbers)
        assert.equal(statements.length, expected, statements.join('\n'))
      })
    }
  })
  describe('an idle subscription', () => {
    const hourMs = 3_600_000

    /** Returns the statements and the requests of a day without a change, after a change that arrived. */
    async function dayWith(count: number) {
      const [clock, client] = [new ManualClock(), new ScriptedPeers()]
      const service = await start({ peerClient: client, now: clock.now, timers: clock.timers, random: () => 0.5 })
      const actor = await service.createActor()
      for (let n = 0; n < count; n++) {
        const peer = await listenTo(service, actor, { id: `sub${n}` })
        client.answers.set(
          `POST /callbacks/subscriptions/${actor.id}/${await peer.subscribe({ granularity: 'high' })}`,
          { status: 204 },
        )
        assert.equal((await peer.diff(1, { mood: n })).status, 204)
      }
      assert.equal((await actor.request('PUT', '/properties/mood', 'sunny')).status, 204)
      const pass = async (hours: number): Promise<void> => {
        for (let hour = 0; hour < hours; hour++) {
          clock.pass(hourMs)
          await service.settled()
        }
      }
      // The facts about a new peer are fetched once, and records of its last access are written late.
      await pass(24)
      service.reset()
      client.calls.length = 0
      await pass(24)
      // How often a worker looks within a jump of the clock depends on the speed of the machine.
      return { statements: new Set([...service.statements, ...service.backgroundStatements]), asked: client.asked }
    }

    it('costs no statement and no request, on either side (SUB-29)', async () => {
      const without = await dayWith(0)
      for (const count of [1, 5]) {
        const { statements, asked } = await dayWith(count)
        assert.deepEqual([[...statements.difference(without.statements)], asked], [[], []])
      }
    })
  })
  describe('a batch without an attempt', () => {
    const [now, later] = [1_900_000_000_000, 1_900_000_500_000]

    /** The times of the next look and of the repair, after something happened while the batch ran. */
    async function endedWith(
      next: BatchOutcome['next'],
      meanwhile: (tx: Transaction, queue: QueueKey) => Promise<void>,
    ): Promise<unknown> {
      const service = await start({ peerClient: new GatedPeers(), timers: stoppedTimers, now: () => now })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: 'http://peer.test/them' })
      const subscriptionId = await peer.subscribe({ granularity: 'high' })
      const queue = { actorId: actor.id, peerId: peer.peerId, subscriptionId }
      const { store } = await service.app.running()
      const key = [queue.actorId, queue.peerId, queue.subscriptionId]
      const ofQueue = 'WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = $3'
      await store.write(async (tx) => {
        await tx.run(
          `UPDATE publisher_subscription SET repair_at = $4, leased_until = $5, due_at = $5 ${ofQueue}`,
          ...key,
          later,
          now + 60_000,
        )
        await meanwhile(tx, queue)
        const repair = { at: later, failures: 1 }
        const before = { committed: 0, tries: 0, uncertain: 0, failingSince: now, state: 'live' } as const
        const outcome = { queue, leasedUntil: now + 60_000, ...before, repair, repairWasAt: later, next }
        await commitOutcomes(tx, [{ ...outcome, attempts: [], circuit: null }], now)
      })
      return store.read((q) =>
        q.get(`SELECT due_at AS due, repair_at AS repair FROM publisher_subscription ${ofQueue}`, ...key),
      )
    }

    const nothing = async (): Promise<void> => {}
    const approval = (tx: Transaction, queue: QueueKey): Promise<void> => repairFirst(tx, queue, now)
    const retry = (tx: Transaction, queue: QueueKey): Promise<void> => hurryRepairs(tx, queue, now)
    for (const [what, meanwhile, ended] of [
      ['an approval', approval, { due: 0, repair: 0 }],
      ['a retry by the owner', retry, { due: now, repair: now }],
    ] as const)
      it(`keeps the repair that ${what} made due, whatever the batch found (SUB-23)`, async () => {
        for (const next of ['idle', 'now', later] as const)
          assert.deepEqual(await endedWith(next, meanwhile), ended, String(next))
      })

    it('leaves the repair at its time when nothing happened meanwhile (SUB-23)', async () => {
      assert.deepEqual(await endedWith('idle', nothing), { due: null, repair: later })
      assert.deepEqual(await endedWith('now', nothing), { due: later, repair: later })
    })
  })

  describe('a host with more peers than connections', () => {
    /** `pass` advances the clock only while the service is idle, because otherwise leases would expire on a slow machine. */
    async function gatedWorld() {
      const [client, clock, activity] = [new GatedPeers(), new ManualClock(), new StoreActivity()]
      const service = await start({
        peerClient: client,
        timers: clock.timers,
        now: clock.now,
        wrapStore: activity.wrap,
        shutdownSeconds: 0,
      })
      const { store } = await service.app.running()
      const pass = async (ms: number): Promise<void> => {
        await activity.idle()
        clock.pass(ms)
        await activity.idle()
      }
      return { client, clock, pass, service, store }
    }
    /** Creates five actors with ten peers each at one host, and one actor with a peer at another host. */
    async function crowd() {
      const world = await gatedWorld()
      const { client, service } = world
      for (let n = 0; n < 5; n++) {
        const actor = await service.createActor(`busy${n}@example.com`)
        for (let peer = 0; peer < 10; peer++) {
          const there = await relateTo(service, actor, { baseuri: `http://crowded.test/peer${peer}` })
          await there.subscribe({ granularity: 'high' })
        }
        await actor.request('PUT', '/properties/mood', n)
      }
      const quiet = await service.createActor('quiet@example.com')
      await subscribers(service, quiet, 1)
      await until(() => client.calls === 32)
      await quiet.request('PUT', '/properties/mood', 1)
      await until(() => client.calls === 33)
      return world
    }
    const tried = async (store: Store): Promise<unknown> =>
      store.read((q) =>
        q.all('SELECT sequence FROM publisher_subscription WHERE attempts > 0 OR failing_since IS NOT NULL'),
      )

    it('receives one call for each connection, delays no other host, and marks no waiting queue as failing (SUB-14)', async () => {
      const { client, pass, store } = await crowd()
      assert.deepEqual(client.hosts.slice(32), ['peer0.test'])
      for (let second = 0; second < 12; second++) await pass(1000)
      assert.equal(client.calls, 33, 'queues that waited too long for a connection gave up and wait again')
      assert.deepEqual(await tried(store), [])
      client.open()
      await until(async () => {
        await pass(1000)
        return (await waiting(store)) === 0
      })
      assert.equal(client.calls, 51)
      assert.deepEqual(await tried(store), [])
    })

    it('blocks no other host, even when more queues wait for it than one process holds (SUB-14)', async () => {
      const { client, clock, pass, service, store } = await gatedWorld()
      for (let n = 0; n < 30; n++) {
        const actor = await service.createActor(`busy${n}@example.com`)
        const peer = await relateTo(service, actor, { baseuri: 'http://crowded.test/them' })
        const copied = await peer.subscribe({ granularity: 'high' })
        await store.write((tx) =>
          tx.run(
            `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource,
               granularity, created_at)
             SELECT $3, peer_id, 'copy ' || r.number, target, subtarget, resource, granularity, created_at
             FROM rows($1, number BIGINT) AS r, publisher_subscription
             WHERE actor_id = $3 AND subscription_id = $2`,
            JSON.stringify(Array.from({ length: 20 }, (_, index) => [index])),
            copied,
            actor.id,
          ),
        )
        await actor.request('PUT', '/properties/mood', n)
      }
      await until(() => client.calls === 32)
      const quiet = await service.createActor('quiet@example.com')
      await subscribers(service, quiet, 1)
      await quiet.request('PUT', '/properties/mood', 1)
      const before = clock.now()
      await until(async () => {
        await pass(500)
        return client.calls > 32
      })
      assert.deepEqual(client.hosts.slice(32), ['peer0.test'])
      assert.ok(clock.now() - before <= 10_000, `after ${clock.now() - before} ms`)
      assert.deepEqual(await tried(store), [])
    })

    it('does not delay a shutdown, because queues that wait for a connection give up at once (OPS-03)', async () => {
      const { client, clock, service } = await crowd()
      let isStopped = false
      void service.close().then(() => (isStopped = true))
      await until(() => {
        clock.pass(1)
        return isStopped
      })
      assert.equal(client.calls, 33)
      const next = await start({ database: service.databaseUrl, peerClient: client, now: () => 1_900_000_100_000 })
      await until(() => client.calls >= 51)
      assert.notEqual(next, service)
    })
  })
  // Citus plans no EXPLAIN whose statement has parameters.
  if (!onShards()) {
    describe('a change and its delivery', () => {
      it('find every row by a key, so that their cost does not depend on other subscriptions', async () => {
        const plans: Plan[] = []
        const client = new GatedPeers()
        client.open()
        const service = await start({
          peerClient: client,
          timers: stoppedTimers,
          now: () => 1_900_000_000_000,
          wrapStore: (store) => explained(store, (plan) => plans.push(plan)),
        })
        const actor = await service.createActor()
        await subscribers(service, actor, 3)
        const { store } = await service.app.running()
        plans.length = 0
        assert.equal((await actor.request('PUT', '/properties/mood', 'sunny')).status, 204)
        await until(async () => (await waiting(store)) === 0)
        const seen = plans.filter(({ sql }) => !sql.includes('COUNT(*)'))
        assert.deepEqual(
          [
            'INSERT INTO diff',
            'UPDATE publisher_subscription',
            'FROM permission_override',
            'WITH queue',
            'UPDATE delivery',
          ].filter((part) => !seen.some(({ sql }) => sql.includes(part))),
          [],
        )
        // A scan may read parameters and intermediate results, but no table.
        const scan = dialect === 'sqlite' ? /^SCAN (?!json_each|CONSTANT ROW|queue|waiting|\(subquery)/ : /Seq Scan on/
        assert.deepEqual(
          seen.flatMap(({ sql, lines }) => lines.filter((line) => scan.test(line)).map((line) => `${line}: ${sql}`)),
          [],
        )
      })
    })
  }
})
