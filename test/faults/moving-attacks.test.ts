/** Attacks on moves: by a stranger who knows an id, by the operator of the old home, and by a home that names another actor. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { resolveConfig } from '../../src/features/config.ts'
import { passkey } from '../../src/index.ts'
import { departureSecrets, bindingOf } from '../../src/secret/sealed-columns.ts'
import { open, type Sealed } from '../../src/secret/sealed.ts'
import { EvilHome, evilStatement, newEvilKeys, signJws } from '../support/evil-home.ts'
import { relate } from '../support/friends.ts'
import {
  addressAt,
  arrivedAt,
  movingWorld,
  type MoveView,
  type MovingWorld,
  newUrl,
  oldUrl,
  peerUrl,
  secretAt,
} from '../support/moving.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { signUpWith } from '../support/passkey-page.ts'
import { TestBrowser } from '../support/sign-in.ts'
import { SoftPasskey } from '../support/soft-passkey.ts'
import { until } from '../support/until.ts'

const dayMs = 86_400_000

forEachService((start) => {
  const statusAt = async (service: TestService, path: string): Promise<number> => (await service.request(path)).status

  async function viewOf(alice: TestActor): Promise<MoveView> {
    return (await (await alice.request('GET', '/move')).json()) as MoveView
  }

  /** Holds the archive of the honest move until `release`. */
  function holdArchive({ network }: MovingWorld): { readonly release: () => void; readonly isHeld: () => boolean } {
    const { promise, resolve } = Promise.withResolvers<void>()
    let isHeld = false
    network.fate = async ({ method, url }) => {
      if (method === 'PUT' && url.startsWith(`${newUrl}/moves`)) {
        isHeld = true
        await promise
      }
      return 'arrives' as const
    }
    return { release: resolve, isHeld: () => isHeld }
  }

  async function stateAtPeer(world: MovingWorld, bob: TestActor, alice: TestActor, statement: string): Promise<number> {
    const answer = await world.peers.request(`/${bob.id}/callbacks/moved/${alice.id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ statement }),
    })
    return answer.status
  }

  describe('a stranger who announces the id of an actor', () => {
    const moments = ['before the owner', 'while the archive is sent', 'when the old address redirects'] as const
    for (const moment of moments)
      for (const depth of ['announced', 'stored'] as const) {
        it(`${moment} (${depth}) neither takes the actor nor delays it (MOV-01)`, async () => {
          const world = await movingWorld(start)
          const alice = await world.old.createActor('alice@example.com')
          await alice.request('PUT', '/properties/note', { text: 'mine' })
          const evil = await EvilHome.start(world.network, alice.id)
          const attack = async (): Promise<void> => {
            assert.equal(await evil.announce(world.home), 201)
            if (depth === 'stored') assert.equal(await evil.send(world.home), 200)
          }
          const held = holdArchive(world)
          if (moment === 'before the owner') await attack()
          await world.move(alice)
          await until(held.isHeld)
          if (moment === 'while the archive is sent') await attack()
          if (moment === 'when the old address redirects') {
            const activation = Promise.withResolvers<void>()
            const fate = world.network.fate
            world.network.fate = async (request) => {
              if (request.url.endsWith('/activation')) await activation.promise
              return fate(request)
            }
            held.release()
            await until(async () => (await statusAt(world.old, `/${alice.id}/meta`)) === 308)
            await attack()
            activation.resolve()
          }
          held.release()
          await world.landed(alice)
          // The stranger leaves its own address only now.
          await evil.leave(world.home)
          assert.equal(await evil.activate(world.home), 409)
          assert.equal(await statusAt(world.home, `/moves/${alice.id}/claim?code=${evil.code}`), 404)
          const { actors } = (await world.home.app.running()).parts
          assert.equal((await actors.find(alice.id))?.creator, 'alice@example.com')
          await world.arrived(alice)
          const answer = await world.atHome(alice, 'GET', '/properties/note')
          assert.deepEqual(await answer.json(), { text: 'mine' })
          await world.gone(alice)
        })
      }

    it('and completes it first gets an actor of its own, and the owner’s actor stays with its peers (MOV-01)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      const { secret } = await relate(bob, [world.old, alice])
      await alice.request('PUT', '/properties/note', { text: 'mine' })
      const evil = await EvilHome.start(world.network, alice.id)
      assert.equal(await evil.announce(world.home), 201)
      assert.equal(await evil.send(world.home), 200)
      const held = holdArchive(world)
      await world.move(alice)
      await until(held.isHeld)
      await evil.leave(world.home)
      assert.equal(await evil.activate(world.home), 200)
      held.release()
      await until(async () => (await viewOf(alice)).leaving?.state === 'failed')
      assert.match((await viewOf(alice)).leaving?.reason ?? '', /an actor with this id is here already/)
      assert.deepEqual(await (await alice.request('GET', '/properties/note')).json(), { text: 'mine' })
      assert.equal(await statusAt(world.old, `/${alice.id}/meta/moving`), 404)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), `${oldUrl}/${alice.id}`)
      // The squatter cannot state anything to the peer.
      const statement = await evilStatement(evil.keys.kept, {
        from: `${newUrl}/${alice.id}`,
        peer: `${peerUrl}/${bob.id}`,
      })
      assert.equal(await stateAtPeer(world, bob, alice, statement), 403)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), secret)
      assert.equal(await secretAt(world.old, alice.id, bob.id), secret)
    })

    it('in great number keeps at most 16 archives, and the owner’s arrives again (MOV-02)', async () => {
      const world = await movingWorld(start, { home: { rateLimits: { 'move/source': null } } })
      const alice = await world.old.createActor('alice@example.com')
      const activation = Promise.withResolvers<void>()
      world.network.fate = async ({ url }) => {
        if (url.startsWith(`${newUrl}/moves/${alice.id}/activation`)) await activation.promise
        return 'arrives' as const
      }
      await world.move(alice)
      await until(async () => (await statusAt(world.old, `/${alice.id}/meta`)) === 308)
      for (let n = 0; n < 18; n += 1) {
        const evil = await EvilHome.start(world.network, alice.id, `https://evil${n}.example.com`)
        assert.equal(await evil.announce(world.home), 201)
        assert.equal(await evil.send(world.home), 200)
      }
      const { store } = await world.home.app.running()
      const archives = await store.read((q) => q.all(`SELECT object FROM arrival WHERE object <> ''`))
      assert.equal(archives.length, 16)
      activation.resolve()
      await world.arrived(alice)
      await world.gone(alice)
    })
  })

  describe('an id that was at a service before', () => {
    it('is not taken from another address after its actor left, also when the redirect has ended (MOV-03)', async () => {
      let skewMs = 0
      const world = await movingWorld(start, { old: { acceptMoves: true, now: () => Date.now() + skewMs } })
      const alice = await world.old.createActor('alice@example.com')
      await world.move(alice)
      await world.arrived(alice)
      await world.gone(alice)
      const evil = await EvilHome.start(world.network, alice.id)
      assert.equal(await evil.announce(world.old), 403)
      assert.equal(await statusAt(world.old, `/${alice.id}/meta`), 308)
      // A stranger who says that the actor came from the new home is not confirmed by that home.
      evil.document = { ...evil.document, from: [`${newUrl}/${alice.id}`] }
      assert.equal(await evil.announce(world.old), 403)
      skewMs = 400 * dayMs
      assert.equal(await statusAt(world.old, `/${alice.id}/meta`), 410)
      assert.equal(await evil.announce(world.old), 403)
      const { store, parts } = await world.old.app.running()
      await store.write((tx) => parts.actors.purge(tx, Date.now() + skewMs))
      assert.equal(await evil.announce(world.old), 403)
    })

    it('is not taken after its actor was deleted, at any time (MOV-03)', async () => {
      let now = Date.now()
      const world = await movingWorld(start, { home: { now: () => now } })
      const alice = await world.home.createActor('alice@example.com')
      const evil = await EvilHome.start(world.network, alice.id)
      assert.equal(await evil.announce(world.home), 409)
      assert.equal((await alice.request('DELETE', '')).status, 204)
      assert.equal(await evil.announce(world.home), 403)
      now += 31 * dayMs
      const { store, parts } = await world.home.app.running()
      await store.write((tx) => parts.actors.purge(tx, now))
      assert.equal(await parts.actors.wasDeleted(alice.id), 'no')
      assert.equal(await evil.announce(world.home), 403)
      assert.equal(await statusAt(world.home, `/moves/${alice.id}/claim?code=${evil.code}`), 404)
    })

    it('comes back along its own notices only (MOV-03)', async () => {
      const world = await movingWorld(start, { all: { acceptMoves: true } })
      const alice = await world.old.createActor('alice@example.com')
      await world.move(alice)
      await world.arrived(alice)
      assert.equal((await world.atHome(alice, 'POST', '/move', { to: peerUrl })).status, 202)
      await arrivedAt(world.peers, alice)
      const evil = await EvilHome.start(world.network, alice.id)
      assert.equal(await evil.announce(world.old), 403)
      const { actors } = (await world.peers.app.running()).parts
      const authorization = `Basic ${btoa(`${alice.creator}:${actors.passphraseOf(await actors.require(alice.id))}`)}`
      const back = await world.peers.request(`/${alice.id}/move`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ to: oldUrl }),
      })
      assert.equal(back.status, 202, await back.text())
      await arrivedAt(world.old, alice)
      assert.equal((await (await world.old.app.running()).parts.actors.find(alice.id))?.creator, 'alice@example.com')
    })
  })

  describe('an old home that turns evil after the move', () => {
    it('signs nothing that a peer accepts, with all that it has kept (MOV-04)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      const { secret: old } = await relate(bob, [world.old, alice])
      await bob.request('PUT', '/properties/diary', { text: 'private' })
      // The operator copies everything while the actor moves.
      const { promise, resolve } = Promise.withResolvers<void>()
      const bodies: string[] = []
      world.network.fate = async ({ url, body }) => {
        if (body !== undefined) bodies.push(String(body))
        if (url.endsWith('/activation')) await promise
        return 'arrives' as const
      }
      await world.move(alice)
      await until(async () => (await statusAt(world.old, `/${alice.id}/meta`)) === 308)
      const running = await world.old.app.running()
      const row = await running.store.read((q) =>
        q.get<{ secrets: Sealed }>('SELECT secrets FROM departure WHERE actor_id = $1', alice.id),
      )
      assert.ok(row)
      const binding = bindingOf(departureSecrets, alice.id)
      const { key, token } = JSON.parse(open(running.parts.keyRing, row.secrets, binding)) as {
        key: string
        token: string
      }
      resolve()
      await world.arrived(alice)
      await world.informed(alice)
      const current = await secretAt(world.peers, bob.id, alice.id)
      assert.notEqual(current, old)
      // No private key ever left a service.
      for (const body of bodies) assert.doesNotMatch(body, /"d":/)
      const [at, from] = [`${newUrl}/${alice.id}`, `${oldUrl}/${alice.id}`]
      const peer = `${peerUrl}/${bob.id}`
      const kept = JSON.parse(key) as object
      const far = { moved_at: 8.64e15, stated_at: 8.64e15 }
      const statements = [
        await evilStatement(kept, { from: at, peer }),
        await evilStatement(kept, { from, peer }),
        await evilStatement(kept, { from: at, peer }, far),
        await evilStatement(kept, { from: at, peer }, { exp: Math.floor(Date.now() / 1000) + 315_360_000 }),
      ]
      for (const statement of statements) assert.equal(await stateAtPeer(world, bob, alice, statement), 403)
      // A new notice at the old address leads nowhere: the peer is at the new one.
      const evil = await EvilHome.start(world.network, alice.id)
      const named = { iss: from, sub: alice.id, moved_to: evil.url, key: evil.keys.shown, moved_at: Date.now() }
      const notice = await signJws(kept, 'actor-move+jwt', named)
      const home = running.parts.departures
      const document = (await home.published(alice.id)) as { key: object }
      world.network.serve(oldUrl, () => new Response(JSON.stringify({ ...document, to: evil.url, notice })))
      evil.document = { state: 'arrived', key: evil.keys.shown, from: [from] }
      const moved = await evilStatement(evil.keys.kept, { from: evil.url, peer })
      assert.equal(await stateAtPeer(world, bob, alice, moved), 403)
      // The token of the move is of no use either.
      const again = await world.home.request(`/moves/${alice.id}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}` },
        body: 'x',
      })
      assert.equal(again.status, 200)
      const cancelled = await world.home.request(`/moves/${alice.id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${token}` },
      })
      assert.equal(cancelled.status, 409)
      const read = await world.peers.request(`/${bob.id}/properties/diary`, {
        headers: { authorization: `Bearer ${old}` },
      })
      assert.equal(read.status, 403)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), current)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), at)
      assert.equal(await secretAt(world.home, alice.id, bob.id), current)
    })
  })

  describe('a notice that names another actor', () => {
    it('moves no relationship there, by a statement or by a request (MOV-05)', async () => {
      const world = await movingWorld(start)
      const bob = await world.peers.createActor('bob@example.com')
      // Carol is innocent. She moved once, so that her address has a key and an origin.
      const carol = await world.old.createActor('carol@example.com')
      const [, dave] = await Promise.all([relate(bob, [world.old, carol]), world.peers.createActor('dave@example.com')])
      await world.move(carol)
      await world.arrived(carol)
      await world.informed(carol)
      const victim = `${newUrl}/${carol.id}`
      const { key: victimKey } = (await (await world.home.request(`/${carol.id}/meta/moving`)).json()) as {
        key: object
      }
      // The evil home has an actor with the same id, to which Dave is related.
      const evil = await EvilHome.start(world.network, carol.id)
      const { store } = await world.peers.app.running()
      await relate(dave, [world.peers, bob])
      await store.write((tx) =>
        tx.run(
          'UPDATE trust SET peer_id = $3, baseuri = $4 WHERE actor_id = $1 AND peer_id = $2',
          dave.id,
          bob.id,
          carol.id,
          evil.url,
        ),
      )
      const peer = `${peerUrl}/${dave.id}`
      const stranger = await newEvilKeys()
      for (const named of [victimKey, evil.keys.shown, stranger.shown]) {
        await evil.leave(world.home, named)
        for (const key of [evil.keys.kept, stranger.kept]) {
          const statement = await evilStatement(key, { from: victim, peer })
          assert.equal(await stateAtPeer(world, dave, carol, statement), 403)
        }
        const asked = await world.atHome(carol, 'POST', '/trust', { url: peer, relationship: 'friend' })
        assert.notEqual(asked.status, 201)
      }
      assert.equal(await addressAt(world.peers, dave.id, carol.id), evil.url)
    })

    it('gets no secret from a moved actor whose peer publishes it (MOV-05)', async () => {
      const world = await movingWorld(start)
      const alice = await world.old.createActor('alice@example.com')
      const bob = await world.peers.createActor('bob@example.com')
      await relate(bob, [world.old, alice])
      const evil = await EvilHome.start(world.network, bob.id, peerUrl)
      const third = await EvilHome.start(world.network, bob.id, 'https://third.example.com')
      // The service of Bob redirects to a third address, which confirms nothing.
      await evil.leave({ url: 'https://third.example.com' }, third.keys.shown)
      world.network.serve(peerUrl, (request) =>
        request.url.endsWith('/meta/moving')
          ? new Response(JSON.stringify(evil.document))
          : new Response('{"error":"actor_moved"}', { status: 308, headers: { location: third.url } }),
      )
      await world.move(alice)
      await world.arrived(alice)
      await until(() => world.network.saw(/^GET https:\/\/third\.example\.com\/.*\/meta\/moving/))
      assert.ok(!world.network.saw(/^POST https:\/\/third\.example\.com/))
    })
  })

  describe('an operator with passkeys', () => {
    it('is named by a passkey, and no actor with the id of the operator’s becomes one (MOV-06)', async () => {
      const service = await start({ signIn: [passkey()], baseUrl: newUrl })
      const { browser, answer } = await signUpWith(service, new SoftPasskey(), 'Ada')
      const [, id = ''] = /([0-9a-f]{32})/.exec(answer.headers.get('location') ?? '') ?? []
      const page = await (await browser.get(`/${id}/www/passkeys`)).text()
      const [fingerprint = ''] = /passkey:[A-Za-z0-9_-]{43}/.exec(page) ?? []
      const stranger = await signUpWith(service, new SoftPasskey(), 'Mallory')
      await service.close()
      const again = await start({
        signIn: [passkey()],
        baseUrl: newUrl,
        admins: [fingerprint],
        database: service.databaseUrl,
      })
      const asIn = (was: TestBrowser): TestBrowser => {
        const now = new TestBrowser(again)
        for (const [name, value] of was.cookies) now.cookies.set(name, value)
        return now
      }
      assert.equal((await asIn(browser).get('/admin')).status, 200)
      assert.match(await (await asIn(browser).get(`/${id}/www/settings`)).text(), /Open the operator pages/)
      assert.equal((await asIn(stranger.browser).get('/admin')).status, 403)
      // The passkeys of the operator's account are gone, as after a move of the same id from elsewhere.
      const { store } = await again.app.running()
      await store.write((tx) => tx.run('DELETE FROM passkey WHERE actor_id = $1', id))
      assert.equal((await asIn(browser).get('/admin')).status, 403)
    })

    it('cannot be named by the id of an actor (MOV-06)', () => {
      for (const id of ['7f3a'.repeat(8), 'ada', 'x'.repeat(42), 'x'.repeat(44)])
        assert.throws(
          () => resolveConfig({ mode: 'development' }, { TROUPE_ADMINS: `passkey:${id}` }),
          /must name a passkey/,
        )
      const { admins } = resolveConfig({ mode: 'development' }, { TROUPE_ADMINS: `passkey:${'x'.repeat(43)},acme:1` })
      assert.deepEqual(admins, [`passkey:${'x'.repeat(43)}`, 'acme:1'])
    })
  })
})
