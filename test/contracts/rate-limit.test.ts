import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { take } from '../../src/rate-limit/gcra.ts'
import { FailedAttempts } from '../../src/rate-limit/failed-attempts.ts'
import { type Demand, Limiter } from '../../src/rate-limit/limiter.ts'
import { purgeBuckets, takeStored } from '../../src/rate-limit/limit-store.ts'
import { ratesOf } from '../../src/rate-limit/rates.ts'
import { createLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import type { Store } from '../../src/store/store.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { counting, faulty, forEachStore } from '../support/stores.ts'
import { sourceArguments } from '../support/joined-files.ts'

const ten = { count: 10, seconds: 3600 }

function limiterOn(store: Store, { now = store.now, lines = [] as string[] } = {}): Limiter {
  const rates = ratesOf({
    mode: 'production',
    rateLimits: { 'sign_in/source': ten, 'sign_in/total': { count: 15, seconds: 3600 } },
  })
  const log = createLog('warn', { write: (line: string) => void lines.push(line) })
  return new Limiter({ store, rates, now, log, metrics: createMetrics('test') })
}

const fromOne: Demand = { limit: 'sign_in/source', of: '192.0.2.7' }
const fromOther: Demand = { limit: 'sign_in/source', of: '192.0.2.8' }
const total: Demand = { limit: 'sign_in/total', of: '' }

async function passed(limiter: Limiter, demands: readonly Demand[], count: number): Promise<number> {
  const asked = Array.from({ length: count }, () => limiter.charge(demands))
  return (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled').length
}

forEachStore((_dialect, open, database) => {
  describe('the stored buckets', () => {
    it('decide like the algorithm in memory, for any rate and any passage of time', async () => {
      const store = await open()
      const steps = fc.array(fc.integer({ min: -100_000, max: 100_000 }), { minLength: 1, maxLength: 30 })
      const rate = fc.record({ count: fc.integer({ min: 1, max: 8 }), seconds: fc.integer({ min: 1, max: 300 }) })
      let bucket = 0
      await fc.assert(
        fc.asyncProperty(rate, steps, async (of, passes) => {
          const key = `bucket ${bucket++}`
          let now = 1_900_000_000_000
          let emptyAt = 0
          for (const ms of passes) {
            now += ms
            const expected = take(emptyAt, now, of)
            emptyAt = expected.emptyAt
            assert.deepEqual(await store.write((tx) => takeStored(tx, key, now, of)), expected)
          }
        }),
        { numRuns: 25 },
      )
    })

    it('allow exactly the limit out of a hundred parallel requests (RATE-05)', async () => {
      const limiter = limiterOn(await open())
      assert.equal(await passed(limiter, [fromOne], 100), 10)
      assert.equal(await passed(limiter, [fromOther], 100), 10)
    })

    it('allow exactly the limit to two processes together, with a hundred parallel requests each (RATE-05)', async () => {
      const { url } = await database()
      await (await open({ url })).close()
      const program = join(import.meta.dirname, '../support/limited-process.ts')
      const children = [0, 1].map(() => spawn(process.execPath, [...sourceArguments(), program, url]))
      try {
        await Promise.all(children.map((child) => prints(child, /ready\n/)))
        for (const child of children) child.stdin.write('go\n')
        const counts = await Promise.all(children.map((child) => prints(child, /passed (\d+)\n/)))
        assert.equal(
          counts.map(Number).reduce((sum, count) => sum + count, 0),
          10,
        )
      } finally {
        for (const child of children) child.kill('SIGKILL')
      }
    })

    it('charge nothing to the shared limit for a sender that exhausted its own limit (RATE-04)', async () => {
      const limiter = limiterOn(await open())
      assert.equal(await passed(limiter, [fromOne, total], 100), 10)
      assert.equal(await passed(limiter, [fromOther, total], 100), 5)
    })

    it('report when to retry, and allow the request then', async () => {
      const clock = new ManualClock()
      const limiter = limiterOn(await open(), { now: clock.now })
      assert.deepEqual(await limiter.charge([fromOne]), {
        'RateLimit-Policy': '"sign_in";q=10;w=3600',
        RateLimit: '"sign_in";r=9;t=360',
      })
      await passed(limiter, [fromOne], 9)
      await assert.rejects(limiter.charge([fromOne]), {
        code: 'too_many_requests',
        detail: {
          reason: 'the limit sign_in/source is exhausted',
          retryAfterSeconds: 360,
          headers: { 'RateLimit-Policy': '"sign_in";q=10;w=3600', RateLimit: '"sign_in";r=0;t=3600' },
        },
      })
      clock.pass(359_900)
      await assert.rejects(limiter.charge([fromOne]), { code: 'too_many_requests' })
      clock.pass(100)
      await limiter.charge([fromOne])
    })

    it('need one statement for an allowed request, and none for a request that is known to be refused', async () => {
      const counted = counting()
      const limiter = limiterOn(await open({ onQuery: counted.onQuery }))
      counted.reset()
      await limiter.charge([fromOne])
      assert.equal(counted.statements.length, 1)
      await passed(limiter, [fromOne], 10)
      counted.reset()
      assert.equal(await passed(limiter, [fromOne], 100), 0)
      assert.equal(counted.statements.length, 0)
    })

    it('keep their state across a restart (RATE-01)', async () => {
      const { url } = await database()
      const first = await open({ url })
      assert.equal(await passed(limiterOn(first), [fromOne], 20), 10)
      await first.close()
      assert.equal(await passed(limiterOn(await open({ url })), [fromOne], 20), 0)
    })

    it('contain no address in clear', async () => {
      const store = await open()
      await limiterOn(store).charge([fromOne])
      const rows = await store.read((q) => q.all<{ key: string }>('SELECT key FROM rate_limit'))
      assert.equal(rows.length, 1)
      assert.match(rows[0]?.key ?? '', /^[\w-]{43}$/)
    })

    it('are deleted once they are empty, up to a given number at a time', async () => {
      const store = await open()
      const rate = { count: 1, seconds: 1 }
      for (const name of ['a', 'b', 'c']) await store.write((tx) => takeStored(tx, name, 1000, rate))
      await store.write((tx) => takeStored(tx, 'd', 9000, rate))
      assert.equal(await store.write((tx) => purgeBuckets(tx, 5000, 2)), 2)
      assert.equal(await store.write((tx) => purgeBuckets(tx, 5000, 2)), 1)
      assert.equal(await store.write((tx) => purgeBuckets(tx, 5000, 2)), 0)
    })

    it('are purged by an ordinary request, once in ten minutes', async () => {
      const clock = new ManualClock()
      const store = await open()
      const limiter = limiterOn(store, { now: clock.now })
      await limiter.charge([fromOther])
      clock.pass(3_600_000)
      await limiter.charge([fromOne])
      await limiter.settled()
      const rows = await store.read((q) => q.all('SELECT key FROM rate_limit'))
      assert.equal(rows.length, 1)
    })
  })

  describe('guesses', () => {
    it('in a hundred parallel requests are judged only up to the limit, so that a later right one is refused (RATE-05)', async () => {
      const store = await open()
      const rates = ratesOf({ mode: 'production', rateLimits: {} })
      const failedAttempts = new FailedAttempts({
        store,
        rates,
        now: store.now,
        log: createLog('error'),
        metrics: createMetrics('test'),
      })
      let judged = 0
      const guess = async (index: number): Promise<boolean> =>
        failedAttempts.judge(
          'passphrase',
          { id: 'a', guardedUntil: 0 },
          () => '192.0.2.66',
          () => {
            judged += 1
            return index === 10
          },
        )
      const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => guess(index)))
      assert.equal(judged, 10)
      assert.deepEqual(
        outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'refused')),
        [...Array.from({ length: 10 }, () => false), ...Array.from({ length: 90 }, () => 'refused')],
      )
    })
  })

  describe('a store that fails', () => {
    it('does not lift the limits: the process counts alone, and logs this once (RATE-05, SEC-09)', async () => {
      const lines: string[] = []
      const store = faulty(await open())
      const limiter = limiterOn(store, { lines })
      store.plan({ matching: /rate_limit/, times: Number.POSITIVE_INFINITY })
      assert.equal(await passed(limiter, [fromOne], 100), 10)
      assert.equal(await passed(limiter, [fromOther, total], 100), 10)
      assert.equal(lines.length, 1)
      assert.match(lines[0] ?? '', /This process counts alone/)
      store.plan()
      assert.equal(await passed(limiter, [fromOne], 100), 10)
    })
  })
})

function prints(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      seen += chunk.toString()
      const found = pattern.exec(seen)
      if (found !== null) resolve(found[1] ?? '')
    })
    child.once('exit', () => reject(new Error(`The process ended without printing ${pattern}: ${seen}`)))
  })
}
