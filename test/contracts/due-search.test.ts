/** The search for due work on a sharded database. Plain stores run its statements here; `npm run citus` runs them on a cluster. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { DueSearch, type ShardedWork } from '../../src/due/due-search.ts'
import { ServiceError } from '../../src/errors.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Param, Store } from '../../src/store/store.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'
import { unplacedTables } from '../support/unplaced-statements.ts'
import { asSharded, forEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

/** A process with work for the actors `found`. It records what it does. */
class Process {
  readonly done: string[] = []
  readonly log: string[] = []
  readonly search: DueSearch
  now = 1_900_000_000_000
  found: readonly { readonly actorId: string; readonly next?: number; readonly last: number }[] = []
  /** The search reaches no server. */
  isCutOff = false
  hasCapacity = true
  /** Time of a search. */
  searchMs = 0
  /** Actors whose server is down. */
  readonly down = new Set<string>()
  /** Actors with more work than one claim. */
  readonly full = new Set<string>()

  constructor(store: Store, pollMs = 1000) {
    const work: ShardedWork = {
      name: 'things',
      pollMs,
      longestMs: 60_000,
      find: () => Promise.reject(new Error('A sharded database has no search of this kind')),
      bringForward: () => Promise.reject(new Error('A sharded database has no statement of this kind')),
      claim: () => Promise.reject(new Error('A sharded database has no claim of this kind')),
      dueActors: (until, latest, most) => ['SELECT $1 AS until, $2 AS latest, $3 AS most', until, latest, most],
      bringActorForward: async (_tx, actorId, latest, now) => {
        this.done.push(`forward ${actorId} ${latest - now}`)
      },
      claimOf: async (actorId) => {
        if (this.down.has(actorId)) throw unavailable()
        this.done.push(`claim ${actorId}`)
        return this.full.delete(actorId)
      },
      hasCapacity: () => this.hasCapacity,
    }
    const searched: Pick<Store, 'isSharded' | 'read' | 'write' | 'readAllServers'> = {
      isSharded: true,
      read: (read) => store.read(read),
      write: (write, how) => store.write(write, how),
      readAllServers: async <R extends object>(_sql: string, until: Param) => {
        if (this.isCutOff) throw unavailable()
        this.done.push(until === this.now ? 'search' : `search ${Number(until) - this.now}`)
        this.now += this.searchMs
        return this.found as R[]
      },
    }
    const log = createLog('warn', { write: (line) => void this.log.push(line) })
    this.search = new DueSearch({ store: searched, now: () => this.now, log }, work)
  }

  /** Looks once. Returns the delay until the next look, and what the look has done. */
  async look(): Promise<readonly [wait: number, ...done: string[]]> {
    this.done.length = 0
    const wait = await this.search.look()
    return [wait, ...this.done]
  }
}

function unavailable(): ServiceError {
  return new ServiceError('store_unavailable', undefined, { reason: 'A server is down', retryAfterSeconds: 1 })
}

