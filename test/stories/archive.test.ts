/** The archive of an actor: what it has, and how an actor comes back from it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { Restored } from '../../src/archive/restore-actor.ts'
import { insertAccount } from '../../src/sign-in/account-store.ts'
import { accountTokens, bindingOf } from '../../src/secret/sealed-columns.ts'
import { seal } from '../../src/secret/sealed.ts'
import { archiveOf, comparable, linesOf, ownArchiveOf, piecesOf, restore } from '../support/archives.ts'
import { TestCallers } from '../support/callers.ts'
import { type Random, seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'

const sent = async (actor: TestActor, method: string, path: string, body?: unknown): Promise<void> => {
  const answer = await actor.request(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${await answer.text()}`)
}

async function makeList(actor: TestActor, name: string, items: readonly unknown[]): Promise<void> {
  await sent(actor, 'POST', '/properties', { [name]: { _type: 'list' } })
  for (const item of items) await sent(actor, 'POST', `/properties/${name}`, item)
}

/** Values that a format may lose: order of members, spelling of numbers, characters outside of the BMP, nothing. */
const values = [1.5, '1.0', 'ü \u2028 😀', '', null, false, [], {}, { z: 1, a: { '': [null] } }, 12345678901234567890n]

function valueText(random: Random): string {
  const value = random.pick(values as [unknown, ...unknown[]])
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}

/** Gives the actor data, lists with a history, files, relationships and what belongs to them. */
async function fill(service: TestService, actor: TestActor, random: Random): Promise<void> {
  const raw = { 'content-type': 'application/json' }
  for (let n = 0; n < 5; n++) {
    const text = valueText(random)
    if (text !== 'null') await actor.request('PUT', `/properties/value-${random.below(4)}`, text, raw)
  }
  await makeList(actor, 'numbers', [])
  for (let n = 0; n < 40; n++) {
    const place = random.below(3)
    if (place === 0) await actor.request('POST', '/properties/numbers', valueText(random), raw)
    else if (place === 1) await actor.request('PUT', `/properties/numbers?index=0`, valueText(random), raw)
    else await actor.request('DELETE', '/properties/numbers?index=0')
  }
  await sent(actor, 'PUT', '/properties/numbers/metadata', { description: 'Some numbers', explanation: 'Many' })
  await makeList(actor, 'empty', [])
  await actor.request('PUT', '/files/pictures/a%20b.png', Buffer.alloc(random.below(100_000), 'x'), {
    'content-type': 'image/png',
  })
  const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/p1', peerId: 'p1' })
  await sent(actor, 'PUT', '/trust/friend/p1/permissions', { properties: { patterns: ['value-*'] } })
  await peer.subscribe({ granularity: 'none' })
  await relateTo(service, actor, { baseuri: '', peerId: 'app', relationship: 'friend' })
  await sent(actor, 'PUT', '/properties/value-9', 'after the subscription')
  await sent(actor, 'POST', '/webhooks', { url: 'https://receiver.example.com/hook', events: ['list_changed'] })
  await sent(actor, 'PUT', '/devtest/attribute/private/token', { secret: 1 })
}

async function withAccount(service: TestService, actor: TestActor, identifier: string): Promise<void> {
  const { store, keyRing } = await service.app.running()
  const isInserted = await store.write((tx) =>
    insertAccount(tx, {
      actorId: actor.id,
      identifier,
      verified: true,
      subject: `google:${actor.id}`,
      providerTokens: seal(keyRing, '{}', bindingOf(accountTokens, actor.id)),
    }),
  )
  assert.equal(isInserted, true)
}

async function required(service: TestService, id: string): Promise<ActorHandle> {
  const found = await service.app.actors.get(id)
  assert.ok(found !== undefined)
  return found
}

async function deleteActor(service: TestService, id: string): Promise<void> {
  const { parts } = await service.app.running()
  assert.equal(await parts.actors.delete(id), true)
}

const startSqlite = sqliteService()

