/** Publishers that went back in time, or do not announce every change: the copies at their peers equal them again. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonPublisher, sorted } from '../support/python-subscriptions.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

forEachService((start) => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  async function world(tags = 'callbacks,subscriptionresync') {
    const clock = new ManualClock()
    const peer = await PythonPeer.start({ autoAccept: 'friend' })
    closers.push(() => peer.close())
    peer.route('GET', /^\/meta\/actingweb\/supported$/, () => ({ status: 200, body: tags }))
    const service = await start({ listen: true, now: clock.now, timers: clock.timers })
    const actor = await service.createActor()
    assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
    const handle = await service.app.actors.get(actor.id)
    assert.ok(handle !== undefined)
    const publisher = new PythonPublisher(peer)
    const copy = async () => sorted(await handle.remote(peer.id).all())
    const equal = async () => JSON.stringify(await copy()) === JSON.stringify(publisher.source)
    const fetches = () =>
      peer.requests.filter(({ method, path }) => method === 'GET' && path.startsWith('/properties')).length
    const polls = () =>
      peer.requests.filter(({ method, path }) => method === 'GET' && path.startsWith('/subscriptions')).length
    const pass = async (ms: number, times = 1) => {
      for (let n = 0; n < times; n += 1) {
        clock.pass(ms)
        await service.settled()
      }
    }
    return { clock, peer, service, actor, handle, publisher, copy, equal, fetches, polls, pass }
  }

  describe('a Python publisher that was restored', () => {
    for (const more of [1, 2, 5, 6]) {
      it(`is fetched after ${more} changes, and followed from then on (SUB-28)`, async () => {
        const { clock, service, handle, peer, publisher, copy, equal } = await world()
        await handle.subscribe(peer.id)
        for (const n of [1, 2, 3]) await publisher.append('notes', n)
        const restore = publisher.backup()
        for (const n of [4, 5, 6, 7, 8]) await publisher.append('notes', n)
        await publisher.set('later', 'lost')
        await passUntil(clock, [service], equal)
        restore()
        for (let n = 0; n < more; n += 1) await publisher.append('notes', `again ${n}`)
        await passUntil(clock, [service], equal, 1000)
        assert.deepEqual(
          publisher.statuses,
          Array.from({ length: 9 + more }, () => 204),
        )
        await publisher.append('notes', 'last')
        await passUntil(clock, [service], equal, 1000)
        assert.equal('later' in (await copy()), false)
      })
    }

    it('is not fetched for a callback that arrives twice (SUB-28)', async () => {
      const { service, handle, peer, publisher, fetches, pass } = await world()
      await handle.subscribe(peer.id)
      for (const n of [1, 2, 3]) await publisher.append('notes', n)
      await service.settled()
      const before = fetches()
      for (let n = 0; n < 3; n += 1) await publisher.repeatLast()
      await service.settled()
      await pass(minuteMs, 5)
      assert.equal(fetches(), before)
      assert.deepEqual(publisher.statuses, [204, 204, 204, 204, 204, 204])
    })
  })

  describe('a Python publisher that announces only some changes', () => {
    it('is compared within half an hour after its first change, and then once a day (SUB-29)', async () => {
      const { service, handle, peer, publisher, copy, equal, fetches, pass } = await world()
      publisher.properties.set('a', 1)
      await handle.subscribe(peer.id)
      await publisher.set('a', 2)
      await service.settled()
      publisher.setUnannounced('b', 3)
      assert.deepEqual(await copy(), { a: 2 })
      await pass(minuteMs, 30)
      assert.deepEqual(await copy(), { a: 2, b: 3 })
      const before = fetches()
      for (let n = 0; n < 24; n += 1) {
        await publisher.set('a', n)
        publisher.setUnannounced('c', n)
        await pass(hourMs)
      }
      await pass(hourMs, 2)
      assert.equal(await equal(), true)
      assert.ok(fetches() - before <= 2, `${fetches() - before} fetches`)
    })

    it('is not asked when its tags say that it announces every change (SUB-29)', async () => {
      const { service, handle, peer, publisher, fetches, polls, pass } = await world('moving,subscriptionresync')
      await handle.subscribe(peer.id)
      await publisher.set('a', 1)
      await service.settled()
      const before = [fetches(), polls()]
      for (let n = 0; n < 50; n += 1) {
        await publisher.set('a', n)
        await pass(hourMs)
      }
      assert.deepEqual([fetches(), polls()], before)
    })

    it('costs nothing while it changes nothing (SUB-29)', async () => {
      const { service, handle, peer, publisher, fetches, polls, pass } = await world()
      publisher.properties.set('a', 1)
      await handle.subscribe(peer.id)
      await service.settled()
      const before = [fetches(), polls()]
      await pass(hourMs, 72)
      assert.deepEqual([fetches(), polls()], before)
      await publisher.set('a', 2)
      await pass(hourMs, 2)
      const after = [fetches(), polls()]
      await pass(hourMs, 72)
      assert.deepEqual([fetches(), polls()], after)
    })
  })

  describe('an acknowledgement', () => {
    async function published(granularity = 'high') {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      const remote = await new RecordingPeer().start()
      closers.push(() => remote.stop())
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      const id = await peer.subscribe({ granularity })
      const put = async (value: unknown) =>
        assert.equal((await actor.request('PUT', '/properties/mood', value)).status, 204)
      for (const value of [1, 2]) await put(value)
      if (granularity !== 'none') await passUntil(clock, [service], () => remote.received.length === 2)
      const acknowledge = async (sequence: number) =>
        assert.equal((await peer.request('PUT', `/subscriptions/${peer.peerId}/${id}`, { sequence })).status, 204)
      const sequence = async (): Promise<unknown> => {
        const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        return ((await answer.json()) as { sequence: number }).sequence
      }
      return { clock, service, handle: await service.app.actors.get(actor.id), remote, put, acknowledge, sequence }
    }

    it('of a number that was not used yet leads to a resync with the next number (SUB-25)', async () => {
      const { clock, service, remote, put, acknowledge } = await published()
      await acknowledge(99)
      await passUntil(clock, [service], () => remote.received.length === 3)
      await put(3)
      await passUntil(clock, [service], () => remote.received.length === 4)
      assert.deepEqual(
        remote.received.slice(2).map(({ body }) => [body?.['type'] ?? 'diff', body?.['sequence']]),
        [
          ['resync', 100],
          ['diff', 101],
        ],
      )
      assert.match(service.log.join('\n'), /A subscriber knows later changes than the publisher/)
    })

    for (const [what, sequence] of [
      ['0', 0],
      ['a known number', 1],
      ['the last number', 2],
      ['a number that cannot be of this subscription', 9_000_000_000_000],
    ] as const) {
      it(`of ${what} leaves the numbers as they are (SUB-25)`, async () => {
        const { clock, service, remote, put, acknowledge } = await published()
        await acknowledge(sequence)
        await put(3)
        await passUntil(clock, [service], () => remote.received.length === 3)
        assert.deepEqual(remote.sequences, [1, 2, 3])
      })
    }

    it('of a number that was not used yet leaves the numbers of a peer that only polls as they are (SUB-25)', async () => {
      const { put, acknowledge, sequence } = await published('none')
      await acknowledge(99)
      await put(3)
      assert.equal(await sequence(), 3)
    })

    it('of a number that was not used yet continues the numbers of a suspended subscription with its resume (SUB-25)', async () => {
      const { clock, service, handle, remote, acknowledge } = await published()
      await handle?.subscriptions.suspend('properties')
      await acknowledge(99)
      await handle?.subscriptions.resume('properties')
      await passUntil(clock, [service], () => remote.received.length === 3)
      assert.deepEqual([remote.received[2]?.body?.['type'], remote.received[2]?.body?.['sequence']], ['resync', 100])
    })
  })
})
