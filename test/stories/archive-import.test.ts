/** `/<actor>/import`: an archive comes into an actor that exists. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { type ArchiveLine, linesOf } from '../support/archives.ts'
import { TestCallers } from '../support/callers.ts'
import { seeded } from '../support/random.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

const sent = async (actor: TestActor, method: string, path: string, body?: unknown): Promise<Response> => {
  const answer = await actor.request(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`)
  return answer
}

const read = async (actor: TestActor, path: string): Promise<unknown> => {
  const answer = await actor.request('GET', path, undefined, { accept: 'application/json' })
  return answer.status === 200 ? answer.json() : answer.status
}

interface Import {
  readonly id: string
  readonly state: string
  readonly records: number
  readonly position: number
  readonly imported: object
  readonly same: object
  readonly kept: { readonly count: number; readonly first: readonly object[] }
  readonly refused: { readonly count: number; readonly first: readonly { readonly message: string }[] }
  readonly left_out: object
}

/** Imports, and waits for the end. */
async function imported(
  service: TestService,
  actor: TestActor,
  archive: string,
  existing?: 'keep' | 'replace',
): Promise<Import> {
  const begun = await actor.request('POST', `/import${existing === undefined ? '' : `?existing=${existing}`}`, archive)
  assert.equal(begun.status, 202, await begun.clone().text())
  assert.equal(begun.headers.get('location'), `${service.url}/${actor.id}/import`)
  await service.settled()
  const last = (await read(actor, '/import')) as Import
  assert.equal(last.state, 'done')
  assert.equal(last.position, last.records)
  return last
}

const none = { count: 0, first: [] }

const list = (name: string, items: readonly unknown[], more: object = {}): object[] => [
  {
    kind: 'list',
    name,
    id: 'l1',
    description: '',
    explanation: '',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    next_item: items.length + 1,
    revision: 1,
    length: items.length,
    ...more,
  },
  ...items.map((value, index) => ({ kind: 'item', number: index + 1, value })),
]

const file = (name: string, content: string): object[] => [
  {
    kind: 'file',
    name,
    size: Buffer.byteLength(content),
    type: 'text/plain',
    sha256: createHash('sha256').update(content).digest('hex'),
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  },
  { kind: 'bytes', data: Buffer.from(content).toString('base64') },
]

const header = {
  kind: 'archive',
  version: 1,
  actor: 'ada',
  creator: 'ada@example.com',
  created_at: '2026-01-01T00:00:00.000Z',
}

function archiveWith(...records: readonly object[]): string {
  const all = [header, ...records]
  return [...all, { kind: 'end', records: all.length }].map((record) => `${JSON.stringify(record)}\n`).join('')
}

const property = (name: string, value: unknown, more: object = {}): object => ({
  kind: 'property',
  name,
  value,
  ...more,
})

/** The part of an archive that an import brings in. */
function dataOf(lines: readonly ArchiveLine[]): object[] {
  return lines
    .filter(({ kind }) => ['property', 'list', 'item', 'file', 'bytes'].includes(kind))
    .map(({ kind, name, value, description, explanation, length, data, sha256, type, version }) => ({
      kind,
      name,
      value,
      description,
      explanation,
      length,
      data,
      sha256,
      type,
      version,
    }))
}

const contentOf = (service: TestService): ((actor: TestActor, name: string) => Promise<unknown[]>) => {
  return async (actor, name) => {
    const handle = await service.app.actors.get(actor.id)
    assert.ok(handle !== undefined)
    return (await Array.fromAsync(handle.list(name))).map(({ item }) => item)
  }
}

/** The objects in the storage for files that are kept. */
async function keptObjects(service: TestService): Promise<number> {
  const { store } = await service.app.running()
  const row = await store.read((q) =>
    q.get<{ n: number }>(`SELECT COUNT(*) AS n FROM file_object WHERE state <> 'unused'`),
  )
  return row?.n ?? -1
}

