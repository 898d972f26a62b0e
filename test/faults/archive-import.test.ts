/** Imports by owners whose process is killed, or whose storage fails. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { ServiceError } from '../../src/errors.ts'
import type { FileBytes } from '../../src/object/file-bytes.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { Workplace } from '../support/program.ts'
import { forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const items = 6000
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

const list = (name: string, length: number): object[] => [
  {
    kind: 'list',
    name,
    id: 'l1',
    description: '',
    explanation: '',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    next_item: length + 1,
    revision: 1,
    length,
  },
  ...Array.from({ length }, (_, n) => ({ kind: 'item', number: n + 1, value: { n, text: 'x'.repeat(200) } })),
]

const whole = archiveWith({ kind: 'property', name: 'color', value: 'blue' }, ...list('long', items), {
  kind: 'property',
  name: 'shape',
  value: 'round',
})

interface Progress {
  readonly state: string
  readonly position: number
  readonly records: number
}

interface Result extends Progress {
  readonly imported: Readonly<Record<string, number>>
  readonly same: Readonly<Record<string, number>>
  readonly kept: { readonly count: number }
  readonly refused: { readonly count: number }
}

forEachStore((_dialect, _open, database) => {
  describe('an import whose process is killed', () => {
    for (const [when, least] of [
      ['after some items', 1000],
      ['after most items', items - 1500],
    ] as const) {
      it(`${when} is completed by the next process, with each item once (R-ARC-07)`, async () => {
        const { url } = await database()
        const place = new Workplace()
        const env = { TROUPE_FILES: place.path('files') }
        let service: ServiceProcess = await startServiceProcess({ database: url, env })
        const send = (method: string, path: string, body?: unknown) =>
          service.send(method, path, { authorization: owner, ...(body === undefined ? {} : { body }) })
        const made = await service.send('POST', '/', { body: { creator: 'ada@example.com', passphrase } })
        const { id } = JSON.parse(made.text) as { id: string }
        assert.equal((await send('POST', `/${id}/import`, whole)).status, 202)
        const lengthOf = async (): Promise<number> => {
          const { status, text } = await send('GET', `/${id}/properties/long/metadata`)
          return status === 200 ? (JSON.parse(text) as { length: number }).length : 0
        }
        await until(async () => (await lengthOf()) >= least)
        await service.kill()
        service = await startServiceProcess({ database: url, env })
        try {
          let last: Progress | undefined
          await until(async () => {
            last = JSON.parse((await send('GET', `/${id}/import`)).text) as Progress
            return last.state !== 'running'
          })
          assert.deepEqual([last?.state, last?.position], ['done', last?.records])
          const stored = JSON.parse((await send('GET', `/${id}/properties/long`)).text) as { n: number }[]
          assert.deepEqual(
            stored.map(({ n }) => n),
            Array.from({ length: items }, (_, n) => n),
          )
          assert.equal((await send('GET', `/${id}/properties/shape`)).text, 'round')
        } finally {
          await service.stop()
          await place.remove()
        }
      })
    }
  })
})

const passphrase = 'correct horse battery staple'
const owner = `Basic ${Buffer.from(`ada@example.com:${passphrase}`).toString('base64')}`

const imported = async (actor: TestActor): Promise<Progress | number> => {
  const answer = await actor.request('GET', '/import')
  return answer.status === 200 ? ((await answer.json()) as Progress) : answer.status
}

/** The storage stops to answer after half of the archive. */
async function* cutInTheMiddle(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let size = 0
  for await (const piece of bytes) {
    const left = whole.length / 2 - size
    yield piece.subarray(0, left)
    size += piece.length
    if (size > left) throw new ServiceError('store_unavailable', 'The storage for files does not answer')
  }
}

