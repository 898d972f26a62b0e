/** Files of actors under crashes, lost answers, full disks and several processes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { ServiceError } from '../../src/errors.ts'
import { refuses } from '../support/files.ts'
import { startS3, testKey } from '../support/s3.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { bound } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { Wire } from '../support/wire.ts'

const folders: string[] = []
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-files-'))
  folders.push(folder)
  return folder
}

/** The paths of the objects in a folder. */
async function objectsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/** Deletes the unused objects now. Returns the states of those that are left. */
async function swept(service: TestService): Promise<string[]> {
  const { store, parts } = await service.app.running()
  parts.unusedObjects.wake()
  await parts.unusedObjects.settled()
  const rows = await store.read((q) => q.all<{ state: string }>('SELECT state FROM file_object ORDER BY state'))
  return rows.map(({ state }) => state)
}

const contentOf = async (actor: TestActor, name = 'a'): Promise<string> =>
  (await actor.request('GET', `/files/${name}`)).text()

forEachService((start) => {
  describe('an upload of a process whose clock is ahead', () => {
    it('is left alone by the processes that delete unused bytes (DUR-29)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store } = await service.app.running()
      for (const [index, aheadMs] of [0, 1, 1000, 30_000].entries())
        await store.write((tx) =>
          tx.run(
            `INSERT INTO file_object (actor_id, object, state, due_at) VALUES ($1, $2, 'writing', $3)`,
            actor.id,
            `upload-${index}`,
            store.now() + 600_000 + aheadMs,
          ),
        )
      assert.deepEqual(await swept(service), ['writing', 'writing', 'writing', 'writing'])
    })
  })

  describe('a process that is killed during an upload', () => {
    it('keeps the old content, and its bytes are deleted after the lease', async () => {
      const folder = await newFolder()
      const service = await start({ files: folder })
      const actor = await service.createActor()
      assert.equal((await actor.request('PUT', '/files/a', 'one')).status, 201)
      const process = await startServiceProcess({ database: service.databaseUrl, env: { TROUPE_FILES: folder } })
      const upload = httpRequest(`${process.url}/${actor.id}/files/a`, {
        method: 'PUT',
        headers: { authorization: actor.authorization, 'transfer-encoding': 'chunked' },
      })
      upload.on('error', () => {})
      upload.write('x'.repeat(100_000))
      await until(async () => {
        const sizes = await Promise.all((await objectsIn(folder)).map(async (path) => (await stat(path)).size))
        return sizes.some((size) => size >= 100_000)
      })
      await process.kill()
      assert.equal(await contentOf(actor), 'one')
      assert.deepEqual(await swept(service), ['used', 'writing'])
      const later = await start({ database: service.databaseUrl, files: folder, now: () => Date.now() + 660_000 })
      assert.deepEqual(await swept(later), ['used'])
      assert.equal((await objectsIn(folder)).length, 1)
      assert.equal(await contentOf(actor), 'one')
    })
  })

  describe('a client that disconnects during an upload', () => {
    it('leaves nothing', async () => {
      const folder = await newFolder()
      const service = await start({ files: folder, listen: true })
      const actor = await service.createActor()
      const wire = await Wire.open(service.url)
      wire.send(
        `PUT /${actor.id}/files/a HTTP/1.1\r\nHost: x\r\nAuthorization: ${actor.authorization}\r\nContent-Length: 100000\r\n\r\n`,
      )
      wire.send('x'.repeat(50_000))
      await until(async () => (await objectsIn(folder)).length > 0)
      wire.socket.destroy()
      await until(async () => (await swept(service)).length === 0)
      assert.deepEqual(await objectsIn(folder), [])
      assert.equal((await actor.request('GET', '/files/a')).status, 404)
    })
  })

  describe('a commit whose answer is lost', () => {
    it('keeps the file that was stored', async () => {
      let isLost = false
      const service = await start({
        files: await newFolder(),
        wrapStore: (inner) => ({
          ...bound(inner),
          async writeActor(actorId, work, origin) {
            const result = await inner.writeActor(actorId, work, origin)
            if (!isLost) return result
            isLost = false
            throw new ServiceError('store_unavailable', 'The outcome is unknown')
          },
        }),
      })
      const actor = await service.createActor()
      isLost = true
      await refuses(actor.request('PUT', '/files/a', 'one'), 503, 'store_unavailable')
      assert.deepEqual(await swept(service), ['used'])
      assert.equal(await contentOf(actor), 'one')
    })
  })

  describe('two processes', () => {
    it('share files, the limit of an actor and the deletion of old content', async () => {
      const folder = await newFolder()
      const limits = { files: folder, maxActorFileBytes: 2500 }
      const one = await start(limits)
      const other = await start({ ...limits, database: one.databaseUrl })
      const actor = await one.createActor()
      const put = (service: TestService, name: string, content: string): Promise<Response> =>
        service.request(`/${actor.id}/files/${name}`, {
          method: 'PUT',
          headers: { authorization: actor.authorization },
          body: content,
        })
      for (let round = 0; round < 5; round += 1) {
        const digits = [1, 2, 3, 4].map((each) => String(each + round))
        const all = await Promise.all(
          digits.map((digit, index) => put(index % 2 === 0 ? one : other, 'a', digit.repeat(1000))),
        )
        assert.deepEqual(new Set(all.map(({ ok }) => ok)), new Set([true]))
        assert.match(await contentOf(actor), /^(\d)\1{999}$/)
      }
      const full = await Promise.all(
        [1, 2, 3, 4].map((each) => put(each % 2 === 0 ? one : other, `b${each}`, 'x'.repeat(1400))),
      )
      assert.deepEqual(
        full.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, 507, 507, 507],
      )
      await Promise.all([swept(one), swept(other)])
      assert.deepEqual(await swept(one), ['used', 'used'])
      assert.equal((await objectsIn(folder)).length, 2)
    })
  })

  describe('a file whose content is missing or incomplete in the storage', () => {
    it('is an error, and never an empty file', async () => {
      const folder = await newFolder()
      const service = await start({ files: folder })
      const actor = await service.createActor()
      await actor.request('PUT', '/files/a', 'one')
      const [path = ''] = await objectsIn(folder)
      await truncate(path, 1)
      await refuses(actor.request('GET', '/files/a'), 500, 'file_missing')
      await rm(path)
      await refuses(actor.request('GET', '/files/a'), 500, 'file_missing')
      assert.ok(service.log.some((line) => line.includes('does not have the object')))
      const files = (await service.app.actors.get(actor.id))?.files
      await assert.rejects(async () => files?.get('a'), { code: 'file_missing' })
      assert.equal((await actor.request('PUT', '/files/a', 'two')).status, 200)
      assert.equal(await contentOf(actor), 'two')
    })
  })

  describe('an S3-compatible store', () => {
    it('may lose answers, be unavailable and be full without changing a file', async () => {
      const s3 = await startS3()
      const service = await start({
        files: `s3://bucket/files?endpoint=${s3.endpoint}&region=${testKey.region}`,
        filesAccessKeyId: testKey.accessKeyId,
        filesSecretAccessKey: testKey.secretAccessKey,
      })
      const actor = await service.createActor()
      s3.fail('PUT', 'lost-answer')
      assert.equal((await actor.request('PUT', '/files/a', 'one')).status, 201)
      assert.equal(await contentOf(actor), 'one')
      s3.fail('PUT', 'full', 'full', 'full', 'full')
      await refuses(actor.request('PUT', '/files/a', 'two'), 507, 'insufficient_storage')
      s3.fail('PUT', 'lost-answer', 'lost-answer', 'lost-answer', 'lost-answer')
      await refuses(actor.request('PUT', '/files/a', 'two'), 503, 'store_unavailable')
      assert.equal(await contentOf(actor), 'one')
      assert.deepEqual(await swept(service), ['used'])
      assert.equal(s3.objects.size, 1)
      const range = await actor.request('GET', '/files/a', undefined, { range: 'bytes=1-' })
      assert.deepEqual([range.status, await range.text()], [206, 'ne'])
      s3.objects.clear()
      await refuses(actor.request('GET', '/files/a'), 500, 'file_missing')
      await service.close()
      await s3.close()
    })
  })

  describe('a service without a storage for files', () => {
    it('says so', async () => {
      const service = await start({ files: 'off' })
      const actor = await service.createActor()
      await refuses(actor.request('PUT', '/files/a', 'one'), 503, 'unavailable')
      assert.deepEqual(await (await actor.request('GET', '/files')).json(), { files: [], next: null })
    })
  })
})

