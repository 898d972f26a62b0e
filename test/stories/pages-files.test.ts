/** The page of files, and its forms. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { antiForgeryValue } from '../../src/http/dispatch/anti-forgery.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

type FilesValues = PageValues<'files'>

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly browser: OwnersBrowser
  /** The values that the template received, latest first. */
  readonly shown: FilesValues[]
}

const boundary = 'sample-boundary'
const multipart = `multipart/form-data; boundary=${boundary}`

/** A form in the order of its fields. The last one is the file. */
function form(fields: Readonly<Record<string, string>>, [filename, type, content]: readonly [string, string, string]) {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const disposition = `Content-Disposition: form-data; name="file"; filename="${filename}"`
  return `${parts.join('')}--${boundary}\r\n${disposition}\r\nContent-Type: ${type}\r\n\r\n${content}\r\n--${boundary}--\r\n`
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const shown: FilesValues[] = []
    const pages = { files: (values: FilesValues) => (shown.unshift(values), html`files`) }
    const service = await start({ pages, ...options })
    const actor = await service.createActor()
    return { service, actor, browser: await OwnersBrowser.open(service, actor), shown }
  }

  const sameOrigin = { 'sec-fetch-site': 'same-origin' }

  function send({ service, actor, browser }: World, body: string, headers: Record<string, string> = sameOrigin) {
    return service.request(`/${actor.id}/www/files`, {
      method: 'POST',
      headers: { ...browser.headers, 'content-type': multipart, ...headers },
      body,
    })
  }

  async function names({ actor }: World): Promise<string[]> {
    const answer = (await (await actor.request('GET', '/files')).json()) as { files: { name: string }[] }
    return answer.files.map(({ name }) => name)
  }

  describe('the page of files', () => {
    it('lists the files with their size and type, in pages', async () => {
      const world = await open()
      await world.browser.get('/files')
      assert.deepEqual([world.shown[0]?.files, world.shown[0]?.used, world.shown[0]?.most], [[], '0 bytes', '1 GB'])
      for (let index = 100; index < 201; index += 1)
        assert.equal((await world.actor.request('PUT', `/files/f${index}`, 'x'.repeat(1536))).status, 201)
      await world.browser.get('/files')
      const [page] = world.shown
      assert.deepEqual([page?.files.length, page?.count, page?.used], [100, 101, '152 kB'])
      assert.deepEqual([page?.files[0]?.name, page?.files[0]?.size], ['f100', '1.5 kB'])
      await world.browser.get((page?.next_href ?? '').replace(/^.*\/www/, ''))
      assert.deepEqual(
        world.shown[0]?.files.map(({ href }) => href),
        [`/${world.actor.id}/files/f200`],
      )
      assert.equal(world.shown[0]?.next_href, null)
    })

    it('stores a file under its own name, or under the given one', async () => {
      const world = await open()
      const made = await send(world, form({ csrf_token: '', name: '' }, ['cafe\u0301.txt', 'text/plain', 'one']))
      assert.equal(made.status, 302)
      assert.equal((await send(world, form({ name: 'a/b' }, ['x.txt', 'image/png', 'two']))).status, 302)
      assert.deepEqual(await names(world), ['a/b', 'caf\u00e9.txt'])
      const read = await world.actor.request('GET', '/files/a/b')
      assert.deepEqual([await read.text(), read.headers.get('content-type')], ['two', 'image/png'])
    })

    it('accepts a form that proves its origin by the token in its first field alone', async () => {
      const world = await open()
      const csrf_token = antiForgeryValue(world.browser.token)
      assert.equal((await send(world, form({ csrf_token }, ['a', 'text/plain', 'one']), {})).status, 302)
      for (const fields of [{}, { csrf_token: 'wrong' }, { name: 'x', csrf_token }])
        assert.equal((await send(world, form(fields, ['b', 'text/plain', 'one']), {})).status, 403)
      const other = { 'sec-fetch-site': 'cross-site' }
      assert.equal((await send(world, form({ csrf_token }, ['b', 'text/plain', 'one']), other)).status, 403)
      assert.deepEqual(await names(world), ['a'])
    })

    it('changes nothing when the form is malformed, breaks off, or has no file', async () => {
      const world = await open()
      const whole = form({}, ['a', 'text/plain', 'one'])
      for (const body of [
        whole.slice(0, -8),
        whole.slice(0, whole.indexOf('one') + 2),
        'nonsense',
        form({}, ['', 'application/octet-stream', '']),
        `--${boundary}\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n--${boundary}--\r\n`,
      ]) {
        assert.equal((await send(world, body)).status, 400, JSON.stringify(body))
        assert.notEqual(world.shown[0]?.error, null)
      }
      assert.deepEqual(await names(world), [])
    })

    it('shows why a file is refused', async () => {
      const world = await open({ maxFileBytes: 1000 })
      assert.equal((await send(world, form({}, ['a', 'text/plain', 'x'.repeat(200_000)]))).status, 413)
      assert.equal(world.shown[0]?.error, 'Cannot store the file: a file may have at most 1000 bytes')
      assert.equal((await send(world, form({ name: '/x' }, ['a', 'text/plain', 'x']))).status, 400)
      assert.equal(world.shown[0]?.error_field, 'name')
      assert.deepEqual(await names(world), [])
    })

    it('deletes a file', async () => {
      const world = await open()
      await world.actor.request('PUT', '/files/a', 'one')
      assert.equal((await world.browser.send('/files', { action: 'delete', name: 'a' })).status, 302)
      assert.deepEqual(await names(world), [])
      assert.equal((await world.browser.send('/files', { action: 'delete', name: 'a' })).status, 409)
      assert.equal((await world.browser.send('/files', { action: 'fly' })).status, 400)
    })
  })
})
