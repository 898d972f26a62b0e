/** Entity tags of properties, lists, items and the listing, and conditions of writes on them (RFC 9110 section 13). */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { App } from '../../src/troupe.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { changesNothing, done, refused } from '../support/stored.ts'

const failed = {
  match: 'Nothing was changed: If-Match does not name the stored version',
  missing: 'Nothing was changed: If-Match requires a version of what does not exist',
  none: 'Nothing was changed: If-None-Match excludes the stored version',
}

let greeting = 'Hello'

function declare(app: App): void {
  app.property('hooked', { get: ({ value }) => `${greeting} ${JSON.stringify(value)}` })
  app.property('hidden', { get: ({ value }) => (value === 'secret' ? null : value) })
  app.property('budget', { schema: { type: 'object' }, default: { limit: 500 } })
  app.trustType({
    name: 'reader',
    display_name: 'Reader',
    description: 'Reads and writes notes',
    permissions: { properties: { patterns: ['notes*'], operations: ['read', 'write', 'delete'] } },
  })
}

forEachService((start) => {
  let service: TestService
  let actor: TestActor
  let handle: ActorHandle
  before(async () => {
    service = await start({ declare })
  })

  /** Creates an actor with a value, a list of three items and a string. */
  async function fresh(): Promise<void> {
    actor = await service.createActor()
    const found = await service.app.actors.get(actor.id)
    assert.ok(found !== undefined)
    handle = found
    await handle.set('config', { theme: { color: 'red' }, size: 1 })
    await handle.set('title', 'Notes')
    await handle.list('notes').create()
    await handle.list('notes').extend(['a', 'b', 'c'])
    service.reset()
  }

  const request = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response> =>
    actor.request(method, `/properties${path}`, body, headers)

  async function tagOf(path: string, headers?: Record<string, string>): Promise<string> {
    const answer = await request('GET', path, undefined, headers)
    assert.equal(answer.status, 200)
    const tag = answer.headers.get('etag') ?? ''
    assert.match(tag, /^"[\w.-]{22,}"$/)
    return tag
  }

  async function statusOf(path: string, ifNoneMatch: string, headers: Record<string, string> = {}): Promise<number> {
    const answer = await request('GET', path, undefined, { ...headers, 'if-none-match': ifNoneMatch })
    if (answer.status === 304) {
      assert.equal(await answer.text(), '')
      assert.match(answer.headers.get('etag') ?? '', /^"/)
    }
    return answer.status
  }

  const reads = [
    ['a value', '/config'],
    ['a key of a value', '/config/theme/color'],
    ['a string', '/title'],
    ['a declared default', '/budget'],
    ['a list', '/notes'],
    ['the facts of a list', '/notes?format=short'],
    ['the items of a list', '/notes/items'],
    ['a part of the items', '/notes/items?start=1&limit=1'],
    ['the metadata of a list', '/notes/metadata'],
    ['an item', '/notes/1'],
    ['an item from the end', '/notes?index=-1'],
    ['the listing', ''],
    ['the listing with items', '?format=full'],
    ['the sizes', '?metadata=true'],
  ] as const

  describe('GET', () => {
    for (const [what, path] of reads) {
      it(`returns an ETag for ${what}, and 304 to a client that has this version`, async () => {
        await fresh()
        const tag = await tagOf(path)
        assert.equal(await tagOf(path), tag)
        assert.equal(await statusOf(path, tag), 304)
        assert.equal(await statusOf(path, `"other", W/${tag}`), 304)
        assert.equal(await statusOf(path, '*'), 304)
        assert.equal(await statusOf(path, '"other"'), 200)
        assert.equal(await statusOf(path, 'no tag'), 200)
      })
    }

    it('returns another ETag after a change', async () => {
      await fresh()
      const tags = new Map<string, string>()
      for (const [, path] of reads) tags.set(path, await tagOf(path))
      await handle.set('config', { theme: { color: 'blue' }, size: 1 })
      await handle.set('title', 'Other')
      await handle.set('budget', { limit: 1 })
      for (const index of [0, 1, 2]) await handle.list('notes').update(index, 'x')
      for (const [path, tag] of tags) assert.equal(await statusOf(path, tag), 200, path)
    })

    it('keeps the ETag of a key and of an item when something beside them changes', async () => {
      await fresh()
      const [key, item] = [await tagOf('/config/theme'), await tagOf('/notes/1')]
      await handle.set('config/size', 2)
      await handle.list('notes').update(0, 'x')
      assert.equal(await statusOf('/config/theme', key), 304)
      assert.equal(await statusOf('/notes/1', item), 304)
    })

    it('returns another ETag for an item that moved to the position of an equal item', async () => {
      await fresh()
      await handle.list('notes').append('c')
      const tag = await tagOf('/notes/2')
      await handle.list('notes').delete(2)
      assert.equal(await (await request('GET', '/notes/2', undefined, { accept: 'application/json' })).json(), 'c')
      assert.equal(await statusOf('/notes/2', tag), 200)
    })

    it('returns another ETag for the same string as JSON', async () => {
      await fresh()
      const json = { accept: 'application/json' }
      assert.notEqual(await tagOf('/title'), await tagOf('/title', json))
      assert.equal(await statusOf('/title', await tagOf('/title', json), json), 304)
      assert.equal(await statusOf('/title', await tagOf('/title', json)), 200)
    })

    it('returns another ETag when only a hook changes what the caller sees', async () => {
      await fresh()
      greeting = 'Hello'
      await handle.set('hooked', 'Ada')
      const [tag, all] = [await tagOf('/hooked'), await tagOf('')]
      assert.equal(await statusOf('/hooked', tag), 304)
      assert.equal(await statusOf('', all), 304)
      greeting = 'Goodbye'
      assert.equal(await statusOf('/hooked', tag), 200)
      assert.equal(await statusOf('', all), 200)
    })

    it('reads no items of a list that the client has', async () => {
      await fresh()
      const tag = await tagOf('/notes')
      service.reset()
      assert.equal(await statusOf('/notes', tag), 304)
      assert.deepEqual(
        service.statements.filter((sql) => sql.includes('list_item')),
        [],
      )
    })

    it('streams a long list with the ETag of its first page', async () => {
      await fresh()
      await handle.list('notes').extend(Array.from({ length: 1100 }, (_, at) => at))
      const tag = await tagOf('/notes')
      assert.equal(await statusOf('/notes', tag), 304)
      assert.equal(await statusOf('/notes/items', await tagOf('/notes/items')), 304)
      await handle.list('notes').update(1000, 'x')
      assert.equal(await statusOf('/notes', tag), 200)
    })

    it('returns no 304 for what does not exist, or a hook hides', async () => {
      await fresh()
      await handle.set('hidden', 'secret')
      assert.equal(await statusOf('/missing', '*'), 404)
      assert.equal(await statusOf('/hidden', '*'), 404)
      assert.equal(await statusOf('/notes/9', '*'), 404)
      assert.equal(await statusOf('/config/missing', '*'), 404)
    })

    it('returns no 304 for a list whose head is damaged', async () => {
      await fresh()
      const { store } = await service.app.running()
      await store.write((tx) =>
        tx.run("UPDATE property SET value = '{}' WHERE actor_id = $1 AND name = 'notes'", actor.id),
      )
      for (const path of ['/notes', '/notes?format=short', '/notes/items']) assert.equal(await statusOf(path, '*'), 409)
    })

    it('refuses a caller without the right to read, whatever tag it sends', async () => {
      await fresh()
      const tag = await tagOf('/config')
      const peer = await relateTo(service, actor, { relationship: 'reader' })
      const asked = (path: string, known: string): Promise<Response> =>
        peer.request('GET', `/properties${path}`, undefined, { 'if-none-match': known })
      assert.equal((await asked('/config', tag)).status, 403)
      assert.equal((await asked('/config', '*')).status, 403)
      assert.equal((await asked('/notes', await tagOf('/notes'))).status, 304)
    })
  })

  type Write = readonly [method: string, path: string, body?: unknown]

  const writes: readonly (readonly [what: string, target: string, write: Write])[] = [
    ['PUT of a value', '/config', ['PUT', '/config', { a: 1 }]],
    ['PUT of a key', '/config/theme', ['PUT', '/config/theme', { dark: true }]],
    ['POST of a value', '/config', ['POST', '/config', { a: 1 }]],
    ['DELETE of a value', '/config', ['DELETE', '/config']],
    ['DELETE of a key', '/config/size', ['DELETE', '/config/size']],
    ['PUT of a declared default', '/budget', ['PUT', '/budget', { limit: 1 }]],
    ['POST to a list', '/notes', ['POST', '/notes', 'd']],
    ['DELETE of a list', '/notes', ['DELETE', '/notes']],
    ['PUT of an item', '/notes/1', ['PUT', '/notes/1', 'x']],
    ['PUT of an item by the query', '/notes/1', ['PUT', '/notes?index=1', 'x']],
    ['DELETE of an item', '/notes/1', ['DELETE', '/notes/1']],
    [
      'POST of an item change',
      '/notes/items',
      ['POST', '/notes/items', { action: 'update', item_index: 0, item_value: 1 }],
    ],
    ['PUT of the metadata', '/notes/metadata', ['PUT', '/notes/metadata', { description: 'Mine' }]],
    ['POST of all properties', '', ['POST', '', { config: 1, notes: { items: [{ index: 0, a: 1 }] } }]],
    ['PUT of all properties', '', ['PUT', '', { config: 1 }]],
    ['PUT of no property', '', ['PUT', '', {}]],
    ['DELETE of all properties', '', ['DELETE', '']],
  ]

  function send([method, path, body]: Write, headers: Record<string, string>): Promise<Response> {
    return request(method, path, body, headers)
  }

  /** Checks that a write with these headers is refused with 412 and stores nothing. */
  async function refuses(write: Write, headers: Record<string, string>, message: string): Promise<void> {
    await changesNothing(service, async () => refused(await send(write, headers), 412, 'precondition_failed', message))
  }

  describe('a write with If-Match', () => {
    for (const [what, target, write] of writes) {
      it(`changes the version that it names, and is refused for an older one: ${what}`, async () => {
        await fresh()
        await refuses(write, { 'if-match': '"other"' }, failed.match)
        await refuses(write, { 'if-match': `W/${await tagOf(target)}` }, failed.match)
        const tag = await tagOf(target)
        const answer = await send(write, { 'if-match': `"other", ${tag}` })
        assert.equal(answer.ok, true, await answer.text())
        if (what !== 'PUT of no property')
          await refuses(write, { 'if-match': tag }, answeredGone(write) ? failed.missing : failed.match)
      })
    }

    /** True for a write after which its target no longer exists. The listing always exists. */
    function answeredGone([method, path]: Write): boolean {
      return method === 'DELETE' && ['/config', '/config/size', '/notes'].includes(path)
    }

    it('accepts the tag of a string in either form, and of what a hook changed', async () => {
      await fresh()
      await done(await request('PUT', '/title', '"A"', { 'if-match': await tagOf('/title') }))
      const json = await tagOf('/title', { accept: 'application/json' })
      await done(await request('PUT', '/title', '"B"', { 'if-match': json }))
      await handle.set('hooked', 'Ada')
      await done(await request('PUT', '/hooked', '"Ben"', { 'if-match': await tagOf('/hooked') }))
      await refuses(['PUT', '/title', '"C"'], { 'if-match': json }, failed.match)
    })

    it('with * requires that the target exists', async () => {
      await fresh()
      const any = { 'if-match': '*' }
      for (const write of [
        ['PUT', '/missing', { a: 1 }],
        ['DELETE', '/missing'],
        ['PUT', '/config/missing/b', 1],
        ['PUT', '/notes/3', 'x'],
        ['POST', '/missing', 1],
      ] as const)
        await refuses(write, any, failed.missing)
      await done(await request('PUT', '/config', { a: 1 }, any))
      await done(await request('PUT', '/notes/2', '"x"', any))
      await done(await request('PUT', '', { a: 1 }, any))
    })

    it('lets one of twenty clients with the same version change the value', async () => {
      await fresh()
      const tag = await tagOf('/config')
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => request('PUT', '/config', { at }, { 'if-match': tag })),
      )
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      assert.deepEqual(statuses, [204, ...Array.from({ length: 19 }, () => 412)])
    })

    it('refuses a header without quotes', async () => {
      await fresh()
      for (const header of ['abc', '"a" "b"', '']) {
        await changesNothing(service, async () =>
          refused(
            await request('PUT', '/config', { a: 1 }, { 'if-match': header === '' ? '"a",,' : header }),
            400,
            'bad_request',
            'Invalid If-Match: expected * or entity tags in double quotes.',
          ),
        )
      }
    })

    it('reveals nothing to a caller without the right to write', async () => {
      await fresh()
      await handle.set('notes_text', 'x')
      const peer = await relateTo(service, actor, { relationship: 'reader' })
      const [mine, others] = [await tagOf('/notes_text'), await tagOf('/config')]
      const put = (path: string, tag: string): Promise<Response> =>
        peer.request('PUT', `/properties${path}`, { a: 1 }, { 'if-match': tag })
      assert.equal((await put('/config', others)).status, 403)
      assert.equal((await put('/config', '"other"')).status, 403)
      assert.equal((await put('/notes_text', '"other"')).status, 412)
      assert.equal((await put('/notes_text', mine)).status, 204)
    })

    it('compares the listing as the caller sees it', async () => {
      await fresh()
      const peer = await relateTo(service, actor, { relationship: 'reader' })
      const read = async (): Promise<string> => (await peer.request('GET', '/properties')).headers.get('etag') ?? ''
      const put = async (tag: string): Promise<number> =>
        (await peer.request('PUT', '/properties', { notes_text: 1 }, { 'if-match': tag })).status
      const tag = await read()
      assert.notEqual(tag, await tagOf(''))
      await handle.set('config', 2)
      assert.equal(await read(), tag)
      await handle.set('notes_text', 0)
      assert.equal(await put(tag), 412)
      assert.equal(await put(await read()), 204)
    })
  })

  describe('a write with If-None-Match', () => {
    it('with * creates what does not exist, and leaves what exists', async () => {
      await fresh()
      const none = { 'if-none-match': '*' }
      for (const [, , write] of writes.filter(([, target]) => target !== '')) await refuses(write, none, failed.none)
      await done(await request('PUT', '/made', { a: 1 }, none))
      await refuses(['PUT', '/made', { a: 2 }], none, failed.none)
      await done(await request('PUT', '/config/key', 1, none))
      await done(await request('PUT', '/notes/3', '"d"', none))
      assert.deepEqual(await handle.get('made'), { a: 1 })
      assert.equal(await handle.list('notes').length(), 4)
    })

    it('lets one of twenty clients create the value', async () => {
      await fresh()
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => request('PUT', '/made', { at }, { 'if-none-match': '*' })),
      )
      assert.equal(answers.filter(({ status }) => status === 204).length, 1)
      assert.equal(answers.filter(({ status }) => status === 412).length, 19)
    })

    it('refuses the versions that it names, also weak ones', async () => {
      await fresh()
      const tag = await tagOf('/config')
      await refuses(['PUT', '/config', { a: 1 }], { 'if-none-match': tag }, failed.none)
      await refuses(['PUT', '/config', { a: 1 }], { 'if-none-match': `W/${tag}` }, failed.none)
      await done(await request('PUT', '/config', { a: 1 }, { 'if-none-match': '"other"' }))
    })
  })
})

