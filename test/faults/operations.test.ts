import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { violationsIn } from '../support/invariants.ts'
import { Load } from '../support/load.ts'
import { seeded } from '../support/random.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { createTestDatabase } from '../support/stores.ts'

describe('two services on one PostgreSQL database', () => {
  it('lose no acknowledged change when one is killed, and the survivor serves all clients (OPS-01, I1, I2, I5, I8)', async (t) => {
    const database = await createTestDatabase('postgres')
    const start = () => startServiceProcess({ database: database.url })
    let victim = await start()
    let survivor = await start()
    t.after(async () => {
      await victim.kill()
      await survivor.kill()
      await database.remove()
    })
    for (let seed = 1; seed <= 3; seed++) {
      const load = new Load(seed)
      await load.prepare(survivor.send)
      const moment = 50 + seeded(seed).below(200)
      const { promise: killed, resolve } = Promise.withResolvers<void>()
      let acknowledgedBefore = 0
      await load.run({
        clients: 6,
        services: [victim.send, survivor.send],
        goesOn: (requests) => requests < moment + 300,
        onRequest: (count) => {
          if (count !== moment) return
          acknowledgedBefore = load.history.acknowledged
          void victim.kill().then(resolve)
        },
      })
      await killed
      await load.readAll(survivor.send)
      assert.deepEqual(load.history.failures(), [], `seed ${seed}`)
      assert.deepEqual(await violationsIn(database.url), [], `seed ${seed}`)
      const after = load.history.acknowledged - acknowledgedBefore
      assert.ok(after > 250, `${after} requests served after the kill, seed ${seed}`)
      // Each of the six clients has at most one request with an unknown outcome.
      assert.ok(load.history.unknown + load.perhaps.length <= 6, `${load.history.unknown} without an answer`)
      victim = survivor
      survivor = await start()
    }
  })
})
