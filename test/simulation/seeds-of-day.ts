/** Runs the seeds that are of this day, in two halves for two files that run beside each other. */
import './deterministic.ts'
import assert from 'node:assert/strict'
import { turnsOfRun } from '../support/day.ts'
import { Simulator } from './simulation.ts'

/** Small enough that a failing test locates the seed, large enough for speed. */
const perTest = 6
const perHalf = 2 * perTest
/** Each day runs another third of the seeds: `TROUPE_TEST_DAY=2031-01-31 npm test -- simulation` repeats those of that day. */
const perDay = 2 * perHalf

// `npm run simulate -- --seeds 10000` runs more.
export class SeedsOfDay {
  /** The first and the last seed of each test. */
  readonly parts: readonly (readonly [from: number, last: number])[]
  readonly #simulator = new Simulator()
  readonly #totals = { callbacks: 0, numbers: 0, starts: 0, moved: 0, attacks: 0, turned: 0, pythonCopies: 0 }

  constructor(half: 'first' | 'second') {
    const begin = half === 'first' ? 1 : 1 + perHalf
    this.parts = turnsOfRun().flatMap((turn) =>
      [0, perTest].map((more) => {
        const from = begin + perDay * turn + more
        return [from, from + perTest - 1] as const
      }),
    )
  }

  async run(from: number, last: number): Promise<void> {
    for (let seed = from; seed <= last; seed++) {
      const { violations, statistics } = await this.#simulator.run(seed)
      assert.deepEqual(violations, [], `npm run simulate -- --seed ${seed}`)
      const totals = this.#totals
      for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += statistics[name]
    }
  }

  /** Fails when the runs had too few changes, callbacks or starts to prove anything. */
  assertActive(): void {
    const totals = this.#totals
    assert.ok(totals.numbers > 200, `${totals.numbers} numbers`)
    assert.ok(totals.callbacks > 150, `${totals.callbacks} callbacks`)
    assert.ok(totals.starts > 40, `${totals.starts} starts`)
    assert.ok(totals.moved > 1, `${totals.moved} relationships of actors that moved`)
    assert.ok(totals.attacks > 150, `${totals.attacks} attacks`)
    assert.ok(totals.turned > 0, `${totals.turned} old homes turned evil`)
    assert.ok(totals.pythonCopies > 4, `${totals.pythonCopies} copies of the Python actor compared`)
  }

  close(): void {
    this.#simulator.close()
  }
}