forEachService((start) => {
  describe('POST /<actor>/import', () => {
    it('brings the properties, lists and files of another actor in: 6 random actors (R-ARC-05)', async () => {
      const service = await start()
      for (let seed = 1; seed <= 6; seed++) {
        const random = seeded(seed)
        const from = await service.createActor(`from-${seed}@example.com`)
        for (let n = 0; n < 5; n++)
          await sent(from, 'PUT', `/properties/value-${n}`, { n: random.below(1000), deep: [{ '': null }, '😀'] })
        await sent(from, 'POST', '/properties', {
          many: { _type: 'list', description: 'Many', explanation: 'Numbers' },
          empty: { _type: 'list' },
        })
        const handle = await service.app.actors.get(from.id)
        await handle?.list('many').extend(Array.from({ length: random.below(1500) }, (_, n) => n))
        await sent(from, 'PUT', '/files/a/b.txt', 'x'.repeat(1 + random.below(200_000)))
        const archive = await (await sent(from, 'GET', '/export')).text()
        const to = await service.createActor(`to-${seed}@example.com`)
        await imported(service, to, archive)
        const back = linesOf(await (await sent(to, 'GET', '/export')).text())
        assert.deepEqual(dataOf(back), dataOf(linesOf(archive)), `seed ${seed}`)
      }
    })

    it('says how many records came in, and which only an operator can import (R-ARC-05)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const last = await imported(
        service,
        actor,
        archiveWith(
          property('color', 'blue'),
          ...list('things', [1, 2, 3]),
          ...file('a.txt', 'hello'),
          { kind: 'activity', at: '2026-01-01T00:00:00.000Z' },
          { kind: 'relationship', peer_id: 'p1' },
          { kind: 'of a later release' },
        ),
      )
      assert.deepEqual(last.imported, { property: 1, list: 1, item: 3, file: 1 })
      assert.deepEqual([last.same, last.kept, last.refused], [{}, none, none])
      assert.deepEqual(last.left_out, { activity: 1, relationship: 1, 'of a later release': 1 })
      assert.equal(await read(actor, '/properties/color'), 'blue')
      assert.equal(await (await actor.request('GET', '/files/a.txt')).text(), 'hello')
    })

    it('changes nothing when it is repeated', async () => {
      const service = await start()
      const actor = await service.createActor()
      const archive = archiveWith(property('color', 'blue'), ...list('things', [1, { a: 1 }]), ...file('a', 'x'))
      await imported(service, actor, archive)
      const before = await read(actor, '/history')
      const last = await imported(service, actor, archive)
      assert.deepEqual(last.imported, {})
      assert.deepEqual(last.same, { property: 1, list: 1, item: 2, file: 1 })
      assert.deepEqual(await read(actor, '/history'), before)
    })

    it('keeps other content of the same name, and says where (R-ARC-06)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'POST', '/properties', {
        color: 'red',
        value: 1,
        other: { _type: 'list' },
        longer: { _type: 'list' },
        start: { _type: 'list' },
        aList: { _type: 'list' },
      })
      for (const [name, items] of Object.entries({ other: [1, 9], longer: [1, 2, 3], start: [1] }))
        for (const item of items) await sent(actor, 'POST', `/properties/${name}`, item)
      await sent(actor, 'PUT', '/files/a.txt', 'mine')
      const last = await imported(
        service,
        actor,
        archiveWith(
          property('aList', 'a value'),
          property('color', 'blue'),
          ...list('longer', [1, 2]),
          ...list('other', [1, 2]),
          ...list('start', [1, 2, 3]),
          ...list('value', [1]),
          ...file('a.txt', 'theirs'),
        ),
      )
      assert.deepEqual(last.kept, {
        count: 5,
        first: [
          { kind: 'property', name: 'aList' },
          { kind: 'property', name: 'color' },
          { kind: 'list', name: 'other' },
          { kind: 'list', name: 'value' },
          { kind: 'file', name: 'a.txt' },
        ],
      })
      assert.deepEqual(last.imported, { item: 2 })
      const items = contentOf(service)
      assert.deepEqual(await items(actor, 'other'), [1, 9])
      assert.deepEqual(await items(actor, 'longer'), [1, 2, 3])
      assert.deepEqual(await items(actor, 'start'), [1, 2, 3])
      assert.deepEqual(await items(actor, 'aList'), [])
      assert.equal(await read(actor, '/properties/color'), 'red')
      assert.equal(await read(actor, '/properties/value'), 1)
      assert.equal(await (await actor.request('GET', '/files/a.txt')).text(), 'mine')
    })

    it('replaces other content with existing=replace, and an undo brings values back (R-ARC-06)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'POST', '/properties', {
        color: 'red',
        value: 1,
        other: { _type: 'list' },
        longer: { _type: 'list' },
        aList: { _type: 'list' },
        mine: 'stays',
      })
      for (const [name, items] of Object.entries({ other: [1, 9], longer: [1, 2, 3], aList: [5] }))
        for (const item of items) await sent(actor, 'POST', `/properties/${name}`, item)
      await sent(actor, 'PUT', '/files/a.txt', 'mine')
      const archive = archiveWith(
        property('aList', 'a value'),
        property('color', 'blue'),
        ...list('longer', [1, 2]),
        ...list('other', [1, 2], { description: 'Others' }),
        ...list('value', [1]),
        ...file('a.txt', 'theirs'),
      )
      const last = await imported(service, actor, archive, 'replace')
      assert.deepEqual(last.kept, none)
      assert.deepEqual(last.refused, none)
      assert.deepEqual(last.imported, { property: 2, list: 3, item: 5, file: 1 })
      const items = contentOf(service)
      assert.deepEqual(await items(actor, 'other'), [1, 2])
      assert.deepEqual(await items(actor, 'longer'), [1, 2])
      assert.deepEqual(await items(actor, 'value'), [1])
      assert.equal(await read(actor, '/properties/aList'), 'a value')
      assert.equal(await read(actor, '/properties/color'), 'blue')
      assert.equal(await read(actor, '/properties/mine'), 'stays')
      assert.equal(await (await actor.request('GET', '/files/a.txt')).text(), 'theirs')
      const again = await imported(service, actor, archive, 'replace')
      assert.deepEqual(again.imported, {})
      await sent(actor, 'POST', '/history/undo', { request_id: last.id, name: 'color' })
      assert.equal(await read(actor, '/properties/color'), 'red')
    })

    it('names what the actor does not accept, and brings the rest in', async () => {
      const service = await start({
        declare: (app) => {
          app.property('locked', { put: () => null })
          app.property('even', { post: ({ value }) => (Number(value) % 2 === 0 ? value : null) })
          app.property('broken', {
            put: () => {
              throw new Error('a fault of the application')
            },
          })
          app.property('age', { schema: z.number() })
        },
      })
      const actor = await service.createActor()
      const last = await imported(
        service,
        actor,
        archiveWith(
          property('age', 'old'),
          property('broken', 1),
          property('color', 'blue'),
          property('locked', 1),
          property('a/b', 1),
          ...list('even', [2, 3, 4]),
        ),
      )
      assert.deepEqual(last.imported, { property: 1, list: 1, item: 2 })
      assert.deepEqual(
        last.refused.first.map((one) => ({ ...one, message: undefined })),
        [
          { kind: 'property', name: 'age', error: 'invalid_value', message: undefined },
          { kind: 'property', name: 'broken', error: 'server_error', message: undefined },
          { kind: 'property', name: 'locked', error: 'rejected', message: undefined },
          { kind: 'property', name: 'a/b', error: 'invalid_name', message: undefined },
          { kind: 'item', name: 'even', error: 'rejected', message: undefined },
        ],
      )
      assert.ok(!JSON.stringify(last).includes('a fault of the application'))
      assert.deepEqual(await contentOf(service)(actor, 'even'), [2, 4])
    })

    it('has the limits of requests: the size of values, and how deep they are nested', async () => {
      const service = await start({ maxBodyBytes: 2000, maxJsonDepth: 4 })
      const actor = await service.createActor()
      const long = 'x'.repeat(2000)
      const archive = archiveWith(property('deep', [[[[1]]]]), property('long', long), ...list('some', [1, long, 2]))
      const last = await imported(service, actor, archive)
      assert.deepEqual(
        last.refused.first.map((one) => ({ ...one, message: undefined })),
        [
          { kind: 'property', name: 'long', error: 'payload_too_large', message: undefined },
          { kind: 'item', name: 'some', error: 'payload_too_large', message: undefined },
        ],
      )
      assert.deepEqual(await contentOf(service)(actor, 'some'), [1, 2])
      const deeper = await actor.request('POST', '/import', archiveWith(property('deeper', [[[[[1]]]]])))
      assert.equal(deeper.status, 400)
      assert.match(await deeper.text(), /line 2 of the archive/)
      const longest = await actor.request('POST', '/import', archiveWith(property('longest', 'x'.repeat(140_000))))
      assert.equal(longest.status, 400)
      assert.match(await longest.text(), /line 2 of the archive: it has more than 131072 bytes/)
    })

    it('upgrades declared data of older versions, and refuses newer ones', async () => {
      const service = await start({
        declare: (app) => {
          const migrate = (old: unknown): { name: string } => ({ name: String(old) })
          const schema = z.object({ name: z.string() })
          app.property('pet', { schema, version: 2, migrate })
          app.property('car', { schema, version: 2, migrate })
          app.list('things', { item: schema, version: 2, migrate })
        },
      })
      const actor = await service.createActor()
      const last = await imported(
        service,
        actor,
        archiveWith(property('car', 1, { version: 3 }), property('pet', 'cat'), ...list('things', ['cup'])),
      )
      assert.deepEqual(
        last.refused.first.map((one) => ({ ...one, message: undefined })),
        [{ kind: 'property', name: 'car', error: 'newer_data', message: undefined }],
      )
      assert.deepEqual(await read(actor, '/properties/pet'), { name: 'cat' })
      assert.deepEqual(await contentOf(service)(actor, 'things'), [{ name: 'cup' }])
    })

    for (const existing of ['keep', 'replace'] as const)
      it(`names a list that cannot be compared, and brings the rest in, with existing=${existing}`, async () => {
        const schema = z.object({ name: z.string() })
        const service = await start({
          declare: (app) => app.list('things', { item: schema, version: 2, migrate: (old) => ({ name: String(old) }) }),
        })
        const actor = await service.createActor()
        await sent(actor, 'POST', '/properties/things', { name: 'cup' })
        const [head = {}, item = {}] = list('things', [{ name: 'cup' }])
        const archive = archiveWith(head, { ...item, version: 3 }, property('color', 'blue'))
        const last = await imported(service, actor, archive, existing)
        assert.deepEqual(
          last.refused.first.map((one) => ({ ...one, message: undefined })),
          [{ kind: 'list', name: 'things', error: 'newer_data', message: undefined }],
        )
        assert.deepEqual(last.imported, { property: 1 })
        assert.deepEqual(await contentOf(service)(actor, 'things'), [{ name: 'cup' }])
      })

    it('continues a declared list whose items have the declared version', async () => {
      const service = await start({ declare: (app) => app.list('things', { item: z.object({ name: z.string() }) }) })
      const actor = await service.createActor()
      await sent(actor, 'POST', '/properties/things', { name: 'cup' })
      const last = await imported(service, actor, archiveWith(...list('things', [{ name: 'cup' }, { name: 'pot' }, 3])))
      assert.deepEqual([last.imported, last.same, last.refused.count], [{ item: 1 }, { item: 1 }, 1])
      assert.deepEqual(await contentOf(service)(actor, 'things'), [{ name: 'cup' }, { name: 'pot' }])
    })

    for (const listen of [true, false])
      it(`reads an archive that is sent as a form, as curl does by default${listen ? '' : ', in this process'}`, async () => {
        const service = await start({ listen, maxBodyBytes: 2000 })
        const actor = await service.createActor()
        const archive = archiveWith(
          ...list(
            'notes',
            Array.from({ length: 100 }, (_, n) => `${n} _method=DELETE`),
          ),
        )
        const form = { 'content-type': 'application/x-www-form-urlencoded' }
        assert.equal((await actor.request('POST', '/import', archive, form)).status, 202)
        await service.settled()
        assert.equal((await contentOf(service)(actor, 'notes')).length, 100)
      })

    it('sends the changes to subscribers', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { relationship: 'friend' })
      const id = await peer.subscribe({ granularity: 'none' })
      await imported(service, actor, archiveWith(property('color', 'blue')))
      const diffs = JSON.stringify(await (await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)).json())
      assert.match(diffs, /color/)
    })

    it('has at most 100 names in the report, and counts all', async () => {
      const service = await start()
      const actor = await service.createActor()
      const names = Array.from({ length: 130 }, (_, n) => `value-${String(n).padStart(3, '0')}`)
      await sent(actor, 'PUT', '/properties', Object.fromEntries(names.map((name) => [name, 'mine'])))
      const last = await imported(service, actor, archiveWith(...names.map((name) => property(name, 'theirs'))))
      assert.deepEqual([last.kept.count, last.kept.first.length], [130, 100])
    })

    it('does not show or replace a value that a hook hides', async () => {
      const service = await start({ declare: (app) => app.property('hidden', { get: () => null }) })
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/hidden', 'mine')
      const last = await imported(service, actor, archiveWith(property('hidden', 'theirs')))
      assert.deepEqual(last.kept, { count: 1, first: [{ kind: 'property', name: 'hidden' }] })
    })

    it('is in the activity of the owner', async () => {
      const service = await start({ activityPerActor: 100 })
      const actor = await service.createActor()
      await imported(service, actor, archiveWith(property('color', 'blue')))
      await (await service.app.running()).parts.auditLog.flush()
      const { activity } = (await read(actor, '/activity')) as { activity: { method: string; path: string }[] }
      assert.deepEqual(
        activity.map(({ method, path }) => [method, path]),
        [['POST', '/import']],
      )
    })

    it('deletes the stored archive at the end', async () => {
      const service = await start()
      const actor = await service.createActor()
      await imported(service, actor, archiveWith(property('color', 'blue')))
      assert.equal(await keptObjects(service), 0)
    })
  })

  describe('an archive that cannot be imported', () => {
    for (const [what, archive, message] of [
      ['is empty', '', /does not begin with a record of the kind archive/],
      ['has a newer version', archiveWith().replace('"version":1', '"version":2'), /it has version 2/],
      ['has no end', archiveWith(property('a', 1)).replace(/\{"kind":"end".*\n/, ''), /its end is missing/],
      ['lacks a record', archiveWith().replace('"records":1', '"records":2'), /it has 1 records, and its end states 2/],
      [
        'is followed by a second one',
        archiveWith(property('a', 1)) + archiveWith(property('b', 1)),
        /a second archive begins behind its end\. Import each archive from a file of its own/,
      ],
      [
        'is followed by a record',
        `${archiveWith()}{"kind":"property","name":"late","value":1}\n`,
        /a record of the kind "property" follows behind its end\. Remove what was added to the file/,
      ],
      ['is followed by a second end', `${archiveWith()}\n\n{"kind":"end","records":1}`, /"end" follows/],
      ['is followed by a text', `${archiveWith()}-- \nsent from my phone`, /Cannot read line 3/],
      ['is not JSON', archiveWith(property('a', 1)).replace('{"kind":"end"', '{"kind":'), /Cannot read line 3/],
      ['has a property without a value', archiveWith({ kind: 'property', name: 'a' }), /"value" of a record/],
      [
        'has an item without a number',
        archiveWith(...list('a', []), { kind: 'item', value: 1 }),
        /"number" of a record/,
      ],
      ['has a file with missing bytes', archiveWith(...file('a', 'hello').slice(0, 1)), /the archive has 0 bytes/],
      [
        'has other bytes of a file',
        archiveWith(...file('a', 'hello').slice(0, 1), ...file('b', 'jello').slice(1)),
        /the bytes of the file have another digest/,
      ],
    ] as const) {
      it(`changes nothing when it ${what}`, async () => {
        const service = await start()
        const actor = await service.createActor()
        const answer = await actor.request('POST', '/import', archive)
        assert.equal(answer.status, 400)
        assert.match(((await answer.json()) as { message: string }).message, message)
        assert.equal(await read(actor, '/import'), 404)
        assert.deepEqual(await read(actor, '/properties'), {})
        assert.equal(await keptObjects(service), 0)
      })
    }

    it('changes nothing when it is larger than TROUPE_MAX_IMPORT_BYTES', async () => {
      const service = await start({ maxImportBytes: 1000 })
      const actor = await service.createActor()
      const answer = await actor.request('POST', '/import', archiveWith(property('a', 'x'.repeat(1000))))
      assert.equal(answer.status, 413)
      assert.equal(await read(actor, '/import'), 404)
      assert.equal(await keptObjects(service), 0)
    })

    it('is refused with an unknown way to treat other content', async () => {
      const service = await start()
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/import?existing=merge', archiveWith())).status, 400)
      assert.equal(await read(actor, '/import'), 404)
    })
  })

  describe('an import', () => {
    it('is for the owner alone', async () => {
      const callers = new TestCallers()
      const service = await start(callers.parts)
      const actor = await service.createActor()
      const tokens = [
        callers.peer(actor.id, { grants: () => true }),
        callers.client(actor.id, { grants: () => true }),
        callers.peer(actor.id, { relationship: 'admin', grants: () => true }),
      ]
      for (const method of ['GET', 'POST', 'DELETE']) {
        const body = method === 'POST' ? { body: archiveWith(property('a', 1)) } : {}
        for (const token of tokens) {
          const headers = { authorization: `Bearer ${token}` }
          const answer = await service.request(`/${actor.id}/import`, { method, headers, ...body })
          assert.equal(answer.status, 403)
        }
        assert.equal((await service.request(`/${actor.id}/import`, { method, ...body })).status, 401)
      }
      assert.equal(await read(actor, '/import'), 404)
    })

    it('reads an archive that is compressed with gzip', async () => {
      const service = await start()
      const actor = await service.createActor()
      const archive = gzipSync(archiveWith(property('color', 'blue'), ...list('things', [1, 2])))
      assert.equal((await actor.request('POST', '/import', archive)).status, 202)
      await service.settled()
      const { state, imported: came } = (await read(actor, '/import')) as Import
      assert.deepEqual([state, came], ['done', { property: 1, list: 1, item: 2 }])
    })

    for (const [what, behind, message] of [
      ['a second one', gzipSync(archiveWith()), /a second archive begins behind its end/],
      ['a text', Buffer.from('hello'), /its compression is damaged/],
      ['null bytes and a second one', Buffer.concat([Buffer.alloc(9), gzipSync('x')]), /more bytes follow behind/],
    ] as const)
      it(`changes nothing when it is compressed, and ${what} follows (HTTP-37)`, async () => {
        const service = await start()
        const actor = await service.createActor()
        const archive = Buffer.concat([gzipSync(archiveWith(property('a', 1))), behind])
        const answer = await actor.request('POST', '/import', archive)
        assert.equal(answer.status, 400)
        assert.match(await answer.text(), message)
        assert.equal(await read(actor, '/import'), 404)
      })

    for (const [what, damage] of [
      ['cut', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
      ['damaged', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 20), Buffer.alloc(20), bytes.subarray(40)])],
      ['empty', (bytes: Buffer) => bytes.subarray(0, 2)],
    ] as const)
      it(`changes nothing when its compression is ${what}`, async () => {
        const service = await start()
        const actor = await service.createActor()
        const values = Array.from({ length: 50 }, (_, n) => property(`value-${n}`, `${n} ${n * n}`))
        const answer = await actor.request('POST', '/import', damage(gzipSync(archiveWith(...values))))
        assert.equal(answer.status, 400)
        assert.match(await answer.text(), /its compression is damaged/)
        assert.equal(await read(actor, '/import'), 404)
        assert.equal(await keptObjects(service), 0)
      })

    it('changes nothing when it is too large after the decompression', async () => {
      const service = await start({ maxImportBytes: 100_000 })
      const actor = await service.createActor()
      const archive = gzipSync(archiveWith(property('a', 'x'.repeat(50_000_000))))
      assert.ok(archive.length < 100_000)
      assert.equal((await actor.request('POST', '/import', archive)).status, 413)
      assert.equal(await read(actor, '/import'), 404)
      assert.equal(await keptObjects(service), 0)
    })

    it('counts the items of a long list in its progress', async () => {
      const clock = new ManualClock()
      const held = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      const service = await start({
        now: clock.now,
        timers: clock.timers,
        declare: (app) =>
          app.property('things', {
            post: async ({ value }) => {
              if (value === 600) clock.pass(1000)
              if (value === 1100) {
                reached.resolve()
                await held.promise
              }
              return value
            },
          }),
      })
      const actor = await service.createActor()
      const things = Array.from({ length: 1200 }, (_, n) => n)
      assert.equal((await actor.request('POST', '/import', archiveWith(...list('things', things)))).status, 202)
      await reached.promise
      const { position, records } = (await read(actor, '/import')) as Import
      // The header of the archive, and two batches of items.
      assert.deepEqual([position, records], [1 + 1024, 1 + 1 + 1200 + 1])
      held.resolve()
      await service.settled()
      assert.equal(((await read(actor, '/import')) as Import).position, records)
    })

    it('runs once at a time, can be stopped, and continues with the same archive', async () => {
      const held = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      const service = await start({
        declare: (app) =>
          app.property('gate', {
            put: async ({ value }) => {
              reached.resolve()
              await held.promise
              return value
            },
          }),
      })
      const actor = await service.createActor()
      const archive = archiveWith(property('gate', 1), ...list('things', [1, 2]))
      assert.equal((await actor.request('POST', '/import', archive)).status, 202)
      await reached.promise
      assert.equal(((await read(actor, '/import')) as Import).state, 'running')
      const second = await actor.request('POST', '/import', archive)
      assert.equal(second.status, 409)
      assert.match(await second.text(), /another import runs/)
      assert.equal((await actor.request('DELETE', '/import')).status, 204)
      assert.equal((await actor.request('DELETE', '/import')).status, 404)
      assert.equal(((await read(actor, '/import')) as Import).state, 'stopped')
      held.resolve()
      await service.settled()
      assert.equal(((await read(actor, '/import')) as Import).state, 'stopped')
      assert.equal(await keptObjects(service), 0)
      await imported(service, actor, archive)
      assert.deepEqual(await contentOf(service)(actor, 'things'), [1, 2])
    })

    it('ends with its actor, and leaves no archive behind', async () => {
      const held = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      const service = await start({
        declare: (app) =>
          app.property('gate', {
            put: async ({ value }) => {
              reached.resolve()
              await held.promise
              return value
            },
          }),
      })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/import', archiveWith(property('gate', 1)))).status, 202)
      await reached.promise
      await sent(actor, 'DELETE', '')
      held.resolve()
      await service.settled()
      assert.equal(await keptObjects(service), 0)
    })
  })
})
