/** Scheduled exports whose process is killed, whose place fails, and of several processes. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { linesOf } from '../support/archives.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { forEachService } from '../support/service.ts'
import { forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

let root = ''
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-export-faults-'))
})
after(() => rm(root, { recursive: true }))

/** The files of all runs, with the name of the run. Also those that are not complete. */
function filesIn(place: string): string[] {
  try {
    return (readdirSync(place, { recursive: true }) as string[]).filter((name) => /\.(?:gz|json|part)$/.test(name))
  } catch {
    return []
  }
}

const archivesIn = (place: string): string[] => filesIn(place).filter((name) => name.endsWith('.jsonl.gz'))
const isComplete = (place: string): boolean => filesIn(place).some((name) => name.endsWith('complete.json'))

forEachStore((_dialect, _open, database) => {
  describe('scheduled exports whose process is killed', () => {
    it('are completed by the next process, which keeps the archives that are there (R-ARC-09)', async () => {
      const actors = 400
      const { url } = await database()
      const place = await mkdtemp(join(root, 'killed-'))
      const first = await startServiceProcess({ database: url })
      for (let n = 0; n < actors; n += 1)
        assert.equal((await first.send('POST', '/', { body: { creator: `person-${n}@example.com` } })).status, 201)
      await first.stop()
      const env = { TROUPE_EXPORTS: place }
      const second = await startServiceProcess({ database: url, env })
      await until(() => archivesIn(place).length >= 20)
      await second.kill()
      const before = new Map(archivesIn(place).map((name) => [name, statSync(join(place, name)).ino]))
      assert.equal(isComplete(place), false)
      const third = await startServiceProcess({ database: url, env })
      try {
        await until(() => isComplete(place))
        const archives = archivesIn(place)
        assert.equal(archives.length, actors)
        for (const name of archives)
          assert.equal(linesOf(String(gunzipSync(readFileSync(join(place, name))))).at(-1)?.kind, 'end')
        for (const [name, inode] of before) assert.equal(statSync(join(place, name)).ino, inode)
        assert.deepEqual(
          filesIn(place).filter((name) => name.endsWith('.part')),
          [],
        )
        assert.equal(new Set(archives.map((name) => name.split('/')[0])).size, 1)
      } finally {
        await third.stop()
      }
    })
  })
})

forEachService((start) => {
  describe('scheduled exports', () => {
    it('continue the same run when the place can be used again', async () => {
      const place = join(await mkdtemp(join(root, 'failing-')), 'exports')
      await writeFile(place, 'a file in the place of the folder')
      const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
      const service = await start({ exports: place, now: clock.now, timers: clock.timers, random: () => 0.5 })
      const actor = await service.createActor()
      const failures = (): number =>
        service.log.filter((line) => line.includes('The handler of a schedule failed')).length
      await passUntil(clock, [service], () => failures() >= 2, 10_000)
      assert.match(service.log.join(''), /cannot be used right now/)
      await unlink(place)
      await passUntil(clock, [service], () => isComplete(place), 10_000)
      assert.deepEqual(
        new Set(filesIn(place)),
        new Set([
          `2030-01-01T03-00-00Z/${actor.id.slice(0, 2)}/${actor.id}.jsonl.gz`,
          '2030-01-01T03-00-00Z/complete.json',
        ]),
      )
    })

    it('run once for all processes of a service', async () => {
      const place = await mkdtemp(join(root, 'shared-'))
      const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
      const options = { exports: place, exportsEveryHours: 1, now: clock.now, timers: clock.timers }
      const one = await start(options)
      await one.settled()
      const other = await start({ ...options, database: one.databaseUrl })
      await one.createActor()
      await passUntil(
        clock,
        [one, other],
        () => filesIn(place).filter((name) => /complete/.test(name)).length >= 5,
        60_000,
      )
      const lines = [one, other].flatMap(({ log }) => log.filter((line) => line.includes('Exported all actors')))
      const runs = lines.map((line) => (JSON.parse(line) as { run: string }).run)
      assert.deepEqual(runs.toSorted(), [...new Set(runs)].toSorted())
    })

    it('keep old runs while the new one is not complete (R-ARC-09)', async () => {
      const place = await mkdtemp(join(root, 'kept-'))
      const clock = new ManualClock(Date.UTC(2030, 0, 1, 3))
      const service = await start({
        exports: place,
        exportsKept: 1,
        exportsEveryHours: 1,
        now: clock.now,
        timers: clock.timers,
        random: () => 0.5,
      })
      await service.settled()
      assert.deepEqual(filesIn(place), ['2030-01-01T03-00-00Z/complete.json'])
      const actor = await service.createActor()
      await writeFile(join(place, '2030-01-01T04-00-00Z'), 'a file in the place of the run')
      const failures = (): number =>
        service.log.filter((line) => line.includes('The handler of a schedule failed')).length
      await passUntil(clock, [service], () => failures() >= 1, 60_000)
      assert.deepEqual(filesIn(place), ['2030-01-01T03-00-00Z/complete.json'])
      await passUntil(clock, [service], () => filesIn(place).some((name) => name.includes(actor.id)), 60_000)
      await service.settled()
      assert.equal(filesIn(place).includes('2030-01-01T03-00-00Z/complete.json'), false)
    })
  })
})
