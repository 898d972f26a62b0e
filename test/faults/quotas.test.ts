/** One actor stores as much as it can. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { App } from '../../src/troupe.ts'
import type { PeerClient } from '../../src/peer/peer-client.ts'
import { quotaCounts } from '../../src/quota/quota.ts'
import { type CorrectedCount, recount } from '../../src/quota/recount.ts'
import { builtInTables } from '../../src/features/features.ts'
import { quotasWith } from '../../src/quotas.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import {
  forEachService,
  sqliteService,
  type StartOptions,
  type TestActor,
  type TestService,
} from '../support/service.ts'
import { asSharded, createTestDatabase, shardedVariable, type TestDatabase } from '../support/stores.ts'
import type { Dialect } from '../../src/store/portable.ts'
import { openStore } from '../../src/open-store.ts'
import { restoreActor } from '../../src/archive/restore-actor.ts'
import { piecesOf } from '../support/archives.ts'
import { violationsIn } from '../support/invariants.ts'
import { dumpStore, rowsOf } from '../support/store-dump.ts'
import { until } from '../support/until.ts'

function archiveOf(records: readonly object[]): string {
  const header = {
    kind: 'archive',
    version: 1,
    actor: 'ada',
    creator: 'ada@example.com',
    created_at: '2026-01-01T00:00:00.000Z',
  }
  const all = [header, ...records]
  return [...all, { kind: 'end', records: all.length }].map((record) => `${JSON.stringify(record)}\n`).join('')
}

/** Peers that never answer. */
const silent: PeerClient = {
  call: () => Promise.resolve({ kind: 'unreached', reason: 'Connection refused' } as const),
  close: () => Promise.resolve(),
}

/** The application writes on behalf of a caller. */
function declareWrites(app: App): void {
  app.method('store', { input: z.object({ name: z.string(), value: z.string() }) }, async ({ actor, input }) => {
    await actor.set(input.name, input.value)
    return { stored: true }
  })
}

type Start = (options?: StartOptions) => Promise<TestService>
type Way = (actor: TestActor, handle: ActorHandle) => Promise<unknown>

/** Ways to store a new property with a value of 1,000 bytes. */
const large = 'x'.repeat(998)
const newValues: Readonly<Record<string, Way>> = {
  'PUT of a value': (actor) => actor.request('PUT', '/properties/new', JSON.stringify(large)),
  'POST of a value': (actor) => actor.request('POST', '/properties/new', { text: large }),
  'PUT below a name': (actor) => actor.request('PUT', '/properties/new/text', { more: large }),
  'PUT of several properties': (actor) => actor.request('PUT', '/properties', { new: large }),
  'POST of several properties': (actor) => actor.request('POST', '/properties', { new: large }),
  'a method of the application': (actor) => actor.request('POST', '/methods/store', { name: 'new', value: large }),
  'the handle of the application': (_actor, handle) => handle.set('new', large),
  'a transaction of the application': (_actor, handle) =>
    handle.transaction(async (tx) => {
      await tx.set('other', 1)
      await tx.set('new', large)
    }),
  'a list of the application': (_actor, handle) => handle.list('new').append(large),
}

/** Ways to add an item to the list `notes`, which has one. */
const newItems: Readonly<Record<string, Way>> = {
  'POST to a list': (actor) =>
    actor.request('POST', '/properties/notes', '"two"', { 'content-type': 'application/json' }),
  'POST of several items': (actor) =>
    actor.request('POST', '/properties', { notes: { items: [{ index: 1, value: 'two' }] } }),
  'append of the application': (_actor, handle) => handle.list('notes').append('two'),
  'extend of the application': (_actor, handle) => handle.list('notes').extend(['two', 'three']),
  'insert of the application': (_actor, handle) => handle.list('notes').insert(0, 'zero'),
}

async function handleOf(service: TestService, actor: TestActor): Promise<ActorHandle> {
  const handle = await service.app.actors.get(actor.id)
  assert.ok(handle !== undefined)
  return handle
}

