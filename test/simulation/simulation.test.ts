import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Simulator } from './simulation.ts'

const simulator = new Simulator()
after(() => simulator.close())

// `npm run simulate -- --seeds 10000` runs more.
describe('services in virtual time, with a faulty network and dying processes', () => {
  /** Small enough that a failing test locates the seed, large enough for speed. */
  const perTest = 20
  const totals = { callbacks: 0, numbers: 0, starts: 0, moved: 0 }

  for (let from = 1; from <= 80; from += perTest) {
    const last = from + perTest - 1
    it(`satisfy the invariants for seeds ${from} to ${last} (SUB-01, SUB-02, SUB-11, SUB-15, R-MOVE-04, R-MOVE-06, I3, I4, I7, I8)`, async () => {
      for (let seed = from; seed <= last; seed++) {
        const { violations, statistics } = await simulator.run(seed)
        assert.deepEqual(violations, [], `npm run simulate -- --seed ${seed}`)
        totals.callbacks += statistics.callbacks
        totals.numbers += statistics.numbers
        totals.starts += statistics.starts
        totals.moved += statistics.moved
      }
    })
  }

  it('send diffs and callbacks, restart, and move relationships, in these runs', () => {
    assert.ok(totals.numbers > 800, `${totals.numbers} numbers`)
    assert.ok(totals.callbacks > 400, `${totals.callbacks} callbacks`)
    assert.ok(totals.starts > 240, `${totals.starts} starts`)
    assert.ok(totals.moved > 10, `${totals.moved} relationships of actors that moved`)
  })

  it('behave identically with the same seed, to the last line of the trace', async () => {
    const [first, second, other] = [await simulator.run(7), await simulator.run(7), await simulator.run(8)]
    assert.equal(second.hash, first.hash)
    assert.notEqual(other.hash, first.hash)
  })
})