forEachService((start) => {
  describe('GET /<actor>/export', () => {
    it('returns everything the owner has as JSON Lines, and ends with the number of records (R-ARC-01)', async () => {
      const service = await start()
      const actor = await service.createActor('ada@example.com')
      await sent(actor, 'PUT', '/properties/color', 'red')
      await makeList(actor, 'shopping', ['milk', { name: 'bread' }])
      await actor.request('PUT', '/files/hello.txt', 'hello', { 'content-type': 'text/plain' })
      await relateTo(service, actor, { baseuri: 'https://peer.example.com/p1', peerId: 'p1' })
      const answer = await actor.request('GET', '/export')
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
      assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${actor.id}.jsonl"`)
      const lines = linesOf(await answer.text())
      const { exported_at: at, created_at: made, release, ...header } = lines[0] ?? { kind: '' }
      assert.deepEqual([typeof at, typeof made, typeof release], ['string', 'string', 'string'])
      assert.deepEqual(header, {
        kind: 'archive',
        version: 1,
        actor: actor.id,
        url: `${service.url}/${actor.id}`,
        creator: 'ada@example.com',
        trustee_root: null,
        secrets: false,
      })
      const data = lines.filter(({ kind }) => ['property', 'item', 'bytes'].includes(kind))
      assert.deepEqual(data, [
        { kind: 'property', name: 'color', value: 'red' },
        { kind: 'item', number: 1, value: 'milk' },
        { kind: 'item', number: 2, value: { name: 'bread' } },
        { kind: 'bytes', data: 'aGVsbG8=' },
      ])
      assert.equal(lines.filter(({ kind }) => kind === 'change').length, 4)
      const [peer] = lines.filter(({ kind }) => kind === 'relationship')
      assert.deepEqual([peer?.['peer_id'], peer?.['relationship'], peer?.['approved']], ['p1', 'friend', true])
      assert.deepEqual(lines.at(-1), { kind: 'end', records: lines.length - 1 })
    })

    it('has no secrets of relationships or webhooks, and no internal attributes (R-ARC-02)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/p1', peerId: 'p1' })
      await sent(actor, 'POST', '/webhooks', { url: 'https://receiver.example.com/hook', events: ['list_changed'] })
      const text = await (await actor.request('GET', '/export')).text()
      assert.ok(!text.includes(peer.secret))
      assert.ok(!text.includes(actor.passphrase))
      assert.ok(!text.includes('whsec_'))
      assert.deepEqual(
        linesOf(text).filter(({ kind }) => kind === 'attribute'),
        [],
      )
    })

    it('leaves out what a hook hides, and has the values that hooks show', async () => {
      const service = await start({
        declare: (app) => {
          app.property('hidden', { get: () => null })
          app.property('shouted', { get: ({ value }) => JSON.stringify(value).toUpperCase() })
          app.property('few', { get: ({ value }) => (value === 2 ? null : value) })
        },
      })
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties', { hidden: 'secret', shouted: 'hello' })
      await makeList(actor, 'few', [1, 2, 3])
      const lines = await ownArchiveOf(actor)
      const data = lines.filter(({ kind }) => ['property', 'item', 'list'].includes(kind))
      assert.deepEqual(
        data.map(({ name, value, number }) => name ?? [number, value]),
        ['few', [1, 1], [3, 3], 'shouted'],
      )
      assert.ok(!JSON.stringify(lines).includes('secret"'))
      assert.equal(data.at(-1)?.['value'], '"HELLO"')
    })

    it('has declared data in the declared version', async () => {
      const service = await start({
        declare: (app) => {
          app.list('things', {
            item: z.object({ name: z.string() }),
            version: 2,
            migrate: (item) => ({ name: String(item) }),
          })
        },
      })
      const actor = await service.createActor()
      await sent(actor, 'POST', '/properties/things', { name: 'cup' })
      const { store } = await service.app.running()
      await store.writeActor(actor.id, (tx) =>
        tx.run(
          `UPDATE list_item SET value = '"cup"', version = 1, checksum = NULL WHERE actor_id = $1 AND list = 'things'`,
          actor.id,
        ),
      )
      const [item] = (await ownArchiveOf(actor)).filter(({ kind }) => kind === 'item')
      assert.deepEqual(item, { kind: 'item', number: 1, version: 2, value: { name: 'cup' } })
    })

    it('is for the owner alone', async () => {
      const callers = new TestCallers()
      const service = await start(callers.parts)
      const actor = await service.createActor()
      const tokens = [
        callers.peer(actor.id, { grants: () => true }),
        callers.client(actor.id, { grants: () => true }),
        callers.peer(actor.id, { relationship: 'admin', grants: () => true }),
      ]
      for (const token of tokens) {
        const answer = await service.request(`/${actor.id}/export`, { headers: { authorization: `Bearer ${token}` } })
        assert.equal(answer.status, 403)
      }
      assert.equal((await service.request(`/${actor.id}/export`)).status, 401)
    })

    it('tells the owner in the activity that the data was exported (R-ARC-02)', async () => {
      const service = await start({ activityPerActor: 100 })
      const actor = await service.createActor()
      await ownArchiveOf(actor)
      await (await service.app.running()).parts.auditLog.flush()
      const activity = (await (await actor.request('GET', '/activity')).json()) as { activity: { path: string }[] }
      assert.deepEqual(
        activity.activity.map(({ path }) => path),
        ['/export'],
      )
    })

    it('reads a list while others change it, and has every item that stays', async () => {
      const service = await start()
      const actor = await service.createActor()
      const kept = Array.from({ length: 600 }, (_, n) => `kept ${n}`)
      const handle = await required(service, actor.id)
      await handle.list('long').extend(kept)
      const { parts } = await service.app.running()
      const found = await parts.actors.require(actor.id)
      const owner = { kind: 'creator', id: actor.creator, session: null } as never
      let text = ''
      for await (const piece of parts.archives.export(found, owner)) {
        text += piece
        await handle.list('long').insert(0, 'new')
      }
      const items = linesOf(text).flatMap(({ kind, value }) => (kind === 'item' && value !== 'new' ? [value] : []))
      assert.deepEqual(items, kept)
    })
  })

  describe('an actor that comes back from its archive', () => {
    it('is the same: 12 random actors (R-ARC-03)', async () => {
      const service = await start({ activityPerActor: 1000 })
      for (let seed = 1; seed <= 12; seed++) {
        const actor = await service.createActor(`owner-${seed}@example.com`)
        await fill(service, actor, seeded(seed))
        await withAccount(service, actor, `owner-${seed}@example.com`)
        const before = await archiveOf(service, actor.id)
        await deleteActor(service, actor.id)
        const { restored, leftOut } = await restore(service, before)
        assert.deepEqual(leftOut, { app: 1 }, `seed ${seed}`)
        assert.equal(restored['relationship'], 1)
        const after = comparable(await archiveOf(service, actor.id))
        const expected = comparable(before, 1)
          .filter((line) => !line.startsWith('{"kind":"app"'))
          .map((line) =>
            line.replace(/("kind":"end","records":)(\d+)/, (_all, to: string, n: string) => `${to}${Number(n) - 1}`),
          )
        assert.deepEqual(after, expected, `seed ${seed}`)
      }
    })

    it('works as before: data, list order, rights, subscriptions, files, history (R-ARC-03)', async () => {
      const service = await start()
      const actor = await service.createActor('ada@example.com')
      await sent(actor, 'PUT', '/properties/color', 'red')
      await sent(actor, 'PUT', '/properties/color', 'blue')
      await makeList(actor, 'shopping', ['a', 'b', 'c'])
      await sent(actor, 'DELETE', '/properties/shopping?index=1')
      await actor.request('PUT', '/files/hello.txt', 'hello', { 'content-type': 'text/plain' })
      const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/p1', peerId: 'p1' })
      await sent(actor, 'PUT', '/trust/friend/p1/permissions', { properties: { excluded_patterns: ['shopping'] } })
      const subscription = await peer.subscribe({ granularity: 'none' })
      const archive = await archiveOf(service, actor.id)
      await deleteActor(service, actor.id)
      const { passphrase } = await restore(service, archive)
      const headers = {
        authorization: `Basic ${Buffer.from(`ada@example.com:${passphrase}`).toString('base64')}`,
        accept: 'application/json',
      }
      const ask = async (path: string, init: { method?: string; body?: string } = {}): Promise<unknown> => {
        const answer = await service.request(`/${actor.id}${path}`, {
          ...init,
          headers: { ...headers, 'content-type': 'application/json' },
        })
        return answer.status === 200 ? answer.json() : answer.status
      }
      assert.equal(await ask('/properties/color'), 'blue')
      assert.deepEqual(await ask('/properties/shopping'), ['a', 'c'])
      assert.equal(await (await service.request(`/${actor.id}/files/hello.txt`, { headers })).text(), 'hello')
      const asPeer = await peer.request('GET', '/properties/color')
      assert.equal(asPeer.status, 200)
      assert.equal((await peer.request('GET', '/properties/shopping')).status, 403)
      // The peer gets a resync, because it may have missed changes.
      const waiting = (await (await peer.request('GET', `/subscriptions/p1/${subscription}`)).json()) as {
        sequence: number
      }
      assert.equal(waiting.sequence, 1)
      const undo = { method: 'POST' }
      await ask('/history/undo', { ...undo, body: JSON.stringify({ name: 'color' }) })
      assert.equal(await ask('/properties/color'), 404)
      const { history } = (await ask('/history?name=shopping')) as { history: { id: string; operation: string }[] }
      const removal = history.find(({ operation }) => operation === 'remove')
      await ask('/history/undo', { ...undo, body: JSON.stringify({ id: Number(removal?.id) }) })
      assert.deepEqual(await ask('/properties/shopping'), ['a', 'b', 'c'])
      await ask('/properties/shopping', { ...undo, body: '"d"' })
      assert.deepEqual(await ask('/properties/shopping'), ['a', 'b', 'c', 'd'])
    })

    it('is the same on another database', async () => {
      const from = await startSqlite()
      const actor = await from.createActor('ada@example.com')
      await fill(from, actor, seeded(7))
      const archive = await archiveOf(from, actor.id)
      const to = await start()
      await restore(to, archive)
      const kinds = (text: string): string[] =>
        comparable(text).filter((line) =>
          /"kind":"(?:property|list|item|bytes|change|relationship|webhook|rights)"/.test(line),
        )
      assert.deepEqual(kinds(await archiveOf(to, actor.id)), kinds(archive))
    })

    it('has attributes of the application with every JSON value, null too', async () => {
      const service = await start()
      const actor = await service.createActor()
      const stored = { none: null, empty: '', zero: 0, no: false, list: [null] }
      const { store } = await service.app.running()
      for (const [name, value] of Object.entries(stored)) {
        await store.write((tx) =>
          tx.run(
            `INSERT INTO attribute (actor_id, bucket, name, data, timestamp) VALUES ($1, 'private', $2, $3, 1)`,
            actor.id,
            name,
            JSON.stringify(value),
          ),
        )
      }
      const archive = await archiveOf(service, actor.id)
      await deleteActor(service, actor.id)
      await restore(service, archive)
      const lines = linesOf(await archiveOf(service, actor.id)) as readonly Record<string, unknown>[]
      const attributes = lines.filter(({ kind }) => kind === 'attribute')
      assert.deepEqual(Object.fromEntries(attributes.map(({ name, data }) => [name, data])), stored)
    })

    it('has no relationships from an archive without secrets, and says what is left out', async () => {
      const service = await start()
      const actor = await service.createActor()
      await fill(service, actor, seeded(3))
      const archive = await archiveOf(service, actor.id, false)
      await deleteActor(service, actor.id)
      const { leftOut } = await restore(service, archive)
      assert.deepEqual(leftOut, { relationship: 1, app: 1, rights: 1, subscription_of_peer: 1, webhook: 1 })
      const lines = linesOf(await archiveOf(service, actor.id))
      assert.ok(!lines.some(({ kind }) => kind === 'relationship' || kind === 'rights'))
    })

    it('has values that are nested as deeply as a service can allow', async () => {
      const service = await start({ maxJsonDepth: 512 })
      const actor = await service.createActor()
      const deep = `${'['.repeat(512)}1${']'.repeat(512)}`
      assert.equal((await actor.request('PUT', '/properties/deep', deep)).status, 204)
      const archive = await archiveOf(service, actor.id)
      await deleteActor(service, actor.id)
      await restore(service, archive)
      const back = await archiveOf(service, actor.id)
      assert.ok(back.includes(deep))
    })

    it('has long lists in their order', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await required(service, actor.id)
      const items = Array.from({ length: 3000 }, (_, n) => n)
      await handle.list('long').extend(items)
      await handle.list('long').insert(0, 'first')
      const archive = await archiveOf(service, actor.id)
      await deleteActor(service, actor.id)
      // The rows of the deleted list are still being deleted in the background.
      await restore(service, archive)
      const back = await required(service, actor.id)
      const read = await Array.fromAsync(back.list('long'))
      assert.deepEqual(
        read.map(({ item }) => item),
        ['first', ...items],
      )
      await back.list('long').insert(1500, 'middle')
      assert.equal(await back.list('long').get(1500), 'middle')
    })
  })

  describe('an import that is refused', () => {
    const header = (id: string, more: object = {}): string =>
      `${JSON.stringify({
        kind: 'archive',
        version: 1,
        actor: id,
        creator: 'eve@example.com',
        created_at: '2026-01-01T00:00:00.000Z',
        ...more,
      })}\n`
    const end = (records: number): string => `{"kind":"end","records":${records}}\n`

    for (const [what, archive, message] of [
      ['is empty', () => '', /does not begin with a record of the kind archive/],
      ['has another beginning', () => end(0), /does not begin with a record of the kind archive/],
      ['has a newer version', (id: string) => header(id, { version: 2 }), /it has version 2/],
      ['has no end', (id: string) => header(id), /its end is missing/],
      ['lacks a record', (id: string) => `${header(id)}${end(2)}`, /it has 1 records, and its end states 2/],
      [
        'is followed by a second one',
        (id: string) => `${header(id)}${end(1)}`.repeat(2),
        /a second archive begins behind its end/,
      ],
      ['is not JSON', (id: string) => `${header(id)}{"kind":`, /Cannot read line 2 of the archive/],
      ['is not UTF-8', () => '\ud800', /does not begin|Cannot read line 1/],
      [
        'has a line without a kind',
        (id: string) => `${header(id)}{}\n`,
        /line 2 of the archive: it is not an object with a kind/,
      ],
      [
        'has a property without a value',
        (id: string) => `${header(id)}{"kind":"property","name":"a"}\n`,
        /"value" of a record of the kind property: it is missing/,
      ],
      [
        'has an item without a number',
        (id: string) =>
          `${header(id)}{"kind":"list","name":"a","id":"1","description":"","explanation":"","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","next_item":1,"revision":1,"length":1}\n{"kind":"item","value":1}\n`,
        /"number" of a record of the kind item/,
      ],
      [
        'has a file with missing bytes',
        (id: string) =>
          `${header(id)}{"kind":"file","name":"a","size":5,"type":"text/plain","sha256":"x","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}\n{"kind":"bytes","data":"aGk="}\n${end(3)}`,
        /the archive has 2 bytes of this file/,
      ],
      [
        'has other bytes of a file',
        (id: string) =>
          `${header(id)}{"kind":"file","name":"a","size":2,"type":"text/plain","sha256":"x","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}\n{"kind":"bytes","data":"aGk="}\n${end(3)}`,
        /"sha256" of a record of the kind file: the bytes of the file have another digest/,
      ],
      ['names a route as the actor', () => header('oauth'), /it is not the id of an actor/],
    ] as const) {
      it(`leaves nothing when the archive ${what}`, async () => {
        const service = await start()
        const id = randomUUID().replaceAll('-', '')
        const { store } = await service.app.running()
        const before = await dumpStore(store)
        await assert.rejects(restore(service, archive(id)), { code: 'invalid_value', message })
        const { file_object: _objects, ...after } = await dumpStore(store)
        const { file_object: _none, ...expected } = before
        assert.deepEqual(after, expected)
      })
    }

    it('changes nothing when the actor exists', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/color', 'red')
      const archive = await archiveOf(service, actor.id)
      await sent(actor, 'PUT', '/properties/color', 'blue')
      await assert.rejects(restore(service, archive), { code: 'conflict', message: /exists already/ })
      assert.equal(await (await actor.request('GET', '/properties/color')).text(), 'blue')
    })

    it('leaves nothing when another actor has the creator, or signs in with the account', async () => {
      const service = await start()
      const actor = await service.createActor('ada@example.com')
      await withAccount(service, actor, 'ada@example.com')
      const archive = await archiveOf(service, actor.id)
      await deleteActor(service, actor.id)
      const other = await service.createActor('ada@example.com')
      const { parts } = await service.app.running()
      await assert.rejects(restore(service, archive, true), {
        code: 'conflict',
        message: /another actor has the creator/,
      })
      assert.equal(await parts.actors.find(actor.id), null)
      await withAccount(service, other, 'ada@example.com')
      await assert.rejects(restore(service, archive), { code: 'conflict', message: /signs in to another actor/ })
      assert.equal(await parts.actors.find(actor.id), null)
    })
  })

  describe('an import that breaks off', () => {
    /** The archive up to a part. `waits` resolves when the import waits for the rest, which fails with `end`. */
    function beginningOf(
      archive: string,
      part: number,
    ): { readonly waits: Promise<void>; readonly bytes: AsyncGenerator<Uint8Array, void>; readonly end: () => void } {
      const { promise: waits, resolve } = Promise.withResolvers<void>()
      const { promise: rest, reject } = Promise.withResolvers<never>()
      async function* bytes(): AsyncGenerator<Uint8Array, void> {
        yield* piecesOf(archive.slice(0, Math.floor(archive.length * part)))
        resolve()
        await rest
      }
      return { waits, bytes: bytes(), end: () => reject(new Error('broken off')) }
    }

    for (const part of [0.2, 0.5, 0.8, 0.99]) {
      it(`leaves an actor that no one can open, and the next import replaces it (after ${part * 100} %)`, async () => {
        const service = await start()
        const actor = await service.createActor('ada@example.com')
        await fill(service, actor, seeded(5))
        await withAccount(service, actor, 'ada@example.com')
        const archive = await archiveOf(service, actor.id)
        await deleteActor(service, actor.id)
        const { parts } = await service.app.running()
        const { waits, bytes, end } = beginningOf(archive, part)
        const broken = assert.rejects(restore(service, bytes), { message: 'broken off' })
        await waits
        assert.equal(await parts.actors.findByCreator('ada@example.com'), null)
        assert.equal((await actor.request('GET', '/properties')).status, 403)
        const restored: Restored = await restore(service, archive)
        assert.equal(restored.actorId, actor.id)
        end()
        await broken
        assert.equal((await parts.actors.findByCreator('ada@example.com'))?.id, actor.id)
      })
    }

    it('writes nothing more after another import of the same actor has begun', async () => {
      const service = await start()
      const actor = await service.createActor('ada@example.com')
      await makeList(actor, 'shopping', ['milk', 'bread'])
      const archive = await archiveOf(service, actor.id)
      await deleteActor(service, actor.id)
      const { promise: mayContinue, resolve } = Promise.withResolvers<void>()
      const { promise: waits, resolve: wait } = Promise.withResolvers<void>()
      const half = archive.indexOf('{"kind":"item"')
      async function* inTwoParts(): AsyncGenerator<Uint8Array, void> {
        yield Buffer.from(archive.slice(0, half))
        wait()
        await mayContinue
        yield Buffer.from(archive.slice(half))
      }
      const first = assert.rejects(restore(service, inTwoParts()), {
        code: 'unavailable',
        message: /another import of this actor has begun/,
      })
      await waits
      await restore(service, archive)
      resolve()
      await first
      assert.deepEqual(comparable(await archiveOf(service, actor.id)), comparable(archive))
    })
  })
})
