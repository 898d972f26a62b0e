/** Events of changes: `app.on('property_changed')` and `app.on('list_changed')`. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ListChanged, PropertyChanged } from '../../src/app/background/background.ts'
import type { App } from '../../src/troupe.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { until, untilEqual } from '../support/until.ts'

type Recorded = Record<string, unknown>

/** The call that a handler received, without its actor, ids and times. */
function factsOf(event: PropertyChanged | ListChanged): Recorded {
  const { actor: _actor, id: _id, at: _at, signal: _signal, caller: _caller, ...facts } = event
  return facts
}

function record(app: App, seen: Recorded[]): void {
  app.on('property_changed', (event) => void seen.push({ type: 'property_changed', ...factsOf(event) }))
  app.on('list_changed', (event) => void seen.push({ type: 'list_changed', ...factsOf(event) }))
}

/** A clock that stands still, without jitter. */
function still(clock: ManualClock): Pick<StartOptions, 'now' | 'timers' | 'random'> {
  return { now: clock.now, timers: clock.timers, random: () => 1 }
}

async function rows(service: TestService, table: 'job' | 'job_entry'): Promise<number> {
  const { store } = await service.app.running()
  const [row] = await store.read((q) => q.all<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`))
  return Number(row?.n)
}

forEachService((start) => {
  describe('a change of a property', () => {
    it('fires property_changed with the record of the change, after the commit, in order', async () => {
      const seen: Recorded[] = []
      const service = await start({ declare: (app) => record(app, seen) })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/budget', { limit: 500, spent: { food: 1 } })
      await actor.request('PUT', '/properties/budget/limit', 600)
      await actor.request('PUT', '/properties/budget/spent/food', 2)
      await actor.request('DELETE', '/properties/budget/limit')
      await actor.request('POST', '/properties', { a: 1, b: 'two' })
      await actor.request('DELETE', '/properties/budget')
      await service.settled()
      const type = 'property_changed'
      const [operation, attempt] = ['set', 1]
      assert.deepEqual(seen, [
        { type, name: 'budget', operation, path: [], value: { limit: 500, spent: { food: 1 } }, attempt },
        { type, name: 'budget', operation, path: ['limit'], value: 600, attempt },
        { type, name: 'budget', operation, path: ['spent', 'food'], value: 2, attempt },
        { type, name: 'budget', operation: 'delete', path: ['limit'], attempt },
        { type, name: 'a', operation, path: [], value: 1, attempt },
        { type, name: 'b', operation, path: [], value: 'two', attempt },
        { type, name: 'budget', operation: 'delete', path: [], attempt },
      ])
      assert.equal(await rows(service, 'job_entry'), 0)
    })

    it('fires list_changed for changes of a list', async () => {
      const seen: Recorded[] = []
      const service = await start({ declare: (app) => record(app, seen) })
      const { actor } = await service.app.actors.create()
      const list = actor.list('shopping')
      await list.append({ text: 'milk' })
      await list.extend([1, 2])
      await list.insert(0, 'first')
      await list.update(1, { text: 'oat milk' })
      await list.delete(0)
      assert.equal(await list.pop(), 2)
      await list.remove()
      await service.settled()
      const [type, name, attempt] = ['list_changed', 'shopping', 1]
      assert.deepEqual(seen, [
        { type, name, operation: 'append', length: 1, index: 0, item: { text: 'milk' }, attempt },
        { type, name, operation: 'extend', length: 3, index: 1, items: [1, 2], attempt },
        { type, name, operation: 'insert', length: 4, index: 0, item: 'first', attempt },
        {
          type,
          name,
          operation: 'update',
          length: 4,
          index: 1,
          item: { text: 'oat milk' },
          oldItem: { text: 'milk' },
          attempt,
        },
        { type, name, operation: 'delete', length: 3, index: 0, oldItem: 'first', attempt },
        { type, name, operation: 'pop', length: 2, index: 2, item: 2, attempt },
        { type, name, operation: 'delete_all', length: 0, attempt },
      ])
    })

    it('has the caller, the request and the time of the change', async () => {
      const events: PropertyChanged[] = []
      const service = await start({
        declare: (app) => {
          app.on('property_changed', (event) => void events.push(event))
          app.action('count', async ({ actor }) => {
            await actor.set('count', 1)
          })
        },
      })
      const owner = await service.createActor()
      const request = '6e0c4a6e-4d43-4d8e-9d0b-8a5b3bd7d0aa'
      await owner.request('PUT', '/properties/a', 1, { 'x-request-id': request })
      await owner.request('POST', '/actions/count', {})
      await (await service.app.actors.get(owner.id))?.set('b', 2)
      await service.settled()
      assert.deepEqual(
        events.map(({ name, caller }) => [name, caller.kind]),
        [
          ['a', 'creator'],
          ['count', 'creator'],
          ['b', 'application'],
        ],
      )
      assert.equal(events[0]?.caller.requestId, request)
      assert.equal(events[0]?.actor.creator, owner.creator)
      assert.ok(events.every(({ at }) => at.getTime() > 1_700_000_000_000))
      assert.equal(new Set(events.map(({ id }) => id)).size, 3)
    })

    it('keeps the order of simultaneous appends, each with its own origin', async () => {
      const seen: unknown[] = []
      const service = await start({
        declare: (app) => app.on('list_changed', ({ index, item }) => void seen.push([index, item])),
      })
      const { actor } = await service.app.actors.create()
      const list = actor.list('log')
      const indexes = await Promise.all(Array.from({ length: 30 }, (_, n) => list.append(n)))
      await service.settled()
      const items = new Map(indexes.map((index, n) => [index, n]))
      assert.deepEqual(
        seen,
        Array.from({ length: 30 }, (_, index) => [index, items.get(index)]),
      )
    })

    it('fires the events of a transaction after its commit, and none when it fails', async () => {
      const seen: Recorded[] = []
      const service = await start({ declare: (app) => record(app, seen) })
      const { actor } = await service.app.actors.create()
      await assert.rejects(
        actor.transaction(async (tx) => {
          await tx.set('a', 1)
          throw new Error('no')
        }),
      )
      await actor.transaction(async (tx) => {
        await tx.set('a', 2)
        await tx.list('l').append('x')
      })
      await service.settled()
      assert.deepEqual(
        seen.map(({ type, name, value, item }) => [type, name, value ?? item]),
        [
          ['property_changed', 'a', 2],
          ['list_changed', 'l', 'x'],
        ],
      )
    })

    it('costs no statement without a handler', async () => {
      // No time passes: on a sharded database, processes search for work of all kinds once a second.
      const without = await start(still(new ManualClock()))
      const other = await start({ ...still(new ManualClock()), declare: (app) => app.on('list_changed', () => {}) })
      for (const service of [without, other]) {
        const actor = await service.createActor()
        await service.settled()
        service.reset()
        await actor.request('PUT', '/properties/a', 1)
        await service.settled()
        assert.deepEqual(
          [...service.statements, ...service.backgroundStatements].filter((sql) => /\bjob(_entry)?\b/.test(sql)),
          [],
        )
      }
    })
  })

  describe('a handler of an event that fails', () => {
    it('runs again with backoff, and the later events of its actor wait', async () => {
      const clock = new ManualClock()
      const seen: string[] = []
      let failures = 2
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.on('property_changed', ({ name, attempt }) => {
            seen.push(`${name} ${attempt}`)
            if (name === 'a' && failures-- > 0) throw new Error('The mail server is down')
          }),
      })
      const [ada, ben] = [await service.createActor(), await service.createActor('ben@example.com')]
      await ada.request('PUT', '/properties/a', 1)
      await ada.request('PUT', '/properties/b', 1)
      await service.settled()
      await ben.request('PUT', '/properties/c', 1)
      await service.settled()
      assert.deepEqual(seen, ['a 1', 'c 1'])
      clock.pass(999)
      await service.settled()
      assert.deepEqual(seen, ['a 1', 'c 1'])
      clock.pass(1)
      await until(() => seen.length === 3)
      await service.settled()
      clock.pass(2000)
      await until(() => seen.length === 5)
      await service.settled()
      assert.deepEqual(seen, ['a 1', 'c 1', 'a 2', 'a 3', 'b 1'])
      assert.ok(service.log.some((line) => line.includes('An event handler failed; it runs again')))
    })

    it('is given up after 20 attempts, and the next event runs; troupe redrive repeats it', async () => {
      const clock = new ManualClock()
      const seen: string[] = []
      let isBroken = true
      const service = await start({
        ...still(clock),
        declare: (app) =>
          app.on('property_changed', ({ name, attempt }) => {
            seen.push(`${name} ${attempt}`)
            if (name === 'a' && isBroken) throw new Error('The mail server is down')
          }),
      })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/a', 1)
      await actor.request('PUT', '/properties/b', 1)
      await until(
        () => seen.includes('b 1'),
        async () => {
          await service.settled()
          clock.pass(300_000)
        },
      )
      assert.deepEqual(seen.slice(-2), ['a 20', 'b 1'])
      const metrics = await (await service.request('/metrics')).text()
      assert.match(metrics, /troupe_job_failed\{kind="event"\} 1\n/)
      assert.match(metrics, /troupe_job_runs_total\{kind="event",outcome="failed"\} 1\n/)
      isBroken = false
      const { store, parts } = await service.app.running()
      const { redriveJobs } = await import('../../src/job/redrive-store.ts')
      assert.deepEqual(await store.write((tx) => redriveJobs(tx, {}, clock.now())), { entries: 1, alarms: 0 })
      // The search of a sharded database has an interval.
      if (onShards()) clock.pass(5000)
      parts.jobs.wake()
      await service.settled()
      assert.deepEqual(seen.slice(-1), ['a 1'])
      assert.equal(await rows(service, 'job_entry'), 0)
    })
  })

  describe('the events of an actor', () => {
    it('end with the actor', async () => {
      const service = await start({
        declare: (app) =>
          app.on('property_changed', () => {
            throw new Error('no')
          }),
      })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/a', 1)
      await service.settled()
      assert.deepEqual([await rows(service, 'job'), await rows(service, 'job_entry')], [1, 1])
      await actor.request('DELETE', '')
      assert.deepEqual([await rows(service, 'job'), await rows(service, 'job_entry')], [0, 0])
    })

    it('do not delay the events of other actors', async () => {
      const release = Promise.withResolvers<void>()
      const seen: string[] = []
      const service = await start({
        declare: (app) =>
          app.on('property_changed', async ({ name }) => {
            if (name === 'slow') await release.promise
            seen.push(name)
          }),
      })
      const [ada, ben] = [await service.createActor(), await service.createActor('ben@example.com')]
      await ada.request('PUT', '/properties/slow', 1)
      await ada.request('PUT', '/properties/after', 1)
      await ben.request('PUT', '/properties/quick', 1)
      await until(() => seen.includes('quick'))
      assert.deepEqual(seen, ['quick'])
      release.resolve()
      await untilEqual(
        () => seen,
        () => ['quick', 'slow', 'after'],
      )
    })

    it('of a handler that changes data end after 16 changes', async () => {
      let count = 0
      const service = await start({
        declare: (app) =>
          app.on('property_changed', async ({ actor, caller }) => {
            count += 1
            assert.equal(caller.call, count === 1 ? undefined : 'event property_changed')
            await actor.set('count', count)
          }),
      })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/count', 0)
      await service.settled()
      assert.equal(count, 16)
      assert.ok(service.log.some((line) => line.includes('it ended a loop of handlers that change data')))
    })
  })
})
