import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemTimers } from '../../src/timers.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'

const arrived: PeerOutcome = { kind: 'answered', status: 204, headers: {}, body: '' }

/** A peer that answers calls only when the test says so. */
class PatientPeer implements PeerClient {
  readonly calls: string[] = []
  readonly #waiting: ((outcome: PeerOutcome) => void)[] = []

  call({ method, url }: PeerRequest): Promise<PeerOutcome> {
    this.calls.push(`${method} ${new URL(url).pathname}`)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  answer(outcome: PeerOutcome): void {
    for (const resolve of this.#waiting.splice(0)) resolve(outcome)
  }

  async close(): Promise<void> {
    this.answer({ kind: 'unknown', reason: 'closed' })
  }
}

interface World {
  readonly service: TestService
  readonly clock: ManualClock
  readonly remote: PatientPeer
  readonly actor: TestActor
  readonly peer: TestRelationship
}

/** The kinds of change, each with the method of the expected notification. `change` returns whether it succeeded. */
const ways: readonly [title: string, notice: string, change: (world: World) => Promise<boolean>][] = [
  [
    'PUT of an approval',
    'POST',
    async ({ actor, peer }) =>
      (await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved: true })).status === 204,
  ],
  [
    'DELETE of a relationship',
    'DELETE',
    async ({ actor, peer }) => (await actor.request('DELETE', `/trust/friend/${peer.peerId}`)).status === 204,
  ],
  [
    'an approval on its page',
    'POST',
    async ({ service, actor, peer }) => {
      const browser = await OwnersBrowser.open(service, actor)
      return (await browser.send(`/trust/${peer.peerId}`, { action: 'approve' })).status === 302
    },
  ],
  [
    'an ending on its page',
    'DELETE',
    async ({ service, actor, peer }) => {
      const browser = await OwnersBrowser.open(service, actor)
      return (await browser.send(`/trust/${peer.peerId}`, { action: 'end' })).status === 302
    },
  ],
  [
    'actor.trust.approve',
    'POST',
    async ({ service, actor, peer }) => {
      const handle = await service.app.actors.get(actor.id)
      return (await handle?.trust.approve(peer.peerId))?.approved === true
    },
  ],
  [
    'actor.trust.delete',
    'DELETE',
    async ({ service, actor, peer }) => {
      const handle = await service.app.actors.get(actor.id)
      return (await handle?.trust.delete(peer.peerId)) === true
    },
  ],
]

forEachService((start) => {
  async function open(): Promise<World> {
    const [clock, remote] = [new ManualClock(), new PatientPeer()]
    const service = await start({
      peerClient: remote,
      now: clock.now,
      timers: {
        // A call with a timer of 0 ms is aborted when the service stops, without the manual clock.
        setTimer: (ms, then) => (ms === 0 ? systemTimers.setTimer(0, then) : clock.timers.setTimer(ms, then)),
      },
      shutdownSeconds: 0,
      peerProfileAttributes: [],
    })
    const actor = await service.createActor()
    const peer = await relateTo(service, actor, { baseuri: 'http://them.test/them', approved: false })
    return { service, clock, remote, actor, peer }
  }

  for (const [title, method, change] of ways) {
    describe(title, () => {
      /** Resolves after a request that began later was answered. */
      async function laterRequest({ actor }: World): Promise<void> {
        assert.equal((await actor.request('PUT', '/properties/later', 'x')).status, 204)
      }

      async function begun(): Promise<World & { readonly settled: () => boolean; readonly done: Promise<boolean> }> {
        const world = await open()
        let isSettled = false
        const done = change(world).finally(() => {
          isSettled = true
        })
        await until(() => world.remote.calls.length === 1)
        assert.deepEqual(world.remote.calls, [`${method} /them/trust/friend/${world.actor.id}`])
        await laterRequest(world)
        return { ...world, settled: () => isSettled, done }
      }

      it('is answered after the peer was notified (R-TRUST-04)', async () => {
        const { remote, settled, done } = await begun()
        assert.equal(settled(), false)
        remote.answer(arrived)
        assert.equal(await done, true)
      })

      it('is answered after a failed attempt, which is retried later (R-TRUST-04)', async () => {
        const { remote, clock, done } = await begun()
        remote.answer({ kind: 'unreached', reason: 'refused' })
        assert.equal(await done, true)
        assert.equal(remote.calls.length, 1)
        await until(() => {
          clock.pass(100)
          return remote.calls.length === 2
        })
        assert.equal(remote.calls[1], remote.calls[0])
      })

      it('waits a second for a peer that does not respond, and delays no change of the actor (R-TRUST-04)', async () => {
        const world = await begun()
        const { remote, clock, actor, settled, done } = world
        assert.equal((await actor.request('PUT', '/properties/mood', 'calm')).status, 204)
        clock.pass(999)
        await laterRequest(world)
        assert.equal(settled(), false)
        clock.pass(1)
        assert.equal(await done, true)
        assert.equal(remote.calls.length, 1)
      })
    })
  }

  describe("DELETE of a relationship at the peer's request", () => {
    it('notifies no peer, and waits for none (R-TRUST-04)', async () => {
      const { remote, peer, actor } = await open()
      assert.equal((await peer.request('DELETE', `/trust/friend/${peer.peerId}`)).status, 204)
      assert.equal((await actor.request('GET', `/trust/friend/${peer.peerId}`)).status, 404)
      assert.deepEqual(remote.calls, [])
    })
  })
})
