/** Archives of moves that an actor here could not have, that cannot be unpacked, or that arrive in great number. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { putArrival } from '../../src/moving/arrival-store.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Sealed } from '../../src/secret/sealed.ts'
import type { Store, Transaction } from '../../src/store/store.ts'
import { EvilHome } from '../support/evil-home.ts'
import { type MoveView, movingWorld, type MovingWorld, newUrl } from '../support/moving.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const hourMs = 3_600_000
const at = '2026-01-02T03:04:05.000Z'

const property = (name: string, value: unknown): object => ({ kind: 'property', name, value })

const relationship = (peerId: string): object => ({
  kind: 'relationship',
  peer_id: peerId,
  baseuri: `https://peer.example.com/${peerId}`,
  type: '',
  relationship: 'friend',
  secret: `secret-of-${peerId}-0123456789abcdef0123456789`,
  verification_token: 'token',
  description: '',
  nickname: '',
  approved: true,
  approved_until: null,
  peer_approved: true,
  verified: true,
  established_via: 'trust',
  facts: {},
  created_at: at,
  last_accessed: null,
  last_connected_via: '',
  request: null,
})

const subscription = (id: string): object => ({
  kind: 'subscription_of_peer',
  peer_id: 'carol',
  subscription_id: id,
  target: 'properties',
  subtarget: id,
  resource: '',
  granularity: 'high',
  sequence: 0,
  state: 'live',
  created_at: at,
})

const webhook = (id: string): object => ({
  kind: 'webhook',
  webhook_id: id,
  url: 'https://hooks.example.com/',
  events: [],
  names: [],
  description: '',
  secrets: '{"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}',
  created_at: at,
})

const list = [
  {
    kind: 'list',
    name: 'l',
    id: 'list-1',
    description: '',
    explanation: '',
    created_at: at,
    updated_at: at,
    next_item: 3,
    revision: 1,
    length: 2,
  },
  { kind: 'item', number: 1, value: 'a' },
  { kind: 'item', number: 2, value: 'b' },
]

/** The quota of the new service, and an archive with more. */
const beyond: Readonly<Record<string, readonly [quotas: StartOptions, records: readonly object[], said: RegExp]>> = {
  names: [{ maxNames: 1 }, [property('a', 1), property('b', 2)], /it has 2 properties; at most 1 are allowed/],
  items: [{ maxItems: 1 }, list, /it has 2 list items; at most 1 are allowed/],
  bytes: [{ maxActorBytes: 90 }, [property('a', 'x'.repeat(99))], /it has 101 bytes of data; at most 90 are allowed/],
  relationships: [
    { maxRelationships: 1 },
    [relationship('carol'), relationship('dave')],
    /it has 2 relationships; at most 1 are allowed/,
  ],
  subscriptions: [
    { maxSubscriptions: 1 },
    [relationship('carol'), subscription('s1'), subscription('s2')],
    /it has 2 subscriptions; at most 1 are allowed/,
  ],
  webhooks: [{ maxWebhooks: 1 }, [webhook('w1'), webhook('w2')], /it has 2 webhooks; at most 1 are allowed/],
}

async function viewOf(actor: TestActor): Promise<MoveView> {
  return (await (await actor.request('GET', '/move')).json()) as MoveView
}

/** The stranger announces the actor, sends the archive, and leaves its own address. Returns the status of the archive. */
async function attackBy(evil: EvilHome, home: TestService, records: readonly object[]): Promise<number> {
  assert.equal(await evil.announce(home), 201)
  const sent = await evil.send(home, records)
  await evil.leave(home)
  return sent
}

async function arrivesUnchanged(world: MovingWorld, alice: TestActor): Promise<void> {
  await world.move(alice)
  await world.arrived(alice)
  assert.deepEqual(await (await world.atHome(alice, 'GET', '/properties/note')).json(), { text: 'mine' })
  await world.gone(alice)
}

