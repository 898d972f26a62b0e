/** Moves whose requests or answers are lost, or whose requests arrive twice. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { numbersOfRun } from '../support/day.ts'
import { assertOneHome, closeAll, related } from '../support/interrupted-moves.ts'
import { movingWorld, newUrl } from '../support/moving.ts'
import { forEachService } from '../support/service.ts'
import type { CallFate } from '../support/service-network.ts'

forEachService((start) => {
  describe('a move whose calls are lost or repeated', () => {
    for (const fate of ['lost', 'unreached', 'repeated'] as const) {
      it(`one after the other (${fate}), ends at the new service, or does not begin (MOV-20, R-MOVE-04, R-MOVE-06)`, async () => {
        let moves = 0
        for (const place of numbersOfRun()) {
          const world = await movingWorld(start, { all: { random: () => 0 } })
          const all = await related(world)
          let calls = 0
          let isLost = false
          world.network.fate = (): CallFate => {
            calls += 1
            if (calls !== place) return 'arrives'
            isLost = true
            return fate
          }
          const begun = await all.alice.request('POST', '/move', { to: newUrl })
          const isMoved = begun.status === 202
          await assertOneHome(world, all, isMoved)
          if (!isMoved) assert.equal((await all.alice.request('GET', '/move')).status, 200)
          if (isMoved) moves += 1
          await closeAll(world)
          if (!isLost) break
          assert.ok(place < 60)
        }
        assert.ok(moves >= 3)
      })
    }
  })
})