/** Expects a refusal for the quota, whether a response or an error of the handle. */
async function refusal(way: Promise<unknown>, quota: string): Promise<Record<string, unknown>> {
  const outcome = await way.catch((error: unknown) => error)
  if (!(outcome instanceof Response)) {
    const { code, detail } = outcome as { code: string; detail: { members: Record<string, unknown> } }
    assert.equal(code, 'quota_exceeded', String(outcome))
    assert.equal(detail.members['quota'], quota)
    return detail.members
  }
  const body = (await outcome.json()) as Record<string, unknown>
  assert.deepEqual([outcome.status, body['error'], body['quota']], [507, 'quota_exceeded', quota], JSON.stringify(body))
  return body
}

/** Bytes, names and items, as the service counts them: a sharded database has upper bounds beside the rows. */
async function used(service: TestService, actor: TestActor): Promise<readonly number[]> {
  const { store } = await service.app.running()
  const kept = quotasWith(builtInTables).filter(({ kept }) => kept !== undefined)
  const counts = await store.read((q) => quotaCounts(q, actor.id, kept))
  return ['bytes', 'names', 'items'].map((name) => [...counts].find(([quota]) => quota.name === name)?.[1] ?? -1)
}

/** Services on databases without the triggers that count, as a sharded one is. */
function shardedService(dialect: Dialect): (options?: StartOptions) => Promise<TestService> {
  const databases: TestDatabase[] = []
  const start = sqliteService()
  after(() => Promise.all(databases.map((database) => database.remove())))
  return async (options = {}) => {
    if (options.database !== undefined) return start({ ...options, wrapStore: asSharded })
    const database = await createTestDatabase(dialect)
    databases.push(database)
    const service = await start({ ...options, database: database.url, wrapStore: asSharded })
    const { store } = await service.app.running()
    for (const table of ['property', 'list_item', 'attribute'])
      for (const how of ['counted', 'recounted', 'uncounted'])
        await store.write((tx) => tx.run(`DROP TRIGGER ${table}_${how}${dialect === 'sqlite' ? '' : ` ON ${table}`}`))
    return service
  }
}

describe('on a sharded SQLite', () => {
  const start = shardedService('sqlite')
  declareQuotas(start, true)
  declareBounds(start)
})
describe('on a sharded PostgreSQL', () => {
  const start = shardedService('postgres')
  declareRaces(start, true)
  declareBounds(start)
})
forEachService((start) => declareQuotas(start, process.env[shardedVariable] === 'yes'))

async function begin(start: Start, options: StartOptions = {}) {
  const service = await start({ declare: declareWrites, ...options })
  const actor = await service.createActor()
  return { service, actor, handle: await handleOf(service, actor) }
}