describe('a search for due work on a sharded database', () => {
  forEachStore((_, open) => {
    it('runs in one process in each interval', async () => {
      const store = asSharded(await open())
      const processes = [new Process(store), new Process(store), new Process(store)]
      const searches: number[] = []
      for (let second = 0; second < 5; second += 1) {
        const looks = await Promise.all(processes.map((one) => one.look()))
        searches.push(looks.filter(([, ...done]) => done.includes('search')).length)
        for (const one of processes) one.now += 1000
      }
      assert.deepEqual(searches, [1, 1, 1, 1, 1])
    })

    it('moves to another process after its process has crashed', async () => {
      const store = asSharded(await open())
      const [crashed, other] = [new Process(store), new Process(store)]
      assert.deepEqual(await crashed.look(), [1000, 'search'])
      assert.deepEqual(await other.look(), [1000])
      other.now += 1000
      assert.deepEqual(await other.look(), [1000, 'search'])
    })

    it('continues after the clock was set back', async () => {
      const store = asSharded(await open())
      const [before, after] = [new Process(store), new Process(store)]
      assert.deepEqual(await before.look(), [1000, 'search'])
      after.now -= 86_400_000
      assert.deepEqual(await after.look(), [1000, 'search'])
    })

    it('claims the work of the actors that it found, one after the other', async () => {
      const process = new Process(asSharded(await open()))
      process.found = [
        { actorId: 'a', last: process.now },
        { actorId: 'b', last: process.now - 5 },
      ]
      assert.deepEqual(await process.look(), [1000, 'search', 'claim a', 'claim b'])
    })

    it('makes work due now that is due impossibly late', async () => {
      const process = new Process(asSharded(await open()))
      process.found = [{ actorId: 'a', last: process.now + 60_001 }]
      assert.deepEqual(await process.look(), [1000, 'search', 'forward a 60000', 'claim a'])
    })

    it('leaves work alone that was stored during the search (DUR-29)', async () => {
      const process = new Process(asSharded(await open()))
      process.searchMs = 5
      // A statement of the search finds it, because its due time is later than the latest one at the beginning.
      process.found = [{ actorId: 'a', next: process.now + 60_005, last: process.now + 60_005 }]
      assert.deepEqual((await process.look()).slice(1), ['search'])
    })

    it('claims the work of other actors while the server of one actor is down, and logs it', async () => {
      const process = new Process(asSharded(await open()))
      process.down.add('a')
      process.found = ['a', 'b', 'c'].map((actorId) => ({ actorId, last: process.now }))
      assert.deepEqual(await process.look(), [1000, 'search', 'claim b', 'claim c'])
      assert.equal(process.log.length, 1)
      assert.match(process.log[0] ?? '', /Cannot claim the things of an actor; the search tries again/)
    })

    it('uses another row for its turns while the server of the first one is down', async () => {
      const store = asSharded(await open())
      const isDown = { first: true }
      const broken: Store = {
        ...store,
        write: (work, how) =>
          store.write(
            (tx) =>
              work({
                ...tx,
                run: (sql, ...params) => {
                  if (isDown.first && params[0] === 'things 0') throw unavailable()
                  return tx.run(sql, ...params)
                },
              }),
            how,
          ),
      }
      const [one, other] = [new Process(broken), new Process(broken)]
      assert.deepEqual(await one.look(), [1000, 'search'])
      assert.deepEqual(await other.look(), [1000])
      const rows = await store.read((q) => q.all('SELECT key FROM rate_limit'))
      assert.deepEqual(rows, [{ key: 'things 1' }])
      isDown.first = false
      one.now += 30_000
      assert.deepEqual(await one.look(), [1000, 'search'])
      const keys = await store.read((q) => q.all('SELECT key FROM rate_limit ORDER BY key'))
      assert.deepEqual(keys, [{ key: 'things 0' }, { key: 'things 1' }])
    })

    it('runs without a turn while all rows for turns are on servers that are down', async () => {
      const store = asSharded(await open())
      const broken: Store = { ...store, write: () => Promise.reject(unavailable()) }
      assert.deepEqual(await new Process(broken).look(), [1000, 'search'])
    })

    it('is left to other processes by a process that has no room', async () => {
      const store = asSharded(await open())
      const [full, other] = [new Process(store), new Process(store)]
      full.hasCapacity = false
      assert.deepEqual(await full.look(), [1000])
      assert.deepEqual(await other.look(), [1000, 'search'])
    })

    it('is not needed for the actors that the process has changed', async () => {
      const store = asSharded(await open())
      await new Process(store).look()
      const process = new Process(store)
      process.search.note('a')
      process.search.note('b', process.now + 300)
      process.search.note('c', process.now + 1001)
      assert.deepEqual(await process.look(), [300, 'claim a'])
      process.now += 300
      assert.deepEqual(await process.look(), [700, 'claim b'])
    })

    it('is not needed for work of one actor that is due now and work that is due soon', async () => {
      const process = new Process(asSharded(await open()))
      await process.look()
      process.search.note('a', process.now + 300)
      process.search.note('a')
      process.search.note('a', process.now + 700)
      assert.deepEqual(await process.look(), [300, 'claim a'])
      process.now += 300
      assert.deepEqual(await process.look(), [400, 'claim a'])
      process.now += 400
      assert.deepEqual(await process.look(), [300, 'claim a'])
    })

    it('that runs seldom, finds work of a killed process when its service starts again', async () => {
      const store = asSharded(await open())
      assert.deepEqual(await new Process(store, 300_000).look(), [300_000, 'search 300000'])
      const restarted = new Process(store, 300_000)
      restarted.now += 1000
      restarted.found = [
        { actorId: 'a', next: restarted.now + 4000, last: restarted.now + 4000 },
        { actorId: 'b', next: restarted.now, last: restarted.now },
      ]
      assert.deepEqual(await restarted.look(), [4000, 'search 300000', 'claim b'])
      restarted.now += 4000
      assert.deepEqual(await restarted.look(), [296_000, 'claim a'])
      assert.deepEqual(await restarted.look(), [296_000])
    })

    it('that runs seldom, runs in one process in each interval after its start', async () => {
      const store = asSharded(await open())
      const processes = [new Process(store, 300_000), new Process(store, 300_000)]
      const searches: number[] = []
      for (let interval = 0; interval < 4; interval += 1) {
        const looks = await Promise.all(processes.map((one) => one.look()))
        searches.push(looks.filter(([, ...done]) => done.includes('search 300000')).length)
        for (const one of processes) one.now += 300_000
      }
      assert.deepEqual(searches, [2, 1, 1, 1])
    })

    it('that runs seldom, is repeated soon when it fails, whichever process has the turn', async () => {
      const process = new Process(asSharded(await open()), 300_000)
      for (let interval = 0; interval < 2; interval += 1) {
        process.isCutOff = true
        await assert.rejects(process.look())
        process.isCutOff = false
        process.now += 1000
        assert.deepEqual(await process.look(), [4000])
        process.now += 4000
        assert.deepEqual(await process.look(), [300_000, 'search 300000'])
        process.now += 300_000
      }
    })

    it('that runs seldom, is not needed for an actor whose claim failed', async () => {
      const process = new Process(asSharded(await open()), 300_000)
      process.down.add('a')
      process.found = [{ actorId: 'a', last: process.now }]
      assert.deepEqual(await process.look(), [5000, 'search 300000'])
      process.now += 5000
      assert.deepEqual(await process.look(), [5000])
      process.down.clear()
      process.now += 5000
      assert.deepEqual(await process.look(), [290_000, 'claim a'])
    })

    it('claims the rest of the work of an actor with the next look', async () => {
      const process = new Process(asSharded(await open()))
      process.full.add('a')
      process.search.note('a')
      assert.deepEqual(await process.look(), [1000, 'claim a', 'search'])
      assert.deepEqual(await process.look(), [1000, 'claim a'])
      assert.deepEqual(await process.look(), [1000])
    })
  })
})

