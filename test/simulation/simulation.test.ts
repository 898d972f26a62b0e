import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Simulator } from './simulation.ts'

const simulator = new Simulator()
after(() => simulator.close())

describe('services in virtual time, over a network that loses, repeats and delays, in processes that die anywhere', () => {
  /** Few enough for one test to tell where it is, many enough to be quick. */
  const perTest = 20
  const totals = { callbacks: 0, numbers: 0, starts: 0 }

  for (let from = 1; from <= 200; from += perTest) {
    const last = from + perTest - 1
    it(`SUB-01 SUB-02 SUB-11 SUB-15 I3 I4 I7 I8 hold of seeds ${from} to ${last}`, async () => {
      for (let seed = from; seed <= last; seed++) {
        const { violations, statistics } = await simulator.run(seed)
        assert.deepEqual(violations, [], `npm run simulate -- --seed ${seed}`)
        totals.callbacks += statistics.callbacks
        totals.numbers += statistics.numbers
        totals.starts += statistics.starts
      }
    })
  }

  it('are at work in these runs, and die in them', () => {
    assert.ok(totals.numbers > 2000, `${totals.numbers} numbers`)
    assert.ok(totals.callbacks > 1000, `${totals.callbacks} callbacks`)
    assert.ok(totals.starts > 600, `${totals.starts} starts`)
  })

  it('do the same again with the same seed, to the last line', async () => {
    const [first, second, other] = [await simulator.run(7), await simulator.run(7), await simulator.run(8)]
    assert.equal(second.hash, first.hash)
    assert.notEqual(other.hash, first.hash)
  })
})
