import { seedProcess } from './deterministic.ts'
import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { hkdfSync, randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { turnsOfRun } from '../support/day.ts'
import { watchOutside } from './outside.ts'
import { Simulator } from './simulation.ts'

const simulator = new Simulator()
after(() => simulator.close())

// `npm run simulate -- --seeds 10000` runs more.
describe('services in virtual time, with a faulty network and dying processes', () => {
  /** Small enough that a failing test locates the seed, large enough for speed. */
  const perTest = 8
  /** Each day runs another third of the seeds: `TROUPE_TEST_DAY=2031-01-31 npm test -- simulation` repeats those of that day. */
  const perDay = 3 * perTest
  const firsts = turnsOfRun().flatMap((turn) => [0, 1, 2].map((part) => 1 + perDay * turn + perTest * part))
  const totals = { callbacks: 0, numbers: 0, starts: 0, moved: 0, attacks: 0, turned: 0, pythonCopies: 0 }

  for (const from of firsts) {
    const last = from + perTest - 1
    it(`satisfy the invariants for seeds ${from} to ${last} (SUB-01, SUB-02, SUB-11, SUB-15, R-MOVE-04, R-MOVE-06, MOV-16, I3, I4, I7, I8)`, async () => {
      for (let seed = from; seed <= last; seed++) {
        const { violations, statistics } = await simulator.run(seed)
        assert.deepEqual(violations, [], `npm run simulate -- --seed ${seed}`)
        for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += statistics[name]
      }
    })
  }

  it('send diffs and callbacks, restart, and move relationships, in these runs', () => {
    assert.ok(totals.numbers > 400, `${totals.numbers} numbers`)
    assert.ok(totals.callbacks > 300, `${totals.callbacks} callbacks`)
    assert.ok(totals.starts > 80, `${totals.starts} starts`)
    assert.ok(totals.moved > 3, `${totals.moved} relationships of actors that moved`)
    assert.ok(totals.attacks > 300, `${totals.attacks} attacks`)
    assert.ok(totals.turned > 1, `${totals.turned} old homes turned evil`)
    assert.ok(totals.pythonCopies > 8, `${totals.pythonCopies} copies of the Python actor compared`)
  })

  it('behave identically with the same seed, to the last line of the trace', async () => {
    // Callbacks of seed 25 are compressed. Actors of seed 10 move, and the Python actor takes part.
    const first = [await simulator.run(25), await simulator.run(10)]
    const second = [await simulator.run(10), await simulator.run(25)].toReversed()
    assert.deepEqual(
      second.map(({ hash }) => hash),
      first.map(({ hash }) => hash),
    )
    assert.notEqual(first[0]?.hash, first[1]?.hash)
  })
})

describe('a run', () => {
  const readings = (seed: number): unknown[] => {
    seedProcess({ seed, now: () => Date.UTC(2031, 0, 1) })
    try {
      // Real time: the simulation replaces this clock, which is the subject.
      const times = [Date.now(), new Date().toISOString(), performance.now(), performance.now()]
      const ids = [randomUUID(), crypto.randomUUID(), randomBytes(8), crypto.getRandomValues(new Uint8Array(8))]
      return [...times, ...ids, Math.random(), randomInt(1_000_000), randomInt(5, 1_000_000)]
    } finally {
      seedProcess(null)
    }
  }

  it('reads its own clock, and random values of its seed', () => {
    const first = readings(1)
    assert.deepEqual(readings(1), first)
    assert.deepEqual(first.slice(0, 2), [Date.UTC(2031, 0, 1), '2031-01-01T00:00:00.000Z'])
    const other = readings(2)
    for (const [index, value] of first.entries()) if (index > 3) assert.notDeepEqual(other[index], value)
    assert.ok(Date.now() < Date.UTC(2031, 0, 1))
  })

  const found = async (work: () => Promise<unknown>): Promise<string[]> => {
    const reports: string[] = []
    await watchOutside((text) => reports.push(text), work)
    return reports
  }

  const outside: readonly [what: string, work: () => Promise<unknown>, type: RegExp][] = [
    ['a thread that compresses', () => buffer(Readable.from(['text']).pipe(createGzip())), /\(ZLIB\)/],
    ['a thread of the Web Crypto API', () => crypto.subtle.digest('SHA-256', new Uint8Array(8)), /\(HASH\w+\)/],
    ['a file', () => readFile(import.meta.filename), /\(FS\w+\)/],
    // Real time: the timer is the subject.
    ['a timer', () => new Promise((resolve) => setTimeout(resolve, 1)), /\(Timeout\)/],
  ]
  for (const [what, work, type] of outside) {
    it(`reports that it waited for ${what}`, async () => {
      const [report = ''] = await found(work)
      assert.match(report, type)
      assert.match(report, /simulation\.test\./)
    })
  }

  it('may wait for everything that continues in the order of the program', async () => {
    const work = async (): Promise<void> => {
      await Promise.resolve()
      await setImmediate()
      await new Promise<void>((resolve) => process.nextTick(resolve))
      hkdfSync('sha256', 'key', 'salt', 'info', 32)
      new AsyncResource('own').runInAsyncScope(() => {})
      queueMicrotask(() => {})
      await setImmediate()
    }
    assert.deepEqual(await found(work), [])
  })
})
