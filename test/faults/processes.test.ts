import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import v8 from 'node:v8'
import type { PeerClient } from '../../src/peer/peer-client.ts'
import { forEachService } from '../support/service.ts'

const peerId = '0123456789abcdef0123456789abcdef'
const secret = '0f3c'.repeat(10)

/** A peer that only sends requests: calls to it never arrive. */
const silent: PeerClient = {
  call: async () => ({ kind: 'unreached', reason: 'the peer is silent' }),
  close: async () => {},
}

forEachService((start) => {
  describe('two processes on one database', () => {
    it('apply a change of the first to the next request at the second, without a notification (OPS-02, ACL-10, I7)', async () => {
      const first = await start({ peerClient: silent })
      const second = await start({ peerClient: silent, database: first.databaseUrl })
      const owner = await first.createActor()
      const asPeer = async (path: string, method = 'GET', body?: unknown): Promise<Response> =>
        second.request(`/${owner.id}${path}`, {
          method,
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
      const reads = async (): Promise<number> => (await asPeer('/properties/diary')).status
      const owns = async (method: string, path: string, body?: unknown): Promise<void> => {
        const answer = await owner.request(method, path, body)
        assert.ok(answer.ok, `${method} ${path}: ${answer.status}`)
      }

      await owns('PUT', '/properties/diary', 'dear diary')
      await owns('POST', '/trust/friend', { baseuri: `https://peer.example.com/${peerId}`, id: peerId, secret })
      assert.equal(await reads(), 403)
      await owns('PUT', `/trust/friend/${peerId}`, { approved: true })
      assert.equal(await reads(), 200)

      await owns('PUT', `/trust/friend/${peerId}/permissions`, { properties: { excluded_patterns: ['diary'] } })
      assert.equal(await reads(), 403)
      await owns('DELETE', `/trust/friend/${peerId}/permissions`)
      assert.equal(await reads(), 200)

      const subscribed = await asPeer(`/subscriptions/${peerId}`, 'POST', { target: 'properties', granularity: 'none' })
      assert.equal(subscribed.status, 201)
      const { subscriptionid } = (await subscribed.json()) as { subscriptionid: string }
      await owns('PUT', '/properties/diary', 'new page')
      const polled = await asPeer(`/subscriptions/${peerId}/${subscriptionid}`)
      const { sequence, data } = (await polled.json()) as {
        sequence: number
        data: { sequence: number; data: unknown }[]
      }
      assert.equal(sequence, 1)
      assert.deepEqual(
        data.map((diff) => [diff.sequence, diff.data]),
        [[1, { diary: 'new page' }]],
      )

      await owns('PUT', `/trust/friend/${peerId}`, { approved: false })
      assert.equal(await reads(), 403)
      await owns('PUT', `/trust/friend/${peerId}`, { approved: true })
      assert.equal(await reads(), 200)
      await owns('DELETE', `/trust/friend/${peerId}`)
      assert.equal(await reads(), 403)
      await owns('DELETE', '')
      assert.equal(await reads(), 404)
    })
  })

  describe('the process of a service', () => {
    it('makes no fast calls into native code, which could end the process (HTTP-39)', async (t) => {
      const setFlags = t.mock.method(v8, 'setFlagsFromString')
      await start()
      assert.deepEqual(
        setFlags.mock.calls.map((call) => call.arguments),
        [['--no-turbo-fast-api-calls']],
      )
    })
  })

  describe('a clock that jumps', () => {
    it('by an hour in either direction changes no rights and delays no work (OPS-06)', async () => {
      let now = Date.UTC(2031, 0, 1, 12)
      const service = await start({ peerClient: silent, now: () => now })
      const owner = await service.createActor()
      await owner.request('POST', '/trust/friend', {
        baseuri: `https://peer.example.com/${peerId}`,
        id: peerId,
        secret,
      })
      await owner.request('PUT', `/trust/friend/${peerId}`, { approved: true })
      const asPeer = async (method: string, path: string, body?: unknown): Promise<Response> =>
        service.request(`/${owner.id}${path}`, {
          method,
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
      const { subscriptionid } = (await (
        await asPeer('POST', `/subscriptions/${peerId}`, { target: 'properties', granularity: 'none' })
      ).json()) as { subscriptionid: string }
      const gone = await service.createActor('gone@example.com')
      await gone.request('DELETE', '')
      const { parts } = await service.app.running()
      for (const jump of [0, 3_600_000, -7_200_000]) {
        now += jump
        assert.equal((await owner.request('PUT', `/properties/at${jump}`, '1')).status, 204)
        assert.equal((await owner.request('POST', '/properties', { list: { _type: 'list' } })).status, 201)
        assert.equal((await owner.request('POST', '/properties/list', '1')).status, 201)
        assert.equal((await asPeer('GET', `/properties/at${jump}`)).status, 200)
        assert.equal(await parts.actors.wasDeleted(gone.id), 'yes')
      }
      const polled = (await (await asPeer('GET', `/subscriptions/${peerId}/${subscriptionid}`)).json()) as {
        data: { sequence: number }[]
      }
      assert.deepEqual(
        polled.data.map(({ sequence }) => sequence),
        [...polled.data.keys()].map((index) => index + 1),
      )
      assert.ok(polled.data.length >= 6)
      const metadata = (await (await owner.request('GET', '/properties/list/metadata')).json()) as {
        created_at: string
        updated_at: string
      }
      assert.ok(metadata.updated_at >= metadata.created_at)
      await owner.request('DELETE', `/trust/friend/${peerId}`)
      now += 7_200_000
      assert.equal((await asPeer('GET', '/properties')).status, 403)
    })
  })
})
