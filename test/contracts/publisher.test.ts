import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { application } from '../../src/caller.ts'
import { known } from '../../src/json/json.ts'
import { wholeValue } from '../../src/property/value-diff.ts'
import { countOf } from '../support/citus.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

interface Diff {
  readonly sequence: number
  readonly data: unknown
}

async function poll(peer: TestRelationship, id: string): Promise<{ sequence: number; data: Diff[] }> {
  const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
  assert.equal(answer.status, 200)
  return (await answer.json()) as { sequence: number; data: Diff[] }
}

/** Creates `count` peers with one subscription each. */
async function subscribers(
  service: TestService,
  actor: TestActor,
  count: number,
  wanted: Record<string, unknown> = {},
): Promise<{ peer: TestRelationship; id: string }[]> {
  const made: { peer: TestRelationship; id: string }[] = []
  for (let n = 0; n < count; n++) {
    const peer = await relateTo(service, actor)
    made.push({ peer, id: await peer.subscribe(wanted) })
  }
  return made
}

forEachService((start) => {
  describe('the number of statements', () => {
    let service: TestService
    before(async () => {
      service = await start({})
    })

    /** Statements of a change, by number of subscribers. */
    const costs: Readonly<Record<number, number>> = { 0: 4, 1: 10, 10: 10, 64: 10, 65: 7, 100: 7 }

    for (const [count, statements] of Object.entries(costs)) {
      it(`of a change is ${statements} with ${count} subscribers, whatever part they subscribe to`, async () => {
        for (const wanted of [{}, { subtarget: 'mood' }, { granularity: 'high' }]) {
          const actor = await service.createActor()
          await subscribers(service, actor, Number(count), wanted)
          await actor.request('PUT', '/properties/mood', 0)
          // PostgreSQL may repeat a transaction that meets the delivery of the change before.
          await service.settled()
          service.reset()
          assert.equal((await actor.request('PUT', '/properties/mood', 1)).status, 204)
          assert.equal(countOf(service.statements), statements)
        }
      })
    }

    it('of a change is 5 when every subscription covers another property', async () => {
      for (const count of [1, 20]) {
        const actor = await service.createActor()
        await subscribers(service, actor, count, { subtarget: 'trip' })
        await actor.request('PUT', '/properties/mood', 0)
        await service.settled()
        service.reset()
        await actor.request('PUT', '/properties/mood', 1)
        assert.equal(countOf(service.statements), 5)
      }
    })

    it('of a change does not grow with the size of a bulk write or with the stored diffs', async () => {
      const actor = await service.createActor()
      await subscribers(service, actor, 3)
      const counts: number[] = []
      for (const size of [1, 100]) {
        const valuesOf = (round: number) =>
          Object.fromEntries(Array.from({ length: size }, (_, n) => [`v${n}`, `${n} in round ${round}`]))
        await actor.request('PUT', '/properties', valuesOf(-1))
        for (let round = 0; round < 3; round++) {
          service.reset()
          assert.equal((await actor.request('PUT', '/properties', valuesOf(round))).status, 204)
          counts.push(countOf(service.statements))
        }
      }
      assert.deepEqual([...new Set(counts)], [11])
    })

    it('of the requests of a subscriber does not grow with the stored diffs', async () => {
      const costs: number[][] = []
      for (const kept of [1, 40]) {
        const actor = await service.createActor()
        const [{ peer, id }] = (await subscribers(service, actor, 1)) as [{ peer: TestRelationship; id: string }]
        for (let n = 0; n < kept; n++) await actor.request('PUT', '/properties/mood', n)
        const address = `/subscriptions/${peer.peerId}/${id}`
        const counts: number[] = []
        for (const [method, path, body] of [
          ['GET', address],
          ['GET', `${address}/1`],
          ['PUT', address, { sequence: 1 }],
          ['DELETE', address],
        ] as const) {
          service.reset()
          assert.ok((await peer.request(method, path, body)).ok)
          counts.push(countOf(service.statements))
        }
        costs.push(counts)
      }
      assert.deepEqual(costs[0], costs[1])
    })
  })

  describe('the sequence numbers of a subscription', () => {
    it('are 1 to N, each once, in the order of commits, under parallel writes (SUB-01, I3, R-SUB-03)', async () => {
      const service = await start({})
      const actor = await service.createActor()
      const [{ peer, id }, second] = (await subscribers(service, actor, 2)) as [
        { peer: TestRelationship; id: string },
        { peer: TestRelationship; id: string },
      ]
      const writes = Array.from({ length: 60 }, (_, n) => actor.request('PUT', `/properties/p${n % 5}`, n))
      for (const answer of await Promise.all(writes)) assert.equal(answer.status, 204)
      const { sequence, data } = await poll(peer, id)
      assert.equal(sequence, 60)
      assert.deepEqual(
        data.map((diff) => diff.sequence),
        Array.from({ length: 60 }, (_, n) => n + 1),
      )
      // The latest diff of each property equals the value of the actor, so the diffs are in the order of commits.
      const replica = Object.assign({}, ...data.map((diff) => diff.data)) as Record<string, unknown>
      assert.deepEqual(replica, await (await actor.request('GET', '/properties')).json())
      assert.deepEqual(
        (await poll(second.peer, second.id)).data.map((diff) => diff.data),
        data.map((diff) => diff.data),
      )
    })

    it('are in the order of the changes when one transaction stores a long one before a short one (SUB-01, I3)', async () => {
      const service = await start({})
      const actor = await service.createActor()
      const [{ peer, id }] = (await subscribers(service, actor, 25)) as [{ peer: TestRelationship; id: string }]
      const { writer } = (await service.app.running()).parts
      // 25 diffs with this value are written behind the response.
      const long = 'x'.repeat(180_000)
      await writer.changeEach(actor.id, '', async (_tx, record) => {
        for (const value of ['first', long, 'last'])
          await record(wholeValue('mood', known(JSON.stringify(value))), application)
      })
      await service.settled()
      const { data } = await poll(peer, id)
      assert.deepEqual(
        data.map((diff) => [diff.sequence, (diff.data as { mood: string }).mood.length]),
        [
          [1, 5],
          [2, 180_000],
          [3, 4],
        ],
      )
    })

    it('are not used up, and nothing is stored, when any statement of the change fails (SUB-02, I2, R-SUB-03)', async () => {
      let faults: FaultyStore | undefined
      const service = await start({ wrapStore: (store) => (faults = faulty(store)) })
      assert.ok(faults !== undefined)
      const actor = await service.createActor()
      const [{ peer, id }] = (await subscribers(service, actor, 1)) as [{ peer: TestRelationship; id: string }]
      await actor.request('PUT', '/properties/mood', 'first')
      let failed = 0
      for (const matching of [
        /^INSERT INTO property/,
        /FROM publisher_subscription s/,
        /FROM suspension/,
        /FROM permission_override/,
        /^UPDATE publisher_subscription SET sequence/,
        /^INSERT INTO diff/,
        /^INSERT INTO delivery/,
      ]) {
        faults.plan({ matching })
        const answer = await actor.request('PUT', '/properties/mood', 'never')
        failed += faults.failed
        faults.plan()
        assert.equal(answer.status, 503, String(matching))
        assert.equal(await (await actor.request('GET', '/properties/mood')).text(), 'first')
        const { sequence, data } = await poll(peer, id)
        assert.deepEqual([sequence, data.length], [1, 1])
      }
      assert.equal(failed, 7)
      await actor.request('PUT', '/properties/mood', 'second')
      assert.deepEqual(
        (await poll(peer, id)).data.map((diff) => [diff.sequence, diff.data]),
        [
          [1, { mood: 'first' }],
          [2, { mood: 'second' }],
        ],
      )
    })

    it('count only the changes that each peer may read, whatever other peers may read of the same change', async () => {
      const service = await start({})
      const actor = await service.createActor()
      const peers = await Promise.all(Array.from({ length: 5 }, () => relateTo(service, actor)))
      const [, second, withoutDiary, withoutMood, unapproved] = peers as [
        TestRelationship,
        TestRelationship,
        TestRelationship,
        TestRelationship,
        TestRelationship,
      ]
      const ids = new Map<TestRelationship, string[]>()
      for (const peer of peers) {
        ids.set(peer, [await peer.subscribe({}), await peer.subscribe({ subtarget: 'mood' })])
      }
      ids.get(second)?.push(await second.subscribe({ subtarget: 'diary', resource: 'monday' }))
      for (const [peer, excluded] of [
        [withoutDiary, 'diary'],
        [withoutMood, 'mood'],
      ] as const) {
        const rights = { properties: { excluded_patterns: [excluded] } }
        const put = await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rights)
        assert.equal(put.status, 201)
      }
      const withdrawn = { approved: false }
      assert.equal((await actor.request('PUT', `/trust/friend/${unapproved.peerId}`, withdrawn)).status, 204)
      const diary = { monday: 'rain', tuesday: 'sun' }
      assert.equal((await actor.request('PUT', '/properties', { mood: 'calm', diary })).status, 204)

      const stored: unknown[] = []
      for (const peer of peers) {
        for (const id of ids.get(peer) ?? []) {
          const answer = await actor.request('GET', `/subscriptions/${peer.peerId}/${id}`)
          const { sequence, data } = (await answer.json()) as { sequence: number; data: Diff[] }
          stored.push([sequence, ...data.map((diff) => diff.data)])
        }
      }
      assert.deepEqual(stored, [
        [1, { mood: 'calm', diary }],
        [1, 'calm'],
        [1, { mood: 'calm', diary }],
        [1, 'calm'],
        [1, 'rain'],
        [1, { mood: 'calm' }],
        [1, 'calm'],
        [1, { diary }],
        [0],
        [0],
        [0],
      ])
    })

    it('are not assigned, and the change fails with 503, when suspensions cannot be read (SUB-10)', async () => {
      let faults: FaultyStore | undefined
      const service = await start({ wrapStore: (store) => (faults = faulty(store)) })
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      await subscribers(service, actor, 1)
      await handle?.subscriptions.suspend('properties')
      faults?.plan({ matching: /FROM suspension/ })
      assert.equal((await actor.request('PUT', '/properties/mood', 1)).status, 503)
      faults?.plan()
      assert.equal((await actor.request('GET', '/properties/mood')).status, 404)
    })
  })

  describe('the diffs stored for polling', () => {
    it('are the newest up to the limit, and the subscriber sees that earlier ones are missing', async () => {
      const service = await start({ maxDiffs: 3 })
      const actor = await service.createActor()
      const [{ peer, id }] = (await subscribers(service, actor, 1)) as [{ peer: TestRelationship; id: string }]
      for (let n = 1; n <= 5; n++) await actor.request('PUT', '/properties/mood', n)
      const { sequence, data } = await poll(peer, id)
      assert.equal(sequence, 5)
      assert.deepEqual(
        data.map((diff) => [diff.sequence, diff.data]),
        [
          [3, { mood: 3 }],
          [4, { mood: 4 }],
          [5, { mood: 5 }],
        ],
      )
    })
  })
})