function declareQuotas(start: Start, hasBounds: boolean): void {
  const violations = (service: TestService): Promise<string[]> => violationsIn(service.databaseUrl, { hasBounds })
  describe('an actor at the limit of its bytes', () => {
    it('is refused by every way to store a value, with what counts, and keeps what it had (QUO-01)', async () => {
      for (const [title, way] of Object.entries(newValues)) {
        const { service, actor, handle } = await begin(start, { maxActorBytes: 1500 })
        await handle.set('old', 'x'.repeat(598))
        await handle.list('notes').append('one')
        const { store } = await service.app.running()
        const before = rowsOf(await dumpStore(store), actor.id)
        const body = await refusal(way(actor, handle), 'bytes')
        assert.equal(body['limit'], 1500, title)
        assert.deepEqual(rowsOf(await dumpStore(store), actor.id), before, title)
        await service.close()
      }
    })

    it('stores exactly as many bytes as it may (QUO-02)', async () => {
      const { service, actor } = await begin(start, { maxActorBytes: 1000 })
      const put = async (name: string, bytes: number): Promise<number> =>
        (await actor.request('PUT', `/properties/${name}`, JSON.stringify('x'.repeat(bytes - 2)))).status
      assert.equal(await put('aaa', 997), 204)
      assert.deepEqual(await used(service, actor), [1000, 1, 0])
      assert.equal(await put('aaa', 998), 507)
      assert.equal(await put('b', 3), 507)
      assert.equal(await put('aaa', 900), 204)
      assert.equal(await put('b', 96), 204)
      assert.deepEqual(await used(service, actor), [1000, 2, 0])
      assert.equal(await put('b', 95), 204)
      assert.deepEqual(await violations(service), [])
    })

    it('counts bytes of UTF-8, not characters (QUO-02)', async () => {
      const { service, actor } = await begin(start, { maxActorBytes: 100 })
      const put = async (text: string): Promise<number> =>
        (await actor.request('PUT', '/properties/n', JSON.stringify(text))).status
      assert.equal(await put('語'.repeat(33)), 507)
      assert.equal(await put('語'.repeat(32)), 204)
      assert.deepEqual(await used(service, actor), [99, 1, 0])
    })

    it('reads what counts and how to free it in the message (QUO-01)', async () => {
      const { service, actor } = await begin(start, { maxActorBytes: 100 })
      const answer = await actor.request('PUT', '/properties/n', JSON.stringify('x'.repeat(200)))
      assert.equal(answer.status, 507)
      assert.deepEqual(await answer.json(), {
        error: 'quota_exceeded',
        message:
          'Cannot store the change: the actor would have 203 bytes of data, and at most 100 are allowed. The names and values of properties, the items of lists and the copies of peers’ data count. Delete properties or items, or end subscriptions to peers with much data.',
        quota: 'bytes',
        limit: 100,
        used: 203,
      })
      const metrics = await (await service.request('/metrics')).text()
      assert.match(metrics, /^troupe_quota_refusals_total\{quota="bytes"\} 1$/m)
    })
  })

  describe('an actor at the limit of its items', () => {
    it('is refused by every way to add an item, and keeps what it had (QUO-01)', async () => {
      for (const [title, way] of Object.entries(newItems)) {
        const { service, actor, handle } = await begin(start, { maxItems: 1 })
        await handle.list('notes').append('one')
        const { store } = await service.app.running()
        const before = rowsOf(await dumpStore(store), actor.id)
        await refusal(way(actor, handle), 'items')
        assert.deepEqual(rowsOf(await dumpStore(store), actor.id), before, title)
        await service.close()
      }
    })
  })

  declareRaces(start, hasBounds)

  describe('an actor above a limit', () => {
    const over = async () => {
      const { service, actor, handle } = await begin(start)
      await handle.set('a', { text: 'x'.repeat(500), more: 1 })
      await handle.set('b', 'x'.repeat(500))
      await handle.list('l').extend(['one', 'two', 'three'])
      await handle.list('m').extend(['one', 'two', 'three'])
      const small = await start({
        database: service.databaseUrl,
        maxActorBytes: 10,
        maxNames: 1,
        maxItems: 1,
      })
      return { service: small, actor, handle: await handleOf(small, actor), authorization: actor.authorization }
    }

    it('deletes by every way (QUO-04)', async () => {
      const { service, actor, handle } = await over()
      const send = async (method: string, path: string): Promise<number> =>
        (await service.request(`/${actor.id}${path}`, { method, headers: { authorization: actor.authorization } }))
          .status
      assert.equal(await send('DELETE', '/properties/a/more'), 204)
      assert.equal(await send('DELETE', '/properties/a'), 204)
      await handle.list('l').delete(1)
      await handle.list('l').pop()
      assert.equal(await send('DELETE', '/properties/l'), 204)
      await handle.set('b', 'short')
      assert.equal(await send('DELETE', '/properties'), 204)
      // A sharded database deletes rows of lists later.
      await (await service.app.running()).parts.removedLists.settled()
      assert.deepEqual(await used(service, actor), [0, 0, 0])
      assert.deepEqual(await violations(service), [])
      assert.equal(await send('DELETE', ''), 204)
    })

    it('replaces what it has, and stores nothing more (QUO-04)', async () => {
      const { service, actor, handle } = await over()
      await handle.set('b', 'y'.repeat(500))
      await handle.list('l').update(0, 'own')
      await refusal(handle.set('b', 'y'.repeat(501)), 'bytes')
      await refusal(handle.list('l').append('x'), 'bytes')
      await handle.set('b', '')
      await refusal(handle.set('c', 'x'), 'bytes')
      assert.deepEqual(await violations(service), [])
      assert.equal((await used(service, actor))[1], 3)
    })
  })

  describe('an actor at the limit of its relationships, subscriptions, webhooks or keys', () => {
    it('gets no more of them, also at the same time, and may replace one (QUO-06)', async () => {
      const { service, actor } = await begin(start, {
        maxRelationships: 2,
        maxSubscriptions: 2,
        maxWebhooks: 2,
        maxKeys: 2,
        peerClient: silent,
      })
      const peer = await relateTo(service, actor, {})
      const trust = (n: number) =>
        service.request(`/${actor.id}/trust/friend`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            baseuri: `https://peer.example.com/p${n}`,
            id: `p${n}`,
            type: 'urn:x',
            secret: `p${n}`.padEnd(40, 's'),
            verify: 'token',
          }),
        })
      const scope = { target: 'properties', subtarget: 'mood', granularity: 'high' }
      const ways: Readonly<Record<string, (n: number) => Promise<Response>>> = {
        webhooks: (n) =>
          actor.request('POST', '/webhooks', { url: `https://h.example.com/${n}`, events: ['list_changed'] }),
        keys: (n) =>
          actor.request('POST', '/keys', {
            name: `key ${n}`,
            grants: { properties: { patterns: ['a'], operations: ['read'] } },
          }),
        subscriptions: () => peer.request('POST', `/subscriptions/${peer.peerId}`, scope),
        relationships: trust,
      }
      for (const [quota, way] of Object.entries(ways)) {
        const answers = await Promise.all([1, 2, 3, 4].map(way))
        const stored = answers.filter(({ status }) => status < 300).length
        // The relationship with the peer counts, and so may the one of each key.
        assert.ok(stored <= 2, `${quota}: ${answers.map(({ status }) => status).join()}`)
        for (const answer of answers.filter(({ status }) => status >= 300)) {
          const body = (await answer.json()) as Record<string, unknown>
          assert.deepEqual([answer.status, body['error']], [507, 'quota_exceeded'], `${quota}: ${JSON.stringify(body)}`)
        }
      }
      const listed = (await (await actor.request('GET', '/webhooks')).json()) as { webhooks: { id: string }[] }
      assert.equal((await actor.request('DELETE', `/webhooks/${listed.webhooks[0]?.id}`)).status, 204)
      assert.equal((await ways['webhooks']?.(5))?.status, 201)
    })
  })

  describe('counts that are wrong', () => {
    it('are corrected, and the limits hold again (QUO-07)', async () => {
      const { service, actor, handle } = await begin(start, { maxNames: 2 })
      await handle.set('a', 'x')
      await handle.list('l').extend(['one', 'two'])
      const { store } = await service.app.running()
      await store.write((tx) =>
        tx.run('UPDATE actor SET used_bytes = 7, used_names = 1, used_items = -1 WHERE id = $1', actor.id),
      )
      const corrected: string[] = []
      const note = ({ quota, counted, used: right }: CorrectedCount): void =>
        void corrected.push(`${quota.name} ${counted} ${right}`)
      await recount(store, quotasWith(builtInTables), note)
      assert.deepEqual(corrected, ['bytes 7 15', 'names 1 2', 'items -1 2'])
      assert.deepEqual(await used(service, actor), [15, 2, 2])
      await recount(store, quotasWith(builtInTables), note)
      assert.equal(corrected.length, 3)
      await refusal(handle.set('b', 'x'), 'names')
    })
  })

  describe('an import by the owner', () => {
    it('stores no more than the actor may have (QUO-01)', async () => {
      const { service, actor } = await begin(start, { maxActorBytes: 1000 })
      const archive = archiveOf(
        Array.from({ length: 20 }, (_, n) => ({ kind: 'property', name: `n${n}`, value: 'x'.repeat(98) })),
      )
      const begun = await actor.request('POST', '/import', archive)
      assert.equal(begun.status, 202, await begun.clone().text())
      await service.settled()
      const [bytes = 0] = await used(service, actor)
      assert.ok(bytes <= 1000, `${bytes}`)
      assert.deepEqual(await violations(service), [])
    })
  })

  describe('the counts of an actor', () => {
    it('are those of its rows after any changes (QUO-05, I11)', async () => {
      for (let seed = 1; seed <= 6; seed += 1) {
        const random = seeded(seed)
        const below = (limit: number): number => random.below(limit)
        const { service, actor, handle } = await begin(start, { maxActorBytes: 3000, maxNames: 6, maxItems: 40 })
        const text = (): string => ['x', 'ü', '語', '\u0001', '"'][below(5)]?.repeat(below(200)) ?? ''
        const steps: readonly (() => Promise<unknown>)[] = [
          () => handle.set(`v${below(5)}`, text()),
          () => handle.set(`v${below(5)}`, { a: { b: text() } }),
          () => actor.request('PUT', `/properties/v${below(5)}/a/c`, { d: text() }),
          () => actor.request('DELETE', `/properties/v${below(5)}/a`),
          () => actor.request('PUT', '/properties', { v0: text(), v1: text(), w: 1 }),
          () => handle.delete(`v${below(5)}`),
          () => handle.list(`l${below(3)}`).append(text()),
          () => handle.list(`l${below(3)}`).extend([text(), text(), 'x']),
          () => handle.list(`l${below(3)}`).pop(),
          () => actor.request('DELETE', `/properties/l${below(3)}`),
          () => actor.request('POST', '/history/undo', { id: 1 + below(60) }),
          () => actor.request('PUT', `/devtest/attribute/b/n${below(4)}`, JSON.stringify(text())),
          () => actor.request('DELETE', `/devtest/attribute/b/n${below(4)}`),
          () => Promise.allSettled([handle.set('v0', text()), handle.set('v1', text()), handle.list('l0').append('x')]),
        ]
        for (let n = 0; n < 60; n += 1) await steps[below(steps.length)]?.().catch(() => {})
        assert.deepEqual(await violations(service), [], `seed ${seed}`)
        const [bytes = 0, names = 0, items = 0] = await used(service, actor)
        assert.ok(bytes <= 3000 && names <= 6 && items <= 40, `seed ${seed}: ${bytes} ${names} ${items}`)
        await service.close()
      }
    })
  })
}

