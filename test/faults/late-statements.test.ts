/** Statements of moved actors that the network delivers late: they bring back no secret that was replaced meanwhile. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PeerRequest } from '../../src/peer/peer-client.ts'
import { asOwner, related } from '../support/interrupted-moves.ts'
import { arrivedAt, movingWorld, type MovingWorld, newUrl, oldUrl, peerUrl, secretAt } from '../support/moving.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { until } from '../support/until.ts'

forEachService((start) => {
  interface Late extends MovingWorld {
    readonly alice: TestActor
    readonly bob: TestActor
    /** The first statement of the new home, which has not arrived. */
    readonly statement: PeerRequest
    /** Lets time pass for all services. */
    readonly pass: (ms: number) => void
  }

  /** Alice has moved. Her statement to Bob is on its way, and no other one arrives. */
  async function late(): Promise<Late> {
    let passed = 0
    const world = await movingWorld(start, { all: { acceptMoves: true, now: () => Date.now() + passed } })
    const { alice, bob } = await related(world)
    const { promise, resolve } = Promise.withResolvers<PeerRequest>()
    world.network.fate = (request) => {
      if (!request.url.includes('/callbacks/moved/')) return 'arrives'
      resolve(request)
      return 'unreached'
    }
    await world.move(alice)
    await world.arrived(alice)
    const pass = (ms: number): void => {
      passed += ms
    }
    return { ...world, alice, bob, statement: await promise, pass }
  }

  const secretsAt = async (home: MovingWorld['home'], { alice, bob, peers }: Late): Promise<[string, string]> => [
    await secretAt(home, alice.id, bob.id),
    await secretAt(peers, bob.id, alice.id),
  ]

  const statusOf = async ({ network }: Late, request: PeerRequest): Promise<number> => {
    const outcome = await network.call(request)
    return outcome.kind === 'answered' ? outcome.status : 0
  }

  describe('a statement that arrives after a request has replaced its secret', () => {
    const asks = {
      'the peer': async ({ bob, alice }: Late) =>
        bob.request('POST', '/trust', { url: `${newUrl}/${alice.id}`, relationship: 'friend' }),
      'the moved actor': async ({ home, bob, alice }: Late) =>
        asOwner(home, alice, 'POST', '/trust', { url: `${peerUrl}/${bob.id}`, relationship: 'friend' }),
    }
    // The request of the moved actor brings its new address, and no statement about this move is needed any longer.
    const orders = [
      { order: ['the peer'], status: 403 },
      { order: ['the moved actor'], status: 204 },
      { order: ['the peer', 'the moved actor'], status: 403 },
    ] as const
    for (const { order, status } of orders) {
      it(`of ${order.join(', then of ')}, changes nothing (MOV-27)`, async () => {
        const world = await late()
        for (const who of order) {
          world.pass(1000)
          assert.equal((await asks[who](world)).status, 201)
        }
        const [own, theirs] = await secretsAt(world.home, world)
        assert.equal(own, theirs)
        world.network.fate = () => 'arrives'
        assert.equal(await statusOf(world, world.statement), status)
        assert.deepEqual(await secretsAt(world.home, world), [own, own])
      })
    }
  })

  describe('a statement whose addresses answer slowly', () => {
    it('is not taken after a later one, when the actor has come back meanwhile (MOV-27)', async () => {
      const world = await late()
      const { alice, bob, network, peers, old, home, statement } = world
      const before = await secretAt(peers, bob.id, alice.id)
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      let reads = 0
      let isBack = false
      network.fate = async ({ url }) => {
        if (url.includes('/callbacks/moved/')) return isBack || url === statement.url ? 'arrives' : 'unreached'
        // The first reading shows the key, and the second one confirms the notice of the old address.
        if (url === `${newUrl}/${alice.id}/meta/moving` && ++reads === 2) await released
        return 'arrives'
      }
      const slow = statusOf(world, statement)
      await until(() => reads === 2)
      isBack = true
      assert.equal((await asOwner(home, alice, 'POST', '/move', { to: oldUrl })).status, 202)
      await arrivedAt(old, alice)
      // A statement of the new home may arrive before that of the old one.
      await until(async () => {
        const [own, theirs] = await secretsAt(old, world)
        return own === theirs && theirs !== before
      })
      release()
      assert.equal(await slow, 503)
      const [own, theirs] = await secretsAt(old, world)
      assert.equal(theirs, own)
    })
  })
})
