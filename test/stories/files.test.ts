/** Files of actors: `/<actor>/files` and `actor.files`. */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { before, describe, it } from 'node:test'
import type { ActorHandle } from '../../src/index.ts'
import type { FilesHandle } from '../../src/handles.ts'
import { refuses } from '../support/files.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { untilEqual } from '../support/until.ts'

const helloHash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'

forEachService((start) => {
  let service: TestService
  let actor: TestActor
  let files: FilesHandle
  before(async () => {
    service = await start({
      maxFileBytes: 1000,
      maxActorFileBytes: 2500,
      maxFiles: 4,
      declare: (app) =>
        app.trustType({
          name: 'keeper',
          display_name: 'Keeper',
          description: 'Keeps files',
          permissions: {
            files: { patterns: ['*'], operations: ['read', 'write'], excluded_patterns: ['private/*'] },
          },
        }),
    })
  })

  async function fresh(of = service): Promise<ActorHandle> {
    actor = await of.createActor()
    const handle = await of.app.actors.get(actor.id)
    assert.ok(handle !== undefined)
    files = handle.files
    return handle
  }

  const request = (method: string, name: string, body?: unknown, headers?: Record<string, string>): Promise<Response> =>
    actor.request(method, `/files${name}`, body, headers)
  const text = { 'content-type': 'text/plain' }
  const names = async (): Promise<string[]> => (await files.list()).files.map(({ name }) => name)

  /** The rows of the objects that the storage has: every object has one. */
  async function objects(of = service): Promise<{ state: string }[]> {
    const { store, parts } = await of.app.running()
    parts.unusedObjects.wake()
    await parts.unusedObjects.settled()
    return store.read((q) => q.all('SELECT state FROM file_object WHERE actor_id = $1 ORDER BY state', actor.id))
  }

  describe('PUT /<actor>/files/<name>', () => {
    it('stores the content with its declared type, size and digest', async () => {
      await fresh()
      const made = await request('PUT', '/notes/hello.txt', 'hello', text)
      assert.equal(made.status, 201)
      const tag = made.headers.get('etag') ?? ''
      assert.match(tag, /^"[\w-]{43}"$/)
      const { created_at, updated_at, ...facts } = (await made.json()) as Record<string, unknown>
      assert.deepEqual(facts, { name: 'notes/hello.txt', size: 5, type: 'text/plain', sha256: helloHash, etag: tag })
      assert.equal(created_at, updated_at)
      const read = await request('GET', '/notes/hello.txt')
      assert.deepEqual([read.status, await read.text(), read.headers.get('etag')], [200, 'hello', tag])
      assert.equal(read.headers.get('repr-digest'), 'sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:')
    })

    it('replaces a file, deletes the old content and keeps the time of creation', async () => {
      await fresh()
      await request('PUT', '/a', 'one', text)
      const before = await files.stat('a')
      const made = await request('PUT', '/a', 'two!', { 'content-type': 'application/json' })
      assert.equal(made.status, 200)
      const after = await files.stat('a')
      assert.deepEqual(after?.createdAt, before?.createdAt)
      assert.deepEqual([after?.size, after?.type], [4, 'application/json'])
      assert.notEqual(after?.etag, before?.etag)
      assert.deepEqual(await objects(), [{ state: 'used' }])
    })

    it('has the type application/octet-stream without a Content-Type', async () => {
      await fresh()
      assert.equal((await request('PUT', '/a', new Uint8Array([1, 2]))).status, 201)
      assert.equal((await request('GET', '/a')).headers.get('content-type'), 'application/octet-stream')
    })

    it('stores an empty file', async () => {
      await fresh()
      assert.equal((await request('PUT', '/empty')).status, 201)
      const read = await request('GET', '/empty')
      assert.deepEqual([read.status, await read.text(), read.headers.get('content-length')], [200, '', '0'])
    })

    it('changes nothing when If-Match or If-None-Match is not met', async () => {
      await fresh()
      assert.equal((await request('PUT', '/a', 'x', { ...text, 'if-match': '*' })).status, 412)
      const made = await request('PUT', '/a', 'one', { ...text, 'if-none-match': '*' })
      assert.equal(made.status, 201)
      const tag = made.headers.get('etag') ?? ''
      assert.equal((await request('PUT', '/a', 'x', { ...text, 'if-none-match': '*' })).status, 412)
      assert.equal((await request('PUT', '/a', 'x', { ...text, 'if-match': '"other"' })).status, 412)
      assert.equal(await (await files.get('a'))?.text(), 'one')
      assert.equal((await request('PUT', '/a', 'two', { ...text, 'if-match': tag })).status, 200)
      assert.equal((await request('PUT', '/a', 'x', { ...text, 'if-match': tag })).status, 412)
      assert.equal((await request('PUT', '/a', 'x', { ...text, 'if-match': 'bad' })).status, 400)
      assert.equal(await (await files.get('a'))?.text(), 'two')
      assert.deepEqual(await objects(), [{ state: 'used' }])
    })

    it('refuses a content with another digest than Content-Digest states', async () => {
      await fresh()
      const digest = 'sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:'
      await refuses(request('PUT', '/a', 'jello', { ...text, 'content-digest': digest }), 400, 'invalid_value')
      await refuses(request('PUT', '/a', 'hello', { ...text, 'content-digest': 'sha-256=:x:' }), 400, 'bad_request')
      assert.equal((await request('PUT', '/a', 'hello', { ...text, 'content-digest': digest })).status, 201)
      assert.deepEqual(await objects(), [{ state: 'used' }])
    })

    it('refuses a part of a content, a content coding and what is not a media type', async () => {
      await fresh()
      await refuses(request('PUT', '/a', 'x', { ...text, 'content-range': 'bytes 0-0/2' }), 400, 'bad_request')
      await refuses(request('PUT', '/a', 'x', { ...text, 'content-encoding': 'gzip' }), 415, 'unsupported_media_type')
      await refuses(request('PUT', '/a', 'x', { 'content-type': 'plain' }), 400, 'invalid_value')
      await refuses(request('PUT', '/a', 'x', { 'content-type': 'text/plain; a' }), 400, 'invalid_value')
      assert.deepEqual([await names(), await objects()], [[], []])
    })

    for (const [name, why] of [
      ['/a%5Cb', 'a backslash'],
      ['/a//b', 'an empty segment'],
      ['/a/b/c/', 'a slash at the end'],
      ['/a%0Ab', 'a line break'],
      ['/a%E2%80%AEtxt.exe', 'a mark that reverses the text'],
      ['/cafe%CC%81', 'letters that are not in the form NFC'],
      [`/${'x'.repeat(1025)}`, 'more than 1024 bytes'],
      ['/a%00b', 'NUL'],
      ['/a%2Fb', 'an encoded slash'],
    ] as const) {
      it(`refuses a name with ${why}`, async () => {
        await fresh()
        const answer = await request('PUT', name, 'x', text)
        assert.equal(answer.status, 400)
        assert.deepEqual(await names(), [])
      })
    }

    it('accepts names in any script, with spaces and dots', async () => {
      await fresh()
      for (const name of ['Grüße 1.txt', '.hidden', '日本語/写真.jpg', '...'])
        assert.equal((await request('PUT', `/${name.split('/').map(encodeURIComponent).join('/')}`, 'x')).status, 201)
      assert.deepEqual(await names(), ['...', '.hidden', 'Grüße 1.txt', '日本語/写真.jpg'])
    })
  })

  describe('the limits of files', () => {
    it('refuse a file that is too large, by its length and while it arrives', async () => {
      await fresh()
      await refuses(request('PUT', '/a', 'x'.repeat(1001), text), 413, 'payload_too_large')
      const chunks = ReadableStream.from([Buffer.alloc(600), Buffer.alloc(600)]) as ReadableStream<Uint8Array>
      await assert.rejects(files.put('a', chunks), { code: 'payload_too_large' })
      assert.equal((await files.put('a', 'x'.repeat(1000))).size, 1000)
      assert.deepEqual(await objects(), [{ state: 'used' }])
    })

    it('refuse more bytes and more files of an actor', async () => {
      await fresh()
      await files.put('a', 'x'.repeat(1000))
      await files.put('b', 'x'.repeat(1000))
      await refuses(request('PUT', '/c', 'x'.repeat(501), text), 507, 'quota_exceeded')
      await files.put('c', 'x'.repeat(500))
      await refuses(request('PUT', '/a', 'x'.repeat(1001), text), 413, 'payload_too_large')
      await files.put('a', 'x')
      await files.put('d', '')
      await refuses(request('PUT', '/e', '', text), 507, 'quota_exceeded')
      await files.delete('d')
      await files.put('e', '')
      assert.deepEqual(await names(), ['a', 'b', 'c', 'e'])
    })

    it('hold when uploads arrive at the same time', async () => {
      await fresh()
      const all = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) => files.put(`f${index}`, ReadableStream.from([Buffer.alloc(900)]))),
      )
      const refused = all.flatMap((each) =>
        each.status === 'rejected' ? [(each.reason as { code: string }).code] : [],
      )
      assert.deepEqual(
        refused,
        Array.from({ length: 6 }, () => 'quota_exceeded'),
      )
      assert.equal((await names()).length, 2)
      assert.deepEqual(await objects(), [{ state: 'used' }, { state: 'used' }])
    })

    it('refuse a type that the service does not accept', async () => {
      const strict = await start({ fileTypes: ['image/*', 'application/pdf'] })
      await fresh(strict)
      assert.equal((await request('PUT', '/a', 'x', { 'content-type': 'IMAGE/png' })).status, 201)
      assert.equal((await request('PUT', '/b', 'x', { 'content-type': 'application/pdf; a=b' })).status, 201)
      await refuses(request('PUT', '/c', 'x', text), 415, 'unsupported_media_type')
      assert.deepEqual(await names(), ['a', 'b'])
    })
  })

  describe('GET /<actor>/files/<name>', () => {
    before(async () => {
      await fresh()
      await files.put('letters', '0123456789', { type: 'text/html' })
    })

    it('never lets a browser run the content in the origin of the service', async () => {
      const { headers } = await request('GET', '/letters')
      assert.equal(headers.get('content-type'), 'text/html')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'; sandbox")
      assert.equal(headers.get('content-disposition'), `attachment; filename="letters"; filename*=UTF-8''letters`)
      assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
      assert.equal(headers.get('cache-control'), 'private, no-cache')
    })

    it('answers HEAD with the same headers', async () => {
      const head = await request('HEAD', '/letters')
      assert.deepEqual([head.status, await head.text(), head.headers.get('content-length')], [200, '', '10'])
      assert.equal(head.headers.get('content-type'), 'text/html')
    })

    it('answers 304 to a client that has the version', async () => {
      const tag = (await request('HEAD', '/letters')).headers.get('etag') ?? ''
      const known = await request('GET', '/letters', undefined, { 'if-none-match': `"x", W/${tag}` })
      assert.deepEqual([known.status, await known.text(), known.headers.get('etag')], [304, '', tag])
      assert.equal((await request('GET', '/letters', undefined, { 'if-match': '"x"' })).status, 412)
    })

    for (const [range, status, body, content] of [
      ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
      ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
      ['bytes=-2', 206, '89', 'bytes 8-9/10'],
      ['bytes=-50', 206, '0123456789', 'bytes 0-9/10'],
      ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
      ['bytes=3-2', 200, '0123456789', null],
      ['bytes=0-1,3-4', 200, '0123456789', null],
      ['lines=0-1', 200, '0123456789', null],
      ['bytes=-', 200, '0123456789', null],
    ] as const) {
      it(`answers Range: ${range} with ${status} and ${body}`, async () => {
        const answer = await request('GET', '/letters', undefined, { range })
        assert.deepEqual(
          [answer.status, await answer.text(), answer.headers.get('content-range')],
          [status, body, content],
        )
        assert.equal(answer.headers.get('content-length'), String(body.length))
      })
    }

    it('answers 416 with the size to a range behind the end', async () => {
      for (const range of ['bytes=10-', 'bytes=-0']) {
        const answer = await request('GET', '/letters', undefined, { range })
        assert.deepEqual([answer.status, answer.headers.get('content-range')], [416, 'bytes */10'])
      }
    })

    it('ignores Range when If-Range names another version', async () => {
      const tag = (await request('HEAD', '/letters')).headers.get('etag') ?? ''
      const with_ = async (condition: string): Promise<number> =>
        (await request('GET', '/letters', undefined, { range: 'bytes=0-3', 'if-range': condition })).status
      assert.deepEqual([await with_(tag), await with_('"x"'), await with_(`W/${tag}`)], [206, 200, 200])
    })

    it('is 404 for a file that does not exist', async () => {
      await refuses(request('GET', '/none'), 404, 'not_found')
      await refuses(request('DELETE', '/none'), 404, 'not_found')
    })
  })

  describe('GET /<actor>/files', () => {
    it('lists the files by name, in pages', async () => {
      await fresh()
      for (const name of ['b', 'a/2', 'a/1', 'é']) await files.put(name, name)
      const page = await request('GET', '?limit=2')
      const { files: first, next } = (await page.json()) as { files: { name: string }[]; next: string | null }
      assert.deepEqual([first.map(({ name }) => name), next], [['a/1', 'a/2'], 'a/2'])
      assert.equal(page.headers.get('link'), '<?limit=2&after=a%2F2>; rel="next"')
      assert.deepEqual(await files.list({ limit: 2, after: 'a/2' }).then((rest) => [rest.files.length, rest.next]), [
        2,
        null,
      ])
      assert.deepEqual(
        (await files.list({ prefix: 'a/' })).files.map(({ name }) => name),
        ['a/1', 'a/2'],
      )
      assert.equal((await request('GET', '?limit=0')).status, 400)
      assert.equal((await request('GET', '?color=red')).status, 200)
      assert.equal((await request('PUT', '', 'x')).status, 405)
    })
  })

  describe('actor.files', () => {
    it('stores streams, bytes, blobs and strings', async () => {
      await fresh()
      const hello = new TextEncoder().encode('hello')
      const made = await files.put('1', hello)
      assert.deepEqual([made.type, made.sha256], ['application/octet-stream', helloHash])
      assert.equal((await files.put('2', 'hello')).type, 'text/plain;charset=utf-8')
      assert.equal((await files.put('3', new Blob([hello], { type: 'image/png' }))).type, 'image/png')
      const stream = ReadableStream.from([hello, Buffer.from(' '), hello])
      assert.equal((await files.put('4', stream, { type: 'text/css' })).size, 11)
      const opened = await files.get('4')
      assert.deepEqual([opened?.type, await opened?.text()], ['text/css', 'hello hello'])
      const again = await files.get('4')
      assert.ok(again !== undefined)
      const chunks = await Array.fromAsync(again.stream)
      assert.equal(Buffer.concat(chunks).toString(), 'hello hello')
      assert.deepEqual([...((await (await files.get('1'))?.bytes()) ?? [])], [...hello])
      assert.equal(await (await files.get('4', { start: 3, end: 7 }))?.text(), 'lo h')
      assert.equal(await (await files.get('4', { start: 9, end: 99 }))?.text(), 'lo')
    })

    it('returns undefined and false for a file that does not exist', async () => {
      await fresh()
      assert.deepEqual(
        [await files.get('x'), await files.stat('x'), await files.delete('x')],
        [undefined, undefined, false],
      )
    })

    it('changes nothing when the stream fails, or has pieces that are no bytes', async () => {
      await fresh()
      await files.put('a', 'one')
      const failing = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.from('tw')
        throw new Error('The source failed')
      }
      await assert.rejects(files.put('a', failing()), { message: 'The source failed' })
      const texts = ReadableStream.from(['two']) as unknown as ReadableStream<Uint8Array>
      await assert.rejects(files.put('a', texts), { code: 'invalid_value' })
      assert.equal(await (await files.get('a'))?.text(), 'one')
      assert.deepEqual(await objects(), [{ state: 'used' }])
    })

    it('stores only the version that ifMatch names', async () => {
      await fresh()
      const first = await files.put('a', 'one', { ifMatch: null })
      await assert.rejects(files.put('a', 'x', { ifMatch: null }), { code: 'precondition_failed' })
      await files.put('a', 'two', { ifMatch: first.etag })
      await assert.rejects(files.delete('a', { ifMatch: first.etag }), { code: 'precondition_failed' })
      assert.equal(await (await files.get('a'))?.text(), 'two')
    })

    it('lets the last of several uploads win, and shows no mix of them', async () => {
      await fresh()
      await files.put('a', '0'.repeat(900))
      const uploads = ['1', '2', '3', '4'].map((digit) => files.put('a', digit.repeat(900)))
      const reads = Array.from({ length: 8 }, async () => (await files.get('a'))?.text())
      for (const body of await Promise.all(reads)) assert.match(body ?? '', /^(.)\1{899}$/)
      await Promise.all(uploads)
      assert.match((await (await files.get('a'))?.text()) ?? '', /^([1-4])\1{899}$/)
      assert.deepEqual(await objects(), [{ state: 'used' }])
    })
  })

  describe('the content of a deleted actor', () => {
    it('is deleted from the storage', async () => {
      await fresh()
      await files.put('a', 'one')
      assert.deepEqual(await objects(), [{ state: 'used' }])
      assert.equal((await actor.request('DELETE', '')).status, 204)
      assert.deepEqual(await objects(), [])
    })
  })

  describe('the rights on files', () => {
    it('follow the trust type, overrides and grants', async () => {
      const handle = await fresh()
      await files.put('public/a', 'one')
      await files.put('private/b', 'two')
      const keeper = await relateTo(service, actor, { relationship: 'keeper' })
      const associate = await relateTo(service, actor, { relationship: 'associate', peerId: 'other' })
      const status = async (answer: Promise<Response>): Promise<number> => (await answer).status
      assert.equal(await status(keeper.request('GET', '/files/public/a')), 200)
      assert.equal(await status(keeper.request('GET', '/files/private/b')), 403)
      assert.equal(await status(keeper.request('GET', '/files/private/none')), 403)
      assert.equal(await status(keeper.request('PUT', '/files/new', 'x')), 201)
      assert.equal(await status(keeper.request('DELETE', '/files/new')), 403)
      assert.equal(await status(associate.request('PUT', '/files/public/a', 'x')), 403)
      const listed = (await (await keeper.request('GET', '/files')).json()) as { files: { name: string }[] }
      assert.deepEqual(
        listed.files.map(({ name }) => name),
        ['new', 'public/a'],
      )
      await handle.trust.grant(associate.peerId, { files: { patterns: ['private/*'], operations: ['read', 'delete'] } })
      assert.equal(await status(associate.request('GET', '/files/private/b')), 200)
      assert.equal(await status(associate.request('DELETE', '/files/private/b')), 204)
      assert.equal(await status(service.request(`/${actor.id}/files/public/a`)), 401)
    })

    it('are not granted by a built-in trust type, and not sent to peers without rules', async () => {
      await fresh()
      await files.put('public/a', 'one')
      for (const relationship of ['associate', 'viewer', 'friend', 'partner']) {
        const peer = await relateTo(service, actor, { relationship, peerId: relationship })
        assert.equal((await peer.request('GET', '/files/public/a')).status, 403, relationship)
        const granted = (await (await peer.request('GET', `/permissions/${relationship}`)).json()) as {
          permissions: object
        }
        assert.equal(Object.keys(granted.permissions).includes('files'), false)
      }
    })

    it('hide the names that a peer may not read, also in the cursor of a page', async () => {
      await fresh()
      for (const name of ['a', 'private/b', 'private/c', 'd']) await files.put(name, name)
      const keeper = await relateTo(service, actor, { relationship: 'keeper' })
      const seen: string[] = []
      let after = ''
      for (let pages = 0; pages < 4; pages += 1) {
        const answer = await keeper.request('GET', `/files?limit=1&after=${encodeURIComponent(after)}`)
        const text = await answer.text()
        assert.ok(!text.includes('private') && !(answer.headers.get('link') ?? '').includes('private'), text)
        const page = JSON.parse(text) as { files: { name: string }[]; next: string | null }
        seen.push(...page.files.map(({ name }) => name))
        after = page.next ?? ''
      }
      assert.deepEqual([seen, after], [['a', 'd'], ''])
      assert.equal((await keeper.request('GET', '/files?after=//v1.x')).status, 400)
    })

    it('are explained', async () => {
      await fresh()
      const keeper = await relateTo(service, actor, { relationship: 'keeper' })
      const answer = await actor.request('GET', `/permissions/${keeper.peerId}?explain=files.delete:public/a`)
      const explained = (await answer.json()) as Record<string, unknown>
      assert.deepEqual(
        [explained['allowed'], explained['because']],
        [false, 'the trust type keeper does not list delete for files'],
      )
    })
  })

  it('fire file_changed after the commit, in order and with the caller', async () => {
    const events: unknown[] = []
    const handling = await start({
      declare: (app) =>
        app.on('file_changed', ({ name, operation, size, type, sha256, caller }) => {
          events.push([name, operation, size, type, sha256, caller.kind])
        }),
    })
    await fresh(handling)
    await request('PUT', '/a', 'hello', text)
    await assert.rejects(files.put('a', 'x', { ifMatch: null }))
    await files.delete('a')
    await untilEqual(
      () => events,
      () => [
        ['a', 'put', 5, 'text/plain', helloHash, 'creator'],
        ['a', 'delete', undefined, undefined, undefined, 'application'],
      ],
    )
  })

  it('keeps the content of files outside of the database', async () => {
    await fresh()
    await files.put('a', 'one')
    const { config } = (await service.app.running()).parts
    const folder = config.files ?? `${config.database.replace(/^sqlite:/, '')}-files`
    assert.ok((await readdir(folder)).length > 0)
  })
})
