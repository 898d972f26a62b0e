import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PeerClient, PeerOutcome } from '../../src/peer/peer-client.ts'
import type { Store } from '../../src/store/store.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'

const unavailable: PeerOutcome = { kind: 'answered', status: 503, headers: {}, body: '' }
const arrived: PeerOutcome = { kind: 'answered', status: 204, headers: {}, body: '' }

/** A peer whose calls take as long as several store reads, so that calls overlap as much as possible. */
class FailingPeer implements PeerClient {
  outcome = unavailable
  store: Store | undefined
  calls = 0
  maxAtOnce = 0
  #open = 0

  async call(): Promise<PeerOutcome> {
    this.calls += 1
    this.#open += 1
    this.maxAtOnce = Math.max(this.maxAtOnce, this.#open)
    for (let reads = 0; reads < 10; reads++) await this.store?.read((q) => q.get('SELECT 1 AS one'))
    this.#open -= 1
    return this.outcome
  }

  async close(): Promise<void> {}
}

interface World {
  readonly services: readonly TestService[]
  readonly remote: FailingPeer
  readonly clock: ManualClock
  readonly store: Store
  /** Makes one change, which every subscription of the peer must deliver. */
  readonly write: (value: number) => Promise<void>
}

async function circuitOf(store: Store): Promise<{ failures: number; isOpen: boolean }> {
  const row = await store.read((q) =>
    q.get<{ failures: number; open_until: number | null }>('SELECT failures, open_until FROM trust'),
  )
  return { failures: row?.failures ?? 0, isOpen: (row?.open_until ?? null) !== null }
}

forEachService((start) => {
  async function open(subscriptions: number, processes: number, options: StartOptions = {}): Promise<World> {
    const [remote, clock] = [new FailingPeer(), new ManualClock()]
    const common = { peerClient: remote, now: clock.now, timers: clock.timers, random: () => 0.5, ...options }
    const first = await start(common)
    const others = Array.from({ length: processes - 1 }, () => start({ ...common, database: first.databaseUrl }))
    const services = [first, ...(await Promise.all(others))]
    const actor = await first.createActor()
    const { store } = await first.app.running()
    remote.store = store
    const peer = await relateTo(first, actor, { baseuri: 'http://failing.test/them' })
    for (let n = 0; n < subscriptions; n++) await peer.subscribe({ granularity: 'high' })
    return {
      services,
      remote,
      clock,
      store,
      write: async (value) => {
        assert.equal((await actor.request('PUT', '/properties/mood', value)).status, 204)
      },
    }
  }

  function pass({ clock, services }: World, holds: () => boolean | Promise<boolean>, stepMs = 50): Promise<void> {
    return passUntil(clock, services, holds, stepMs)
  }

  describe('the circuit of a peer with several subscriptions', () => {
    const cases: readonly [
      title: string,
      subscriptions: number,
      processes: number,
      options: StartOptions,
      calls: number,
    ][] = [
      ['10 subscriptions', 10, 1, {}, 5],
      ['3 subscriptions', 3, 1, {}, 5],
      ['20 subscriptions and room for 100 calls of the actor', 20, 1, { maxConcurrentCallbacks: 100 }, 5],
      ['10 subscriptions and a threshold of 1', 10, 1, { circuitThreshold: 1 }, 1],
      ['10 subscriptions and a threshold of 2', 10, 1, { circuitThreshold: 2 }, 2],
      ['10 subscriptions in two processes', 10, 2, {}, 5],
    ]
    for (const [title, subscriptions, processes, options, calls] of cases) {
      it(`opens after exactly ${calls} failed calls, with ${title} (SUB-06, R-SUB-10)`, async () => {
        const world = await open(subscriptions, processes, options)
        const { remote, clock, store, write } = world
        await write(1)
        await pass(world, async () => (await circuitOf(store)).isOpen)
        const opened = clock.now()
        // Calls in progress and scheduled retries would arrive within this time.
        await pass(world, () => clock.now() >= opened + 25_000, 1000)
        assert.equal(remote.calls, calls)
        assert.deepEqual(await circuitOf(store), { failures: calls, isOpen: true })
        assert.ok(clock.now() - opened < 60_000)
      })
    }

    it('allows one probe a minute over all subscriptions (SUB-06)', async () => {
      const world = await open(10, 1)
      const { remote, clock, store, write } = world
      await write(1)
      await pass(world, async () => (await circuitOf(store)).isOpen)
      await pass(world, () => remote.calls === 6, 500)
      const probed = clock.now()
      await pass(world, () => clock.now() >= probed + 25_000, 1000)
      assert.equal(remote.calls, 6)
      assert.equal((await circuitOf(store)).failures, 6)
    })

    it('closes with the first success and delivers the queue of every subscription (SUB-03, SUB-06)', async () => {
      const world = await open(10, 2)
      const { remote, store, write } = world
      await write(1)
      await write(2)
      await pass(world, async () => (await circuitOf(store)).isOpen)
      remote.outcome = arrived
      await pass(world, () => remote.calls === 25, 500)
      assert.deepEqual(await circuitOf(store), { failures: 0, isOpen: false })
    })

    it('stays closed when the failures are not consecutive (SUB-06)', async () => {
      const world = await open(4, 1)
      const { remote, store, write } = world
      for (let round = 1; round <= 5; round++) {
        remote.outcome = unavailable
        const before = remote.calls
        await write(round)
        await pass(world, () => remote.calls >= before + 2)
        remote.outcome = arrived
        await pass(world, async () => {
          const due = await store.read((q) => q.all('SELECT 1 FROM publisher_subscription WHERE due_at IS NOT NULL'))
          return due.length === 0
        })
        assert.deepEqual(await circuitOf(store), { failures: 0, isOpen: false })
      }
    })
  })

  describe('calls to a peer that answers', () => {
    it('run for two subscriptions concurrently (SUB-14)', async () => {
      const world = await open(10, 1)
      const { remote, store, write } = world
      remote.outcome = arrived
      await write(1)
      await pass(world, () => remote.calls === 10)
      assert.equal(remote.maxAtOnce, 2)
      assert.deepEqual(await circuitOf(store), { failures: 0, isOpen: false })
    })
  })
})
