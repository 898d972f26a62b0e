/** `troupe readdress`: the public address of a whole service changes, and its peers follow. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findKnownAddress } from '../../src/config/known-address.ts'
import { holdWork, resumeWork } from '../../src/moving/held-work.ts'
import { newHomeKeys, signNotice, signStatement } from '../../src/moving/proof.ts'
import { builtInTables } from '../../src/features/features.ts'
import { countCredentials } from '../../src/operator/revoke-credentials.ts'
import { resumeActor, suspendActor } from '../../src/operator/suspension.ts'
import { DyingStore } from '../support/interrupted-moves.ts'
import { addressAt, arrivedAt, peerUrl, secretAt } from '../support/moving.ts'
import {
  currentUrl,
  formerUrl,
  friendsIn,
  otherUrl,
  peerStates,
  readdressedWorld,
  runReaddress,
  untilCopied,
} from '../support/readdressed.ts'
import { forEachService } from '../support/service.ts'
import { until } from '../support/until.ts'

const large = 'x'.repeat(100_000)

forEachService((start) => {
  describe('a service whose public address changes', () => {
    it('tells its peers, whose secrets, copies and subscriptions stay (R-ADDR-04)', async () => {
      const world = await readdressedWorld(start)
      const [first, second] = [await friendsIn(world), await friendsIn(world, world.others)]
      const service = await world.restart(currentUrl, [formerUrl])
      // Changes before peers know the address. A large one has a URL that they do not know yet.
      assert.ok((await world.as(first.ada, 'PUT', '/properties/early', { large })).ok)
      assert.ok((await first.bob.request('PUT', '/properties/mood', { text: 'one' })).ok)
      await untilCopied((path) => world.as(first.ada, 'GET', path), first.bob, 'mood', { text: 'one' })
      const { store } = await service.app.running()
      const before = store.now()
      world.pass(1)
      const done = await runReaddress(service)
      assert.deepEqual([done?.actors, done?.peers, done?.skipped], [2, 2, []])
      const { ended } = await countCredentials({ store, tables: builtInTables }, before)
      assert.deepEqual(
        Object.entries(ended).filter(([, number]) => number > 0),
        [],
      )
      for (const [{ ada, bob, secret }, peers] of [
        [first, world.peers],
        [second, world.others],
      ] as const) {
        await until(async () => (await addressAt(peers, bob.id, ada.id)) === `${currentUrl}/${ada.id}`)
        await until(async () => (await peerStates(service, ada))['informed'] === 1)
        assert.deepEqual(
          [await secretAt(peers, bob.id, ada.id), await secretAt(service, ada.id, bob.id)],
          [secret, secret],
        )
        assert.ok((await world.as(ada, 'PUT', '/properties/late', { large })).ok)
        await untilCopied((path) => bob.request('GET', path), ada, 'late', { large })
        assert.ok((await bob.request('PUT', '/properties/mood', { text: 'two' })).ok)
        await untilCopied((path) => world.as(ada, 'GET', path), bob, 'mood', { text: 'two' })
      }
      await untilCopied((path) => first.bob.request('GET', path), first.ada, 'early', { large })
      assert.equal((await runReaddress(service, { isRepeated: true }))?.peers, 0)
      // A link with the former address makes a relationship with that address.
      const carol = await world.peers.createActor()
      const wanted = { url: `${formerUrl}/${first.ada.id}`, relationship: 'friend' }
      assert.equal((await carol.request('POST', '/trust', wanted)).status, 201)
      assert.equal((await runReaddress(service, { isRepeated: true }))?.peers, 1)
      await until(
        async () => (await addressAt(world.peers, carol.id, first.ada.id)) === `${currentUrl}/${first.ada.id}`,
      )
    })

    it('tells the peers of a suspended actor after its resumption, and those of all others at once (R-ADDR-04)', async () => {
      const world = await readdressedWorld(start)
      const [first, second] = [await friendsIn(world), await friendsIn(world)].toSorted((a, b) =>
        a.ada.id < b.ada.id ? -1 : 1,
      )
      assert.ok(first !== undefined && second !== undefined)
      const act = { operator: 'command line', device: '' }
      const service = await world.restart(currentUrl, [formerUrl])
      const { store, parts } = await service.app.running()
      await suspendActor({ store, holdWork, resumeWork }, first.ada.id, act)
      const done = await runReaddress(service)
      assert.deepEqual([done?.actors, done?.peers, done?.skipped], [2, 2, []])
      await until(async () => (await peerStates(service, second.ada))['informed'] === 1)
      await service.settled()
      assert.deepEqual(await peerStates(service, first.ada), { waiting: 1 })
      await resumeActor({ store, holdWork, resumeWork }, first.ada.id, act)
      parts.jobs.wake()
      await until(async () => (await peerStates(service, first.ada))['informed'] === 1)
    })

    it('is continued after a kill of the command and of the service (R-ADDR-05)', async () => {
      const world = await readdressedWorld(start)
      const all = [await friendsIn(world), await friendsIn(world), await friendsIn(world)]
      const service = await world.restart(currentUrl, [formerUrl])
      world.network.fate = ({ url }) => (url.startsWith(peerUrl) ? 'unreached' : 'arrives')
      assert.equal((await runReaddress(service, {}, { steps: 2 }))?.actors, 2)
      world.pass(600_000)
      const again = await world.restart(currentUrl, [formerUrl])
      assert.ok(again.log.some((line) => line.includes('Peers know this service as')))
      const done = await runReaddress(again)
      assert.deepEqual([done?.actors, done?.peers], [3, 1])
      world.network.fate = () => 'arrives'
      world.pass(7_200_000)
      // A peer that was not reached finds the new address also when the former one answers 410 to everything else.
      const last = await world.restart(currentUrl, [formerUrl], { formerAnswer: 'gone' })
      assert.deepEqual(
        last.log.filter((line) => line.includes('Peers know this service as')),
        [],
      )
      for (const { ada, bob } of all) {
        await until(async () => (await addressAt(world.peers, bob.id, ada.id)) === `${currentUrl}/${ada.id}`)
        assert.equal(await secretAt(world.peers, bob.id, ada.id), await secretAt(last, ada.id, bob.id))
      }
    })

    it('has each actor once after the command was killed at any of its writes (R-ADDR-05)', async () => {
      const world = await readdressedWorld(start)
      const all = [await friendsIn(world), await friendsIn(world)]
      const service = world.service()
      world.network.fate = ({ url }) => (url.includes('/callbacks/moved/') ? 'unreached' : 'arrives')
      const { store } = await service.app.running()
      let addresses = [formerUrl, currentUrl]
      let writes = 0
      for (let isDone = false; !isDone; ) {
        writes += 1
        for (const isBefore of [true, false]) {
          const [from = '', to = ''] = addresses
          const dying = new DyingStore()
          dying.dieAt(writes, isBefore)
          await runReaddress(service, { from, to }, { wrap: dying.wrap }).catch((error: unknown) => {
            assert.ok(dying.isDead, String(error))
          })
          isDone = !dying.isDead
          assert.deepEqual((await runReaddress(service, { from, to }))?.skipped, [])
          for (const { ada } of all) {
            const rows = await store.read((q) =>
              q.all('SELECT origins, state, claim_hash AS claim FROM arrival WHERE actor_id = $1', ada.id),
            )
            const earlier = writes === 1 && isBefore ? [] : [`${to}/${ada.id}`]
            const origins = JSON.stringify([`${from}/${ada.id}`, ...earlier])
            assert.deepEqual(rows, [{ origins, state: 'here', claim: '' }])
            assert.deepEqual(await peerStates(service, ada), { waiting: 1 })
          }
          assert.deepEqual(await store.read(findKnownAddress), { url: to, asksAgain: false })
          addresses = [to, from]
        }
      }
      // The setting, two actors, and the address at the end.
      assert.equal(writes, 5)
    })

    for (const first of ['the service', 'the peer'] as const)
      it(`agrees with a peer that moves at the same time on the secret of the move, when ${first} is first (MOV-18)`, async () => {
        const world = await readdressedWorld(start, { acceptMoves: true })
        const { ada, bob, secret } = await friendsIn(world)
        let isApart = true
        world.network.fate = ({ url }) => (isApart && url.includes('/callbacks/moved/') ? 'unreached' : 'arrives')
        const move = async (): Promise<void> => {
          assert.equal((await bob.request('POST', '/move', { to: otherUrl })).status, 202)
          await arrivedAt(world.others, bob)
        }
        const change = async (): Promise<void> => {
          await runReaddress(await world.restart(currentUrl, [formerUrl]))
        }
        for (const step of first === 'the peer' ? [move, change] : [change, move]) {
          await step()
          world.pass(5000)
        }
        await until(() => world.network.saw(/^POST .*callbacks\/moved/))
        isApart = false
        world.pass(3_600_000)
        const service = await world.restart(currentUrl, [formerUrl])
        const parts = (await world.others.app.running()).parts
        await parts.arrivalClaims.retry(bob.id)
        await until(async () => (await addressAt(world.others, bob.id, ada.id)) === `${currentUrl}/${ada.id}`)
        await until(async () => (await addressAt(service, ada.id, bob.id)) === `${otherUrl}/${bob.id}`)
        await until(async () => (await peerStates(service, ada))['waiting'] === undefined)
        await until(
          async () => (await secretAt(world.others, bob.id, ada.id)) === (await secretAt(service, ada.id, bob.id)),
        )
        assert.notEqual(await secretAt(service, ada.id, bob.id), secret)
        assert.ok((await world.as(ada, 'PUT', '/properties/late', { large })).ok)
        const handle = await world.others.app.actors.get(bob.id)
        await until(async () => JSON.stringify(await handle?.remote(ada.id).get('late')) === JSON.stringify({ large }))
      })

    it('makes peers due that still wait because of an earlier change (R-ADDR-04)', async () => {
      const world = await readdressedWorld(start)
      const { ada } = await friendsIn(world)
      world.network.fate = ({ url }) => (url.includes('/callbacks/moved/') ? 'unreached' : 'arrives')
      const service = world.service()
      assert.equal((await runReaddress(service, { from: formerUrl, to: currentUrl }))?.peers, 1)
      const { store } = await service.app.running()
      const pausedUntil = store.now() + 3_600_000
      await store.writeActor(ada.id, (tx) =>
        tx.run('UPDATE arrival_peer SET attempts = 9, due_at = $2 WHERE actor_id = $1', ada.id, pausedUntil),
      )
      assert.equal((await runReaddress(service, { from: currentUrl, to: formerUrl }))?.peers, 1)
      const row = await store.read((q) =>
        q.get<{ due: number }>('SELECT due_at AS due FROM arrival_peer WHERE actor_id = $1', ada.id),
      )
      assert.ok(row !== undefined && row.due < pausedUntil - 3_000_000, JSON.stringify(row))
    })

    it('is followed again when it changes back and forth, from every address in between (R-ADDR-04)', async () => {
      const world = await readdressedWorld(start)
      const [{ ada, bob }, away] = [await friendsIn(world), await friendsIn(world, world.others)]
      // Messages to this peer are lost, so it knows the first address until the end.
      world.network.fate = ({ url }) =>
        url.includes(`${otherUrl}/${away.bob.id}/callbacks/moved`) ? 'unreached' : 'arrives'
      const addresses = [currentUrl, formerUrl, currentUrl]
      for (const [index, to] of addresses.entries()) {
        const from = index === 0 ? formerUrl : (addresses[index - 1] ?? '')
        world.pass(60_000)
        const service = await world.restart(to, [from])
        await runReaddress(service, { from, to })
        await until(async () => (await addressAt(world.peers, bob.id, ada.id)) === `${to}/${ada.id}`)
      }
      world.network.fate = () => 'arrives'
      world.pass(7_200_000)
      await world.restart(currentUrl, [formerUrl])
      await until(
        async () => (await addressAt(world.others, away.bob.id, away.ada.id)) === `${currentUrl}/${away.ada.id}`,
      )
    })
  })

  describe('a stranger who claims a change of address', () => {
    const evilUrl = 'https://evil.example.com'

    it('takes no relationship, whatever its own addresses publish (MOV-17)', async () => {
      const world = await readdressedWorld(start)
      const { ada, bob, secret } = await friendsIn(world)
      const keys = await newHomeKeys()
      const [former, current, evil] = [formerUrl, currentUrl, evilUrl].map((base) => `${base}/${ada.id}`)
      assert.ok(former !== undefined && current !== undefined && evil !== undefined)
      const notice = async (from: string, to: string, newKey = keys.publicKey): Promise<string> =>
        signNotice(keys.privateKey, { from, to, actorId: ada.id, newKey, movedAt: Date.now() }, Date.now())
      const document = async (from: string, extra: object = {}): Promise<object> => ({
        state: 'arrived',
        key: JSON.parse(keys.publicKey) as object,
        from: [from, current],
        notices: [await notice(from, evil), await notice(evil, evil)],
        ...extra,
      })
      let published: object = {}
      world.network.serve(evilUrl, () => Response.json(published))
      const claim = async (): Promise<number> => {
        const at = Date.now()
        const statement = await signStatement(keys.privateKey, {
          from: evil,
          actorId: ada.id,
          peer: `${peerUrl}/${bob.id}`,
          secret: 'a-secret-of-the-stranger',
          isApproved: true,
          movedAt: at,
          statedAt: at,
        })
        const answer = await world.peers.request(`/${bob.id}/callbacks/moved/${ada.id}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ statement }),
        })
        return answer.status
      }
      const attacks = [
        await document(former),
        await document(former, { state: 'moved', to: evil, notice: await notice(former, evil) }),
        await document(former, { notices: ['', 'a.b.c', 5, null] }),
        await document(former, { notices: 'none' }),
      ]
      const all = async (known: string): Promise<void> => {
        for (published of attacks) {
          assert.equal(await claim(), 403, JSON.stringify(published))
          assert.equal(await addressAt(world.peers, bob.id, ada.id), known)
          assert.equal(await secretAt(world.peers, bob.id, ada.id), secret)
        }
      }
      await all(former)
      const service = await world.restart(currentUrl, [formerUrl])
      await all(former)
      await runReaddress(service)
      await until(async () => (await addressAt(world.peers, bob.id, ada.id)) === current)
      await all(current)
      // The former name belongs to the stranger some day.
      await world.restart(currentUrl, [])
      world.network.serve(formerUrl, () => Response.json(published))
      await all(current)
    })

    it('by a setting of its own service gets no peer of the actor with the same id (MOV-17)', async () => {
      const world = await readdressedWorld(start)
      const { ada, bob, secret } = await friendsIn(world)
      // The stranger has a copy of everything: the same actor, relationship and secret. The service itself has not moved.
      world.network.serve(formerUrl, () => Response.json({ error: 'not_found' }, { status: 404 }))
      await world.service().close()
      const stranger = await start({
        baseUrl: evilUrl,
        formerBaseUrls: [formerUrl],
        peerClient: world.network,
        database: world.service().databaseUrl,
      })
      world.network.add(stranger)
      await runReaddress(stranger, { to: evilUrl })
      const { arrivalClaims } = (await stranger.app.running()).parts
      await until(async () =>
        /addresses of the peer do not confirm it/.test((await arrivalClaims.find(ada.id))?.peers[0]?.reason ?? ''),
      )
      assert.equal(await addressAt(world.peers, bob.id, ada.id), `${formerUrl}/${ada.id}`)
      assert.equal(await secretAt(world.peers, bob.id, ada.id), secret)
    })
  })
})