describe('a change on a sharded database', () => {
  forEachService((start) => {
    it('sends its callbacks with statements that name the actor, without a search', async () => {
      const calls: string[] = []
      const service = await start({
        timers: stoppedTimers,
        // A second after the last search, a change begins the next one.
        now: () => 1_900_000_000_000,
        wrapStore: asSharded,
        peerClient: {
          call: async ({ url }) => {
            calls.push(new URL(url).pathname)
            return { kind: 'answered', status: 204, headers: {}, body: '' }
          },
          close: async () => {},
        },
      })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor, { baseuri: 'http://peer.test/them' })
      const subscription = await peer.subscribe({ granularity: 'high' })
      await service.settled()
      service.reset()
      await actor.request('PUT', '/properties/mood', 'calm')
      await until(() => calls.length === 1)
      await service.settled()
      assert.deepEqual(calls, [`/them/callbacks/subscriptions/${actor.id}/${subscription}`])
      assert.ok(service.backgroundStatements.length > 0)
      const searches = service.backgroundStatements.filter((sql) =>
        /AS "actorId", MAX|MIN\(due_at\)|rate_limit/.test(sql),
      )
      assert.deepEqual(searches, [])
    })

    it('is delivered by another process after its own process has crashed', async () => {
      let isDead = true
      const calls: string[] = []
      const peerClient = {
        call: async ({ url }: { readonly url: string }) => {
          calls.push(url)
          return { kind: 'answered', status: 204, headers: {}, body: '' } as const
        },
        close: async () => {},
      }
      const failing = (store: Store): Store => {
        const sharded = asSharded(store)
        return {
          ...sharded,
          // The process commits the change and claims nothing.
          write: (work, how) => (isDead ? Promise.reject(unavailable()) : sharded.write(work, how)),
        }
      }
      const first = await start({ timers: stoppedTimers, wrapStore: asSharded, peerClient })
      const actor = await first.createActor()
      const peer = await relateTo(first, actor, { baseuri: 'http://peer.test/them' })
      await peer.subscribe({ granularity: 'high' })
      const dying = await start({ database: first.databaseUrl, timers: stoppedTimers, wrapStore: failing, peerClient })
      const there = (body: unknown): Promise<Response> =>
        dying.request(`/${actor.id}/properties/mood`, {
          method: 'PUT',
          headers: { authorization: actor.authorization, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      assert.equal((await there('calm')).status, 204)
      await dying.settled()
      assert.deepEqual(calls, [])
      const next = await start({
        database: first.databaseUrl,
        now: () => Date.now() + 60_000,
        timers: stoppedTimers,
        wrapStore: asSharded,
        peerClient,
      })
      await until(() => calls.length === 1)
      isDead = false
      assert.notEqual(next, dying)
    })
  })
})

describe('an idle cluster', () => {
  forEachService((start) => {
    it('runs at most two statements a second that name no server, over all processes', async () => {
      const clock = new ManualClock()
      const how = { timers: clock.timers, now: clock.now, wrapStore: asSharded }
      const first = await start(how)
      const others = [1, 2, 3].map(() => start({ ...how, database: first.databaseUrl }))
      const services = [first, ...(await Promise.all(others))]
      const pass = async (): Promise<void> => {
        clock.pass(250)
        await turn()
        for (const service of services) await service.settled()
      }
      for (let quarter = 0; quarter < 8; quarter += 1) await pass()
      for (const service of services) service.reset()
      for (let second = 0; second < 120; second += 1) {
        for (let quarter = 0; quarter < 4; quarter += 1) await pass()
        if (second % 10 > 0) continue
        for (const service of services) assert.equal((await service.request('/health/ready')).status, 200)
      }
      const all = services.flatMap(({ statements, backgroundStatements }) => [...statements, ...backgroundStatements])
      const unplaced = all.filter((sql) => unplacedTables(sql).length > 0)
      const kinds = Map.groupBy(unplaced, (sql) => sql.slice(0, 60))
      assert.ok(
        unplaced.length <= 240,
        `${unplaced.length}: ${[...kinds].map(([sql, { length }]) => `${length} ${sql}`).join('; ')}`,
      )
      assert.ok(unplaced.length >= 120, `${unplaced.length}: the search did not run`)
    })
  })
})