function declareRaces(start: Start, hasBounds: boolean): void {
  const violations = (service: TestService): Promise<string[]> => violationsIn(service.databaseUrl, { hasBounds })

  describe('changes at the same time', () => {
    it('store exactly as many properties as the actor may have, from two services (QUO-03)', async () => {
      const { service, actor } = await begin(start, { maxNames: 10 })
      const other = await start({ database: service.databaseUrl, maxNames: 10 })
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          (n % 2 === 0 ? service : other).request(`/${actor.id}/properties/p${n}`, {
            method: 'PUT',
            headers: { authorization: actor.authorization, 'content-type': 'application/json' },
            body: '"x"',
          }),
        ),
      )
      assert.equal(answers.filter(({ status }) => status === 204).length, 10)
      assert.equal(answers.filter(({ status }) => status === 507).length, 30)
      assert.equal((await used(service, actor))[1], 10)
    })

    it('store exactly as many items, and as many bytes (QUO-03)', async () => {
      const { service, actor, handle } = await begin(start, { maxItems: 7, maxActorBytes: 105 })
      const appended = await Promise.allSettled(Array.from({ length: 30 }, () => handle.list('l').append('x')))
      assert.equal(appended.filter(({ status }) => status === 'fulfilled').length, 7)
      const [bytes = 0] = await used(service, actor)
      assert.equal(bytes, 1 + 7 * 3)
      const set = await Promise.allSettled(Array.from({ length: 30 }, (_, n) => handle.set(`n${n % 9}`, 'x'.repeat(n))))
      assert.ok(set.some(({ status }) => status === 'rejected'))
      assert.ok(((await used(service, actor))[0] ?? 0) <= 105)
      assert.deepEqual(await violations(service), [])
    })
  })
}

