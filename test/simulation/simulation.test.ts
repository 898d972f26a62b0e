import { after, describe, it } from 'node:test'
import { SeedsOfDay } from './seeds-of-day.ts'

describe('services in virtual time, with a faulty network and dying processes', () => {
  const seeds = new SeedsOfDay('first')
  after(() => seeds.close())

  for (const [from, last] of seeds.parts)
    it(`satisfy the invariants for seeds ${from} to ${last} (SUB-01, SUB-02, SUB-11, SUB-15, R-MOVE-04, R-MOVE-06, MOV-16, I3, I4, I7, I8)`, () =>
      seeds.run(from, last))

  it('send diffs and callbacks, restart, and move relationships, in these runs', () => seeds.assertActive())
})
