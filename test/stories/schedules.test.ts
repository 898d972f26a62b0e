/** Schedules of the application: `app.schedule`. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config-error.ts'
import { redriveSchedules } from '../../src/job/schedule-store.ts'
import { App } from '../../src/troupe.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { until, untilEqual } from '../support/until.ts'

const hour = 3_600_000

function still(clock: ManualClock): Pick<StartOptions, 'now' | 'timers' | 'random'> {
  return { now: clock.now, timers: clock.timers, random: () => 1 }
}

async function pass(clock: ManualClock, ms: number, ...services: readonly TestService[]): Promise<void> {
  clock.pass(ms)
  for (const service of services) {
    const { parts } = await service.app.running()
    parts.jobs.wake()
    await service.settled()
  }
}

forEachService((start) => {
  describe('a schedule', () => {
    it('runs its handler at each occurrence, with the actors of the service', async () => {
      const clock = new ManualClock()
      const seen: unknown[] = []
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.schedule('tidy', { every: '1h' }, async ({ name, actors, scheduledAt, attempt }) => {
            const actor = await actors.findByCreator('ada@example.com')
            seen.push([name, actor?.creator, scheduledAt.getTime() - begun, attempt])
          }),
      })
      const begun = clock.now()
      await service.app.actors.create({ creator: 'ada@example.com' })
      await service.settled()
      await pass(clock, hour - 1, service)
      assert.deepEqual(seen, [])
      await pass(clock, 1, service)
      await pass(clock, hour, service)
      assert.deepEqual(seen, [
        ['tidy', 'ada@example.com', hour, 1],
        ['tidy', 'ada@example.com', 2 * hour, 1],
      ])
    })

    it('runs by a cron expression', async () => {
      const clock = new ManualClock(Date.UTC(2031, 0, 1, 2, 59, 0))
      const seen: string[] = []
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.schedule('report', { cron: '0 3 * * *' }, ({ scheduledAt }) => void seen.push(scheduledAt.toISOString())),
      })
      await service.settled()
      await pass(clock, 60_000, service)
      await pass(clock, 24 * hour, service)
      assert.deepEqual(seen, ['2031-01-01T03:00:00.000Z', '2031-01-02T03:00:00.000Z'])
    })

    it('runs in one process at a time, and never the same occurrence twice', async () => {
      const clock = new ManualClock()
      const seen: string[] = []
      let running = 0
      let most = 0
      const declare = (app: App): void => {
        app.schedule('tidy', { every: '1h' }, async ({ scheduledAt }) => {
          running += 1
          most = Math.max(most, running)
          await new Promise((resolve) => setImmediate(resolve))
          running -= 1
          seen.push(scheduledAt.toISOString())
        })
      }
      const one = await start({ ...still(clock), declare })
      const other = await start({ ...still(clock), declare, database: one.databaseUrl })
      await Promise.all([one.settled(), other.settled()])
      for (let n = 0; n < 5; n++) {
        clock.pass(hour)
        for (const service of [one, other]) (await service.app.running()).parts.jobs.wake()
        await untilEqual(
          () => seen.length,
          () => n + 1,
        )
        await Promise.all([one.settled(), other.settled()])
      }
      assert.deepEqual([seen.length, new Set(seen).size, most], [5, 5, 1])
    })

    it('runs once for the occurrences that were missed while no process ran', async () => {
      const clock = new ManualClock()
      const seen: number[] = []
      const declare = (app: App): void => {
        app.schedule('tidy', { every: '1h' }, ({ scheduledAt }) => void seen.push(scheduledAt.getTime()))
      }
      const first = await start({ ...still(clock), declare })
      const begun = clock.now()
      await first.settled()
      await first.close()
      clock.pass(10 * hour + 1)
      const second = await start({ ...still(clock), declare, database: first.databaseUrl })
      await until(() => seen.length === 1)
      await second.settled()
      assert.deepEqual(seen, [begun + hour])
      await pass(clock, hour, second)
      assert.deepEqual(seen, [begun + hour, begun + 11 * hour])
    })

    it('runs again with backoff when its handler fails, until the next occurrence', async () => {
      const clock = new ManualClock()
      const seen: unknown[] = []
      const begun = clock.now()
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.schedule('tidy', { every: '10s' }, ({ attempt, scheduledAt }) => {
            seen.push([scheduledAt.getTime() - begun, attempt])
            if (scheduledAt.getTime() - begun === 10_000) throw new Error('The disk is full')
          }),
      })
      await service.settled()
      for (let n = 0; n < 22; n++) await pass(clock, 1000, service)
      assert.deepEqual(seen, [
        [10_000, 1],
        [10_000, 2],
        [10_000, 3],
        [10_000, 4],
        [20_000, 1],
      ])
      assert.ok(service.log.some((line) => line.includes('the next occurrence is the next attempt')))
      const metrics = await (await service.request('/metrics')).text()
      assert.match(metrics, /troupe_job_runs_total\{kind="schedule",outcome="failed"\} 1\n/)
      assert.match(metrics, /troupe_job_runs_total\{kind="schedule",outcome="retry"\} 3\n/)
    })

    it('that failed for good runs again with troupe redrive', async () => {
      const clock = new ManualClock()
      const seen: number[] = []
      let isBroken = true
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.schedule('yearly', { cron: '0 0 1 1 *' }, ({ scheduledAt }) => {
            seen.push(scheduledAt.getTime())
            if (isBroken) throw new Error('no')
          }),
      })
      await service.settled()
      const { store } = await service.app.running()
      assert.equal(await store.write((tx) => redriveSchedules(tx, clock.now())), 0)
      await until(
        () => seen.length === 20,
        () => pass(clock, seen.length === 0 ? 24 * hour : 300_000, service),
      )
      isBroken = false
      assert.equal(await store.write((tx) => redriveSchedules(tx, clock.now())), 1)
      await pass(clock, 0, service)
      assert.deepEqual([seen.length, new Set(seen).size], [21, 1])
      assert.equal(await store.write((tx) => redriveSchedules(tx, clock.now())), 0)
    })

    it('keeps its lease while its handler runs, and another process takes over when the lease ends', async () => {
      const [clock, otherClock] = [new ManualClock(), new ManualClock()]
      const seen: string[] = []
      const hang = Promise.withResolvers<void>()
      let signal: AbortSignal | undefined
      const one = await start({
        ...still(clock),
        declare: (app) =>
          app.schedule('tidy', { every: '1h' }, async (call) => {
            seen.push('one')
            signal = call.signal
            await hang.promise
          }),
      })
      await one.settled()
      clock.pass(hour)
      await until(() => seen.length === 1)
      otherClock.pass(hour)
      const other = await start({
        ...still(otherClock),
        database: one.databaseUrl,
        declare: (app) => app.schedule('tidy', { every: '1h' }, () => void seen.push('other')),
      })
      await other.settled()
      // The first process renews its lease by its timer, so the lease ends 10 seconds later than before.
      const { store } = await one.app.running()
      const dueAt = async (): Promise<number> =>
        Number((await store.read((q) => q.get<{ due: number }>('SELECT due_at AS due FROM schedule')))?.due)
      const before = await dueAt()
      clock.pass(3000)
      await until(async () => (await dueAt()) > before)
      otherClock.pass(12_999)
      await pass(otherClock, 0, other)
      assert.deepEqual(seen, ['one'])
      await pass(otherClock, 1, other)
      assert.deepEqual(seen, ['one', 'other'])
      assert.equal(signal?.aborted, false)
      clock.pass(3000)
      await until(() => signal?.aborted === true)
      hang.resolve()
      await one.settled()
      await pass(clock, 0, one)
      assert.deepEqual(seen, ['one', 'other'])
    })

    it('starts again when its timing changes', async () => {
      const clock = new ManualClock()
      const seen: string[] = []
      const declare =
        (every: '1d' | '1h') =>
        (app: App): void => {
          app.schedule('tidy', { every }, () => void seen.push(every))
        }
      const first = await start({ ...still(clock), declare: declare('1d') })
      await first.settled()
      await first.close()
      const second = await start({ ...still(clock), declare: declare('1h'), database: first.databaseUrl })
      await second.settled()
      await pass(clock, hour, second)
      assert.deepEqual(seen, ['1h'])
    })
  })
})

describe('a schedule or alarm that cannot be declared', () => {
  const app = (): App => new App({ type: 'urn:actingweb:example.com:test' })

  it('is refused twice, without a handler, or with an invalid name', () => {
    const declared = app()
    declared.schedule('tidy', { every: '1h' }, () => {})
    declared.alarm('remind', () => {})
    for (const [declare, message] of [
      [() => declared.schedule('tidy', { every: '1h' }, () => {}), /schedule "tidy": the name is declared already/],
      [() => declared.alarm('remind', () => {}), /alarm "remind": the name is declared already/],
      [() => declared.schedule('x', { every: '1h' }, undefined as never), /its handler must be a function/],
      [() => declared.alarm('x', { data: {} }, undefined as never), /its handler must be a function/],
      [() => declared.alarm('', () => {}), /its name must have 1 to 100 characters/],
      [() => declared.alarm('x'.repeat(101), () => {}), /its name must have 1 to 100 characters/],
      [() => declared.alarm('y', { data: 1 as never }, () => {}), /data must be a zod schema/],
      [() => declared.alarm('z', { data: {}, schema: {} } as never, () => {}), /"schema" does not exist/],
    ] as const)
      assert.throws(declare, (error) => error instanceof ConfigError && message.test(error.message), String(message))
  })
})