forEachService((start) => {
  describe('an import whose storage fails', () => {
    /** Makes the storage open objects in another way. The first time is the check before the response. */
    const opening = async (
      service: TestService,
      open: (time: number, really: () => ReturnType<FileBytes['open']>) => ReturnType<FileBytes['open']>,
    ): Promise<void> => {
      const { fileBytes } = (await service.app.running()).parts
      const really = fileBytes.open.bind(fileBytes)
      let times = 0
      Object.assign(fileBytes, {
        open: (...given: Parameters<FileBytes['open']>) => open((times += 1), () => really(...given)),
      })
    }
    const ends = async (actor: TestActor, state: string): Promise<void> =>
      until(async () => {
        const last = await imported(actor)
        return typeof last !== 'number' && last.state === state
      })

    it('changes nothing when the archive cannot be stored', async () => {
      const service = await start()
      const { fileBytes } = (await service.app.running()).parts
      Object.assign(fileBytes, { put: () => Promise.reject(new ServiceError('insufficient_storage', 'It is full')) })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/import', whole)).status, 507)
      assert.equal(await imported(actor), 404)
    })

    it('continues when the archive can be read again', async () => {
      const service = await start({ random: () => 0 })
      let failures = 0
      await opening(service, (time, really) => {
        if (time === 1 || failures === 2) return really()
        failures += 1
        return Promise.reject(new ServiceError('store_unavailable', 'The storage for files does not answer'))
      })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/import', whole)).status, 202)
      await ends(actor, 'done')
      assert.equal(failures, 2)
    })

    it('continues a list although the actor refused some of its items', async () => {
      const service = await start({
        random: () => 0,
        declare: (app) => {
          app.list('long', { item: z.object({ n: z.number().max(items - 1), text: z.string() }) })
        },
      })
      const refusedAt = [10, 700, 701, items - 1]
      const records = list('long', items).map((record, at) =>
        refusedAt.includes(at) ? { kind: 'item', number: at, value: { n: items, text: 'refused' } } : record,
      )
      let isCut = false
      await opening(service, async (time, really) => {
        const opened = await really()
        if (time === 1 || isCut || opened === null) return opened
        isCut = true
        return { ...opened, bytes: cutInTheMiddle(opened.bytes) }
      })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/import', archiveWith(...records))).status, 202)
      await ends(actor, 'done')
      assert.ok(isCut)
      const last = (await imported(actor)) as Result
      assert.deepEqual([last.refused.count, last.kept.count], [refusedAt.length, 0])
      assert.equal(Number(last.imported.item) + (last.same.item ?? 0), items - refusedAt.length)
      const stored = (await (await actor.request('GET', '/properties/long')).json()) as { n: number }[]
      const expected = Array.from({ length: items }, (_, n) => n).filter((n) => !refusedAt.includes(n + 1))
      assert.deepEqual(
        stored.map(({ n }) => n),
        expected,
      )
    })

    it('fails when the archive is lost, and can be begun again', async () => {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, timers: clock.timers })
      let isLost = true
      await opening(service, (time, really) => (isLost && time > 1 ? Promise.resolve(null) : really()))
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/import', whole)).status, 202)
      const is = async (state: string): Promise<boolean> => {
        const last = await imported(actor)
        return typeof last !== 'number' && last.state === state
      }
      await passUntil(clock, [service], () => is('failed'), 10_000)
      isLost = false
      assert.equal((await actor.request('POST', '/import', whole)).status, 202)
      await passUntil(clock, [service], () => is('done'))
    })
  })

  describe('an upload of an archive that breaks off', () => {
    it('changes nothing, and leaves no object behind', async () => {
      const service = await start({ listen: true })
      const actor = await service.createActor()
      const { hostname, port } = new URL(service.url)
      const socket = connect(Number(port), hostname)
      const half = whole.slice(0, whole.length / 2)
      socket.write(
        `POST /${actor.id}/import HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${actor.authorization}\r\n` +
          `Content-Type: application/x-ndjson\r\nContent-Length: ${Buffer.byteLength(whole)}\r\n\r\n${half}`,
      )
      const { store } = await service.app.running()
      const objects = async (state: string): Promise<number> => {
        const row = await store.read((q) =>
          q.get<{ n: number }>('SELECT COUNT(*) AS n FROM file_object WHERE state = $1', state),
        )
        return row?.n ?? -1
      }
      await until(async () => (await objects('writing')) === 1)
      socket.destroy()
      await until(async () => (await objects('writing')) + (await objects('unused')) === 0)
      assert.equal(await imported(actor), 404)
    })
  })
})