/** Upper bounds in the row of the actor, in place of counts. */
function declareBounds(start: Start): void {
  const boundsOf = async (service: TestService, actor: Pick<TestActor, 'id'>): Promise<readonly number[]> => {
    const { store } = await service.app.running()
    const row = await store.read((q) =>
      q.get<Record<string, number>>('SELECT used_bytes, used_names, used_items FROM actor WHERE id = $1', actor.id),
    )
    return Object.values(row ?? {})
  }
  const countsIn = ({ statements }: Pick<TestService, 'statements'>): number =>
    statements.filter((sql) => sql.includes('COALESCE(SUM(octet_length(name)')).length

  describe('the bounds of an actor', () => {
    it('cost one statement for each change, and no count far from the limits (QUO-14)', async () => {
      const { service, actor, handle } = await begin(start)
      await handle.set('a', 'x')
      service.reset()
      await handle.set('a', 'y')
      assert.equal(service.statements.filter((sql) => sql.startsWith('UPDATE actor SET used_bytes')).length, 1)
      for (let n = 0; n < 20; n++) await handle.set('a', `x${n}`)
      await handle.list('l').extend(['one', 'two'])
      assert.equal(countsIn(service), 0)
      assert.deepEqual(await used(service, actor), [17, 2, 2])
      const [bytes = 0, names = 0, items = 0] = await boundsOf(service, actor)
      assert.ok(bytes >= 17 && names >= 2 && items >= 2, `${bytes} ${names} ${items}`)
    })

    it('are counts again after a change that seems to exceed a limit, and counts stay rare (QUO-14)', async () => {
      const { service, actor, handle } = await begin(start, { maxActorBytes: 100_000, maxNames: 50 })
      await handle.set('a', 'x'.repeat(1000))
      service.reset()
      // Each of them seems to add a name and some 3,000 bytes.
      for (let n = 0; n < 100; n++) await handle.set('a', `${n}`.padEnd(1000, 'x'))
      const counts = service.statements.filter((sql) => /^SELECT (?:COUNT|CAST)/.test(sql.trim())).length
      assert.ok(counts >= 3 && counts <= 8, `${counts}`)
      assert.deepEqual(await used(service, actor), [1003, 1, 0])
      const [bytes = 0, names = 0] = await boundsOf(service, actor)
      assert.ok(bytes >= 1003 && bytes <= 100_000 && names >= 1 && names <= 50, `${bytes} ${names}`)
    })

    it('near a limit cause one count of the rows in a minute, behind the responses (QUO-14)', async () => {
      const clock = new ManualClock()
      const { service, handle } = await begin(start, {
        maxNames: 20,
        now: clock.now,
        timers: clock.timers,
        declare: (app) => void app.on('mail', () => true),
      })
      const looks = (): number => countsIn({ statements: service.backgroundStatements })
      for (let n = 0; n < 17; n++) await handle.set('a', n)
      await service.settled()
      assert.equal(looks(), 0)
      // These reach nine tenths of the limit, although the actor has one name.
      for (let n = 0; n < 3; n++) {
        await handle.set('a', n)
        await service.settled()
      }
      assert.equal(looks(), 1)
      clock.pass(60_000)
      await until(() => looks() === 2)
      clock.pass(60_000)
      await service.settled()
      assert.equal(looks(), 2)
      assert.equal(countsIn(service), 0)
    })

    it('are unknown after an import by the operator, so that the next change counts (QUO-14)', async () => {
      const { service } = await begin(start, { maxNames: 2 })
      const store = asSharded(await openStore({ url: service.databaseUrl, mustExist: true }))
      try {
        const values = ['a', 'b', 'c'].map((name) => ({ kind: 'property', name, value: 1 }))
        const { keyRing, parts } = await service.app.running()
        const deps = {
          ...parts,
          store,
          keyRing,
          bytes: parts.fileBytes,
          uniqueCreator: false,
          deleteRemoved: async () => {},
        }
        await restoreActor(deps, piecesOf(archiveOf(values)))
      } finally {
        await store.close()
      }
      const handle = await service.app.actors.get('ada')
      assert.ok(handle)
      await handle.set('a', 2)
      await refusal(handle.set('d', 'x'), 'names')
      // Nothing has counted the items.
      assert.deepEqual(await boundsOf(service, { id: 'ada' }), [6, 3, 2 ** 51])
    })
  })
}
