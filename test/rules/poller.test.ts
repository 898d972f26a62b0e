import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DuePoller } from '../../src/due/due-poller.ts'
import { createLog } from '../../src/observe/log.ts'
import { claimDue, Poller } from '../../src/due/poller.ts'
import type { Timers } from '../../src/timers.ts'

/** Looks that end when the test ends them, and the timer that waits. */
class Bench implements Timers {
  readonly poller = new Poller(this, () => this.#look())
  looks = 0
  timer: { readonly ms: number; readonly fire: () => void } | null = null
  #end: (wait: number | null) => void = () => {}

  setTimer(ms: number, then: () => void): () => void {
    const timer = { ms, fire: then }
    this.timer = timer
    return () => {
      if (this.timer === timer) this.timer = null
    }
  }

  #look(): Promise<number | null> {
    this.looks += 1
    return new Promise((resolve) => (this.#end = resolve))
  }

  /** Ends the running look. */
  async end(wait: number | null): Promise<void> {
    const { looking } = this.poller
    this.#end(wait)
    await looking
  }
}

describe('a poller', () => {
  it('looks when it is woken, and again after the delay that the look returns', async () => {
    const bench = new Bench()
    bench.poller.wake()
    assert.equal(bench.looks, 1)
    await bench.end(250)
    assert.equal(bench.timer?.ms, 250)
    bench.timer?.fire()
    assert.equal(bench.looks, 2)
    await bench.end(0)
    assert.equal(bench.timer?.ms, 1)
  })

  it('runs one look at a time, and one more for all wake-ups during a look', async () => {
    const bench = new Bench()
    for (let times = 0; times < 3; times += 1) bench.poller.wake()
    assert.equal(bench.looks, 1)
    await bench.end(250)
    assert.deepEqual([bench.looks, bench.timer], [2, null])
    await bench.end(250)
    assert.deepEqual([bench.looks, bench.timer?.ms], [2, 250])
  })

  it('sets no timer after a look that returns null, until it is woken or scheduled', async () => {
    const bench = new Bench()
    bench.poller.wake()
    await bench.end(null)
    assert.deepEqual([bench.timer], [null])
    bench.poller.schedule(70)
    assert.equal(bench.timer?.ms, 70)
  })

  it('starts no look after it was stopped, and waits for the running look', async () => {
    const bench = new Bench()
    bench.poller.wake()
    let hasStopped = false
    const stopped = bench.poller.stop().then(() => (hasStopped = true))
    bench.poller.wake()
    await Promise.resolve()
    assert.equal(hasStopped, false)
    await bench.end(250)
    await stopped
    bench.poller.wake()
    bench.poller.schedule(70)
    assert.deepEqual([bench.looks, bench.timer, bench.poller.isStopping], [1, null, true])
  })
})

describe('due work', () => {
  const cases: readonly (readonly [what: string, due: { next: number; last: number } | null, expected: unknown])[] = [
    ['that does not exist is searched for again after the interval', null, [1000, []]],
    ['that is due later is claimed at its time', { next: 5300, last: 5300 }, [300, []]],
    ['that is due after the interval is searched for again after the interval', { next: 9000, last: 9000 }, [1000, []]],
    ['that is due now is claimed', { next: 5000, last: 9000 }, [1000, ['claim']]],
    [
      'that is due impossibly late becomes due now',
      { next: 90_000, last: 90_000 },
      [1000, ['forward 65000 5000', 'claim']],
    ],
  ]
  for (const [what, due, expected] of cases) {
    it(what, async () => {
      const done: string[] = []
      const store = {
        read: (work: (q: never) => Promise<unknown>) => work(undefined as never),
        write: (work: (tx: never) => Promise<unknown>) => work(undefined as never),
      } as unknown as Parameters<typeof claimDue>[0]['store']
      const wait = await claimDue(
        { store, now: () => 5000 },
        {
          find: () => Promise.resolve(due),
          longestMs: 60_000,
          bringForward: async (_tx, latest, now) => void done.push(`forward ${latest} ${now}`),
          claim: async () => void done.push('claim'),
          pollMs: 1000,
        },
      )
      assert.deepEqual([wait, done], expected)
    })
  }
})

describe('a poller of due work', () => {
  const cases: readonly (readonly [what: string, pollMs: number | undefined, first: number])[] = [
    ['after five seconds', undefined, 5000],
    ['after five seconds also when it polls rarely', 300_000, 5000],
    ['after its interval when that is shorter', 1000, 1000],
  ]
  for (const [what, pollMs, first] of cases) {
    it(`logs a failed look as a warning, and looks again ${what}`, async () => {
      const lines: string[] = []
      const timers: number[] = []
      let looks = 0
      const store = {
        isSharded: false,
        read: () => {
          looks += 1
          return looks === 1 ? Promise.reject(new Error('down')) : Promise.resolve({ next: 5400, last: 5400 })
        },
      } as unknown as ConstructorParameters<typeof DuePoller>[0]['store']
      const poller = new DuePoller(
        {
          store,
          now: () => 5000,
          log: createLog('warn', { write: (line: string) => void lines.push(line) }),
          timers: {
            setTimer: (ms) => {
              timers.push(ms)
              return () => {}
            },
          },
        },
        {
          name: 'work',
          ...(pollMs === undefined ? {} : { pollMs }),
          longestMs: 60_000,
          find: () => Promise.resolve(null),
          bringForward: () => Promise.resolve(),
          claim: () => Promise.resolve(),
          dueActors: () => ['SELECT 1'],
          bringActorForward: () => Promise.resolve(),
          claimOf: () => Promise.resolve(false),
          hasCapacity: () => true,
        },
        'Cannot look for work; the next poll tries again',
      )
      for (const expected of [[first], [first, 400]]) {
        poller.wake()
        await poller.settled()
        assert.deepEqual(timers, expected)
      }
      assert.deepEqual(
        lines.map((line) => {
          const { level, msg } = JSON.parse(line) as { level: unknown; msg: unknown }
          return [level, msg]
        }),
        [['warn', 'Cannot look for work; the next poll tries again']],
      )
    })
  }
})
