/** The store fails when the outcome of leased work is stored. The work continues soon, and not at the end of its lease. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import type { Store } from '../../src/store/store.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { movingWorld, takeAt } from '../support/moving.ts'
import { type Listening, listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import { forEachService, type StartOptions, type TestActor } from '../support/service.ts'
import { asSharded, faulty, type FaultyStore } from '../support/stores.ts'

/** Longer than the pauses of all workers after a failure, and shorter than the leases that this is about. */
const soonMs = 15_000

/** Accepts every call without a script. */
class WillingPeers extends ScriptedPeers {
  isDown = false

  override call(request: PeerRequest): Promise<PeerOutcome> {
    if (this.isDown) return Promise.resolve({ kind: 'unreached', reason: 'It is down' })
    const isScripted = this.answers.has(`${request.method} ${request.url.slice(this.baseuri.length)}`)
    return isScripted ? super.call(request) : Promise.resolve({ kind: 'answered', status: 204, headers: {}, body: '' })
  }
}

interface World {
  readonly actor: TestActor
  /** Subscribes to the actor, and the actor to it. */
  readonly peer: Listening
  readonly peers: WillingPeers
  /** Passes time until the condition holds. */
  readonly until: (holds: () => boolean | Promise<boolean>) => Promise<void>
  /** Counts the rows of a table that match a condition. */
  readonly count: (rows: string) => Promise<number>
}

interface Work {
  readonly what: string
  readonly options?: StartOptions
  readonly prepare?: (world: World) => Promise<unknown>
  /** Creates the work, or waits until it is due. */
  readonly begin?: (world: World) => Promise<unknown>
  /** The statement that stores the outcome. */
  readonly storing: RegExp
  /** Rows without an outcome. */
  readonly left: string
}

const changed =
  (name: string) =>
  async ({ actor }: World) => {
    assert.equal((await actor.request('PUT', `/properties/${name}`, 'x')).status, 204)
  }
const callback = /UPDATE publisher_subscription SET\s+committed/

const works: readonly Work[] = [
  {
    what: 'a callback',
    begin: changed('mood'),
    storing: callback,
    left: 'publisher_subscription WHERE sequence > committed',
  },
  {
    what: 'the callback that probes an open circuit',
    options: { circuitThreshold: 1 },
    prepare: async (world) => {
      world.peers.isDown = true
      await changed('mood')(world)
      await world.until(async () => (await world.count('trust WHERE open_until IS NOT NULL')) === 1)
      world.peers.isDown = false
    },
    storing: callback,
    left: 'publisher_subscription WHERE sequence > committed',
  },
  {
    what: 'a change whose diffs are written later',
    options: { maxDirectSubscriptions: 0 },
    begin: changed('mood'),
    storing: /INSERT INTO diff /,
    left: 'waiting_change',
  },
  {
    what: 'a message to a peer',
    begin: async ({ actor, peer: { peerId } }) => {
      const rights = { properties: { excluded_patterns: ['diary'] } }
      assert.equal((await actor.request('PUT', `/trust/friend/${peerId}/permissions`, rights)).status, 201)
    },
    storing: /DELETE FROM notice/,
    left: 'notice',
  },
  {
    what: 'the fetch of missing data',
    prepare: async ({ peer, peers, actor }) => {
      assert.equal((await peer.diff(2, { mood: 'b' })).status, 204)
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'b' }, 2)
    },
    storing: /UPDATE subscriber_subscription SET sequence/,
    left: 'subscriber_subscription WHERE sequence < 2 OR gap_due_at IS NOT NULL',
  },
  {
    what: 'an event',
    options: { declare: (app) => app.on('property_changed', () => {}) },
    begin: changed('mood'),
    storing: /UPDATE job SET done/,
    left: `job WHERE kind = 'event' AND due_at IS NOT NULL`,
  },
  {
    what: 'a message to a webhook',
    prepare: async ({ actor }) => {
      const wanted = { url: `${new ScriptedPeers().baseuri}/hook`, events: ['property_changed'] }
      assert.equal((await actor.request('POST', '/webhooks', wanted)).status, 201)
    },
    begin: changed('mood'),
    storing: /UPDATE job SET done/,
    left: `job WHERE kind = 'webhook' AND due_at IS NOT NULL`,
  },
  {
    what: 'an alarm',
    options: {
      declare: (app) => {
        const remind = app.alarm('remind', () => {})
        app.action('plan', async ({ actor }) => {
          await actor.alarm(new ManualClock().now() + 1000, remind)
        })
      },
    },
    begin: async ({ actor }) => assert.ok((await actor.request('POST', '/actions/plan', {})).ok),
    storing: /DELETE FROM job WHERE \(actor_id, kind, id, lease\)/,
    left: `job WHERE kind = 'alarm'`,
  },
  {
    what: 'a schedule',
    options: { declare: (app) => app.schedule('tidy', { every: '1m' }, () => {}) },
    storing: /UPDATE schedule SET scheduled_at/,
    left: `schedule WHERE lease <> '' OR last_ended_at IS NULL`,
  },
  {
    what: 'an import',
    begin: async ({ actor }) => {
      const archive = await (await actor.request('GET', '/export')).text()
      assert.equal((await actor.request('POST', '/import', archive)).status, 202)
    },
    storing: /UPDATE job SET data = \$2, done = 1/,
    left: `job WHERE kind = 'import' AND due_at IS NOT NULL`,
  },
  {
    what: 'the deletion of unused bytes',
    prepare: async ({ actor }) => assert.equal((await actor.request('PUT', '/files/a', 'text')).status, 201),
    begin: async ({ actor }) => assert.equal((await actor.request('DELETE', '/files/a')).status, 204),
    storing: /DELETE FROM file_object WHERE \(actor_id, object\)/,
    left: 'file_object',
  },
]

