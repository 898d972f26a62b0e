import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Timers } from '../../src/timers.ts'
import type { PeerClient, PeerRequest } from '../../src/peer/peer-client.ts'
import { FakePeers } from '../support/fake-peers.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Holds every response until `open()` is called. */
class SlowPeers implements PeerClient {
  readonly #gate = Promise.withResolvers<void>()
  readonly calls: string[] = []

  open(): void {
    this.#gate.resolve()
  }

  async call({ method, body }: PeerRequest) {
    const sequence = typeof body === 'string' ? (JSON.parse(body) as { sequence?: number }).sequence : undefined
    this.calls.push(sequence === undefined ? method : `${method} ${sequence}`)
    await this.#gate.promise
    return { kind: 'answered', status: 204, headers: {}, body: '' } as const
  }

  async close(): Promise<void> {
    this.open()
  }
}

forEachService((start) => {
  describe('calls to peers', () => {
    it('use the configured timeouts in handshakes, callbacks and notices (R-SUB-12)', async () => {
      const peers = new FakePeers()
      const service = await start({ peerClient: peers })
      const actor = await service.createActor()
      const asked = await actor.request('POST', '/trust', { url: 'http://them.test/asked', relationship: 'friend' })
      assert.equal(asked.status, 201)
      await service.request(`/${actor.id}/trust/friend`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          baseuri: 'http://them.test/asking',
          id: 'asking',
          type: 'urn:actingweb:example.com:test',
          secret: '5ec7'.repeat(10),
          verify: 'a-token',
        }),
      })
      const peer = await relateTo(service, actor, { baseuri: 'http://them.test/listening' })
      const id = await peer.subscribe({ granularity: 'high' })
      await actor.request('PUT', '/properties/mood', 1)
      await until(() => peers.calls.some(({ url }) => url.includes('/callbacks/')))
      await actor.request('DELETE', `/subscriptions/${peer.peerId}/${id}`)
      await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved: true })
      await until(() => peers.calls.some(({ url }) => url.includes('/listening/trust/')))
      assert.deepEqual(
        peers.calls.map(({ method, url, timeouts }) => [
          `${method} ${url.replaceAll(actor.id, '<actor>').replaceAll(id, '<id>')}`,
          timeouts,
        ]),
        [
          ['GET http://them.test/asked/meta', undefined],
          ['POST http://them.test/asked/trust/friend', undefined],
          ['GET http://them.test/asking/trust/friend/<actor>', undefined],
          ['POST http://them.test/listening/callbacks/subscriptions/<actor>/<id>', undefined],
          ['DELETE http://them.test/listening/subscriptions/<actor>/<id>', undefined],
          ['POST http://them.test/listening/trust/friend/<actor>', undefined],
        ],
      )
    })
  })

  describe('a peer that takes as long as the timeouts allow', () => {
    for (const timeouts of [
      { peerConnectSeconds: 5, peerReadSeconds: 20 },
      { peerConnectSeconds: 120, peerReadSeconds: 600 },
    ]) {
      const seconds = timeouts.peerConnectSeconds + timeouts.peerReadSeconds
      it(`receives each callback and notice once within ${seconds} s, from one of two processes (R-SUB-12, SUB-16)`, async () => {
        const [peers, clock] = [new SlowPeers(), new ManualClock()]
        // The loop that polls for due work sets a timer of at most a second each time.
        const looks = [0, 0]
        const countingLooks = (index: number): Timers => ({
          setTimer: (ms, then) => {
            if (ms <= 1000) looks[index] = (looks[index] ?? 0) + 1
            return clock.timers.setTimer(ms, then)
          },
        })
        const options = { peerClient: peers, now: clock.now, shutdownSeconds: 0, ...timeouts }
        const first = await start({ ...options, timers: countingLooks(0) })
        const second = await start({ ...options, timers: countingLooks(1), database: first.databaseUrl })
        const actor = await first.createActor()
        const peer = await relateTo(first, actor, { baseuri: 'http://slow.test/them' })
        const other = await peer.subscribe({ granularity: 'none' })
        await peer.subscribe({ granularity: 'high' })
        await actor.request('PUT', '/properties/mood', 1)
        await actor.request('PUT', '/properties/mood', 2)
        await actor.request('DELETE', `/subscriptions/${peer.peerId}/${other}`)
        await until(() => peers.calls.length === 2)
        for (let second = 0; second < seconds; second++) {
          const before = [...looks]
          clock.pass(1000)
          await until(() => looks.every((count, index) => count > (before[index] ?? 0)))
        }
        assert.deepEqual(peers.calls.toSorted(), ['DELETE', 'POST 1'])
        peers.open()
        const { store } = await first.app.running()
        await passUntil(clock, [first, second], async () => {
          const left = await store.read((q) =>
            q.all('SELECT due_at FROM publisher_subscription WHERE due_at IS NOT NULL UNION ALL SELECT 1 FROM notice'),
          )
          return left.length === 0
        })
        assert.deepEqual(peers.calls.toSorted(), ['DELETE', 'POST 1', 'POST 2'])
      })
    }
  })
})
