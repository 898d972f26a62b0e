/** Scheduled exports of all actors, to a folder and to an S3-compatible store. */
import assert from 'node:assert/strict'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { troupe } from '../../src/index.ts'
import { archiveOf, comparable, linesOf, restore } from '../support/archives.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { startS3, testKey } from '../support/s3.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'

const hourMs = 3_600_000
let root = ''
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-exports-'))
})
after(() => rm(root, { recursive: true }))

const newFolder = (): Promise<string> => mkdtemp(join(root, 'place-'))

interface Complete {
  readonly exported: number
  readonly failed: number
  readonly failed_actors: readonly string[]
}

forEachService((start) => {
  /** A service whose time the test advances, and a function that waits until a number of runs is complete. */
  async function startExporting(exports: string, options: StartOptions = {}) {
    const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
    const service = await start({ exports, now: clock.now, timers: clock.timers, ...options })
    await service.settled()
    const isComplete = (run: string) => (): boolean => existsSync(join(exports, run, 'complete.json'))
    /** Runs of the test begin at 3 o'clock of a day of January. */
    const exported = async (day: number): Promise<string> => {
      const run = `2030-01-0${day}T03-00-00Z`
      await passUntil(clock, [service], isComplete(run), hourMs)
      return join(exports, run)
    }
    return { clock, service, exported }
  }

  const completeOf = async (run: string): Promise<Complete> =>
    JSON.parse(await readFile(join(run, 'complete.json'), 'utf8')) as Complete
  const stored = (service: TestService, id: string): Promise<string> => archiveOf(service, id, false)

  describe('scheduled exports', () => {
    it('begin when the service starts, and have each actor as an operator exports it (R-ARC-08)', async () => {
      const place = await newFolder()
      const { service, exported } = await startExporting(place)
      const first = await exported(1)
      assert.deepEqual([(await completeOf(first)).exported, await readdir(first)], [0, ['complete.json']])
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      await relateTo(service, actor, { baseuri: 'https://peer.example.com/p1', peerId: 'p1' })
      const run = await exported(2)
      const path = join(run, actor.id.slice(0, 2), `${actor.id}.jsonl.gz`)
      const text = String(gunzipSync(await readFile(path)))
      assert.deepEqual(comparable(text), comparable(await stored(service, actor.id)))
      assert.equal(linesOf(text).at(-1)?.kind, 'end')
      assert.equal((await stat(path)).mode & 0o777, 0o600)
      const { exported: count, failed, failed_actors: failedActors } = await completeOf(run)
      assert.deepEqual([count, failed, failedActors], [1, 0, []])
    })

    it('have secrets only when the operator asks for them, and restore a whole actor then', async () => {
      const place = await newFolder()
      const { service, exported } = await startExporting(place, { exportsWithSecrets: true })
      const actor = await service.createActor()
      await relateTo(service, actor, { baseuri: 'https://peer.example.com/p1', peerId: 'p1' })
      const run = await exported(2)
      const path = join(run, actor.id.slice(0, 2), `${actor.id}.jsonl.gz`)
      const other = await start()
      const restored = await restore(other, createReadStream(path))
      assert.equal(restored.actorId, actor.id)
      const { store } = await other.app.running()
      const row = await store.read((q) =>
        q.get<{ n: number }>('SELECT COUNT(*) AS n FROM trust WHERE actor_id = $1', actor.id),
      )
      assert.equal(row?.n, 1)
    })

    it('leave out an actor that was deleted, and keep the complete runs that the operator wants', async () => {
      const place = await newFolder()
      await mkdir(join(place, 'something else'))
      await writeFile(join(place, 'notes.txt'), 'not an export')
      const { service, exported } = await startExporting(place, { exportsKept: 2 })
      const actor = await service.createActor()
      await exported(2)
      assert.equal((await actor.request('DELETE', '')).status, 204)
      const third = await exported(3)
      assert.deepEqual([(await completeOf(third)).exported, await readdir(third)], [0, ['complete.json']])
      await exported(4)
      await service.settled()
      assert.deepEqual((await readdir(place)).toSorted(), [
        '2030-01-03T03-00-00Z',
        '2030-01-04T03-00-00Z',
        'notes.txt',
        'something else',
      ])
    })

    it('name an actor that cannot be exported, and have the others', async () => {
      const place = await newFolder()
      const { service, exported } = await startExporting(place)
      const [damaged, whole] = [await service.createActor(), await service.createActor()]
      for (const actor of [damaged, whole]) await actor.request('PUT', '/properties/color', 'red')
      const { store } = await service.app.running()
      await store.write((tx) => tx.run(`UPDATE property SET value = '"blue"' WHERE actor_id = $1`, damaged.id))
      const run = await exported(2)
      const { exported: count, failed, failed_actors: failedActors } = await completeOf(run)
      assert.deepEqual([count, failed, failedActors], [1, 1, [damaged.id]])
      const files = (await readdir(run, { recursive: true })).filter((name) => /\.jsonl/.test(name))
      assert.deepEqual(files, [join(whole.id.slice(0, 2), `${whole.id}.jsonl.gz`)])
    })

    it('go to an S3-compatible store, where old runs are deleted too (R-ARC-08)', async () => {
      const s3 = await startS3()
      try {
        const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
        const service = await start({
          exports: `s3://bucket/backups?endpoint=${s3.endpoint}&region=${testKey.region}`,
          exportsAccessKeyId: testKey.accessKeyId,
          exportsSecretAccessKey: testKey.secretAccessKey,
          exportsKept: 1,
          exportsEveryHours: 1,
          now: clock.now,
          timers: clock.timers,
        })
        await service.settled()
        s3.objects.set('bucket/other/2030-01-01T03-00-00Z/kept.txt', Buffer.from('of another program'))
        const actors = [await service.createActor(), await service.createActor(), await service.createActor()]
        const names = (hour: number): string[] =>
          ['complete.json', ...actors.map(({ id }) => `${id.slice(0, 2)}/${id}.jsonl.gz`)]
            .map((name) => `bucket/backups/2030-01-01T0${hour}-00-00Z/${name}`)
            .toSorted()
        for (const hour of [4, 5]) {
          const all = ['bucket/other/2030-01-01T03-00-00Z/kept.txt', ...names(hour)].toSorted()
          await passUntil(clock, [service], () => [...s3.objects.keys()].toSorted().join() === all.join(), 600_000)
        }
        const [actor] = actors
        const object = s3.objects.get(
          `bucket/backups/2030-01-01T05-00-00Z/${actor?.id.slice(0, 2)}/${actor?.id}.jsonl.gz`,
        )
        assert.deepEqual(
          comparable(String(gunzipSync(object ?? ''))),
          comparable(await stored(service, actor?.id ?? '')),
        )
      } finally {
        await s3.close()
      }
    })

    it('are off by default', async () => {
      const service = await start()
      const { store } = await service.app.running()
      await service.settled()
      assert.deepEqual(await store.read((q) => q.all('SELECT name FROM schedule')), [])
    })
  })
})

describe('the schedule of exports', () => {
  it('has a name that an application cannot declare', () => {
    assert.throws(
      () => troupe({ type: 'urn:actingweb:example.com:test' }).schedule('troupe:exports', { every: '1h' }, () => {}),
      {
        message:
          'Cannot declare the schedule "troupe:exports": its name must not begin with troupe:, as those of the service do.',
      },
    )
  })
})
