/** Moves whose new service is killed before a commit. */
import { describe, it } from 'node:test'
import { killAtEachWrite } from '../support/interrupted-moves.ts'
import { forEachService } from '../support/service.ts'

forEachService((start) => {
  describe('a move whose service is killed', () => {
    it('at each write of the home service, before its commit, leaves the actor at one service (R-MOVE-06)', () =>
      killAtEachWrite(start, 'home', true))
  })
})
