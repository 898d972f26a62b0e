import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { claimProbe } from '../../src/publication/queue-store.ts'
import { findBacklogs } from '../../src/publication/backlog-store.ts'
import { sealedSecret } from '../../src/trust/new-trust.ts'
import { findTrust, updateTrust } from '../../src/trust/trust-store.ts'
import type { Timers } from '../../src/timers.ts'
import { Workplace } from '../support/program.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import {
  RecordingPeer,
  type Reply,
  type RelationshipOptions,
  relateTo,
  type TestRelationship,
} from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

interface World {
  readonly service: TestService
  readonly clock: ManualClock
  /** Passes time in steps until the condition holds. */
  readonly until: (holds: () => boolean | Promise<boolean>, stepMs?: number) => Promise<void>
  readonly actor: TestActor
  readonly remote: RecordingPeer
  readonly peer: TestRelationship
  readonly id: string
  readonly put: (value: unknown, name?: string) => Promise<void>
  readonly timeline: () => Promise<{
    state: string
    data: { sequence: number; outcome: string; reason: string; attempts: number }[]
  }>
}

const remotes: RecordingPeer[] = []
afterEach(async () => {
  for (const remote of remotes.splice(0)) await remote.stop()
})

async function remotePeer(clock?: ManualClock): Promise<RecordingPeer> {
  const remote = await new RecordingPeer().start()
  if (clock !== undefined) remote.now = clock.now
  remotes.push(remote)
  return remote
}

