/** Effects of two services on one database on the actors that each creates and deletes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Reply } from '../support/history.ts'
import { dumpOf, violationsIn } from '../support/invariants.ts'
import { forEachPair, type PairActor, type ServicePair } from '../support/service-pair.ts'

const log = '/properties/log'

/** Creates an actor with a list of three items. */
async function listActor(pair: ServicePair): Promise<PairActor> {
  const actor = await pair.createActor()
  const items = ['a', 'b', 'c'].map((t, index) => ({ index, t }))
  for (const body of [{ log: { _type: 'list' } }, { log: { items } }])
    assert.equal((await actor.request(pair.first, 'POST', '/properties', body)).status, 201)
  return actor
}

describe('an actor that one service deletes', () => {
  forEachPair((pair) => {
    it('regains no row from requests at both services at the same time (DEL-02, I8)', async () => {
      const { both, first, database } = pair()
      const deleted: string[] = []
      for (let round = 0; round < 20; round++) {
        const actor = await listActor(pair())
        deleted.push(actor.id)
        const requests: (() => Promise<Reply>)[] = []
        for (let index = 0; index < 10; index++) {
          const send = both[index % 2] ?? first
          requests.push(
            () => actor.request(send, 'PUT', `/properties/p${index}`, 'x'),
            () => actor.request(send, 'PUT', `/properties/doc/k${index}`, 'x'),
            () => actor.request(send, 'POST', '/properties', { email: `${index}.${actor.id}@example.com`, more: 1 }),
            () => actor.request(send, 'POST', `${log}/items`, { action: 'add', item_value: index }),
            () => actor.request(send, 'POST', '/actions/append', { list: 'log', item: { t: 'x' } }),
          )
        }
        requests.splice(25, 0, () => actor.request(both[round % 2] ?? first, 'DELETE', ''))
        const replies = await Promise.all(requests.map((request) => request()))
        for (const { status, text } of replies) assert.ok([200, 201, 204, 404].includes(status), text)
        assert.equal((await actor.request(first, 'GET', '/properties')).status, 404)
      }
      const left = (await dumpOf(database))
        .split('\n')
        .filter((line) => !line.includes('deleted_at') && deleted.some((id) => line.includes(id)))
      assert.deepEqual(left, [])
      assert.deepEqual(await violationsIn(database), [])
    })

    it('is complete or absent for concurrent readers (DEL-02)', async () => {
      const { both, first } = pair()
      const answers = new Set<string>()
      for (let round = 0; round < 20; round++) {
        const actor = await pair().createActor()
        assert.equal((await actor.request(first, 'POST', '/properties', { a: 1, b: 2 })).status, 201)
        const reads = Array.from({ length: 50 }, (_, index) => index)
        const replies = await Promise.all(
          reads.map((index) =>
            index === 20
              ? actor.request(first, 'DELETE', '')
              : actor.request(
                  both[index % 2] ?? first,
                  'GET',
                  index % 4 < 2 ? '/properties' : '/properties?format=full',
                ),
          ),
        )
        for (const { status, text } of replies) if (status !== 204) answers.add(status === 200 ? text : String(status))
      }
      assert.deepEqual(
        [...answers].filter((answer) => answer !== '404'),
        ['{"a":1,"b":2}'],
      )
    })
  })
})

const uniqueCreators = { TROUPE_UNIQUE_CREATOR: '1' }

describe('concurrent creations for one creator at two services', () => {
  forEachPair((pair) => {
    it('create exactly one actor of 100; the others are rejected and leave no rows (DEL-07)', async () => {
      const { both, database } = pair()
      for (let round = 0; round < 20; round++) {
        const creator = `unique-${round}@example.com`
        const replies = await Promise.all(
          Array.from({ length: 100 }, (_, index) => (both[index % 2] ?? both[0])('POST', '/', { body: { creator } })),
        )
        const statuses = replies.map(({ status }) => status).sort((a, b) => a - b)
        assert.deepEqual(statuses, [201, ...Array.from({ length: 99 }, () => 403)])
      }
      const dump = await dumpOf(database)
      for (let round = 0; round < 20; round++)
        assert.equal(occurrences(dump, `"creator":"unique-${round}@example.com","passphrase"`), 1)
      assert.deepEqual(await violationsIn(database), [])
    })

    it('leave exactly one actor of 100 when each replaces the previous one (DEL-07)', async () => {
      const { both, database } = pair()
      const asking = await pair().createActor()
      for (let round = 0; round < 5; round++) {
        const creator = `replaced-${round}@example.com`
        const replies = await Promise.all(
          Array.from({ length: 100 }, (_, index) =>
            asking.request(both[index % 2] ?? both[0], 'POST', '/actions/replace_actor', { creator }),
          ),
        )
        assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
        const ids = replies.map(({ text }) => (JSON.parse(text) as { id: string }).id)
        assert.equal(new Set(ids).size, 100)
      }
      const dump = await dumpOf(database)
      for (let round = 0; round < 5; round++)
        assert.equal(occurrences(dump, `"creator":"replaced-${round}@example.com","passphrase"`), 1)
      assert.deepEqual(await violationsIn(database), [])
    })
  }, uniqueCreators)
})

describe('concurrent replacements for one creator at two services, without unique creators', () => {
  forEachPair((pair) => {
    it('leave exactly one actor of 100 (DEL-07)', async () => {
      const { both, database } = pair()
      const asking = await pair().createActor()
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          asking.request(both[index % 2] ?? both[0], 'POST', '/actions/replace_actor', {
            creator: 'replaced@example.com',
          }),
        ),
      )
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      assert.equal(occurrences(await dumpOf(database), '"creator":"replaced@example.com","passphrase"'), 1)
      assert.deepEqual(await violationsIn(database), [])
    })
  })
})

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}
