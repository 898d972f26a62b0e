/** Moves whose services crash, and whose answers are lost. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertOneHome, closeAll, DyingStore, later, related, statusAt } from '../support/interrupted-moves.ts'
import { movingWorld, newUrl, secretAt, takeAt } from '../support/moving.ts'
import { forEachService } from '../support/service.ts'
import type { CallFate } from '../support/service-network.ts'
import { until } from '../support/until.ts'

forEachService((start) => {
  describe('a move whose service is killed', () => {
    for (const side of ['old', 'home'] as const)
      for (const isBefore of [true, false]) {
        it(`at each write of the ${side} service, ${isBefore ? 'before' : 'after'} its commit, leaves the actor at one service (R-MOVE-06)`, async () => {
          let moves = 0
          for (let write = 1; ; write += 1) {
            const store = new DyingStore()
            // Without pauses, the other service would give up before this one is started again.
            const world = await movingWorld(start, { all: { random: () => 0.1 }, [side]: { wrapStore: store.wrap } })
            const all = await related(world)
            // A message to the peer waits, and the archive takes it along.
            world.network.fate = ({ url: to }) => (to.includes('/callbacks/permissions/') ? 'unreached' : 'arrives')
            const rights = { properties: { excluded_patterns: ['secret/*'] } }
            assert.ok((await all.alice.request('PUT', `/trust/friend/${all.bob.id}/permissions`, rights)).ok)
            const { url } = world[side]
            store.onDeath = () => world.network.remove(url)
            store.dieAt(write, isBefore)
            const begun = await all.alice.request('POST', '/move', { to: newUrl })
            const isMoved = async (): Promise<boolean> =>
              (await statusAt(world.home, `/${all.alice.id}/meta`)) === 200 &&
              (await takeAt(world.home, all.alice)) &&
              (await secretAt(world.peers, all.bob.id, all.alice.id)) !== all.secret &&
              (await (await world.old.app.running()).parts.actors.find(all.alice.id)) === null
            if (begun.status === 202) await until(async () => store.isDead || (await isMoved().catch(() => false)))
            if (!store.isDead) break
            await world[side].close()
            const again = await start({
              ...later,
              baseUrl: url,
              peerClient: world.network,
              acceptMoves: true,
              database: world[side].databaseUrl,
            })
            world.network.add(again)
            const after = { ...world, [side]: again }
            for (const service of [after.old, after.home]) (await service.app.running()).parts.jobs.wake()
            const isFrozen = begun.status === 202 || (await statusAt(after.old, `/${all.alice.id}/meta`)) !== 200
            await assertOneHome(after, all, isFrozen)
            if (isFrozen) moves += 1
            await closeAll(after)
          }
          assert.ok(moves >= 2, `only ${moves} moves were interrupted`)
        })
      }
  })

  describe('a move whose answers are lost', () => {
    for (const fate of ['lost', 'unreached'] as const) {
      it(`one after the other (${fate}), ends at the new service, or does not begin (R-MOVE-04, R-MOVE-06)`, async () => {
        let moves = 0
        for (let place = 1; ; place += 1) {
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
