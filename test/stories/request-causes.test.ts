import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly peer: TestRelationship
  readonly id: string
  readonly remote: RecordingPeer
  /** Sends a request of the owner with this request id. */
  readonly ask: (requestId: string, method: string, path: string, body?: unknown) => Promise<void>
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const remotes: RecordingPeer[] = []
afterEach(async () => {
  for (const remote of remotes.splice(0)) await remote.stop()
})

/** Requests that the peer received, each with the id of the request that caused it. */
function causes({ remote }: World): unknown[] {
  return remote.received.map(({ method, path, body, headers }) => {
    assert.match(String(headers['x-request-id']), uuid)
    const [, , room] = path.split('/')
    return [method, room, body?.['type'] ?? body?.['sequence'] ?? null, headers['x-parent-request-id']]
  })
}

forEachService((start) => {
  async function open(clock = new ManualClock()): Promise<World> {
    const service = await start({ now: clock.now, timers: clock.timers, random: () => 0 })
    const actor = await service.createActor()
    const remote = await new RecordingPeer().start()
    remotes.push(remote)
    const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
    const ask: World['ask'] = async (requestId, method, path, body) => {
      const answer = await actor.request(method, path, body, { 'x-request-id': requestId })
      assert.ok(answer.ok, `${method} ${path}: ${answer.status}`)
    }
    return { service, actor, peer, remote, ask, id: await peer.subscribe({ granularity: 'high' }) }
  }

  describe('X-Parent-Request-ID', () => {
    it('names the request that made the change, for each callback of a batch (R-SUB-12)', async () => {
      const world = await open()
      await world.ask('writing-1', 'PUT', '/properties/mood', 1)
      await world.ask('writing-2', 'PUT', '/properties/mood', 2)
      await world.ask('writing-3', 'PUT', '/properties/mood', 3)
      await world.remote.has(3)
      assert.deepEqual(causes(world), [
        ['POST', 'callbacks', 1, 'writing-1'],
        ['POST', 'callbacks', 2, 'writing-2'],
        ['POST', 'callbacks', 3, 'writing-3'],
      ])
    })

    it('names the request on an approval, a permission push, a revocation and a deletion (R-SUB-12)', async () => {
      const world = await open()
      const { ask, remote, peer, id } = world
      await ask('approving', 'PUT', `/trust/friend/${peer.peerId}`, { approved: true })
      await remote.has(1)
      await ask('granting', 'PUT', `/trust/friend/${peer.peerId}/permissions`, {
        properties: { excluded_patterns: ['diary'] },
      })
      await remote.has(2)
      await ask('revoking', 'DELETE', `/subscriptions/${peer.peerId}/${id}`)
      await remote.has(3)
      await ask('ending', 'DELETE', `/trust/friend/${peer.peerId}`)
      await remote.has(4)
      assert.deepEqual(causes(world), [
        ['POST', 'trust', null, 'approving'],
        ['POST', 'callbacks', 'permission', 'granting'],
        ['DELETE', 'subscriptions', null, 'revoking'],
        ['DELETE', 'trust', null, 'ending'],
      ])
    })

    it('names the approval on the resync that it causes (R-SUB-12)', async () => {
      const world = await open()
      const { ask, remote, peer } = world
      await ask('withdrawing', 'PUT', `/trust/friend/${peer.peerId}`, { approved: false })
      await ask('approving-again', 'PUT', `/trust/friend/${peer.peerId}`, { approved: true })
      await until(() => remote.received.some(({ body }) => body?.['type'] === 'resync'))
      const resync = remote.received.find(({ body }) => body?.['type'] === 'resync')
      assert.equal(resync?.headers['x-parent-request-id'], 'approving-again')
    })

    it('is stored with pending messages for another process after a restart (R-SUB-12)', async () => {
      const world = await open()
      const { service, remote, ask, peer } = world
      const second = await peer.subscribe({ granularity: 'high' })
      remote.replies = [503]
      await ask('writing', 'PUT', '/properties/mood', 1)
      await ask('revoking', 'DELETE', `/subscriptions/${peer.peerId}/${second}`)
      await remote.has(2)
      await service.close()
      remote.received.length = 0
      remote.replies = [204]
      const later = new ManualClock(1_900_000_100_000)
      const next = await start({ database: service.databaseUrl, now: later.now, timers: later.timers, random: () => 0 })
      await passUntil(later, [next], () => remote.received.length === 2)
      // The callback and the notice may be sent in either order.
      assert.deepEqual(
        new Set(causes(world)),
        new Set([
          ['DELETE', 'subscriptions', null, 'revoking'],
          ['POST', 'callbacks', 1, 'writing'],
        ]),
      )
    })

    it('names the delivery itself when no request caused it (R-SUB-12)', async () => {
      const world = await open()
      const handle = await world.service.app.actors.get(world.actor.id)
      await handle?.set('mood', 1)
      await world.remote.has(1)
      assert.match(String(world.remote.received[0]?.headers['x-parent-request-id']), uuid)
    })
  })
})