forEachService((start) => {
  let files = ''
  before(async () => {
    files = await mkdtemp(join(tmpdir(), 'troupe-leases-'))
  })
  after(() => rm(files, { recursive: true }))

  async function world(
    options: StartOptions,
    isSharded: boolean,
  ): Promise<World & { clock: ManualClock; faults: FaultyStore }> {
    const [clock, peers] = [new ManualClock(), new WillingPeers()]
    let faults: FaultyStore | undefined
    const service = await start({
      now: clock.now,
      timers: clock.timers,
      random: () => 0.5,
      peerClient: peers,
      files,
      wrapStore: (store) => (faults = faulty(isSharded ? asSharded(store) : store)),
      ...options,
    })
    const actor = await service.createActor()
    const peer = await listenTo(service, actor)
    await peer.subscribe({ granularity: 'high' })
    const { store } = await service.app.running()
    return {
      actor,
      peer,
      peers,
      clock,
      faults: faults ?? assert.fail('The service has no store'),
      until: (holds) => passUntil(clock, [service], holds, 1000),
      count: async (rows) =>
        Number((await store.read((q) => q.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${rows}`)))?.n),
    }
  }

  for (const [what, kind, host] of [
    ['the old service', 'move', 'old'],
    ['the new service', 'arrival', 'home'],
  ] as const) {
    for (const isSharded of [false, true]) {
      it(`the outcome of a move is stored soon by ${what}, on a ${isSharded ? 'sharded' : 'plain'} database`, async () => {
        const clock = new ManualClock()
        let faults: FaultyStore | undefined
        const moving = await movingWorld(start, {
          all: { now: clock.now, timers: clock.timers, random: () => 0.5, files },
          [host]: {
            wrapStore: (store: Store) => (faults = faulty(isSharded ? asSharded(store) : store)),
          },
        })
        const { store } = await moving[host].app.running()
        const left = `SELECT id FROM job WHERE kind = '${kind}' AND due_at IS NOT NULL`
        faults?.plan({ matching: /jobs \*\/ (?:UPDATE job SET done|DELETE FROM job)/ })
        const actor = await moving.old.createActor()
        await moving.move(actor)
        const services = [moving.old, moving.home, moving.peers]
        const path = `/${actor.id}/meta/id`
        await passUntil(clock, services, async () => (await moving.home.request(path)).status === 200, 1000)
        await takeAt(moving.home, actor)
        await passUntil(clock, services, () => faults?.failed === 1, 1000)
        const failedAt = clock.now()
        await passUntil(clock, services, async () => (await store.read((q) => q.all(left))).length === 0, 1000)
        assert.ok(clock.now() - failedAt <= soonMs, `after ${clock.now() - failedAt} ms`)
      })
    }
  }

  describe('an outcome that the store did not take', () => {
    for (const { what, options = {}, prepare, begin, storing, left } of works) {
      for (const [database, isSharded] of [
        ['a plain database', false],
        ['a sharded database', true],
      ] as const) {
        it(`of ${what} is stored soon, on ${database}`, async () => {
          const made = await world(options, isSharded)
          const { clock, faults, until, count } = made
          await prepare?.(made)
          faults.plan({ matching: storing })
          await begin?.(made)
          await until(() => faults.failed === 1)
          const failedAt = clock.now()
          await until(async () => (await count(left)) === 0)
          assert.ok(clock.now() - failedAt <= soonMs, `after ${clock.now() - failedAt} ms`)
        })
      }
    }
  })
})
