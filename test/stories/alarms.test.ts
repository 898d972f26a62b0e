/** Alarms of actors: `app.alarm` and `actor.alarm`. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { DeclaredAlarm } from '../../src/app/background/alarms.ts'
import type { AlarmCall } from '../../src/app/background/background.ts'
import { ServiceError } from '../../src/errors.ts'
import type { App } from '../../src/troupe.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { until, untilEqual } from '../support/until.ts'

const Reminder = z.object({ text: z.string() })

function still(clock: ManualClock): Pick<StartOptions, 'now' | 'timers' | 'random'> {
  return { now: clock.now, timers: clock.timers, random: () => 1 }
}

/** Declares an alarm that records its calls. */
function record(seen: unknown[]): (app: App) => void {
  return (app) => {
    app.alarm('remind', { data: Reminder }, ({ key, data, at, attempt }) => {
      seen.push([key, data.text, at.getTime(), attempt])
    })
    app.alarm('plain', ({ data, name }) => void seen.push([name, data]))
  }
}

const remind: DeclaredAlarm<z.input<typeof Reminder>> = { kind: 'alarm', name: 'remind' }

function refused(code: string, message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code && message.test(error.message)
}

async function pass(service: TestService, clock: ManualClock, ms: number): Promise<void> {
  clock.pass(ms)
  const { parts } = await service.app.running()
  parts.jobs.wake()
  await service.settled()
}

/** The time in which a process finds the work of others: the search of a sharded database has an interval of a second. */
const step = onShards() ? 1000 : 1

