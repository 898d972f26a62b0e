/** Moves that are late, repeated or forged. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { App } from '../../src/index.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import { relate } from '../support/friends.ts'
import { asOwner, assertOneHome, copyOf, DyingStore, later, related, statusAt } from '../support/interrupted-moves.ts'
import {
  addressAt,
  arrivedAt,
  type MoveView,
  movingWorld,
  type MovingWorld,
  newUrl,
  oldUrl,
  peerUrl,
  secretAt,
} from '../support/moving.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { until, untilEqual } from '../support/until.ts'

/** Holds the answers to archives at the new service. */
function holdAnswers({ network, home }: MovingWorld): { readonly count: number; readonly release: () => void } {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const held = { count: 0, release }
  network.serve(newUrl, async (request) => {
    const answer = await home.app.fetch(request)
    if (request.method === 'PUT') {
      held.count += 1
      await released
    }
    return answer
  })
  return held
}

forEachService((start) => {
  describe('a callback that is on its way', () => {
    it('delays the move until its answer, and not until its lease ends (R-MOVE-04)', async () => {
      const world = await movingWorld(start, { old: { peerReadSeconds: 600 } })
      const all = await related(world)
      const answered = Promise.withResolvers<'arrives'>()
      world.network.fate = ({ url }) =>
        url.startsWith(`${peerUrl}/${all.bob.id}/callbacks/subscriptions/`) ? answered.promise : 'arrives'
      assert.ok((await all.alice.request('POST', '/properties/log', '2')).ok)
      await until(() => world.network.calls.filter((call) => call.includes('/callbacks/subscriptions/')).length > 1)
      await world.move(all.alice)
      assert.equal(await statusAt(world.home, `/${all.alice.id}/meta`), 404)
      answered.resolve('arrives')
      await world.arrived(all.alice)
      assert.ok((await asOwner(world.home, all.alice, 'POST', '/properties/log', 3)).ok)
      await until(async () => (await copyOf(all.bob, all.alice)).length >= 3)
      assert.deepEqual(await copyOf(all.bob, all.alice), [1, 2, 3])
      assert.deepEqual(
        world.old.log.filter((line) => line.includes('Cannot send a callback')),
        [],
      )
    })
  })

  describe('the lease of a callback that is on its way', () => {
    interface Lease {
      readonly due: number
      readonly until: number
    }

    async function leaseAt(service: TestService, actor: TestActor): Promise<Lease> {
      const { store } = await service.app.running()
      const sql = 'SELECT due_at AS due, leased_until AS until FROM publisher_subscription WHERE actor_id = $1'
      const row = await store.read((q) => q.get<Lease>(sql, actor.id))
      assert.ok(row)
      return row
    }

    /** Makes a change whose callback is on its way until `answer` is called. */
    async function holdCallback(
      { network }: MovingWorld,
      change: () => Promise<Response>,
    ): Promise<{ readonly answer: () => void }> {
      const isCallback = (url: string): boolean => url.includes('/callbacks/subscriptions/')
      const sent = (): number => network.calls.filter(isCallback).length
      const answered = Promise.withResolvers<'arrives'>()
      network.fate = ({ url }) => (isCallback(url) ? answered.promise : 'arrives')
      const before = sent()
      assert.ok((await change()).ok)
      await until(() => sent() > before)
      return { answer: () => answered.resolve('arrives') }
    }

    it('stays when the move is stopped, so that no other process sends it (MOV-15)', async () => {
      const world = await movingWorld(start, { old: { peerReadSeconds: 600 } })
      const all = await related(world)
      const { answer } = await holdCallback(world, () => all.alice.request('POST', '/properties/log', '2'))
      try {
        const before = await leaseAt(world.old, all.alice)
        assert.equal(before.due, before.until)
        await world.move(all.alice)
        assert.equal((await all.alice.request('DELETE', '/move')).status, 204)
        assert.deepEqual(await leaseAt(world.old, all.alice), before)
      } finally {
        // A service that stops waits for the answer.
        answer()
      }
      await until(async () => (await copyOf(all.bob, all.alice)).length === 2)
    })

    it('stays when the owner takes the actor, whose application has changed it before (MOV-15)', async () => {
      const world = await movingWorld(start, { home: { peerReadSeconds: 600 } })
      const all = await related(world)
      await world.move(all.alice)
      await world.landed(all.alice)
      const { answer } = await holdCallback(world, () => asOwner(world.home, all.alice, 'POST', '/properties/log', 2))
      try {
        const before = await leaseAt(world.home, all.alice)
        await world.arrived(all.alice)
        assert.deepEqual(await leaseAt(world.home, all.alice), before)
      } finally {
        answer()
      }
      await until(async () => (await copyOf(all.bob, all.alice)).length === 2)
    })
  })

  describe('the lease of a fetch that is on its way', () => {
    it('stays when the move is stopped, so that no other process fetches (MOV-15)', async () => {
      const world = await movingWorld(start)
      const all = await related(world)
      const { store } = await world.old.app.running()
      const leasedUntil = Date.now() + 3_600_000
      await store.writeActor(all.alice.id, (tx) =>
        tx.run(
          `INSERT INTO subscriber_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
             resync_pending, gap_due_at, leased_until, created_at)
           VALUES ($1, $2, 'leased', 'properties', '', '', 'high', 1, $3, $3, 1)`,
          all.alice.id,
          all.bob.id,
          leasedUntil,
        ),
      )
      await world.move(all.alice)
      assert.equal((await all.alice.request('DELETE', '/move')).status, 204)
      const due = await store.read((q) =>
        q.get<{ at: number }>(
          `SELECT gap_due_at AS at FROM subscriber_subscription WHERE actor_id = $1 AND subscription_id = 'leased'`,
          all.alice.id,
        ),
      )
      assert.equal(due?.at, leasedUntil)
    })
  })

  describe('a transfer that outlives its claim', () => {
    it('is repeated when the machine slept during it (R-MOVE-06)', async () => {
      let sleptMs = 0
      const world = await movingWorld(start, { old: { now: () => Date.now() + sleptMs } })
      const all = await related(world)
      const held = holdAnswers(world)
      await world.move(all.alice)
      await until(() => held.count === 1)
      sleptMs = 60_000
      const { jobs } = (await world.old.app.running()).parts
      jobs.wake()
      await until(async () => ((await jobs.nextDue()) ?? 0) > Date.now() + sleptMs)
      held.release()
      await assertOneHome(world, all, true)
    })

    it('does not end a later move (R-MOVE-06, R-MOVE-08)', async () => {
      const world = await movingWorld(start)
      const all = await related(world)
      const held = holdAnswers(world)
      world.network.fate = ({ url }) => (url.includes('/callbacks/permissions/') ? 'unreached' : 'arrives')
      const rights = { properties: { excluded_patterns: ['secret/*'] } }
      assert.ok((await all.alice.request('PUT', `/trust/friend/${all.bob.id}/permissions`, rights)).ok)
      const { store } = await world.home.app.running()
      const archives = async (): Promise<number> =>
        (await store.read((q) => q.all(`SELECT object FROM arrival WHERE object <> ''`))).length
      await world.move(all.alice)
      await until(() => held.count === 1)
      assert.equal(await archives(), 1)
      assert.equal((await all.alice.request('DELETE', '/move')).status, 204)
      assert.equal(await archives(), 0)
      await world.move(all.alice)
      const { jobs } = (await world.old.app.running()).parts
      await until(async () => ((await jobs.nextDue()) ?? 0) > Date.now())
      held.release()
      await assertOneHome(world, all, true)
    })
  })

  describe('a peer whose owner asks a moved actor at its new address', () => {
    it('before the statement arrives, follows the next move (MOV-21)', async () => {
      const world = await movingWorld(start, { all: { acceptMoves: true } })
      const { alice, bob } = await related(world)
      const isKnownAt = async (url: string): Promise<boolean> =>
        (await addressAt(world.peers, bob.id, alice.id)) === `${url}/${alice.id}`
      await world.move(alice)
      await world.arrived(alice)
      await until(() => isKnownAt(newUrl))
      world.network.fate = ({ url }) => (url.includes('/callbacks/moved/') ? 'unreached' : 'arrives')
      assert.equal((await asOwner(world.home, alice, 'POST', '/move', { to: oldUrl })).status, 202)
      await arrivedAt(world.old, alice)
      const wish = { url: `${oldUrl}/${alice.id}`, relationship: 'friend' }
      assert.equal((await bob.request('POST', '/trust', wish)).status, 201)
      assert.equal(await isKnownAt(oldUrl), true)
      world.network.fate = () => 'arrives'
      assert.equal((await asOwner(world.old, alice, 'POST', '/move', { to: newUrl })).status, 202)
      await arrivedAt(world.home, alice)
      await until(() => isKnownAt(newUrl))
    })
  })

  describe('a peer that missed a move and the return of the actor', () => {
    it('takes the secret of the returned actor while it asks for another move (MOV-22)', async () => {
      const world = await movingWorld(start, { all: { acceptMoves: true } })
      const { alice, bob, secret } = await related(world)
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const isAsked = Promise.withResolvers<void>()
      let isCut = true
      world.network.fate = async ({ url, method }) => {
        if (isCut && url.includes('/callbacks/moved/')) return 'unreached'
        if (isCut || method !== 'POST' || url !== `${newUrl}/moves`) return 'arrives'
        isAsked.resolve()
        await released
        return 'unreached'
      }
      await world.move(alice)
      await world.arrived(alice)
      assert.equal((await asOwner(world.home, alice, 'POST', '/move', { to: oldUrl })).status, 202)
      await arrivedAt(world.old, alice)
      isCut = false
      const moved = asOwner(world.old, alice, 'POST', '/move', { to: newUrl })
      await isAsked.promise
      await until(async () => {
        const atPeer = await secretAt(world.peers, bob.id, alice.id)
        return atPeer !== secret && atPeer === (await secretAt(world.old, alice.id, bob.id))
      })
      release()
      assert.equal((await moved).status, 408)
    })
  })

  describe('an announcement that the network repeats', () => {
    for (const [moment, after] of [
      ['before its answer', 'POST'],
      ['after the archive', 'PUT'],
    ]) {
      it(`${moment} keeps the key of the new home and the archive (MOV-20)`, async () => {
        const world = await movingWorld(start)
        const all = await related(world)
        let announcement: Request | null = null
        const keys: string[] = []
        world.network.serve(newUrl, async (request) => {
          if (request.url.endsWith('/moves')) announcement = request.clone()
          const answer = await world.home.app.fetch(request)
          if (request.url.endsWith('/moves')) keys.push(await answer.clone().text())
          if (request.method !== after || announcement === null) return answer
          const again = await world.home.app.fetch(announcement)
          announcement = null
          assert.equal(again.status, 201)
          keys.push(await again.text())
          return answer
        })
        await world.move(all.alice)
        await assertOneHome(world, all, true)
        assert.deepEqual([keys.length, new Set(keys).size], [2, 1])
        assert.equal(world.network.calls.filter((call) => call.startsWith('PUT ')).length, 1)
      })
    }
  })

  describe('two processes of the old service', () => {
    it('move an actor once, also when the first one is killed (R-MOVE-06)', async () => {
      const store = new DyingStore()
      const world = await movingWorld(start, { all: { random: () => 0 }, old: { wrapStore: store.wrap } })
      const all = await related(world)
      const held = Promise.withResolvers<void>()
      world.network.fate = async ({ method }) => {
        if (method === 'PUT' && !store.isDead) await held.promise
        return 'arrives' as const
      }
      assert.equal((await all.alice.request('POST', '/move', { to: newUrl })).status, 202)
      await until(() => world.network.saw(/^PUT https:\/\/new\.example\.com\/moves\//))
      const second = await start({
        ...later,
        baseUrl: oldUrl,
        peerClient: world.network,
        database: world.old.databaseUrl,
      })
      store.dieAt(1, true)
      await until(async () => {
        ;(await second.app.running()).parts.jobs.wake()
        return store.isDead
      })
      held.resolve()
      world.network.add(second)
      ;(await second.app.running()).parts.jobs.wake()
      await assertOneHome({ ...world, old: second }, all, true)
    })
  })

  describe('two processes of the new service', () => {
    it('inform a peer again when the slower one sent an earlier secret (MOV-19)', async () => {
      const world = await movingWorld(start, { all: { random: () => 0.1 } })
      const all = await related(world)
      const { alice, bob } = all
      const held = Promise.withResolvers<void>()
      let reads = 0
      world.network.fate = async ({ method, url }) => {
        if (method === 'GET' && url === `${peerUrl}/${bob.id}/meta` && ++reads === 1) await held.promise
        return 'arrives' as const
      }
      await world.move(alice)
      await world.arrived(alice)
      await until(() => reads === 1)
      const second = await start({
        ...later,
        baseUrl: newUrl,
        peerClient: world.network,
        acceptMoves: true,
        database: world.home.databaseUrl,
      })
      world.network.add(second)
      const { parts } = await second.app.running()
      parts.jobs.wake()
      await until(async () => (await addressAt(world.peers, bob.id, alice.id)) === `${newUrl}/${alice.id}`)
      await world.informed(alice)
      assert.ok((await bob.request('POST', '/trust', { url: `${newUrl}/${alice.id}`, relationship: 'friend' })).ok)
      held.resolve()
      const ofBob = async (): Promise<unknown> => {
        const { store } = await second.app.running()
        const find = 'SELECT state, attempts FROM arrival_peer WHERE actor_id = $1 AND peer_id = $2'
        return store.read((q) => q.get(find, alice.id, bob.id))
      }
      await untilEqual(ofBob, () => ({ state: 'informed', attempts: 2 }))
      await assertOneHome({ ...world, home: second }, { ...all, secret: '' }, true)
    })
  })

  describe('an archive whose waiting work is forged', () => {
    it('is refused, and the actor stays (R-MOVE-08)', async () => {
      const declare = (app: App): void => {
        app.on('property_changed', () => {
          throw new Error('Not now')
        })
      }
      const world = await movingWorld(start, { all: { random: () => 0.5 }, old: { declare } })
      const { alice, bob } = await related(world)
      world.network.fate = ({ url }) => (url.startsWith(peerUrl) ? 'unreached' : 'arrives')
      const rights = { properties: { excluded_patterns: ['secret/*'] } }
      assert.ok((await alice.request('PUT', `/trust/friend/${bob.id}/permissions`, rights)).ok)
      let [forgedKind, forged] = ['', {}]
      world.network.serve(newUrl, async (request) => {
        if (request.method !== 'PUT') return world.home.app.fetch(request)
        const lines = (await request.text()).split('\n').map((line) => {
          const record = (line === '' ? {} : JSON.parse(line)) as Record<string, unknown>
          return record['kind'] === forgedKind ? JSON.stringify({ ...record, ...forged }) : line
        })
        const { method, headers } = request
        return world.home.app.fetch(new Request(request.url, { method, headers, body: lines.join('\n') }))
      })
      const refusals: readonly (readonly [kind: string, members: object, reason: RegExp])[] = [
        ['waiting_event', { queue: 'move' }, /"queue" of a record of the kind waiting_event: it is not that of events/],
        ['waiting_event', { queue: 'webhook' }, /"queue" of a record of the kind waiting_event/],
        ['waiting_event', { queue: 'webhook', queue_id: 'x' }, /"queue_id" .*: the archive does not have this queue/],
        ['waiting_event', { queue_id: 'x' }, /"queue" of a record/],
        ['waiting_event', { number: 0 }, /"number" .*: it is not an integer from 1 on/],
        ['waiting_event', { hops: -1 }, /"hops" .*: it is not an integer from 0 on/],
        ['waiting_event', { data: 7 }, /"data" .*: it is not an object/],
        ['waiting_event', { origin: 'me' }, /"origin" .*: it is not an origin/],
        ['notice', { notice: 'trust_deleted' }, /"notice" of a record of the kind notice: this kind does not move/],
        ['notice', { method: 'GET' }, /"method" .*: a message does not use it/],
        ['notice', { url: 'https://evil.example.com/x' }, /"url" .*: it is not below the address of the peer/],
      ]
      for (const [kind, members, reason] of refusals) {
        ;[forgedKind, forged] = [kind, members]
        await world.move(alice)
        let view: MoveView | undefined
        await until(async () => {
          view = (await (await alice.request('GET', '/move')).json()) as MoveView
          return view.leaving?.state === 'failed'
        })
        assert.match(view?.leaving?.reason ?? '', reason, JSON.stringify(forged))
        assert.equal(await statusAt(world.old, `/${alice.id}/meta`), 200)
        assert.equal(await statusAt(world.home, `/${alice.id}/meta`), 404)
      }
    })
  })

  describe('a forged announcement', () => {
    const keyPair = async (): Promise<{ shown: object; kept: object }> => {
      const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
      return { shown: await exportJWK(publicKey), kept: await exportJWK(privateKey) }
    }

    it('is refused unless the old address announces this very move (R-MOVE-10)', async () => {
      const world = await movingWorld(start)
      const own = await keyPair()
      const other = await keyPair()
      const token = 't'.repeat(43)
      const from = 'https://elsewhere.example.com/mallory'
      const honest = { state: 'moving', to: `${newUrl}/mallory`, key: own.shown, token_hash: hashSecret(token) }
      let newKey: unknown
      let published: object | null = honest
      world.network.serve('https://elsewhere.example.com', () =>
        published === null
          ? new Response('{}', { status: 404 })
          : new Response(JSON.stringify(published), { status: 200 }),
      )
      const announce = async (change: object = {}): Promise<number> => {
        const answer = await world.home.request('/moves', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ actor: 'mallory', from, token, claim_hash: 'c'.repeat(43), ...change }),
        })
        if (answer.status === 201) newKey = ((await answer.json()) as { key: unknown }).key
        return answer.status
      }
      const documents: readonly (readonly [what: string, document: object | null, status: number])[] = [
        ['no move', null, 403],
        ['another target', { ...honest, to: 'https://third.example.com/mallory' }, 403],
        ['another actor', { ...honest, to: `${newUrl}/victim` }, 403],
        ['another token', { ...honest, token_hash: hashSecret('x') }, 403],
        ['no document', ['x'], 408],
        ['no key', { ...honest, key: undefined }, 408],
        ['a private key', { ...honest, key: own.kept }, 408],
        ['an actor that only came', { state: 'arrived', key: own.shown, from: ['https://a.example.com/mallory'] }, 403],
        ['a move that is over', { ...honest, notice: 'x' }, 403],
      ]
      for (const [what, document, status] of documents) {
        published = document
        assert.equal(await announce(), status, what)
      }
      published = honest
      assert.equal(await announce({ from: `${from}/../mallory` }), 400, 'another spelling')
      assert.equal(await announce({ from: `${newUrl}/mallory` }), 400, 'an address of this service')
      assert.equal(await announce({ actor: 'victim' }), 400, 'an address of another actor')
      assert.equal(await announce({ from: 'https://elsewhere.example.com/x/victim', actor: 'victim' }), 403)
      assert.equal(await announce({ actor: 'admin', from: 'https://elsewhere.example.com/admin' }), 400)
      const existing = await world.home.createActor('bob@example.com')
      assert.equal(await announce({ actor: existing.id, from: `https://elsewhere.example.com/${existing.id}` }), 409)
      const send = async (method: string, path: string, bearer: string | null, body?: string): Promise<number> =>
        (
          await world.home.request(`/moves/mallory${path}`, {
            method,
            headers: bearer === null ? {} : { authorization: `Bearer ${bearer}` },
            ...(body === undefined ? {} : { body }),
          })
        ).status
      assert.equal(await send('PUT', '', token, 'x'), 404)
      assert.equal(await announce(), 201)
      assert.equal(await send('PUT', '', null, 'x'), 401)
      assert.equal(await send('PUT', '', 'wrong', 'x'), 404)
      assert.equal(await send('PUT', '', token, 'x'), 400)
      const archive = (actor: string): string =>
        `${JSON.stringify({ kind: 'archive', version: 1, actor, creator: 'm', created_at: '2026-01-01T00:00:00Z' })}\n{"kind":"end","records":1}\n`
      assert.equal(await send('PUT', '', token, archive('victim')), 400)
      assert.equal(await statusAt(world.home, '/mallory/meta'), 404)
      assert.equal(await send('PUT', '', token, archive('mallory')), 200)
      assert.equal(await statusAt(world.home, '/mallory/meta'), 404)
      assert.equal(await send('POST', '/activation', 'wrong'), 404)
      // The old address has not published a notice.
      assert.equal(await send('POST', '/activation', token), 409)
      const claims = { iss: from, sub: 'mallory', moved_to: honest.to, key: newKey, moved_at: Date.now() }
      const forged: readonly (readonly [what: string, key: object, claims: object])[] = [
        ['another key', other.kept, claims],
        ['another actor', own.kept, { ...claims, sub: 'victim' }],
        ['another address', own.kept, { ...claims, iss: `${oldUrl}/mallory` }],
        ['another target', own.kept, { ...claims, moved_to: `${oldUrl}/mallory` }],
        ['another new home', own.kept, { ...claims, key: other.shown }],
        ['no new home', own.kept, { ...claims, key: undefined }],
        ['no time', own.kept, { ...claims, moved_at: undefined }],
        ['a time in the future', own.kept, { ...claims, moved_at: Date.now() + 3_600_000 }],
      ]
      for (const [what, key, given] of forged) {
        published = { ...honest, state: 'moved', notice: await signed(key, { ...given }) }
        assert.equal(await send('POST', '/activation', token), 409, what)
      }
      published = { ...honest, state: 'moved', notice: await signed(own.kept, claims) }
      assert.equal(await send('DELETE', '', token), 409)
      assert.equal(await send('POST', '/activation', token), 200)
      assert.equal(await statusAt(world.home, '/mallory/meta'), 200)
      assert.equal(await send('DELETE', '', token), 409)
    })

    const signed = (key: object, claims: Record<string, unknown>, typ = 'actor-move+jwt'): Promise<string> =>
      sign(key, claims, typ)

    async function sign(key: object, claims: Record<string, unknown>, typ: string): Promise<string> {
      const { importJWK } = await import('jose')
      const iat = Math.floor(Date.now() / 1000)
      return new SignJWT({ iat, ...claims })
        .setProtectedHeader({ alg: 'EdDSA', typ })
        .sign(await importJWK(key, 'EdDSA'))
    }

    /** The claims of a statement by which Alice gives Bob her address. */
    const claimsOf = (alice: TestActor, bob: TestActor, address: string) => {
      const now = Date.now()
      const iat = Math.floor(now / 1000)
      const claims = { iss: address, sub: alice.id, aud: `${peerUrl}/${bob.id}`, secret: 's'.repeat(40) }
      return { ...claims, approved: true, moved_at: now, stated_at: now, iat, exp: iat + 200 }
    }

    it('of a moved peer is refused unless its known address confirms it (R-MOVE-03)', async () => {
      const world = await movingWorld(start)
      const all = await related(world)
      const { alice, bob, secret } = all
      const own = await keyPair()
      const evil = 'https://evil.example.com'
      const to = `${evil}/${alice.id}`
      const pretended = { state: 'arrived', from: [`${oldUrl}/${alice.id}`], key: own.shown }
      world.network.serve(evil, ({ url }) => {
        const document = url.endsWith('/meta/moving') ? pretended : { id: alice.id, type: 'x' }
        return new Response(JSON.stringify(document), { status: 200 })
      })
      const claims = claimsOf(alice, bob, to)
      const state = async (statement: string, peer = alice.id, at = bob.id): Promise<number> =>
        (
          await world.peers.request(`/${at}/callbacks/moved/${peer}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ statement }),
          })
        ).status
      const typ = 'actor-moved+jwt'
      const statement = await sign(own.kept, claims, typ)
      assert.equal(await state(statement), 403, 'the peer has not moved')
      assert.equal(await state(statement, 'stranger'), 403)
      // Only a statement that its address confirms depends on the relationship.
      const carol = await world.peers.createActor('carol@example.com')
      const toCarol = { ...claims, aud: `${peerUrl}/${carol.id}` }
      assert.equal(await state(await sign(own.kept, toCarol, typ), alice.id, carol.id), 404)
      const unsigned = `${(await sign(own.kept, toCarol, typ)).split('.').slice(0, 2).join('.')}.`
      for (const text of [statement, unsigned, await sign((await keyPair()).kept, toCarol, typ)])
        assert.equal(await state(text, alice.id, carol.id), 403)
      assert.equal(await state('no.jwt.text'), 403)
      // The peer moves somewhere else.
      await world.move(alice)
      await world.arrived(alice)
      await world.informed(alice)
      const current = await secretAt(world.peers, bob.id, alice.id)
      assert.notEqual(current, secret)
      assert.equal(await state(statement), 403)
      const moved = `${newUrl}/${alice.id}`
      const repeated = async (given: string) =>
        state(await sign(own.kept, { ...claims, iss: moved, secret: given }, typ))
      assert.equal(await repeated('s'.repeat(40)), 403)
      assert.equal(await repeated(current), 204)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), moved)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), current)
    })

    it('of a moved peer needs the key, the audience, the type and the time (R-MOVE-03, MOV-04)', async () => {
      const world = await movingWorld(start)
      const bob = await world.peers.createActor('bob@example.com')
      const alice = await world.old.createActor('alice@example.com')
      await relate(bob, [world.old, alice])
      const left = await keyPair()
      const own = await keyPair()
      const other = await keyPair()
      const from = `${oldUrl}/${alice.id}`
      const to = `${newUrl}/${alice.id}`
      const named = { iss: from, sub: alice.id, moved_to: to, key: own.shown, moved_at: Date.now() - 1000 }
      const notice = await sign(left.kept, named, 'actor-move+jwt')
      const moved = { state: 'moved', to, key: left.shown, notice }
      const arrived = { state: 'arrived', from: [from], key: own.shown }
      let [published, confirmed]: (object | number)[] = [moved, arrived]
      const answer = (document: object | number | undefined): Response =>
        typeof document === 'number'
          ? new Response('{}', { status: document })
          : new Response(JSON.stringify(document), { status: 200 })
      world.network.serve(oldUrl, () => answer(published))
      world.network.serve(newUrl, () => answer(confirmed))
      world.network.serve('https://evil.example.com', () => answer(404))
      const claims = claimsOf(alice, bob, to)
      const state = async (statement: string): Promise<number> =>
        (
          await world.peers.request(`/${bob.id}/callbacks/moved/${alice.id}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ statement }),
          })
        ).status
      const typ = 'actor-moved+jwt'
      const { exp: _exp, ...lasting } = claims
      const [hour, seconds] = [3_600_000, Math.floor(Date.now() / 1000)]
      const refused: readonly (readonly [what: string, statement: string])[] = [
        ['another key', await sign(other.kept, claims, typ)],
        ['the key of the old home', await sign(left.kept, claims, typ)],
        ['another audience', await sign(own.kept, { ...claims, aud: `${peerUrl}/carol` }, typ)],
        ['another type', await sign(own.kept, claims, 'actor-move+jwt')],
        ['an old statement', await sign(own.kept, { ...claims, exp: claims.exp - 1200 }, typ)],
        ['no end', await sign(own.kept, lasting, typ)],
        ['another actor', await sign(own.kept, { ...claims, sub: 'carol' }, typ)],
        ['another address', await sign(own.kept, { ...claims, iss: `https://evil.example.com/${alice.id}` }, typ)],
        ['an address of another actor', await sign(own.kept, { ...claims, iss: `${newUrl}/carol` }, typ)],
        ['no time of the move', await sign(own.kept, { ...claims, moved_at: 'today' }, typ)],
        ['no time of the statement', await sign(own.kept, { ...claims, stated_at: null }, typ)],
        ['a time beyond all', await sign(own.kept, { ...claims, moved_at: 8.64e15 }, typ)],
        ['a move in an hour', await sign(own.kept, { ...claims, moved_at: Date.now() + hour }, typ)],
        ['a statement in an hour', await sign(own.kept, stated(claims, hour), typ)],
        ['a statement of the last hour', await sign(own.kept, stated(claims, -hour), typ)],
        ['a statement for an hour', await sign(own.kept, { ...claims, exp: seconds + 3600 }, typ)],
        ['a statement for ten years', await sign(own.kept, { ...claims, exp: seconds + 315_360_000 }, typ)],
        ['a statement before the move', await sign(own.kept, { ...claims, moved_at: claims.stated_at + 1 }, typ)],
        ['another time of issue', await sign(own.kept, { ...claims, iat: claims.iat - 20 }, typ)],
        ['no time of issue', await sign(own.kept, { ...claims, iat: undefined }, typ)],
        ['a short secret', await sign(own.kept, { ...claims, secret: 'short' }, typ)],
        ['a secret with spaces', await sign(own.kept, { ...claims, secret: `${'s'.repeat(20)} x` }, typ)],
        ['no signature', `${(await sign(own.kept, claims, typ)).split('.').slice(0, 2).join('.')}.`],
      ]
      for (const [what, statement] of refused) assert.equal(await state(statement), 403, what)
      const honest = await sign(own.kept, claims, typ)
      const documents: readonly (readonly [
        what: string,
        from: object | number,
        to: object | number,
        status: number,
      ])[] = [
        ['the old address is down', 503, arrived, 503],
        ['the old address knows no move', 404, arrived, 403],
        ['a notice of another key', { ...moved, key: other.shown }, arrived, 403],
        [
          'a notice of another address',
          { ...moved, notice: await sign(left.kept, { ...named, iss: evilOf(alice) }, 'actor-move+jwt') },
          arrived,
          403,
        ],
        ['no notice yet', { state: 'moving', to, key: left.shown, token_hash: 'x' }, arrived, 403],
        ['the new address is down', moved, 503, 503],
        ['the new address knows no move', moved, 404, 403],
        ['the new address has another key', moved, { ...arrived, key: other.shown }, 403],
        ['the new address knows another origin', moved, { ...arrived, from: [evilOf(alice)] }, 403],
        ['the new address knows no origin', moved, { ...arrived, from: [] }, 403],
      ]
      for (const [what, atOld, atNew, status] of documents) {
        ;[published, confirmed] = [atOld, atNew]
        assert.equal(await state(honest), status, what)
      }
      assert.equal(await addressAt(world.peers, bob.id, alice.id), from)
      ;[published, confirmed] = [moved, arrived]
      assert.equal(await state(honest), 204)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), to)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), 's'.repeat(40))
      // At the new address, a later statement about the same move replaces the secret, and a copy of the earlier one does not.
      const later = { ...stated(claims, 1), secret: 'l'.repeat(40) }
      assert.equal(await state(await sign(other.kept, later, typ)), 403)
      assert.equal(await state(await sign(left.kept, later, typ)), 403)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), 's'.repeat(40))
      assert.equal(await state(await sign(own.kept, later, typ)), 204)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), 'l'.repeat(40))
      assert.equal(await state(honest), 204)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), 'l'.repeat(40))
      // Who takes the host name of the new home over has another key.
      confirmed = { ...arrived, key: other.shown }
      assert.equal(await state(await sign(other.kept, { ...stated(claims, 2), secret: 'o'.repeat(40) }, typ)), 403)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), 'l'.repeat(40))
    })

    /** The statement as it is made so much later. */
    const stated = <T extends { stated_at: number; iat: number; exp: number }>(claims: T, laterMs: number): T => {
      const at = claims.stated_at + laterMs
      const iat = Math.floor(at / 1000)
      return { ...claims, stated_at: at, iat, exp: iat + 200 }
    }

    const evilOf = ({ id }: TestActor): string => `https://evil.example.com/${id}`
  })

  describe('a service that was left', () => {
    it('neither deletes what the new one has not confirmed, nor serves it (R-MOVE-06)', async () => {
      const world = await movingWorld(start, { all: { random: () => 0 } })
      const { alice } = await related(world)
      // The new service is gone after it took the archive.
      world.network.fate = ({ method, url }) =>
        url.startsWith(newUrl) && method === 'POST' && url.endsWith('/activation') ? 'unreached' : 'arrives'
      await world.move(alice)
      await until(async () => (await statusAt(world.old, `/${alice.id}/meta`)) === 308)
      const { actors } = (await world.old.app.running()).parts
      assert.equal((await actors.find(alice.id))?.residence, 'moved')
      await assert.rejects((await world.old.app.actors.get(alice.id))?.set('a', { b: 1 }) ?? Promise.resolve(), {
        code: 'actor_moved',
      })
      world.network.fate = () => 'arrives'
      await world.arrived(alice)
      ;(await world.old.app.running()).parts.jobs.wake()
      await world.gone(alice)
    })
  })
})
