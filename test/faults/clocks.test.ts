import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test'
import { clockOff } from '../support/clock-off.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { RecordingPeer, relateTo, type Reply } from '../support/recording-peer.ts'
import { listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { forEachService, startService, type TestService } from '../support/service.ts'
import { createTestDatabase, forEachStore, type TestDatabase } from '../support/stores.ts'

const minuteMs = 60_000

describe('two services on PostgreSQL', () => {
  let database: TestDatabase
  let first: TestService
  let second: ServiceProcess | undefined
  let peer: RecordingPeer

  beforeEach(async () => {
    database = await createTestDatabase('postgres')
    first = await startService(database.url)
    peer = await new RecordingPeer().start()
  })
  afterEach(async () => {
    await peer.stop()
    await first.close()
    await second?.kill()
    await database.remove()
  })

  const listened = async (creator: string, granularity: 'high' | 'none' = 'high') => {
    const actor = await first.createActor(creator)
    const friend = await relateTo(first, actor, { baseuri: peer.url })
    const id = await friend.subscribe({ granularity })
    return {
      actor,
      friend,
      path: `/callbacks/subscriptions/${actor.id}/${id}`,
      poll: `/subscriptions/${friend.peerId}/${id}`,
    }
  }

  it('do not deliver twice when one clock is two minutes ahead (OPS-06)', async () => {
    const slow = await listened('slow@example.com')
    const quick = await listened('quick@example.com')
    second = await startServiceProcess({ database: database.url, env: clockOff(2 * minuteMs) })
    peer.replies = ['hang', 204]
    assert.equal((await slow.actor.request('PUT', '/properties/a', '1')).status, 204)
    await peer.has(1)
    for (const count of [1, 2, 3]) {
      const { authorization } = quick.actor
      const path = `/${quick.actor.id}/properties/a`
      assert.equal((await second.send('PUT', path, { authorization, body: String(count) })).status, 204)
      await peer.has(1 + count)
    }
    assert.deepEqual(
      peer.received.map(({ path }) => path),
      [slow.path, quick.path, quick.path, quick.path],
    )
  })

  it('deliver at the right time what a stopped process left, when one clock is two minutes behind (OPS-06)', {
    timeout: minuteMs,
  }, async () => {
    const { actor, path } = await listened('owner@example.com')
    second = await startServiceProcess({ database: database.url, env: clockOff(-2 * minuteMs) })
    peer.replies = [503, 503, 204]
    assert.equal((await actor.request('PUT', '/properties/a', '1')).status, 204)
    await peer.has(1)
    await first.close()
    await peer.has(3)
    assert.deepEqual(
      peer.received.map((call) => [call.path, call.body?.['sequence']]),
      [
        [path, 1],
        [path, 1],
        [path, 1],
      ],
    )
  })

  it('date diffs by one clock although their own clocks differ by two minutes (OPS-06)', async () => {
    // Nothing is delivered, so no diff leaves the answer to the poll.
    const { actor, friend, poll } = await listened('owner@example.com', 'none')
    second = await startServiceProcess({ database: database.url, env: clockOff(2 * minuteMs) })
    const { authorization } = actor
    await second.send('PUT', `/${actor.id}/properties/a`, { authorization, body: '1' })
    await actor.request('PUT', '/properties/a', '2')
    await second.send('PUT', `/${actor.id}/properties/a`, { authorization, body: '3' })
    const { data } = (await (await friend.request('GET', poll)).json()) as { data: { timestamp: string }[] }
    const times = data.map(({ timestamp }) => Date.parse(timestamp))
    assert.equal(times.length, 3)
    // The spread must be below the clock difference; the bound also holds on a slow machine.
    assert.ok(Math.max(...times) - Math.min(...times) < minuteMs, String(times))
  })
})

forEachService((start) => {
  const hourMs = 60 * minuteMs
  const yearMs = 365 * 24 * hourMs

  describe('a clock that is set back', () => {
    /** Sets the clock back while a callback waits for its retry. Returns the delay in milliseconds of the fake clock. */
    async function delayed(t: TestContext, replies: Reply[], backMs: number): Promise<number> {
      const clock = new ManualClock()
      let shift = 0
      const service = await start({
        now: () => clock.now() + shift,
        timers: clock.timers,
        random: () => 0.5,
        circuitThreshold: 2,
      })
      const peer = await new RecordingPeer().start()
      t.after(() => peer.stop())
      peer.replies = [...replies]
      const actor = await service.createActor()
      const friend = await relateTo(service, actor, { baseuri: peer.url })
      const id = await friend.subscribe({ granularity: 'high' })
      const attempts = async (): Promise<number> => {
        const answer = await actor.request('GET', `/subscriptions/${friend.peerId}/${id}?timeline=true`)
        return ((await answer.json()) as { data: { attempts: number }[] }).data[0]?.attempts ?? 0
      }
      await actor.request('PUT', '/properties/a', '1')
      await passUntil(clock, [service], async () => (await attempts()) >= replies.length - 1)
      shift = -backMs
      const since = clock.now()
      const isOver = (): boolean => clock.now() - since >= 3 * hourMs
      await passUntil(clock, [service], () => peer.received.length >= replies.length || isOver(), 5000)
      assert.equal(isOver(), false, 'The callback was not sent')
      return clock.now() - since
    }

    it('by an hour delays a waiting retry by at most an hour (OPS-06)', async (t) => {
      const delay = await delayed(t, [503, 204], hourMs)
      assert.ok(delay <= 2 * hourMs, `${delay} ms`)
    })

    it('by a year does not delay a waiting retry (OPS-06)', async (t) => {
      const delay = await delayed(t, [503, 204], yearMs)
      assert.ok(delay <= hourMs, `${delay} ms`)
    })

    it('by a year does not delay the resync for missing callbacks (OPS-06)', async () => {
      const clock = new ManualClock()
      let shift = 0
      const peers = new ScriptedPeers()
      const service = await start({ now: () => clock.now() + shift, timers: clock.timers, peerClient: peers })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      await peer.diff(2, { mood: 'b' })
      peers.publish({ subscriber: actor.id, id: peer.id }, { mood: 'b' }, 2)
      shift = -yearMs
      const since = clock.now()
      const isOver = (): boolean => clock.now() - since >= hourMs
      await passUntil(clock, [service], async () => (await peer.sequence()) === 2 || isOver(), 5000)
      assert.equal(isOver(), false, 'The diffs were not fetched')
      assert.deepEqual(await peer.copy(), { mood: 'b' })
    })

    it('by a year does not keep a peer’s circuit open (OPS-06)', async (t) => {
      const delay = await delayed(t, [503, 503, 204], yearMs)
      assert.ok(delay <= hourMs, `${delay} ms`)
    })
  })
})

forEachStore((dialect, open) => {
  describe('the clock of a store', () => {
    it(`is that of ${dialect === 'sqlite' ? 'this machine' : 'the database server, not of this machine'} (OPS-06)`, async (t) => {
      const realNow = Date.now
      const before = realNow()
      const ahead = 2 * minuteMs
      t.mock.method(Date, 'now', () => realNow() + ahead)
      const store = await open()
      const stored = store.now() - (dialect === 'sqlite' ? ahead : 0)
      assert.ok(Number.isInteger(stored))
      // The database server of the tests runs on this machine.
      assert.ok(stored >= before - minuteMs && stored <= realNow() + minuteMs, `${stored - before}`)
    })

    it('is the one that a test supplies', async () => {
      const store = await open({ now: () => 12 })
      assert.equal(store.now(), 12)
    })
  })
})