forEachService((start) => {
  describe('an alarm', () => {
    it('runs its handler at its time, once, with the data', async () => {
      const clock = new ManualClock()
      const seen: unknown[] = []
      const service = await start({ ...still(clock), declare: record(seen) })
      const { actor } = await service.app.actors.create()
      const at = clock.now() + 60_000
      await actor.alarm(new Date(at), remind, { text: 'milk' })
      await service.settled()
      await pass(service, clock, 60_000 - step)
      assert.deepEqual(seen, [])
      await pass(service, clock, step)
      assert.deepEqual(seen, [['', 'milk', at, 1]])
      await pass(service, clock, 3_600_000)
      assert.equal(seen.length, 1)
      assert.deepEqual(await actor.alarms.list(), [])
    })

    it('replaces the alarm of the same name and key, and can be listed and canceled', async () => {
      const clock = new ManualClock()
      const seen: unknown[] = []
      const service = await start({ ...still(clock), declare: record(seen) })
      const { actor } = await service.app.actors.create()
      const now = clock.now()
      await actor.alarm(now + 1000, remind, { text: 'old' }, { key: 'milk' })
      await actor.alarm(now + 3000, remind, { text: 'new' }, { key: 'milk' })
      await actor.alarm(now + 2000, 'remind', { text: 'bread' }, { key: 'bread' })
      await actor.alarm(now + 2500, 'plain')
      assert.deepEqual(
        (await actor.alarms.list()).map(({ name, key, at, data, state, attempts, nextAttemptAt }) => [
          name,
          key,
          at.getTime() - now,
          data,
          state,
          attempts,
          nextAttemptAt?.getTime() === at.getTime(),
        ]),
        [
          ['remind', 'bread', 2000, { text: 'bread' }, 'waiting', 0, true],
          ['plain', '', 2500, undefined, 'waiting', 0, true],
          ['remind', 'milk', 3000, { text: 'new' }, 'waiting', 0, true],
        ],
      )
      assert.deepEqual(
        (await actor.alarms.list(remind)).map(({ key }) => key),
        ['bread', 'milk'],
      )
      assert.deepEqual((await actor.alarms.get(remind, 'milk'))?.data, { text: 'new' })
      assert.equal(await actor.alarms.get('remind', 'eggs'), undefined)
      assert.deepEqual(
        [await actor.alarms.cancel(remind, 'bread'), await actor.alarms.cancel(remind, 'bread')],
        [true, false],
      )
      await pass(service, clock, 5000)
      assert.deepEqual(seen, [
        ['plain', undefined],
        ['milk', 'new', now + 3000, 1],
      ])
    })

    it('set in a transaction exists after the commit only', async () => {
      const clock = new ManualClock()
      const seen: unknown[] = []
      const service = await start({
        ...still(clock),
        declare: (app) => {
          record(seen)(app)
          app.action('plan', { exclusive: true }, async ({ actor }) => {
            await actor.set('planned', true)
            await actor.alarm(clock.now() + 1000, remind, { text: 'planned' })
          })
        },
      })
      const { actor } = await service.app.actors.create()
      await assert.rejects(
        actor.transaction(async (tx) => {
          await tx.alarm(clock.now(), remind, { text: 'never' })
          throw new Error('no')
        }),
      )
      assert.deepEqual(await actor.alarms.list(), [])
      const owner = await service.createActor('ben@example.com')
      assert.equal((await owner.request('POST', '/actions/plan', {})).status, 204)
      const ben = await service.app.actors.get(owner.id)
      assert.equal((await ben?.alarms.list())?.length, 1)
      await ben?.transaction(async (tx) => {
        await tx.alarms.cancel(remind)
        await tx.alarm(clock.now(), 'plain', [1])
      })
      await pass(service, clock, 1000)
      assert.deepEqual(seen, [['plain', [1]]])
    })

    it('can be set again by its own handler', async () => {
      const clock = new ManualClock()
      const seen: number[] = []
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.alarm('tick', async ({ actor, at }) => {
            seen.push(at.getTime())
            await actor.alarm(at.getTime() + 1000, 'tick')
          }),
      })
      const { actor } = await service.app.actors.create()
      const at = clock.now()
      await actor.alarm(at, 'tick')
      await service.settled()
      for (let n = 0; n < 20; n++) await pass(service, clock, 1000)
      assert.deepEqual(
        seen,
        Array.from({ length: 21 }, (_, n) => at + n * 1000),
      )
    })

    it('that is set again while its handler runs, runs again with the new data', async () => {
      const clock = new ManualClock()
      const seen: unknown[] = []
      const answer = Promise.withResolvers<void>()
      const declare = (app: App): void =>
        void app.alarm('plain', async ({ data }) => {
          seen.push(data)
          await answer.promise
        })
      const service = await start({ ...still(clock), declare })
      const { actor } = await service.app.actors.create()
      await actor.alarm(clock.now(), 'plain', 'old')
      await until(() => seen.length === 1)
      await actor.alarm(clock.now(), 'plain', 'new')
      const { store, parts } = await service.app.running()
      parts.jobs.wake()
      await until(async () => {
        const row = await store.read((q) =>
          q.get<{ lease: string }>('SELECT lease FROM job WHERE actor_id = $1', actor.id),
        )
        return row?.lease !== ''
      })
      answer.resolve()
      await service.settled()
      assert.deepEqual(seen, ['old', 'new'])
      assert.deepEqual(await actor.alarms.list(), [])
    })

    it('runs again with backoff when its handler fails, and is given up after 20 attempts', async () => {
      const clock = new ManualClock()
      const attempts: number[] = []
      let isBroken = true
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.alarm('push', ({ attempt }) => {
            attempts.push(attempt)
            if (isBroken) throw new Error('No connection')
          }),
      })
      const { actor } = await service.app.actors.create()
      await actor.alarm(clock.now(), 'push')
      await service.settled()
      const [alarm] = await actor.alarms.list()
      assert.deepEqual(
        [alarm?.state, alarm?.attempts, alarm?.reason, (alarm?.nextAttemptAt?.getTime() ?? 0) - clock.now()],
        ['waiting', 1, 'No connection', 1000],
      )
      await until(
        () => attempts.length === 20,
        () => pass(service, clock, 300_000),
      )
      const [failed] = await actor.alarms.list()
      assert.deepEqual(
        [failed?.state, failed?.attempts, failed?.nextAttemptAt, failed?.reason],
        ['failed', 20, null, 'No connection'],
      )
      await pass(service, clock, 3_600_000)
      assert.equal(attempts.length, 20)
      assert.match(await (await service.request('/metrics')).text(), /troupe_job_failed\{kind="alarm"\} 1\n/)
      isBroken = false
      const { store } = await service.app.running()
      const { redriveJobs } = await import('../../src/job/redrive-store.ts')
      await store.write((tx) => redriveJobs(tx, { actorId: actor.id }, clock.now()))
      await pass(service, clock, step)
      assert.deepEqual(attempts.slice(-1), [1])
      assert.deepEqual(await actor.alarms.list(), [])
    })

    it('fails when its handler does not end within 5 minutes', async () => {
      const clock = new ManualClock()
      let signal: AbortSignal | undefined
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.alarm('hang', (call) => {
            signal = call.signal
            return new Promise(() => {})
          }),
      })
      const { actor } = await service.app.actors.create()
      await actor.alarm(clock.now(), 'hang')
      await until(() => signal !== undefined)
      clock.pass(299_999)
      assert.equal(signal?.aborted, false)
      clock.pass(1)
      assert.equal(signal?.aborted, true)
      await service.settled()
      assert.equal((await actor.alarms.list())[0]?.reason, 'The handler did not end within 300 seconds')
    })

    it('waits for a process that declares its handler', async () => {
      const seen: unknown[] = []
      const clock = new ManualClock()
      const newer = await start({
        ...still(clock),
        declare: (app) => {
          app.alarm('old', () => {})
          app.alarm('new', () => void seen.push('never here'))
        },
      })
      const { actor } = await newer.app.actors.create()
      await actor.alarm(clock.now() + 1000, 'new')
      await newer.close()
      const older = await start({
        ...still(clock),
        database: newer.databaseUrl,
        declare: (app) => app.alarm('old', () => {}),
      })
      await pass(older, clock, 1000)
      assert.deepEqual(seen, [])
      const kept = await (await older.app.actors.get(actor.id))?.alarms.list()
      assert.deepEqual(
        kept?.map(({ state, attempts, reason }) => [state, attempts, reason]),
        [['waiting', 0, 'No process declares the handler']],
      )
    })

    it('ends with its actor', async () => {
      const seen: unknown[] = []
      const clock = new ManualClock()
      const service = await start({ ...still(clock), declare: record(seen) })
      const { actor } = await service.app.actors.create()
      await actor.alarm(clock.now() + 1000, 'plain')
      await service.app.actors.delete(actor.id)
      await pass(service, clock, 1000)
      assert.deepEqual(seen, [])
      await assert.rejects(actor.alarm(clock.now(), 'plain'), refused('actor_not_found', /./))
    })

    it('is refused with an unknown name, unfit data, or an invalid time or key', async () => {
      const service = await start({ declare: record([]) })
      const { actor } = await service.app.actors.create()
      const now = Date.UTC(2031, 0, 1)
      await assert.rejects(actor.alarm(now, 'remnd'), refused('not_found', /app\.alarm does not declare it/))
      await assert.rejects(actor.alarm(now, 'remind', { text: 1 }), refused('invalid_input', /"text"/))
      await assert.rejects(actor.alarm(now, 'remind'), refused('invalid_input', /the input/))
      await assert.rejects(actor.alarm(Number.NaN, 'plain'), refused('invalid_value', /time is not a valid date/))
      await assert.rejects(actor.alarm(new Date('x'), 'plain'), refused('invalid_value', /time is not a valid date/))
      await assert.rejects(
        actor.alarm(now, 'plain', 1 as never, { key: 'x'.repeat(201) }),
        refused('invalid_value', /at most 200 characters/),
      )
      assert.deepEqual(await actor.alarms.list(), [])
    })
  })

  describe('many alarms', () => {
    it('of one actor do not delay those of another, and all run once', async () => {
      const seen: string[] = []
      const calmRan = Promise.withResolvers<void>()
      const service = await start({
        declare: (app) =>
          app.alarm('work', async ({ actor, key }: AlarmCall) => {
            if (actor.creator === 'calm@example.com') calmRan.resolve()
            else await calmRan.promise
            seen.push(`${actor.creator} ${key}`)
          }),
      })
      const busy = (await service.app.actors.create({ creator: 'busy@example.com' })).actor
      const calm = (await service.app.actors.create({ creator: 'calm@example.com' })).actor
      const at = Date.now() + 500
      await calm.alarm(at + 1, 'work')
      await busy.transaction(async (tx) => {
        for (let n = 0; n < 600; n++) await tx.alarm(at, 'work', undefined, { key: String(n) })
      })
      await untilEqual(
        () => seen.length,
        () => 601,
      )
      assert.equal(new Set(seen).size, 601)
      await service.settled()
      assert.deepEqual(await busy.alarms.list(), [])
    })

    it('wait while the results of earlier ones are not stored, because a crash would repeat those', async () => {
      const clock = new ManualClock()
      let ran = 0
      const service = await start({ ...still(clock), declare: (app) => app.alarm('work', () => void (ran += 1)) })
      const { actor } = await service.app.actors.create()
      await actor.transaction(async (tx) => {
        for (let n = 0; n < 200; n++) await tx.alarm(clock.now() + 1000, 'work', undefined, { key: String(n) })
      })
      const { store, parts } = await service.app.running()
      const storing = Promise.withResolvers<void>()
      const write: typeof store.write = store.write.bind(store)
      store.write = async (work, how) => {
        if (how?.durability !== 'relaxed') await storing.promise
        return write(work, how)
      }
      clock.pass(1000)
      parts.jobs.wake()
      await until(() => ran >= 64)
      // All handlers that could run now have run: they need no disk.
      await new Promise((resolve) => setImmediate(resolve))
      const ranBefore = ran
      storing.resolve()
      assert.equal(ranBefore, 64)
      await service.settled()
      assert.equal(ran, 200)
    })

    it('run in one of two processes each', async () => {
      const seen: string[] = []
      const declare = (app: App): void => {
        app.alarm('work', ({ key }) => void seen.push(key))
      }
      const one = await start({ declare })
      await start({ declare, database: one.databaseUrl })
      const { actor } = await one.app.actors.create()
      const at = Date.now() + 500
      await actor.transaction(async (tx) => {
        for (let n = 0; n < 200; n++) await tx.alarm(at, 'work', undefined, { key: String(n) })
      })
      await untilEqual(
        () => new Set(seen).size,
        () => 200,
      )
      await untilEqual(
        async () => (await actor.alarms.list()).length,
        () => 0,
      )
      assert.equal(seen.length, 200)
    })
  })
})
