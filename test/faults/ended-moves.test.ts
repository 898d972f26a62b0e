/** Ends of relationships whose actors have moved: no message of an end is lost at an address that an actor has left. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { asOwner } from '../support/interrupted-moves.ts'
import { relate } from '../support/friends.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import {
  addressAt,
  arrivedAt,
  movingWorld,
  type MovingWorld,
  newUrl,
  oldUrl,
  peerUrl,
  secretAt,
} from '../support/moving.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { until, untilEqual } from '../support/until.ts'

const thirdUrl = 'https://third.example.com'

forEachService((start) => {
  interface Both extends MovingWorld {
    readonly alice: TestActor
    readonly bob: TestActor
    readonly third: TestService
  }

  /** Alice and Bob copy each other's properties. Nothing tells one of them that the other one moves. */
  async function friends(options: StartOptions = {}): Promise<Both> {
    const world = await movingWorld(start, { all: { random: () => 0, ...options } })
    const third = await start({
      baseUrl: thirdUrl,
      peerClient: world.network,
      acceptMoves: true,
      random: () => 0,
      ...options,
    })
    world.network.add(third)
    const alice = await world.old.createActor('alice@example.com')
    const bob = await world.peers.createActor('bob@example.com')
    await relate(bob, [world.old, alice])
    for (const [one, other] of [
      [alice, bob],
      [bob, alice],
    ] as const) {
      const wanted = { peerid: other.id, target: 'properties', granularity: 'high' }
      assert.ok((await one.request('POST', '/subscriptions', wanted)).ok)
    }
    world.network.fate = ({ url }) => (url.includes('/callbacks/moved/') ? 'unreached' : 'arrives')
    return { ...world, alice, bob, third }
  }

  const isKnown = async (service: TestService, actor: TestActor, peer: TestActor): Promise<boolean> =>
    (await addressAt(service, actor.id, peer.id)) !== undefined

  /** The ends that a service still has to tell. */
  async function waitingEnds(service: TestService, { id }: TestActor): Promise<readonly object[]> {
    const { store } = await service.app.running()
    const sql = `SELECT kind, reason FROM notice WHERE sender = $1 AND due_at IS NOT NULL ORDER BY kind, reason`
    return store.read((q) => q.all(sql, id))
  }

  /** Makes the ends due that wait for a retry. */
  async function hurry(service: TestService, { id }: TestActor): Promise<void> {
    const { store } = await service.app.running()
    const sql = 'UPDATE notice SET due_at = $2 WHERE sender = $1 AND due_at > $2 AND leased_until = 0'
    await store.write((tx) => tx.run(sql, id, store.now()))
  }

  async function retryStatements(service: TestService, { id }: TestActor): Promise<void> {
    await (await service.app.running()).parts.arrivalClaims.retry(id)
  }

  async function moveBoth(world: Both): Promise<void> {
    const { alice, bob, third } = world
    await world.move(alice)
    await world.arrived(alice)
    await world.move(bob, thirdUrl)
    await arrivedAt(third, bob)
  }

  describe('two actors that both moved', () => {
    it('end their relationship when one is deleted before it hears of the other (MOV-25)', async () => {
      const world = await friends()
      const { alice, bob, third, network } = world
      await moveBoth(world)
      assert.ok((await asOwner(world.home, alice, 'DELETE', '')).ok)
      await until(() => network.saw(new RegExp(`^DELETE ${thirdUrl}/${bob.id}/trust/friend/${alice.id}$`)))
      // The statement of Bob is not needed: the home of Alice states with its key that she was deleted.
      await retryStatements(third, bob)
      await until(async () => !(await isKnown(third, bob, alice)))
      await until(async () => (await waitingEnds(world.home, alice)).length === 0)
      assert.deepEqual(await (await asOwner(third, bob, 'GET', '/subscriptions')).json(), { id: bob.id, data: [] })
      const moving = await world.home.request(`/${alice.id}/meta/moving`)
      assert.equal(((await moving.json()) as { state: string }).state, 'deleted')
    })

    it('end their relationship when the owner of one ends it, and not by the old secret (MOV-25)', async () => {
      const world = await friends()
      const { alice, bob, third, network } = world
      await moveBoth(world)
      assert.ok((await asOwner(world.home, alice, 'DELETE', `/trust/friend/${bob.id}`)).ok)
      await until(() => network.saw(new RegExp(`^DELETE ${thirdUrl}/${bob.id}/trust/friend/${alice.id}$`)))
      await untilEqual(
        () => waitingEnds(world.home, alice),
        () => [
          { kind: 'trust_deleted', reason: '' },
          { kind: 'trust_deleted', reason: 'The peer answered 308' },
        ],
      )
      assert.equal(await isKnown(third, bob, alice), true)
      network.fate = () => 'arrives'
      await retryStatements(third, bob)
      await until(async () => !(await isKnown(third, bob, alice)))
      await until(async () => (await waitingEnds(world.home, alice)).length === 0)
    })
  })

  describe('an end whose message waits when its actor moves', () => {
    it('is sent by the old service, which has its secret (MOV-28)', async () => {
      const world = await friends()
      const { alice, bob, network, peers, old } = world
      network.fate = ({ method, url }) =>
        method === 'DELETE' || url.includes('/callbacks/moved/') ? 'unreached' : 'arrives'
      assert.ok((await alice.request('DELETE', `/trust/friend/${bob.id}`)).ok)
      await world.move(alice)
      await world.arrived(alice)
      await world.gone(alice)
      assert.equal(await isKnown(peers, bob, alice), true)
      network.fate = () => 'arrives'
      await until(async () => !(await isKnown(peers, bob, alice)))
      await until(async () => (await waitingEnds(old, alice)).length === 0)
    })
  })

  describe('an end that an old service sends to a peer that has moved too', () => {
    it('is sent no longer when the last home of the peer has refused the former secret (MOV-28)', async () => {
      const world = await friends()
      const { alice, bob, network, old, third } = world
      const isStatement = (url: string): boolean => url.includes('/callbacks/moved/')
      network.fate = ({ method, url }) => (method === 'DELETE' || isStatement(url) ? 'unreached' : 'arrives')
      assert.ok((await alice.request('DELETE', `/trust/friend/${bob.id}`)).ok)
      await moveBoth(world)
      await world.gone(alice)
      network.fate = ({ url }) => (isStatement(url) ? 'unreached' : 'arrives')
      await until(async () => {
        await hurry(old, alice)
        return (await waitingEnds(old, alice)).length === 0
      })
      const sent = network.calls.filter((call) => call === `DELETE ${thirdUrl}/${bob.id}/trust/friend/${alice.id}`)
      assert.equal(sent.length, 1)
      assert.equal(await isKnown(third, bob, alice), true)
      network.fate = () => 'arrives'
      await retryStatements(third, bob)
      await until(async () => !(await isKnown(third, bob, alice)))
    })
  })

  describe('an end that waits for the statement of a moved peer', () => {
    /** Bob has ended the relationship. Alice has another secret at her new home, and does not hear of it. */
    async function unheard(): Promise<Both> {
      const world = await friends()
      const { alice, bob, peers } = world
      await world.move(alice)
      await world.arrived(alice)
      assert.ok((await bob.request('DELETE', `/trust/friend/${alice.id}`)).ok)
      await untilEqual(
        () => waitingEnds(peers, bob),
        () => [{ kind: 'trust_deleted', reason: 'The peer answered 308' }],
      )
      return world
    }

    it('waits no longer when the two have a relationship again (MOV-29)', async () => {
      const world = await unheard()
      const { alice, bob, peers, home } = world
      const wish = { url: `${newUrl}/${alice.id}`, relationship: 'friend' }
      assert.equal((await bob.request('POST', '/trust', wish)).status, 201)
      await until(async () => (await waitingEnds(peers, bob)).length === 0)
      assert.equal(await isKnown(peers, bob, alice), true)
      assert.equal(await isKnown(home, alice, bob), true)
    })

    it('does not hold up the approval of a later one (MOV-29)', async () => {
      const world = await unheard()
      const { alice, bob, network, peers, home } = world
      network.fate = ({ method, url }) =>
        method === 'DELETE' || url.includes('/callbacks/moved/') ? 'unreached' : 'arrives'
      const wish = { url: `${peerUrl}/${bob.id}`, relationship: 'friend' }
      assert.equal((await asOwner(home, alice, 'POST', '/trust', wish)).status, 201)
      assert.ok((await bob.request('PUT', `/trust/friend/${alice.id}`, { approved: true })).ok)
      const { parts } = await home.app.running()
      await until(async () => (await parts.trusts.find(alice.id, bob.id))?.peerApproved === true)
      assert.deepEqual((await waitingEnds(peers, bob)).length, 1)
    })
  })

  describe('an end while a statement is on its way', () => {
    it('ends the relationship at a peer that has the new secret already (MOV-30)', async () => {
      const world = await friends()
      const { alice, bob, network, peers, home } = world
      const before = await secretAt(peers, bob.id, alice.id)
      network.fate = ({ url }) => (url.includes('/callbacks/moved/') ? 'lost' : 'arrives')
      await world.move(alice)
      await world.arrived(alice)
      await until(async () => (await secretAt(peers, bob.id, alice.id)) !== before)
      assert.ok((await asOwner(home, alice, 'DELETE', `/trust/friend/${bob.id}`)).ok)
      await until(async () => !(await isKnown(peers, bob, alice)))
    })

    it('ends the relationship at a peer that has moved, and has only its own new secret (MOV-30)', async () => {
      const world = await friends()
      const { alice, bob, network, home, third } = world
      await world.move(bob, thirdUrl)
      await arrivedAt(third, bob)
      await world.move(alice)
      await world.arrived(alice)
      // The move of Alice is the later one, so her secret counts. Her statement does not arrive.
      network.fate = ({ url }) => (url.includes(`/${bob.id}/callbacks/moved/`) ? 'unreached' : 'arrives')
      await retryStatements(third, bob)
      await until(async () => (await addressAt(home, alice.id, bob.id)) === `${thirdUrl}/${bob.id}`)
      assert.ok((await asOwner(home, alice, 'DELETE', `/trust/friend/${bob.id}`)).ok)
      await until(async () => !(await isKnown(third, bob, alice)))
    })
  })

  describe('a peer that is down while an actor moves', () => {
    it('gets the new address within an hour after it is back, and no owner has to ask (MOV-26)', async () => {
      let passed = 0
      const world = await friends({ now: () => Date.now() + passed })
      const { alice, bob, network, peers } = world
      await world.move(alice)
      await world.arrived(alice)
      assert.deepEqual((await world.informed(alice)).arrived?.peers, { failed: 1 })
      assert.equal(await addressAt(peers, bob.id, alice.id), `${oldUrl}/${alice.id}`)
      network.fate = () => 'arrives'
      passed = 3_600_000
      // The timers of the service do not follow this clock.
      const { jobs } = (await world.home.app.running()).parts
      jobs.wake()
      await until(async () => (await addressAt(peers, bob.id, alice.id)) === `${newUrl}/${alice.id}`)
      await until(async () => (await world.informed(alice)).arrived?.peers['informed'] === 1)
    })
  })

  describe('a peer that missed the move and the deletion of an actor', () => {
    /** The message about the deletion does not arrive either. */
    async function missed(): Promise<Both> {
      const world = await friends()
      await world.move(world.alice)
      await world.arrived(world.alice)
      world.network.fate = ({ method, url }) =>
        method === 'DELETE' || url.includes('/callbacks/moved/') ? 'unreached' : 'arrives'
      return world
    }

    it('learns of both by a callback, and ends the relationship by a synchronization (MOV-25)', async () => {
      const world = await missed()
      const { alice, bob, peers } = world
      assert.ok((await asOwner(world.home, alice, 'DELETE', '')).ok)
      assert.ok((await bob.request('PUT', '/properties/mood', { now: 'glad' })).ok)
      const { store, parts } = await peers.app.running()
      const sql = 'SELECT outcome, reason FROM delivery WHERE actor_id = $1'
      await untilEqual(
        () => store.read((q) => q.all(sql, bob.id)),
        () => [{ outcome: 'failed', reason: 'The peer answered 404' }],
      )
      const actor = await parts.actors.require(bob.id)
      assert.equal((await parts.subscribing.syncPeer(actor, alice.id)).trustEnded, true)
      assert.equal(await isKnown(peers, bob, alice), false)
    })

    it('asks the former address of an actor that lives elsewhere less and less, at any pause of the circuit (SUB-35)', async () => {
      const world = await missed()
      const { bob, network } = world
      assert.ok((await bob.request('PUT', '/properties/mood', { now: 'glad' })).ok)
      await until(() => network.saw(new RegExp(`^POST ${oldUrl}/.*/callbacks/subscriptions/`)))
      // A call would start the closed service again, which retries by the clock of this machine.
      network.remove(peerUrl)
      await world.peers.close()
      const clock = new ManualClock(Date.now())
      const peers = await start({
        baseUrl: peerUrl,
        peerClient: network,
        database: world.peers.databaseUrl,
        now: clock.now,
        timers: clock.timers,
        random: () => 0.5,
        circuitThreshold: 2,
        circuitCooldownSeconds: 5,
      })
      network.add(peers)
      const until10Hours = clock.now() + 36_000_000
      await passUntil(clock, [peers], () => clock.now() >= until10Hours, 300_000)
      const asked = network.calls.filter((call) => /^POST .*\/callbacks\/subscriptions\//.test(call)).length
      assert.ok(asked >= 10 && asked <= 33, `${asked} callbacks in 10 hours`)
    })
  })
})
