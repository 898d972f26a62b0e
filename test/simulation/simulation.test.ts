import './deterministic.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { turnsOfRun } from '../support/day.ts'
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
})
