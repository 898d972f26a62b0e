/** A suspension lasts for months: it stops all work of the actor, and no work of others. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setResidence } from '../../src/actor/actor-store.ts'
import { doubtCopies } from '../../src/incarnation/doubtful-copies.ts'
import { holdWork, resumeWork } from '../../src/moving/held-work.ts'
import { resumeActor, suspendActor } from '../../src/operator/suspension.ts'
import { redriveAll } from '../../src/operator/redrive.ts'
import { insertNotices } from '../../src/outbox/notice-store.ts'
import { noticeTo } from '../../src/outbox/notice.ts'
import { insertSubscriberSubscription } from '../../src/replica/subscriber-store.ts'
import { noteExpiry } from '../../src/trust/expiry-store.ts'
import { findTrust } from '../../src/trust/trust-store.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { movingWorld } from '../support/moving.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const act = { operator: 'command line', device: '' }

forEachService((start) => {
  const suspend = async (service: TestService, { id }: TestActor): Promise<void> => {
    const { store } = await service.app.running()
    await suspendActor({ store, holdWork, resumeWork }, id, act)
  }
  const resume = async (service: TestService, { id }: TestActor): Promise<void> => {
    const { store, parts } = await service.app.running()
    await resumeActor({ store, holdWork, resumeWork }, id, act)
    parts.deliveries.wake()
    parts.jobs.wake()
  }

  /** Due times by table. */
  async function dueOf(service: TestService, { id }: TestActor): Promise<Record<string, (number | null)[]>> {
    const { store } = await service.app.running()
    const read = (table: string, column: string, owner = 'actor_id') =>
      store.read(async (q) =>
        (
          await q.all<{ due: number | null }>(
            `SELECT ${column} AS due FROM ${table} WHERE ${owner} = $1 ORDER BY 1`,
            id,
          )
        ).map(({ due }) => due),
      )
    return {
      queues: await read('publisher_subscription', 'due_at'),
      gaps: await read('subscriber_subscription', 'gap_due_at'),
      notices: await read('notice', 'due_at', 'sender'),
      jobs: await read('job', 'due_at'),
    }
  }

  describe('work of an actor that is not here', () => {
    for (const residence of ['suspended', 'moving', 'moved', 'replacing'] as const)
      it(`keeps no end of a grant of another actor waiting: ${residence} (OPS-11)`, async () => {
        const clock = new ManualClock()
        const service = await start({ now: clock.now, timers: clock.timers })
        const [away, here] = [await service.createActor(), await service.createActor()]
        const { store, parts } = await service.app.running()
        const peer = await relateTo(service, here)
        const actor = (await service.app.actors.get(here.id)) ?? assert.fail()
        const grant = { properties: { patterns: ['photos'], operations: ['read'] } } as const
        await actor.trust.grant(peer.peerId, { ...grant, until: new Date(clock.now() + 60_000) })
        // More than a look handles.
        const peers = Array.from({ length: 101 }, (_, index) => `peer-${index}`)
        for (const peerId of peers) await relateTo(service, away, { peerId })
        await store.write(async (tx) => {
          for (const peerId of peers) await noteExpiry(tx, { actorId: away.id, peerId }, clock.now() + 30_000)
          await setResidence(tx, away.id, residence)
        })
        clock.pass(70_000)
        const ends = () => store.read((q) => q.all('SELECT peer_id FROM expiry WHERE actor_id = $1', here.id))
        for (let look = 0; look < (onShards() ? 3 : 1); look += 1) {
          parts.expiries.wake()
          await service.settled()
          clock.pass(onShards() ? 5000 : 1)
        }
        assert.deepEqual(await ends(), [])
        assert.deepEqual(
          service.log.filter((line) => line.includes('Cannot end the permissions')),
          [],
        )
      })

    it('leaves app.actors.all()', async () => {
      const service = await start()
      const all: TestActor[] = []
      for (let index = 0; index < 5; index += 1) all.push(await service.createActor())
      const { store } = await service.app.running()
      for (const [index, residence] of (['suspended', 'moving', 'moved', 'replacing'] as const).entries())
        await store.write((tx) => setResidence(tx, all[index]?.id ?? '', residence))
      const seen: string[] = []
      for await (const actor of service.app.actors.all()) {
        await actor.set('count', 1)
        seen.push(actor.id)
      }
      assert.deepEqual(seen, [all[4]?.id])
    })
  })

  describe('a suspension', () => {
    it('ends the leases of running work, which is not due again before the resumption (OPS-11)', async () => {
      const clock = new ManualClock()
      const remote = await new RecordingPeer().start()
      try {
        const [handled, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
        let runs = 0
        const service = await start({
          now: clock.now,
          timers: clock.timers,
          allowPrivatePeers: true,
          declare: (app) => {
            app.alarm('remind', async () => {
              runs += 1
              if (runs > 1) return
              await handled.promise
              throw new Error('The actor refuses the write')
            })
          },
        })
        const owner = await service.createActor()
        const peer = await relateTo(service, owner, { baseuri: `${remote.url}/them` })
        await peer.subscribe({ granularity: 'high' })
        const actor = (await service.app.actors.get(owner.id)) ?? assert.fail()
        await actor.alarm(new Date(clock.now() + 1), 'remind')
        remote.replies = [answered.promise, 204]
        await actor.set('color', 'red')
        await remote.has(1)
        clock.pass(onShards() ? 1000 : 1)
        const { parts } = await service.app.running()
        parts.jobs.wake()
        await until(() => runs === 1)
        await suspend(service, owner)
        answered.resolve(503)
        handled.resolve()
        await service.settled()
        assert.deepEqual(await dueOf(service, owner), { queues: [null], gaps: [], notices: [], jobs: [null] })
        clock.pass(86_400_000)
        parts.deliveries.wake()
        parts.jobs.wake()
        await service.settled()
        assert.deepEqual([remote.received.length, runs], [1, 1])
        await resume(service, owner)
        await remote.has(2)
        await until(() => runs === 2)
        await service.settled()
        assert.deepEqual((await dueOf(service, owner))['queues'], [null])
        assert.deepEqual((await dueOf(service, owner))['jobs'], [])
      } finally {
        await remote.stop()
      }
    })

    it('holds notices, gaps and checks for longer than any retention, also after a restore of the database', async () => {
      const clock = new ManualClock()
      const remote = await new RecordingPeer().start()
      try {
        const service = await start({ now: clock.now, timers: clock.timers, allowPrivatePeers: true })
        const owner = await service.createActor()
        const baseuri = `${remote.url}/them`
        const { peerId } = await relateTo(service, owner, { baseuri })
        const { store, parts } = await service.app.running()
        const trust = (await store.read((q) => findTrust(q, owner.id, peerId))) ?? assert.fail()
        const notices = () => remote.received.filter(({ path }) => path.includes('/callbacks/permissions/')).length
        const fetches = () => remote.received.filter(({ method }) => method === 'GET').length
        await store.write(async (tx) => {
          await insertNotices(
            tx,
            [
              {
                ...noticeTo(trust, 'permission', 'POST', ['callbacks', 'permissions', owner.id], {}),
                id: 'notice',
                requestId: '',
              },
            ],
            clock.now(),
          )
          for (const subscriptionId of ['gap', 'check'])
            await insertSubscriberSubscription(tx, {
              actorId: owner.id,
              peerId,
              subscriptionId,
              target: 'properties',
              subtarget: '',
              resource: '',
              granularity: 'high',
              sequence: 1,
              gapDueAt: subscriptionId === 'gap' ? clock.now() : null,
              resyncPending: subscriptionId === 'gap',
              isUnknown: false,
              attempts: 0,
              createdAt: clock.now(),
            })
          await tx.run(`UPDATE subscriber_subscription SET check_at = $2 WHERE actor_id = $1`, owner.id, clock.now())
          await setResidence(tx, owner.id, 'here')
        })
        await suspend(service, owner)
        const held = { queues: [], gaps: [null, null], notices: [null], jobs: [] }
        assert.deepEqual(await dueOf(service, owner), held)
        clock.pass(400 * 86_400_000)
        parts.deliveries.wake()
        parts.jobs.wake()
        await service.settled()
        await store.write((tx) => doubtCopies(tx, clock.now()))
        await store.write((tx) => redriveAll(tx, {}, clock.now()))
        parts.deliveries.wake()
        await service.settled()
        assert.deepEqual(await dueOf(service, owner), held)
        assert.deepEqual(remote.received, [])
        assert.deepEqual(
          service.log.filter((line) => line.includes('Cannot fill a gap')),
          [],
        )
        await resume(service, owner)
        assert.deepEqual(
          (
            await store.read((q) =>
              q.all('SELECT check_at FROM subscriber_subscription WHERE check_at > $1', clock.now()),
            )
          ).length,
          0,
        )
        clock.pass(1000)
        await until(() => notices() > 0)
        await until(async () => {
          clock.pass(5000)
          await service.settled()
          return fetches() > 0
        })
      } finally {
        await remote.stop()
      }
    })

    it('keeps an actor that arrived from being taken with its code, and begins no work of it (OPS-11)', async () => {
      const world = await movingWorld(start)
      const actor = await world.old.createActor('ada@example.com')
      const { leaving } = await world.move(actor)
      await world.landed(actor)
      const code = new URL(leaving?.claim_url ?? '').searchParams.get('code')
      const take = (): Promise<Response> =>
        world.home.request(`/moves/${actor.id}/claim/passphrase`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ code, keep: [] }),
        })
      await suspend(world.home, actor)
      const before = await dueOf(world.home, actor)
      const refused = await take()
      assert.equal(refused.status, 403)
      assert.equal(((await refused.json()) as { error: string }).error, 'actor_suspended')
      assert.deepEqual(await dueOf(world.home, actor), before)
      await resume(world.home, actor)
      assert.equal((await take()).status, 200)
    })

    it('refuses a redrive of the actor with 409, and a redrive of all leaves it out (OPS-11)', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, timers: clock.timers })
      const [away, here] = [await service.createActor(), await service.createActor()]
      const { store } = await service.app.running()
      await store.write(async (tx) => {
        for (const { id } of [away, here])
          await tx.run(
            `INSERT INTO job (actor_id, kind, id, last, state, created_at, entry_id) VALUES ($1, 'alarm', 'x', 1, 'stopped', $2, '')`,
            id,
            clock.now(),
          )
      })
      await suspend(service, away)
      const done = await store.write((tx) => redriveAll(tx, {}, clock.now()))
      assert.equal(done.alarms, 1)
      assert.deepEqual((await dueOf(service, away))['jobs'], [null])
      await assert.rejects(
        store.write((tx) => redriveAll(tx, { actorId: away.id }, clock.now())),
        { code: 'conflict', message: 'Cannot retry the work of the actor: it is suspended. Resume the actor first' },
      )
      await resume(service, away)
      assert.equal((await store.write((tx) => redriveAll(tx, { actorId: away.id }, clock.now()))).alarms, 1)
    })
  })
})
