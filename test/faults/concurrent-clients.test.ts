/** Concurrent clients of two services on one database. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { violationsIn } from '../support/invariants.ts'
import { Load } from '../support/load.ts'
import { seeded } from '../support/random.ts'
import { forEachPair } from '../support/service-pair.ts'

describe('clients of two services on one database', () => {
  forEachPair((pair) => {
    for (const seed of [1, 2, 3, 4, 5])
      it(`see values, lists and actors change in one order that respects real time, with eight at once (seed ${seed}) (CON-02, I5, I8)`, async () => {
        const { both, first, second, database } = pair()
        const load = new Load(seed)
        await load.prepare(first)
        await load.run({ clients: 8, services: both, goesOn: (requests) => requests < 600 })
        await load.readAll(second)
        assert.deepEqual(load.history.failures(), [])
        assert.ok(load.history.acknowledged > 500, `${load.history.refused} refused`)
        assert.deepEqual(await violationsIn(database), [])
      })

    it('write keys of one property concurrently without losing any (CON-03)', async () => {
      const { both } = pair()
      const actor = await pair().createActor()
      for (let round = 0; round < 20; round++) {
        const keys = Array.from({ length: 50 }, (_, index) => `k${index}`)
        const replies = await Promise.all(
          keys.map((key, index) =>
            actor.request(both[index % 2] ?? both[0], 'PUT', `/properties/settings${round}/${key}`, String(index)),
          ),
        )
        assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([204]))
        const stored = await actor.request(both[round % 2] ?? both[0], 'GET', `/properties/settings${round}`)
        assert.deepEqual(JSON.parse(stored.text), Object.fromEntries(keys.map((key, index) => [key, index])))
      }
    })

    it('delete and merge keys of one property concurrently: merged keys exist, deleted keys do not (CON-03)', async () => {
      const { both } = pair()
      const actor = await pair().createActor()
      const keys = Array.from({ length: 25 }, (_, index) => `k${index}`)
      for (let round = 0; round < 20; round++) {
        const path = `/properties/doc${round}`
        const old = Object.fromEntries(keys.map((key) => [key, { old: true }]))
        assert.equal((await actor.request(both[0], 'PUT', path, old)).status, 204)
        const replies = await Promise.all(
          keys.flatMap((key, index) => [
            actor.request(both[index % 2] ?? both[0], 'DELETE', `${path}/${key}/old`),
            actor.request(both[(index + 1) % 2] ?? both[0], 'PUT', `${path}/${key}`, { new: round }),
          ]),
        )
        assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([204]))
        const stored = await actor.request(both[round % 2] ?? both[0], 'GET', path)
        assert.deepEqual(JSON.parse(stored.text), Object.fromEntries(keys.map((key) => [key, { new: round }])))
      }
    })

    it('read on one service what the other has just acknowledged (CON-04)', async () => {
      const { both, first, second } = pair()
      const actor = await pair().createActor()
      await actor.request(first, 'POST', '/properties', { log: { _type: 'list' } })
      const random = seeded(4)
      for (let count = 0; count < 100; count++) {
        const [writer, reader] = random.below(2) === 0 ? both : [second, first]
        assert.equal((await actor.request(writer, 'PUT', '/properties/a', `value ${count}`)).status, 204)
        assert.equal((await actor.request(reader, 'GET', '/properties/a')).text, `value ${count}`)
        assert.equal((await actor.request(writer, 'PUT', `/properties/doc/k${count}`, String(count))).status, 204)
        assert.equal((await actor.request(reader, 'GET', `/properties/doc/k${count}`)).text, String(count))
        assert.equal((await actor.request(writer, 'POST', '/properties/log', { count })).status, 201)
        const items = await actor.request(reader, 'GET', '/properties/log/items')
        assert.equal((JSON.parse(items.text) as { count: number }).count, count + 1)
        assert.equal((await actor.request(writer, 'DELETE', `/properties/doc/k${count}`)).status, 204)
        assert.equal((await actor.request(reader, 'GET', `/properties/doc/k${count}`)).status, 404)
      }
      const other = await pair().createActor()
      assert.equal((await other.request(second, 'GET', '/properties')).text, '{}')
      assert.equal((await other.request(second, 'DELETE', '')).status, 204)
      assert.equal((await other.request(first, 'GET', '/properties')).status, 404)
    })
  })
})
