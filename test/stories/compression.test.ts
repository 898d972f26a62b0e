/** Compression and caching of pages and their files. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const start = sqliteService()
const script = `export const text = '${'a long line of a script '.repeat(200)}'\n`

describe('a response', () => {
  let service: TestService
  let actor: TestActor
  let browser: OwnersBrowser
  const folder = mkdtempSync(join(tmpdir(), 'troupe-test-'))

  before(async () => {
    writeFileSync(join(folder, 'app.js'), script)
    writeFileSync(join(folder, 'small.js'), 'export {}')
    writeFileSync(join(folder, 'index.html'), '<!doctype html>')
    service = await start({ devtest: true, singlePage: folder, webUi: true })
    actor = await service.createActor('ada@example.com')
    browser = await OwnersBrowser.open(service, actor)
  })

  /** The style sheet that the pages name. */
  async function stylePath(): Promise<string> {
    const [, path = ''] = /href="([^"]+\.css)"/.exec(await (await browser.get('')).text()) ?? []
    return path
  }

  const ask = (path: string, encodings?: string, more: Record<string, string> = {}): Promise<Response> =>
    service.request(path, {
      headers: { ...(encodings === undefined ? {} : { 'accept-encoding': encodings }), ...more },
    })

  async function bytes(answer: Response): Promise<Buffer> {
    return Buffer.from(await answer.arrayBuffer())
  }

  it('with a file of the pages is kept by browsers for a year, under a name with a hash', async () => {
    const path = await stylePath()
    assert.match(path, /^\/assets\/troupe\.[\w-]{12}\.css$/)
    const answer = await ask(path)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.match(await answer.text(), /--accent/)
  })

  it('with a file of another release, or without a hash, is compared each time', async () => {
    for (const path of [
      '/assets/troupe.aaaaaaaaaaaa.css',
      '/assets/troupe.css',
      '/assets/troupe-overview.css',
      '/assets/troupe.js',
    ]) {
      const answer = await ask(path)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('cache-control'), 'public, max-age=0, must-revalidate')
      const tag = answer.headers.get('etag') ?? ''
      for (const known of [tag, `W/${tag}`, `"other", ${tag}`])
        assert.equal((await ask(path, undefined, { 'if-none-match': known })).status, 304)
      assert.equal((await ask(path, undefined, { 'if-none-match': '"other"' })).status, 200)
    }
    for (const path of [
      '/assets/troupe.short.css',
      '/assets/troupe-none.css',
      '/assets/troupe.html',
      '/assets/other.aaaaaaaaaaaa.css',
    ])
      assert.equal((await ask(path)).status, 404, path)
  })

  for (const path of ['/assets/troupe.css', '/assets/app.js']) {
    it(`with ${path} is compressed as the client accepts it`, async () => {
      const plain = await ask(path)
      assert.equal(plain.headers.get('content-encoding'), null)
      assert.equal(plain.headers.get('vary'), 'Accept-Encoding')
      const content = await bytes(plain)
      for (const [accepted, coding] of [
        ['gzip, deflate, br, zstd', 'br'],
        ['gzip', 'gzip'],
        ['GZIP;q=0.5, br;q=0.1', 'gzip'],
        ['*', 'br'],
        ['br;q=0, *', 'gzip'],
      ] as const) {
        const answer = await ask(path, accepted)
        assert.equal(answer.headers.get('content-encoding'), coding, accepted)
        assert.equal(answer.headers.get('etag'), `W/${plain.headers.get('etag')}`)
        const packed = await bytes(answer)
        assert.equal(answer.headers.get('content-length'), String(packed.length))
        assert.ok(packed.length < content.length / 2)
        assert.deepEqual(coding === 'br' ? brotliDecompressSync(packed) : gunzipSync(packed), content)
      }
      for (const accepted of ['identity', 'br;q=0, gzip;q=0', 'deflate', ''])
        assert.equal((await ask(path, accepted)).headers.get('content-encoding'), null, accepted)
      const tag = plain.headers.get('etag') ?? ''
      assert.equal((await ask(path, 'br', { 'if-none-match': `W/${tag}` })).status, 304)
    })
  }

  it('with a small file is not compressed', async () => {
    assert.equal((await ask('/assets/small.js', 'br')).headers.get('content-encoding'), null)
  })

  it('with a page is compressed only when no other site began the request', async () => {
    const plain = await (await browser.get('')).text()
    for (const site of ['same-origin', 'none']) {
      const answer = await browser.get('', { 'accept-encoding': 'gzip', 'sec-fetch-site': site })
      assert.equal(answer.headers.get('content-encoding'), 'gzip', site)
      const page = gunzipSync(await bytes(answer)).toString()
      assert.equal(page.length, plain.length)
    }
    for (const site of ['cross-site', 'same-site', undefined]) {
      const headers = { 'accept-encoding': 'gzip', ...(site === undefined ? {} : { 'sec-fetch-site': site }) }
      assert.equal((await browser.get('', headers)).headers.get('content-encoding'), null, String(site))
    }
  })

  it('with private data as JSON is not compressed', async () => {
    await actor.request('PUT', '/properties/note', 'x'.repeat(5000))
    const headers = { authorization: actor.authorization, 'sec-fetch-site': 'same-origin' }
    const answer = await ask(`/${actor.id}/properties`, 'gzip, br', headers)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-encoding'), null)
  })

  it('to HEAD has the headers of a GET', async () => {
    const head = await service.request('/assets/troupe.css', { method: 'HEAD', headers: { 'accept-encoding': 'br' } })
    const got = await ask('/assets/troupe.css', 'br')
    for (const name of ['content-encoding', 'content-length', 'etag', 'vary'])
      assert.equal(head.headers.get(name), got.headers.get(name), name)
    assert.equal((await bytes(head)).length, 0)
  })
})