describe('a full disk during an upload', () => {
  it('is 507, changes nothing and leaves nothing', async (t) => {
    if (process.platform === 'win32') return t.skip('File size limits need POSIX')
    const program = join(import.meta.dirname, '../support/full-disk-files.ts')
    // `ulimit` counts blocks of 512 bytes. The limit has room for the database, and not for the file.
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      'ulimit -f 6000 && exec "$0" --conditions=troupe-source "$1" "$2"',
      process.execPath,
      program,
      await newFolder(),
    ])
    assert.deepEqual(JSON.parse(stdout), {
      results: ['201', '507 insufficient_storage Cannot store the file: the disk of the service is full', '200'],
      objects: [{ state: 'used' }],
      content: 'other',
    })
  })
})

forEachService((start) => {
  describe('a slow upload', () => {
    it('may take longer than other requests while it makes progress, and is refused when it stops', async () => {
      const service = await start({ files: await newFolder(), listen: true, requestTimeoutSeconds: 1 })
      const actor = await service.createActor()
      const begin = (name: string, length: number): string =>
        `PUT /${actor.id}/files/${name} HTTP/1.1\r\nHost: x\r\nAuthorization: ${actor.authorization}\r\nContent-Length: ${length}\r\n\r\n`
      const stalled = await Wire.open(service.url)
      stalled.send(`${begin('stalled', 100)}x`)
      const slow = await Wire.open(service.url)
      slow.send(begin('slow', 1000))
      let sent = 0
      const drip = setInterval(() => {
        if (sent < 999) slow.send('x')
        sent += 1
      }, 100)
      // The other upload ends after the timeout. This one has lasted as long by then, and continues.
      assert.equal((await stalled.untilClosed())[0]?.status, 408)
      await until(() => sent > 40)
      clearInterval(drip)
      slow.send('x'.repeat(1000 - Math.min(sent, 999)))
      const [answer] = await slow.answers(1)
      assert.equal(answer?.status, 201)
      slow.socket.destroy()
      await until(async () => (await swept(service)).join() === 'used')
      assert.equal((await actor.request('GET', '/files/stalled')).status, 404)
    })
  })
})
