import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PeerClient, PeerRequest } from '../../src/peer/peer-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore, rowsOf } from '../support/store-dump.ts'

/** Peers that never answer. Records the requests sent to them. */
class Silence implements PeerClient {
  readonly asked: PeerRequest[] = []

  call(request: PeerRequest) {
    this.asked.push(request)
    return Promise.resolve({ kind: 'unreached', reason: 'Connection refused' } as const)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

forEachService((start) => {
  describe('trust requests that wait for the owner', () => {
    async function world(): Promise<{ service: TestService; actor: TestActor; peers: Silence }> {
      const peers = new Silence()
      const service = await start({ peerClient: peers, maxPendingTrusts: 3, relationship: 'associate' })
      return { service, actor: await service.createActor(), peers }
    }

    const ask = (service: TestService, actor: TestActor, name: string): Promise<Response> =>
      service.request(`/${actor.id}/trust/friend`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          baseuri: `https://peer.example.com/${name}`,
          id: name,
          type: 'urn:x',
          secret: name.padEnd(40, 's'),
          verify: 'token',
        }),
      })

    it('are limited to the configured number: one more gets 429, calls no peer and is not stored (RATE-04, R-LIM-01)', async () => {
      const { service, actor, peers } = await world()
      for (const name of ['one', 'two', 'three']) assert.equal((await ask(service, actor, name)).status, 202)
      peers.asked.length = 0
      const { store } = await service.app.running()
      const before = rowsOf(await dumpStore(store), actor.id)
      const refused = await ask(service, actor, 'four')
      assert.equal(refused.status, 429)
      assert.equal(refused.headers.get('retry-after'), '3600')
      assert.deepEqual(await refused.json(), {
        error: 'too_many_requests',
        message: 'Cannot take this trust request: too many wait for approval',
      })
      assert.deepEqual(peers.asked, [])
      assert.deepEqual(rowsOf(await dumpStore(store), actor.id), before)
      const other = await service.createActor('other@example.com')
      assert.equal((await ask(service, other, 'four')).status, 202, 'each actor has its own limit')
    })

    it('free a place when the owner approves or ends one (RATE-04)', async () => {
      const { service, actor } = await world()
      for (const name of ['one', 'two', 'three']) await ask(service, actor, name)
      assert.equal((await actor.request('PUT', '/trust/friend/one', { approved: true })).status, 204)
      assert.equal((await ask(service, actor, 'four')).status, 202)
      assert.equal((await ask(service, actor, 'five')).status, 429)
      assert.equal((await actor.request('DELETE', '/trust/friend/two')).status, 204)
      assert.equal((await ask(service, actor, 'five')).status, 202)
    })

    it('respect the limit when they arrive concurrently (RATE-04)', async () => {
      const { service, actor } = await world()
      const answers = await Promise.all(
        ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => ask(service, actor, name)),
      )
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      assert.deepEqual(statuses, [202, 202, 202, 429, 429, 429, 429, 429])
      const records = (await (await actor.request('GET', '/trust')).json()) as unknown[]
      assert.equal(records.length, 3)
    })

    it('do not limit requests for a type that is approved automatically (RATE-04)', async () => {
      const service = await start({
        peerClient: new Silence(),
        maxPendingTrusts: 1,
        relationship: 'friend',
        autoAcceptTrust: true,
      })
      const actor = await service.createActor()
      for (const name of ['one', 'two', 'three']) assert.equal((await ask(service, actor, name)).status, 201)
    })
  })

  describe('subscriptions of one peer', () => {
    it('are limited to the configured number: one more gets 403 and is not stored (R-LIM-01, RATE-04)', async () => {
      const service = await start({ maxPeerSubscriptions: 2 })
      const actor = await service.createActor()
      const [peer, other] = [await relateTo(service, actor), await relateTo(service, actor)]
      const subscribe = (as: typeof peer): Promise<Response> =>
        as.request('POST', `/subscriptions/${as.peerId}`, { target: 'properties', granularity: 'none' })
      assert.deepEqual([(await subscribe(peer)).status, (await subscribe(peer)).status], [201, 201])
      const { store } = await service.app.running()
      const before = rowsOf(await dumpStore(store), actor.id)
      const refused = await subscribe(peer)
      assert.equal(refused.status, 403)
      assert.deepEqual(await refused.json(), {
        error: 'forbidden',
        message: 'Cannot subscribe: a peer may have at most 2 subscriptions',
      })
      assert.deepEqual(rowsOf(await dumpStore(store), actor.id), before)
      assert.equal((await subscribe(other)).status, 201)
      const { data } = (await (await peer.request('GET', `/subscriptions/${peer.peerId}`)).json()) as {
        data: { subscriptionid: string }[]
      }
      const path = `/subscriptions/${peer.peerId}/${data[0]?.subscriptionid}`
      assert.equal((await peer.request('DELETE', path)).status, 204)
      const answers = await Promise.all([subscribe(peer), subscribe(peer), subscribe(peer)])
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 403, 403],
      )
    })
  })
})