forEachService((start, dialect) => {
  async function world(
    options: StartOptions = {},
    {
      granularity = 'high',
      replies = [204],
      ...related
    }: RelationshipOptions & { granularity?: string; replies?: Reply[] } = {},
  ): Promise<World> {
    const clock = new ManualClock()
    const service = await start({ now: clock.now, timers: clock.timers, random: () => 0.5, ...options })
    const actor = await service.createActor()
    const remote = await remotePeer(clock)
    remote.replies = replies
    const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them`, ...related })
    const id = await peer.subscribe({ granularity })
    return {
      service,
      clock,
      until: (holds, stepMs) => passUntil(clock, [service], holds, stepMs),
      actor,
      remote,
      peer,
      id,
      put: async (value, name = 'mood') => {
        assert.equal((await actor.request('PUT', `/properties/${name}`, value)).status, 204)
      },
      timeline: async () => {
        const answer = await actor.request('GET', `/subscriptions/${peer.peerId}/${id}?timeline=true`)
        return (await answer.json()) as Awaited<ReturnType<World['timeline']>>
      },
    }
  }

  const outcomes = async ({ timeline }: World): Promise<Record<number, string>> =>
    Object.fromEntries((await timeline()).data.map(({ sequence, outcome }) => [sequence, outcome]))

  describe('a callback', () => {
    it('names the change, the subscription and its sequence number, and carries the relationship’s secret', async () => {
      const { service, actor, remote, peer, id, put } = await world()
      await put('sunny')
      const [callback] = await remote.has(1)
      assert.deepEqual(callback?.body, {
        id: actor.id,
        subscriptionid: id,
        target: 'properties',
        sequence: 1,
        timestamp: '2030-03-17T17:46:40.000Z',
        granularity: 'high',
        data: { mood: 'sunny' },
        replaces: true,
      })
      assert.deepEqual(
        [callback?.method, callback?.path, callback?.headers['authorization'], callback?.headers['content-type']],
        ['POST', `/them/callbacks/subscriptions/${actor.id}/${id}`, `Bearer ${peer.secret}`, 'application/json'],
      )
      assert.match(String(callback?.headers['x-request-id']), /^[0-9a-f-]{36}$/)
      assert.ok(service.url.length > 0)
    })

    it('reaches all other peers when the record of one peer is damaged', async () => {
      const { service, clock, until, actor, remote, peer, put } = await world()
      const other = await remotePeer(clock)
      const sound = await relateTo(service, actor, { baseuri: `${other.url}/them` })
      await sound.subscribe({ granularity: 'high' })
      const { store } = await service.app.running()
      await store.write((tx) => tx.run(`UPDATE trust SET facts = '{' WHERE peer_id = $1`, peer.peerId))
      await put('sunny')
      const [callback] = await other.has(1)
      assert.deepEqual(callback?.body?.['data'], { mood: 'sunny' })
      await until(() => service.log.some((line) => line.includes('Cannot send a callback')))
      assert.equal(remote.received.length, 0)
    })

    it('names its scope', async () => {
      const { actor, remote, peer, put } = await world()
      const id = await peer.subscribe({ subtarget: 'cfg', resource: 'theme', granularity: 'high' })
      await put({ theme: 'dark' }, 'cfg')
      const body = (await remote.has(2)).find((callback) => callback.body?.['subscriptionid'] === id)?.body
      assert.deepEqual(
        { ...body, timestamp: '' },
        {
          id: actor.id,
          subscriptionid: id,
          target: 'properties',
          subtarget: 'cfg',
          resource: 'theme',
          sequence: 1,
          timestamp: '',
          granularity: 'high',
          data: 'dark',
          replaces: true,
        },
      )
    })

    it('at low granularity has the URL of the change instead of its data', async () => {
      const made = await world({}, { granularity: 'low' })
      const { service, actor, remote, peer, id } = made
      await made.put('sunny')
      const [callback] = await remote.has(1)
      const address = `/subscriptions/${peer.peerId}/${id}/1`
      assert.equal(callback?.body?.['url'], `${service.url}/${actor.id}${address}`)
      assert.equal(callback?.body?.['granularity'], 'low')
      assert.equal(callback?.body !== null && callback?.body !== undefined && 'data' in callback.body, false)
      assert.equal('x-actingweb-granularity-downgraded' in (callback?.headers ?? {}), false)
      const diff = (await (await peer.request('GET', address)).json()) as { data: unknown }
      assert.deepEqual(diff.data, { mood: 'sunny' })
      // The acknowledgement of a diff that was read succeeds, too.
      assert.equal((await peer.request('PUT', `/subscriptions/${peer.peerId}/${id}`, { sequence: 1 })).status, 204)
    })

    it('is not sent at other granularities or to a peer without an address', async () => {
      const { service, clock, remote, put } = await world({}, { granularity: 'none' })
      await put(1)
      clock.pass(5000)
      await service.close()
      assert.deepEqual(remote.received, [])
    })

    it('is sent for every change once, in order and one at a time', async () => {
      const { remote, put } = await world()
      await Promise.all(Array.from({ length: 30 }, (_, n) => put(n)))
      await remote.has(30)
      assert.deepEqual(
        remote.sequences,
        Array.from({ length: 30 }, (_, n) => n + 1),
      )
      assert.equal(remote.maxAtOnce, 1)
    })

    it('has a URL instead of the data for changes above 65536 bytes and above 256 KB (SUB-13, R-SUB-10, R-LIM-01)', async () => {
      const { actor, service, remote, peer, id, put } = await world()
      await put('x'.repeat(65_000))
      await put('x'.repeat(66_000))
      await put('x'.repeat(300_000))
      const received = await remote.has(3)
      assert.deepEqual(
        received.map(({ body, headers }) => [
          body?.['sequence'],
          body?.['granularity'],
          body?.['url'],
          headers['x-actingweb-granularity-downgraded'],
        ]),
        [
          [1, 'high', undefined, undefined],
          [2, 'low', `${service.url}/${actor.id}/subscriptions/${peer.peerId}/${id}/2`, 'true'],
          [3, 'low', `${service.url}/${actor.id}/subscriptions/${peer.peerId}/${id}/3`, 'true'],
        ],
      )
      const diff = (await (await peer.request('GET', `/subscriptions/${peer.peerId}/${id}/3`)).json()) as {
        data: { mood: string }
      }
      assert.equal(diff.data.mood.length, 300_000)
    })

    it('is retried until it is acknowledged although the diff was read, because the reader may have crashed (SUB-02, SUB-13)', async () => {
      const made = await world({}, { granularity: 'low', replies: [503, 503, 204] })
      const { clock, until, remote, peer, id, put } = made
      await put('sunny')
      await remote.has(1)
      const address = `/subscriptions/${peer.peerId}/${id}/1`
      assert.equal((await peer.request('GET', address)).status, 200)
      const minute = clock.now() + 61_000
      // The peer has the callback before the service has stored the outcome.
      await until(async () => (await outcomes(made))[1] !== 'waiting')
      assert.deepEqual(await outcomes(made), { 1: 'delivered' })
      assert.deepEqual(remote.sequences, [1, 1, 1])
      // A diff that was read is deleted a minute later at the earliest.
      await until(() => clock.now() > minute, 1000)
      await put('rainy')
      assert.equal((await peer.request('GET', `/subscriptions/${peer.peerId}/${id}/2`)).status, 200)
      assert.equal((await peer.request('GET', address)).status, 404)
    })

    it('refers to a diff that can be read again, minutes after the first time (SUB-02)', async () => {
      const { clock, remote, peer, id, put } = await world({}, { granularity: 'low', replies: [503] })
      await put('sunny')
      await remote.has(1)
      const address = `/subscriptions/${peer.peerId}/${id}/1`
      for (const passed of [0, 61_000, 61_000]) {
        clock.pass(passed)
        const diff = (await (await peer.request('GET', address)).json()) as { data?: unknown }
        assert.deepEqual(diff.data, { mood: 'sunny' })
      }
    })

    it('is compressed above 1024 bytes only for a peer that supports it', async () => {
      const facts = {
        aw_supported: 'callbacks,callbackcompression',
        capabilities_fetched_at: '2030-03-17T17:00:00.000Z',
      }
      const { remote, put } = await world({}, { facts })
      await put('x'.repeat(2000))
      await put('short')
      const received = await remote.has(2)
      assert.deepEqual(
        received.map(({ headers, body }) => [
          headers['content-encoding'],
          (body?.['data'] as { mood: string } | undefined)?.mood.length,
        ]),
        [
          ['gzip', 2000],
          [undefined, 5],
        ],
      )
      const plain = await world()
      await plain.put('x'.repeat(2000))
      assert.equal((await plain.remote.has(1))[0]?.headers['content-encoding'], undefined)
    })

    it('has {} as data and keeps its sequence number when the right was withdrawn after the change (ACL-06)', async () => {
      const { until, actor, remote, peer, put } = await world({}, { replies: [503, 204] })
      await put('secret', 'diary')
      await remote.has(1)
      await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, {
        properties: { excluded_patterns: ['diary'] },
      })
      const callbacks = () => remote.received.filter(({ path }) => path.includes('/callbacks/subscriptions/'))
      await until(() => callbacks().length === 3)
      assert.deepEqual(
        callbacks().map(({ body }) => [body?.['sequence'], body?.['data']]),
        [
          [1, { diary: 'secret' }],
          [1, {}],
          // The peer may have received the value, so it is deleted from its copy.
          [2, { diary: '' }],
        ],
      )
    })

    it('is not sent while the rights cannot be read, and is sent afterwards (ACL-06)', async () => {
      let faults: FaultyStore | undefined
      const wrapStore: StartOptions['wrapStore'] = (store) => (faults = faulty(store))
      const { until, service, remote, put } = await world({ wrapStore }, { replies: [503, 204] })
      await put('x')
      await remote.has(1)
      faults?.plan({ matching: /FROM permission_override/, times: 1 })
      await until(() => faults?.failed === 1)
      await service.settled()
      assert.equal(remote.received.length, 1)
      assert.ok(service.log.some((line) => line.includes('Cannot send a callback')))
      faults?.plan()
      await until(() => remote.received.length === 2, 1000)
      assert.deepEqual(remote.sequences, [1, 1])
    })

    it('is sent again soon when its outcome could not be stored, and not at the end of its lease', async () => {
      let faults: FaultyStore | undefined
      const wrapStore: StartOptions['wrapStore'] = (store) => (faults = faulty(store))
      const { clock, until, service, remote, put } = await world({ wrapStore })
      // The outcome, and the first two attempts to release the lease.
      faults?.plan({ matching: /committed < r\.done|SET leased_until = 0/, times: 3 })
      await put('x')
      await until(() => remote.received.length === 2, 1000)
      assert.equal(faults?.failed, 3)
      assert.deepEqual(remote.sequences, [1, 1])
      assert.ok(clock.now() - (remote.received[0]?.at ?? 0) <= 10_000)
      const { store } = await service.app.running()
      const committed = () =>
        store.read((q) => q.get<{ committed: number }>('SELECT committed FROM publisher_subscription'))
      await until(async () => (await committed())?.committed === 1)
    })

    it('about rights is sent again soon when its outcome could not be stored', async () => {
      let faults: FaultyStore | undefined
      const wrapStore: StartOptions['wrapStore'] = (store) => (faults = faulty(store))
      const { clock, until, service, actor, remote, peer } = await world({ wrapStore })
      faults?.plan({ matching: /DELETE FROM notice|UPDATE notice SET due_at = \$4/, times: 3 })
      const rights = { properties: { excluded_patterns: ['diary'] } }
      assert.equal((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rights)).status, 201)
      const about = () => remote.received.filter(({ path }) => path.includes('/callbacks/permissions/'))
      await until(() => about().length === 2, 1000)
      assert.equal(faults?.failed, 3)
      assert.ok(clock.now() - (about()[0]?.at ?? 0) <= 10_000)
      const { store } = await service.app.running()
      await until(async () => (await store.read((q) => q.all('SELECT id FROM notice'))).length === 0)
    })

    it('is not sent after the approval was withdrawn (ACL-12)', async () => {
      const { clock, until, service, actor, remote, peer, put, id } = await world({}, { replies: [503, 204] })
      await put(1)
      await remote.has(1)
      const { store } = await service.app.running()
      await store.writeActor(actor.id, (tx) => tx.run('UPDATE trust SET approved = 0 WHERE actor_id = $1', actor.id))
      const later = clock.now() + 50_000
      await until(() => clock.now() >= later, 1000)
      assert.equal(remote.received.length, 1)
      await store.writeActor(actor.id, (tx) => tx.run('UPDATE trust SET approved = 1 WHERE actor_id = $1', actor.id))
      await put(2)
      await until(() => remote.received.length === 3)
      assert.deepEqual(remote.sequences, [1, 1, 2])
      assert.ok(peer.peerId !== id)
    })
  })

  describe('callbacks in one batch', () => {
    /** Delivers a backlog of twelve after a first failure, with this status for the seventh. */
    async function deliverTwelve(seventh: number): Promise<World> {
      const made = await world({}, { replies: [503, ...Array.from({ length: 6 }, () => 204), seventh, 204] })
      for (let n = 1; n <= 12; n++) await made.put(n)
      // Small steps keep consecutive callbacks in one batch.
      await made.until(async () => (await outcomes(made))[12] === 'delivered', 1)
      return made
    }
    const rowsOf = async ({ service }: World, sql: string): Promise<object[]> =>
      (await service.app.running()).store.read((q) => q.all(sql))
    const runsOf = async (made: World): Promise<unknown> =>
      (
        (await rowsOf(made, 'SELECT first, sequence FROM delivery_run ORDER BY sequence')) as Record<string, number>[]
      ).map(({ first, sequence }) => [first, sequence])

    it('have their own timeline entries with attempts and times (SUB-16)', async () => {
      const made = await deliverTwelve(204)
      const { data } = (await made.timeline()) as unknown as { data: Record<string, unknown>[] }
      assert.deepEqual(
        data.map(({ sequence, outcome, attempts, reason }) => [sequence, outcome, attempts, reason]),
        [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1].map((n) => [n, 'delivered', n === 1 ? 2 : 1, '']),
      )
      const arrived = new Map(made.remote.received.map(({ at, body }) => [body?.['sequence'], at]))
      for (const { sequence, sent_at: sent, answered_at: answered } of data) {
        const at = new Date(arrived.get(sequence) ?? 0).toISOString()
        assert.ok(String(sent) <= at && at <= String(answered), `${String(sequence)}: ${String(sent)} ${at}`)
      }
      // The batch is stored in one row, because a row for each callback would cost as much as the call.
      assert.deepEqual(await runsOf(made), [[2, 12]])
    })

    it('are not repeated when a failed one among them is redriven (SUB-07)', async () => {
      const made = await deliverTwelve(403)
      const { actor, peer, id, remote } = made
      assert.deepEqual((await outcomes(made))[7], 'failed')
      assert.deepEqual(await runsOf(made), [
        [2, 6],
        [8, 12],
      ])
      const answer = await actor.request('POST', `/subscriptions/${peer.peerId}/${id}/redrive`)
      assert.deepEqual([answer.status, await answer.json()], [200, { redriven: 1 }])
      await made.until(async () => (await outcomes(made))[7] === 'delivered')
      // The resync that repairs the copy.
      await made.until(async () => (await outcomes(made))[13] === 'delivered')
      await made.put(14)
      await remote.has(16)
      assert.deepEqual(remote.sequences, [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 7, 13, 14])
      await made.until(async () => (await outcomes(made))[14] === 'delivered')
      assert.deepEqual(new Set(Object.values(await outcomes(made))), new Set(['delivered']))
    })

    it('are not in the backlog, and keep their outcome when the peer acknowledges or reads them', async () => {
      const made = await deliverTwelve(204)
      const { actor, peer, id, clock } = made
      const address = `/subscriptions/${peer.peerId}/${id}`
      const { store } = await made.service.app.running()
      const [backlog] = await store.read((q) => findBacklogs(q, actor.id))
      assert.equal(Number(backlog?.waiting), 0)
      assert.equal((await peer.request('GET', `${address}/3`)).status, 200)
      clock.pass(61_000)
      assert.equal((await peer.request('GET', `${address}/3`)).status, 404)
      assert.equal((await peer.request('PUT', address, { sequence: 12 })).status, 204)
      assert.deepEqual(new Set(Object.values(await outcomes(made))), new Set(['delivered']))
    })

    it('are deleted at the maximum age of diffs, singly or as a batch (OPS-08)', async () => {
      const made = await world({ maxDiffAgeDays: 2 })
      const { clock } = made
      for (let n = 1; n <= 10; n++) await made.put(n)
      await made.until(async () => (await outcomes(made))[10] === 'delivered')
      const kept = async (): Promise<number> =>
        (await rowsOf(made, 'SELECT sequence FROM delivery UNION ALL SELECT sequence FROM delivery_run')).length
      assert.ok((await kept()) >= 10)
      clock.pass(86_400_000)
      await made.service.settled()
      assert.ok((await kept()) >= 10, 'after a day')
      clock.pass(86_400_000)
      await made.until(async () => (await kept()) === 0, 600_000)
    })
  })

  describe('a failed callback', () => {
    for (const status of [400, 403, 404]) {
      it(`is given up after ${status}; the next one follows, and both can still be polled (SUB-07, SUB-03)`, async () => {
        const made = await world({}, { replies: [status, 204] })
        await made.put(1)
        await made.put(2)
        await made.remote.has(2)
        await made.until(async () => (await outcomes(made))[2] === 'delivered')
        assert.deepEqual(made.remote.sequences, [1, 2])
        assert.deepEqual(await outcomes(made), { 1: 'failed', 2: 'delivered' })
        assert.equal((await made.timeline()).data.at(-1)?.reason, `The peer answered ${status}`)
        const polled = await made.peer.request('GET', `/subscriptions/${made.peer.peerId}/${made.id}`)
        assert.equal(((await polled.json()) as { data: unknown[] }).data.length, 2)
      })
    }

    it('is repeated with its sequence number when the owner redrives it (SUB-07)', async () => {
      const made = await world({}, { replies: [403, 403, 204] })
      const { actor, peer, id, remote } = made
      await made.put(1)
      await made.put(2)
      await made.put(3)
      await made.until(async () => (await outcomes(made))[3] === 'delivered')
      const redrive = `/subscriptions/${peer.peerId}/${id}/redrive`
      assert.equal((await peer.request('POST', redrive)).status, 403)
      const answer = await actor.request('POST', redrive)
      assert.deepEqual([answer.status, await answer.json()], [200, { redriven: 2 }])
      // The last one is the resync that repairs the copy.
      await made.until(async () => (await outcomes(made))[4] === 'delivered')
      assert.deepEqual(remote.sequences, [1, 2, 3, 1, 2, 4])
      assert.deepEqual(await outcomes(made), { 1: 'delivered', 2: 'delivered', 3: 'delivered', 4: 'delivered' })
      assert.equal((await peer.request('GET', `/subscriptions/${peer.peerId}/${id}?timeline=true`)).status, 403)
      assert.equal((await actor.request('POST', `/subscriptions/${peer.peerId}/none/redrive`)).status, 404)
    })

    it('with an unknown outcome is retried once, or not at all if retries are disabled (SUB-07)', async () => {
      const made = await world({}, { replies: ['cut', 'cut', 204] })
      await made.put(1)
      await made.put(2)
      await made.until(async () => (await outcomes(made))[2] === 'delivered')
      assert.deepEqual(made.remote.sequences, [1, 1, 2])
      assert.deepEqual(await outcomes(made), { 1: 'failed', 2: 'delivered' })

      const strict = await world({ retryCallbacks: false }, { replies: ['cut', 204] })
      await strict.put(1)
      await strict.put(2)
      await strict.until(async () => (await outcomes(strict))[2] === 'delivered')
      assert.deepEqual(strict.remote.sequences, [1, 2])
    })

    it('stops the subscription after 410 until it is redriven (SUB-07)', async () => {
      const made = await world({}, { replies: [410, 204] })
      await made.put(1)
      await made.until(async () => (await made.timeline()).state === 'stopped')
      await made.put(2)
      made.clock.pass(600_000)
      await made.service.settled()
      assert.deepEqual(made.remote.sequences, [1])
      assert.deepEqual(await outcomes(made), { 1: 'failed', 2: 'waiting' })
      await made.actor.request('POST', `/subscriptions/${made.peer.peerId}/${made.id}/redrive`)
      await made.until(async () => (await outcomes(made))[3] === 'delivered')
      assert.deepEqual(made.remote.sequences, [1, 1, 2, 3])
    })

    it('is retried after the peer’s Retry-After with its sequence number (SUB-05, SUB-06)', async () => {
      const made = await world({}, { replies: [{ status: 429, headers: { 'Retry-After': '7' } }, 503, 204] })
      await made.put(1)
      await made.until(() => made.remote.received.length === 3)
      assert.deepEqual(made.remote.sequences, [1, 1, 1])
      const [first, second] = made.remote.received
      assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 7000)
      assert.ok((second?.at ?? 0) - (first?.at ?? 0) < 20_000)
    })

    it('opens the circuit for a minute after five failures, then probes once and delivers all in order (SUB-03, SUB-06, R-SUB-10, R-SUB-05)', async () => {
      const made = await world({}, { replies: [503] })
      const { clock, until, remote, peer, id } = made
      await made.put(1)
      await until(() => remote.received.length === 5)
      const opened = clock.now()
      await made.put(2)
      const others = await peer.subscribe({ subtarget: 'mood', granularity: 'high' })
      await made.put(3)
      // Polling returns all diffs meanwhile.
      const polled = (await (await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)).json()) as {
        data: unknown[]
      }
      assert.equal(polled.data.length, 3)
      await until(() => remote.received.length === 6)
      assert.ok((remote.received[5]?.at ?? 0) - opened >= 59_000)
      await made.service.settled()
      assert.equal(remote.received.length, 6)
      remote.replies = [204]
      await until(() => remote.received.length === 10)
      assert.ok((remote.received[6]?.at ?? 0) - opened >= 119_000)
      const sent = remote.received.slice(6).map(({ body }) => [body?.['subscriptionid'], body?.['sequence']])
      assert.deepEqual(
        sent.filter(([subscription]) => subscription === id),
        [
          [id, 1],
          [id, 2],
          [id, 3],
        ],
      )
      assert.deepEqual(
        sent.filter(([subscription]) => subscription === others),
        [[others, 1]],
      )
    })

    it('is delivered in order when an unreachable peer returns (SUB-03, R-SUB-05)', async () => {
      const made = await world()
      await made.remote.stop()
      for (const value of [1, 2, 3]) await made.put(value)
      await made.until(async () => (await made.timeline()).data.at(-1)?.attempts === 5)
      await made.remote.start()
      await made.until(() => made.remote.received.length === 3)
      assert.deepEqual(made.remote.sequences, [1, 2, 3])
    })

    it('is replaced by one resync when too many diffs were missed (R-SUB-05)', async () => {
      const made = await world({ maxDiffs: 3 })
      await made.remote.stop()
      for (const value of [1, 2, 3, 4, 5]) await made.put(value)
      await made.until(async () => ((await made.timeline()).data.at(-1)?.attempts ?? 0) >= 0)
      await made.remote.start()
      await made.until(() => made.remote.received.length === 1)
      await made.until(async () => (await outcomes(made))[5] === 'superseded')
      const [callback] = made.remote.received
      assert.deepEqual(
        [callback?.body?.['type'], callback?.body?.['sequence'], callback?.body?.['data']],
        ['resync', 5, undefined],
      )
      await made.put(6)
      await made.remote.has(2)
      assert.deepEqual(made.remote.sequences, [5, 6])
    })

    it('is replaced by the full state for a peer that does not support resyncs (R-SUB-05)', async () => {
      const facts = { aw_supported: 'callbacks', capabilities_fetched_at: '2030-03-17T17:00:00.000Z' }
      const made = await world({}, { facts })
      const handle = await made.service.app.actors.get(made.actor.id)
      await made.put('sunny')
      await made.actor.request('POST', '/properties', { todo: { _type: 'list' } })
      await made.actor.request('POST', '/properties/todo', 'milk')
      // The full state must not include properties that the peer may not read.
      await made.put('x', 'private')
      await made.remote.has(3)
      await handle?.subscriptions.suspend('properties')
      await made.put('rainy')
      await handle?.subscriptions.resume('properties')
      const callback = (await made.remote.has(4))[3]
      assert.deepEqual(
        [callback?.body?.['type'], callback?.body?.['granularity'], callback?.body?.['sequence']],
        [undefined, 'low', 4],
      )
      const read = await made.peer.request('GET', `/subscriptions/${made.peer.peerId}/${made.id}/4`)
      const { data } = (await read.json()) as { data: Record<string, unknown> }
      assert.deepEqual(data, { mood: 'rainy', todo: { _list: true, count: 1, items: ['milk'] } })
    })

    it('has the URL of the properties where the full state does not fit into memory (HTTP-26)', async () => {
      const facts = { aw_supported: 'callbacks', capabilities_fetched_at: '2030-03-17T17:00:00.000Z' }
      const made = await world({}, { facts })
      const handle = await made.service.app.actors.get(made.actor.id)
      await handle?.subscriptions.suspend('properties')
      for (const name of ['long 1', 'long 2', 'long 3']) await made.put('x'.repeat(1_900_000), name)
      await handle?.subscriptions.resume('properties')
      const callback = (await made.remote.has(1))[0]
      assert.deepEqual(
        [callback?.body?.['type'], callback?.body?.['url']],
        ['resync', `${made.service.url}/${made.actor.id}/properties`],
      )
    })

    const ends: readonly (readonly [what: string, path: (made: World) => string])[] = [
      ['the relationship', ({ peer }) => `/trust/friend/${peer.peerId}`],
      ['the actor', () => ''],
    ]
    for (const [what, path] of ends) {
      it(`is not repeated after ${what} was deleted, and no record remains (SUB-15)`, async () => {
        const made = await world({}, { replies: [503] })
        const { clock, remote, actor, service } = made
        await made.put(1)
        await remote.has(1)
        assert.equal((await actor.request('DELETE', path(made))).status, 204)
        const callbacks = () => remote.received.filter(({ path }) => path.includes('/callbacks/'))
        const earlier = callbacks().length
        const later = clock.now() + 100_000
        await made.until(() => clock.now() >= later, 1000)
        assert.equal(callbacks().length, earlier)
        const { store } = await service.app.running()
        for (const table of ['publisher_subscription', 'diff', 'delivery']) {
          assert.deepEqual(await store.read((q) => q.all(`SELECT actor_id FROM ${table}`)), [])
        }
      })
    }
  })

  it('gives the probe of an open circuit to one of many claimants (SUB-06)', async () => {
    const made = await world()
    const { store } = await made.service.app.running()
    const key = { actorId: made.actor.id, peerId: made.peer.peerId }
    await store.write((tx) => tx.run('UPDATE trust SET failures = 5, open_until = 7 WHERE actor_id = $1', key.actorId))
    const claims = Array.from({ length: 20 }, () => store.write((tx) => claimProbe(tx, key, 7, 1000)))
    assert.equal((await Promise.all(claims)).filter((mine) => mine).length, 1)
  })

  describe('many subscribers', () => {
    it('do not wait for an unresponsive one, nor do writers, and at most ten calls run (SUB-14, R-SUB-04, R-SUB-10, OPS-07)', async () => {
      // A shutdown timeout of zero aborts the hanging calls.
      const service = await start({ shutdownSeconds: 0 })
      const actor = await service.createActor()
      const dead = await remotePeer()
      dead.replies = ['hang']
      const gone = await relateTo(service, actor, { baseuri: `${dead.url}/them`, peerId: '0' })
      for (let n = 0; n < 3; n++) await gone.subscribe({ granularity: 'high' })
      const live = await remotePeer()
      for (let n = 0; n < 99; n++) {
        const peer = await relateTo(service, actor, { baseuri: `${live.url}/peer${n}` })
        await peer.subscribe({ granularity: 'high' })
      }
      assert.equal((await actor.request('PUT', '/properties/mood', 1)).status, 204)
      await live.has(99)
      assert.equal((await actor.request('PUT', '/properties/mood', 2)).status, 204)
      await live.has(198)
      assert.ok(live.maxAtOnce <= 10)
      assert.ok(dead.received.length <= 2)
    })

    it('of one actor do not delay those of another', async () => {
      const service = await start({ maxConcurrentCallbacks: 2, shutdownSeconds: 0 })
      const slow = await remotePeer()
      slow.replies = ['hang']
      const crowded = await service.createActor('a@example.com')
      for (let n = 0; n < 90; n++) {
        const peer = await relateTo(service, crowded, { baseuri: `${slow.url}/peer${n}` })
        await peer.subscribe({ granularity: 'high' })
      }
      const quick = await remotePeer()
      const quiet = await service.createActor('b@example.com')
      const peer = await relateTo(service, quiet, { baseuri: `${quick.url}/them` })
      await peer.subscribe({ granularity: 'high' })
      await crowded.request('PUT', '/properties/mood', 1)
      await slow.has(2)
      await quiet.request('PUT', '/properties/mood', 1)
      await quick.has(1)
      assert.ok(slow.maxAtOnce <= 2)
    })
  })

  describe('a service that stops or restarts', () => {
    it('releases its queue, and the next process continues in order (SUB-16, OPS-03)', async () => {
      const clock = new ManualClock()
      const options = { now: clock.now, timers: clock.timers, random: () => 0.5 }
      const service = await start(options)
      const actor = await service.createActor()
      const remote = await remotePeer(clock)
      await remote.stop()
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      await peer.subscribe({ granularity: 'high' })
      for (const value of [1, 2, 3]) await actor.request('PUT', '/properties/mood', value)
      await service.close()
      await remote.start()
      clock.pass(61_000)
      const next = await start({ ...options, database: service.databaseUrl })
      await passUntil(clock, [next], () => remote.received.length === 3)
      assert.deepEqual(remote.sequences, [1, 2, 3])
      assert.notEqual(next, service)
    })

    it('releases queued callbacks immediately, so that the next process need not wait for a lease (OPS-03)', async () => {
      const clock = new ManualClock()
      const options = { now: clock.now, timers: clock.timers, random: () => 0.5, maxConcurrentCallbacks: 1 }
      const service = await start({ ...options, shutdownSeconds: 0 })
      const actor = await service.createActor()
      const remote = await remotePeer(clock)
      remote.replies = ['hang', 204]
      for (let n = 0; n < 4; n++) {
        const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them${n}` })
        await peer.subscribe({ granularity: 'high' })
      }
      await actor.request('PUT', '/properties/mood', 1)
      await remote.has(1)
      await service.close()
      const before = clock.now()
      const next = await start({ ...options, database: service.databaseUrl })
      await passUntil(clock, [next], () => remote.received.length === 4)
      assert.ok((remote.received[3]?.at ?? 0) - before < 20_000)
    })

    it('completes a running call before it stops (OPS-03)', async () => {
      const clock = new ManualClock()
      let isWaiting = false
      const timers: Timers = {
        setTimer(ms, then) {
          isWaiting ||= ms === 7000
          return clock.timers.setTimer(ms, then)
        },
      }
      const { remote, service, actor, put } = await world({ now: clock.now, timers, shutdownSeconds: 7 })
      const answer = Promise.withResolvers<number>()
      remote.replies = [answer.promise]
      await put(1)
      await remote.has(1)
      const order: string[] = []
      const closed = service.close().then(() => order.push('stopped'))
      await until(() => isWaiting)
      order.push('answered')
      answer.resolve(204)
      await closed
      assert.deepEqual(order, ['answered', 'stopped'])
      remote.replies = [204]
      const next = await start({ now: clock.now, timers: clock.timers, database: service.databaseUrl })
      const written = await next.request(`/${actor.id}/properties/mood`, {
        method: 'PUT',
        headers: { authorization: actor.authorization },
        body: '2',
      })
      assert.equal(written.status, 204)
      await passUntil(clock, [next], () => remote.sequences.includes(2))
      assert.deepEqual(remote.sequences, [1, 2])
    })

    it('aborts a call that exceeds the shutdown timeout, and the next process repeats it (OPS-03)', async () => {
      const { clock, remote, service, put } = await world()
      remote.replies = ['hang']
      await put(1)
      await remote.has(1)
      let isStopped = false
      void service.close().then(() => (isStopped = true))
      await passUntil(clock, [], () => isStopped, 1000)
      const next = await start({ now: clock.now, timers: clock.timers, database: service.databaseUrl })
      remote.replies = [204]
      await passUntil(clock, [next], () => remote.received.length === 2, 1000)
      assert.deepEqual(remote.sequences, [1, 1])
    })

    it('that is killed during a delivery loses no callback, and another continues in order (SUB-16, OPS-01, I3)', async () => {
      // The next service’s clock is ahead of every lease of the killed one.
      let aheadMs = 0
      const prepared = await start({ now: () => Date.now() + aheadMs })
      const actor = await prepared.createActor()
      const remote = await remotePeer()
      remote.replies = [204, 204, 'hang']
      const peers: { peer: TestRelationship; id: string }[] = []
      for (let n = 0; n < 3; n++) {
        const peer = await relateTo(prepared, actor, { baseuri: `${remote.url}/them${n}` })
        peers.push({ peer, id: await peer.subscribe({ granularity: 'high' }) })
      }
      await prepared.close()
      const killed = await startServiceProcess({ database: prepared.databaseUrl })
      for (let n = 1; n <= 5; n++) {
        const answer = await killed.send('PUT', `/${actor.id}/properties/mood`, {
          authorization: actor.authorization,
          body: JSON.stringify(n),
        })
        assert.equal(answer.status, 204)
      }
      await remote.has(5)
      await killed.kill()
      remote.replies = [204]
      aheadMs = 60_000
      const next = await start({ database: prepared.databaseUrl, now: () => Date.now() + aheadMs })
      const numbersOf = (id: string): unknown[] =>
        remote.received.filter(({ body }) => body?.['subscriptionid'] === id).map(({ body }) => body?.['sequence'])
      await until(() => peers.every(({ id }) => new Set(numbersOf(id)).size === 5))
      for (const { id } of peers) {
        const numbers = numbersOf(id)
        // The next service restarts the last batch of the killed one, so its callbacks may be repeated once.
        const again = numbers.findIndex((number, at) => at > 0 && Number(number) <= Number(numbers[at - 1]))
        const [before, after] = again < 0 ? [[], numbers] : [numbers.slice(0, again), numbers.slice(again)]
        assert.deepEqual(before, [1, 2, 3, 4, 5].slice(0, before.length))
        assert.deepEqual(after, [1, 2, 3, 4, 5].slice(-after.length))
        assert.ok(before.length + after.length >= 5)
      }
      assert.equal(next.databaseUrl, prepared.databaseUrl)
    })

    it('shares the work with another process on the same store, with each callback sent once (OPS-01)', async () => {
      const first = await start({})
      const second = await start({ database: first.databaseUrl })
      const actor = await first.createActor()
      const remote = await remotePeer()
      const ids: string[] = []
      for (let n = 0; n < 10; n++) {
        const peer = await relateTo(first, actor, { baseuri: `${remote.url}/them${n}` })
        ids.push(await peer.subscribe({ granularity: 'high' }))
      }
      for (let n = 0; n < 10; n++) {
        const answer = await (n % 2 === 0 ? first : second).request(`/${actor.id}/properties/mood`, {
          method: 'PUT',
          headers: { authorization: actor.authorization },
          body: String(n),
        })
        assert.equal(answer.status, 204)
      }
      await remote.has(100)
      for (const id of ids) {
        const numbers = remote.received.filter(({ body }) => body?.['subscriptionid'] === id)
        assert.deepEqual(
          numbers.map(({ body }) => body?.['sequence']),
          [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        )
      }
    })

    it('in synchronous mode answers a write after the first attempt (SUB-16, R-SUB-04)', async () => {
      const service = await start({ synchronousCallbacks: true })
      const actor = await service.createActor()
      const remote = await remotePeer()
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      await peer.subscribe({ granularity: 'high' })
      await peer.subscribe({ granularity: 'none' })
      for (const count of [1, 2, 3]) {
        assert.equal((await actor.request('PUT', '/properties/mood', count)).status, 204)
        assert.equal(remote.received.length, count)
      }
      remote.replies = [500, 204]
      assert.equal((await actor.request('PUT', '/properties/mood', 4)).status, 204)
      assert.equal(remote.received.length, 4)
      await remote.stop()
      assert.equal((await actor.request('PUT', '/properties/mood', 5)).status, 204)
    })
  })

  describe('notices', () => {
    it('are retried until they are delivered, in order for each peer (R-SUB-06)', async () => {
      const made = await world({}, { replies: [503, 'cut', 500, 204] })
      const { actor, peer, remote, until, id } = made
      const second = await peer.subscribe({})
      for (const subscription of [id, second]) {
        assert.equal((await actor.request('DELETE', `/subscriptions/${peer.peerId}/${subscription}`)).status, 204)
      }
      await until(() => remote.received.length === 5)
      assert.deepEqual(
        remote.received.map(({ method, path }) => `${method} ${path}`),
        [id, id, id, id, second].map((subscription) => `DELETE /them/subscriptions/${actor.id}/${subscription}`),
      )
    })

    it('are kept after they were given up for twice the maximum age of diffs (OPS-08)', async () => {
      const made = await world({ maxDiffAgeDays: 2 }, { replies: [403] })
      await made.actor.request('DELETE', `/subscriptions/${made.peer.peerId}/${made.id}`)
      const { store } = await made.service.app.running()
      const kept = async (): Promise<number> => (await store.read((q) => q.all('SELECT id FROM notice'))).length
      await made.until(async () => {
        const given = await store.read((q) => q.all('SELECT id FROM notice WHERE due_at IS NULL'))
        return given.length === 1
      })
      const dayMs = 86_400_000
      for (const day of [1, 2, 3]) {
        made.clock.pass(dayMs)
        await made.service.settled()
        assert.equal(await kept(), 1, `after ${day} days`)
      }
      made.clock.pass(dayMs)
      await made.until(async () => (await kept()) === 0, 600_000)
    })

    it('are sent with the current secret and to the current address of the relationship (R-TRUST-04)', async () => {
      const { service, actor, peer, remote, clock, until } = await world({}, { replies: [503, 204] })
      const moved = await remotePeer(clock)
      await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved: true })
      await remote.has(1)
      const renewed = '5ec7'.repeat(10)
      const { store, keyRing } = await service.app.running()
      await store.writeActor(actor.id, async (tx) => {
        const trust = await findTrust(tx, actor.id, peer.peerId)
        if (trust === null) throw new Error('No relationship')
        await updateTrust(
          tx,
          { ...trust, ...sealedSecret(keyRing, trust, renewed), baseuri: `${moved.url}/new` },
          store.now(),
        )
      })
      await until(() => moved.received.length === 1)
      const [notice] = moved.received
      assert.deepEqual(
        [notice?.method, notice?.path, notice?.headers['authorization'], notice?.body],
        ['POST', `/new/trust/friend/${actor.id}`, `Bearer ${renewed}`, { approved: true }],
      )
      assert.equal(remote.received.length, 1)
    })

    it('about an approval that was withdrawn meanwhile are not sent (PEER-07)', async () => {
      const { service, actor, peer, remote, until, id } = await world({}, { replies: [503, 204] })
      await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved: true })
      await remote.has(1)
      await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved: false })
      await actor.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)
      await until(() => remote.received.length === 2)
      assert.equal(remote.received[1]?.path, `/them/subscriptions/${actor.id}/${id}`)
      const { store } = await service.app.running()
      await until(async () => (await store.read((q) => q.all('SELECT id FROM notice'))).length === 0)
    })

    it('about a relationship are deleted with it, and a later one with the same peer receives none (I8)', async () => {
      const { service, actor, peer, remote, until, id } = await world({}, { replies: [503, 503, 204] })
      await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved: true })
      await actor.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)
      await remote.has(1)
      assert.equal((await actor.request('DELETE', `/trust/friend/${peer.peerId}`)).status, 204)
      const again = await relateTo(service, actor, { baseuri: `${remote.url}/them`, peerId: peer.peerId })
      const { store } = await service.app.running()
      await until(async () => (await store.read((q) => q.all('SELECT id FROM notice'))).length === 0)
      const later = remote.received
        .slice(1)
        .map(({ method, path, headers }) => [method, path, headers['authorization']])
      assert.ok(later.length >= 1)
      for (const one of later) {
        assert.deepEqual(one, ['DELETE', `/them/trust/friend/${actor.id}`, `Bearer ${peer.secret}`])
      }
      assert.equal((await again.request('GET', `/trust/friend/${peer.peerId}`)).status, 200)
    })

    it('are still sent after their actor was deleted', async () => {
      const made = await world({}, { replies: [503, 204] })
      assert.equal((await made.actor.request('DELETE', '')).status, 204)
      await made.until(() => made.remote.received.length === 2)
      const [first, again] = made.remote.received
      assert.deepEqual([first?.method, first?.path], ['DELETE', `/them/trust/friend/${made.actor.id}`])
      assert.equal(again?.headers['authorization'], `Bearer ${made.peer.secret}`)
    })

    it('that a peer rejects are kept for the operator and do not block the next one', async () => {
      const made = await world({}, { replies: [403, 204] })
      const second = await made.peer.subscribe({})
      for (const subscription of [made.id, second]) {
        await made.actor.request('DELETE', `/subscriptions/${made.peer.peerId}/${subscription}`)
      }
      await made.remote.has(2)
      const { store } = await made.service.app.running()
      await made.until(async () => {
        const rows = await store.read((q) =>
          q.all<{ due_at: number | null; reason: string }>('SELECT due_at, reason FROM notice'),
        )
        return rows.length === 1 && rows[0]?.due_at === null && rows[0].reason === 'The peer answered 403'
      })
    })
  })

  describe('the operator', () => {
    it('can redrive failures by a command, also for one actor, peer or subscription (SUB-07)', async () => {
      const made = await world({}, { replies: [403, 403, 404, 204] })
      const { service, actor, peer, id, remote, until } = made
      const second = await peer.subscribe({})
      await made.put(1)
      await made.put(2)
      await until(async () => (await outcomes(made))[2] === 'failed')
      // A notice that the peer answers with 403 is given up, too.
      remote.replies = [403, 204]
      await actor.request('DELETE', `/subscriptions/${peer.peerId}/${second}`)
      await remote.has(3)
      const { store } = await service.app.running()
      await until(
        async () => (await store.read((q) => q.all('SELECT id FROM notice WHERE due_at IS NULL'))).length === 1,
      )

      const workplace = new Workplace()
      const redrive = (...args: string[]) =>
        workplace.run(['redrive', ...args], { env: { DATABASE_URL: service.databaseUrl } })
      try {
        assert.equal((await redrive('unknown')).stdout, '0 changes and 0 notices will be sent again.\n')
        assert.equal((await redrive(actor.id, 'unknown')).stdout, '0 changes and 0 notices will be sent again.\n')
        const done = await redrive(actor.id, peer.peerId, id)
        assert.deepEqual([done.code, done.stdout], [0, '2 changes and 0 notices will be sent again.\n'])
        // The command uses the real time, which is far behind the service’s clock.
        await until(async () => (await outcomes(made))[2] === 'delivered')
        assert.equal((await redrive()).stdout, '0 changes and 1 notice will be sent again.\n')
        await until(async () => (await store.read((q) => q.all('SELECT id FROM notice'))).length === 0)
        assert.equal((await redrive('a', 'b', 'c', 'd')).code, 1)
      } finally {
        await workplace.remove()
      }
    })
  })

  it(`appears in the metrics with its backlog and outcomes (${dialect})`, async () => {
    const made = await world({}, { replies: [404, 503] })
    await made.put(1)
    await made.put(2)
    await made.until(async () => (await made.timeline()).data[0]?.attempts === 1, 1)
    const metrics = await (await made.service.request('/metrics')).text()
    assert.match(metrics, /troupe_delivery_attempts_total\{outcome="failed"\} 1/)
    assert.match(metrics, /troupe_delivery_attempts_total\{outcome="retry"\} 1/)
    assert.match(metrics, /troupe_delivery_backlog 1/)
  })
})