/** Fails the statements that insert properties, as a defect of the service would, while it is armed. */
function defective(): { readonly wrap: (store: Store) => Store; readonly arm: (isArmed: boolean) => void } {
  let isArmed = false
  const inTransaction = (tx: Transaction): Transaction =>
    new Proxy(tx, {
      get(target, name): unknown {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (sql: string, ...params: unknown[]): unknown => {
          if (isArmed && /INSERT INTO property\b/.test(sql)) throw new TypeError('Cannot read properties of undefined')
          return (member as (...given: unknown[]) => unknown).call(target, sql, ...params)
        }
      },
    })
  return {
    arm: (now) => (isArmed = now),
    wrap: (store) =>
      new Proxy(store, {
        get(target, name): unknown {
          const member: unknown = Reflect.get(target, name)
          if (typeof member !== 'function') return member
          if (name !== 'write') return (member as (...given: unknown[]) => unknown).bind(target)
          return (work: (tx: Transaction) => Promise<unknown>, how?: never) =>
            target.write((tx) => work(inTransaction(tx)), how)
        },
      }),
  }
}

forEachService((start) => {
  describe('an archive of a stranger', () => {
    for (const [quota, [quotas, records, said]] of Object.entries(beyond)) {
      it(`with more than an actor may store is refused, and its id stays free: ${quota} (MOV-08)`, async () => {
        const world = await movingWorld(start, { home: quotas })
        const alice = await world.old.createActor('alice@example.com')
        const evil = await EvilHome.start(world.network, alice.id)
        assert.equal(await evil.announce(world.home), 201)
        const lines = [{ kind: 'archive', version: 1, actor: alice.id, creator: 'm', created_at: at }, ...records]
        const body = [...lines, { kind: 'end', records: lines.length }].map((line) => `${JSON.stringify(line)}\n`)
        const sent = await evil.call(world.home, 'PUT', '', body.join(''))
        assert.equal(sent.status, 413)
        assert.match(await sent.text(), said)
        await evil.leave(world.home)
        assert.equal(await evil.activate(world.home), 409)
        assert.equal((await world.home.request(`/${alice.id}/meta`)).status, 404)
        const { store } = await world.home.app.running()
        const objects = (): Promise<object[]> =>
          store.read((q) => q.all(`SELECT object FROM file_object WHERE state <> 'unused'`))
        assert.deepEqual(await objects(), [])
      })
    }

    it('that is refused only while it is unpacked leaves the id to the owner’s actor (MOV-08)', async () => {
      const world = await movingWorld(start, { home: { maxActorBytes: 300 } })
      const alice = await world.old.createActor('alice@example.com')
      await alice.request('PUT', '/properties/note', { text: 'mine' })
      const evil = await EvilHome.start(world.network, alice.id)
      // The check of the archive counts the value without its name.
      assert.equal(await attackBy(evil, world.home, [property('n'.repeat(200), 'v'.repeat(200))]), 200)
      assert.equal(await evil.activate(world.home), 409)
      await arrivesUnchanged(world, alice)
      assert.equal(await evil.activate(world.home), 409)
    })

    it('that can never be unpacked is given up, and the owner’s actor arrives (MOV-08)', async () => {
      let now = Date.now()
      const defect = defective()
      const world = await movingWorld(start, { home: { wrapStore: defect.wrap, now: () => now } })
      const alice = await world.old.createActor('alice@example.com')
      await alice.request('PUT', '/properties/note', { text: 'mine' })
      const evil = await EvilHome.start(world.network, alice.id)
      defect.arm(true)
      assert.equal(await attackBy(evil, world.home, [property('a', 1)]), 200)
      const seen: number[] = []
      for (let attempt = 0; attempt < 40 && seen.at(-1) !== 409; attempt += 1) {
        seen.push(await evil.activate(world.home))
        now += hourMs
      }
      assert.deepEqual([...new Set(seen)], [503, 409])
      defect.arm(false)
      await arrivesUnchanged(world, alice)
    })
  })

  describe('an owner who has more than the new service allows', () => {
    it('keeps the actor, and reads what is too much (MOV-08)', async () => {
      const world = await movingWorld(start, { home: { maxNames: 2 } })
      const alice = await world.old.createActor('alice@example.com')
      for (const name of ['a', 'b', 'c']) await alice.request('PUT', `/properties/${name}`, 'kept')
      await world.move(alice)
      await until(async () => (await viewOf(alice)).leaving?.state === 'failed')
      assert.match((await viewOf(alice)).leaving?.reason ?? '', /it has 3 properties; at most 2 are allowed/)
      assert.deepEqual(await (await alice.request('GET', '/properties')).json(), { a: 'kept', b: 'kept', c: 'kept' })
      assert.equal((await world.old.request(`/${alice.id}/meta/moving`)).status, 404)
    })
  })

  describe('uploads of archives', () => {
    /** A body that ends when `finish` is called. */
    function slowBody(lines: readonly object[]): {
      readonly body: ReadableStream<Uint8Array>
      readonly finish: () => void
      readonly hasBegun: () => boolean
    } {
      const end = Promise.withResolvers<void>()
      let pulls = 0
      return {
        finish: end.resolve,
        hasBegun: () => pulls > 1,
        body: new ReadableStream<Uint8Array>({
          async pull(controller) {
            const line = lines[pulls]
            pulls += 1
            if (line === undefined) {
              await end.promise
              return controller.close()
            }
            controller.enqueue(Buffer.from(`${JSON.stringify(line)}\n`))
          },
        }),
      }
    }

    const archiveOf = (id: string): object[] => [
      { kind: 'archive', version: 1, actor: id, creator: 'mallory', created_at: at },
      { kind: 'end', records: 1 },
    ]

    const put = (
      home: TestService,
      id: string,
      evil: EvilHome,
      body: ReadableStream<Uint8Array>,
    ): Promise<Response> => {
      const init: RequestInit & { readonly duplex: 'half' } = {
        method: 'PUT',
        headers: { authorization: `Bearer ${evil.token}` },
        body,
        duplex: 'half',
      }
      return home.request(`/moves/${id}`, init)
    }

    it('of one move arrive one after the other (MOV-09)', async () => {
      const world = await movingWorld(start)
      const evil = await EvilHome.start(world.network, 'ada')
      assert.equal(await evil.announce(world.home), 201)
      const first = slowBody(archiveOf('ada'))
      const sending = put(world.home, 'ada', evil, first.body)
      await until(first.hasBegun)
      const second = slowBody(archiveOf('ada'))
      second.finish()
      const refused = await put(world.home, 'ada', evil, second.body)
      assert.equal(refused.status, 429)
      assert.equal(refused.headers.get('retry-after'), '5')
      first.finish()
      assert.equal((await sending).status, 200)
      assert.equal(await evil.send(world.home), 200)
    })

    it('of one sender are at most eight at a time (MOV-09)', async () => {
      const world = await movingWorld(start, { home: { rateLimits: { 'move/source': null } } })
      const homes = await Promise.all(
        Array.from({ length: 9 }, (_, n) => EvilHome.start(world.network, `ada${n}`, `https://evil${n}.example.com`)),
      )
      for (const evil of homes) assert.equal(await evil.announce(world.home), 201)
      const slow = homes.map((_, n) => slowBody(archiveOf(`ada${n}`)))
      const sending: Promise<Response>[] = []
      for (const [n, evil] of homes.slice(0, 8).entries()) {
        const one = slow[n]
        assert.ok(one)
        sending.push(put(world.home, `ada${n}`, evil, one.body))
        await until(one.hasBegun)
      }
      const last = homes[8]
      assert.ok(last)
      assert.equal(await last.send(world.home), 429)
      for (const one of slow) one.finish()
      assert.deepEqual(
        (await Promise.all(sending)).map(({ status }) => status),
        Array.from({ length: 8 }, () => 200),
      )
      assert.equal(await last.send(world.home), 200)
    })
  })

  describe('announcements whose addresses do not answer', () => {
    it('do not keep the service from reading a later notice by itself (MOV-10)', async () => {
      let now = Date.now()
      const world = await movingWorld(start, { home: { now: () => now } })
      const { store, parts, keyRing } = await world.home.app.running()
      assert.ok(keyRing)
      for (let n = 0; n < 100; n += 1)
        await store.write((tx) =>
          putArrival(tx, {
            actorId: `gone${n}`,
            originUrl: `https://gone.example.com/gone${n}`,
            originKey: '{}',
            tokenHash: hashSecret(`token ${n}`),
            claimHash: '',
            publicKey: '{}',
            privateKey: '' as Sealed,
            origins: '[]',
            createdAt: now - hourMs,
          }),
        )
      const alice = await world.old.createActor('alice@example.com')
      // The old service dies before it tells the new one that the notice is published.
      world.network.fate = async ({ url }) =>
        url.startsWith(`${newUrl}/moves/${alice.id}/activation`) ? 'unreached' : 'arrives'
      await world.move(alice)
      await until(async () => (await world.old.request(`/${alice.id}/meta`)).status === 308)
      now += hourMs
      await parts.arrivals.settleWaiting()
      await parts.arrivals.settleWaiting()
      await world.landed(alice)
    })
  })
})