forEachService((start) => {
  let service: TestService
  before(async () => {
    service = await start({ declare })
  })

  it('runs a POST again whose condition failed, with the same Idempotency-Key', async () => {
    const actor = await service.createActor()
    await actor.request('POST', '/properties', { notes: { _type: 'list' } })
    const request = (method: string, body?: unknown, headers?: Record<string, string>): Promise<Response> =>
      actor.request(method, '/properties/notes', body, headers)
    const key = { 'idempotency-key': 'once' }
    const stale = await request('POST', '"d"', { ...key, 'if-match': '"other"' })
    assert.equal(stale.status, 412)
    const tag = (await request('GET')).headers.get('etag') ?? ''
    assert.equal((await request('POST', '"d"', { ...key, 'if-match': tag })).status, 201)
    assert.deepEqual(await (await request('GET')).json(), ['d'])
  })

  it('describes tags and conditions in /openapi.json', async () => {
    const document = (await (await service.request('/openapi.json')).json()) as {
      readonly paths: Record<
        string,
        Record<string, { parameters: { name: string }[]; responses: Record<string, unknown> }>
      >
    }
    const at = (path: string, method: string): readonly [string[], string[]] => {
      const operation = document.paths[path]?.[method]
      return [
        operation?.parameters.map(({ name }) => name).filter((name) => name.startsWith('If-')) ?? [],
        Object.keys(operation?.responses ?? {}).filter((status) => status === '304' || status === '412'),
      ]
    }
    const [name, budget] = ['/{actor}/properties/{name}', '/{actor}/properties/budget']
    for (const path of ['/{actor}/properties', name, `${name}/items`, budget])
      assert.deepEqual(at(path, 'get'), [['If-None-Match'], ['304']], path)
    for (const [path, method] of [
      ['/{actor}/properties', 'delete'],
      [name, 'put'],
      [`${name}/items`, 'post'],
      [budget, 'put'],
    ] as const)
      assert.deepEqual(at(path, method), [['If-Match', 'If-None-Match'], ['412']], path)
  })
})
