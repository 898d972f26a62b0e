/** Requests of strangers, and of former peers, about a relationship that has ended. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relate } from '../support/friends.ts'
import { movingWorld, oldUrl, peerUrl } from '../support/moving.ts'
import { forEachService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Everything that a relationship has here, besides messages. */
const tables = [
  'SELECT approved, peer_approved, relationship, baseuri FROM trust WHERE actor_id = $1 AND peer_id = $2',
  'SELECT subscription_id, sequence FROM publisher_subscription WHERE actor_id = $1 AND peer_id = $2',
  'SELECT subscription_id, sequence FROM subscriber_subscription WHERE actor_id = $1 AND peer_id = $2',
  'SELECT sequence FROM pending_callback WHERE actor_id = $1 AND peer_id = $2',
  `SELECT name, data FROM attribute WHERE actor_id = $1 AND (bucket = 'remote:' || $2 OR name = $1 || ':' || $2)`,
  'SELECT kind, url, due_at IS NULL AS ended FROM notice WHERE sender = $1 AND recipient = $2',
] as const

forEachService((start) => {
  describe('a relationship that has ended', () => {
    for (const end of ['by its owner', 'by its peer', 'by the deletion of the peer'] as const) {
      it(`${end} stays ended, whatever a stranger or the former peer sends (PEER-19)`, async () => {
        const world = await movingWorld(start)
        const { old, network } = world
        const alice = await old.createActor('alice@example.com')
        const bob = await world.peers.createActor('bob@example.com')
        const { secret } = await relate(bob, [old, alice])
        for (const [one, other] of [
          [alice, bob],
          [bob, alice],
        ] as const) {
          const wanted = { peerid: other.id, target: 'properties', granularity: 'high' }
          assert.ok((await one.request('POST', '/subscriptions', wanted)).ok)
          assert.ok((await other.request('PUT', '/properties/mood', { now: other.id })).ok)
        }
        const listed = (await (await alice.request('GET', '/subscriptions')).json()) as {
          data: { subscriptionid: string }[]
        }
        const ids = listed.data.map(({ subscriptionid }) => subscriptionid)
        assert.equal(ids.length, 2)
        // The former peer never hears of the end.
        network.fate = ({ method }) => (method === 'DELETE' && end === 'by its owner' ? 'unreached' : 'arrives')
        const ending = end === 'by its owner' ? alice : bob
        const path =
          end === 'by the deletion of the peer' ? '' : `/trust/friend/${ending === alice ? bob.id : alice.id}`
        assert.ok((await ending.request('DELETE', path)).ok)
        const { store } = await old.app.running()
        const state = (): Promise<readonly object[][]> =>
          store.read((q) => Promise.all(tables.map((sql) => q.all<object>(sql, alice.id, bob.id))))
        await until(async () => (await state()).slice(0, 5).every((rows) => rows.length === 0))
        const before = await state()
        const diff = { id: bob.id, subscriptionid: ids[0], target: 'properties', sequence: 9, data: { mood: 'evil' } }
        const requests: [method: string, path: string, body?: object][] = [
          ...['GET', 'DELETE'].map((method): [string, string] => [method, `/trust/friend/${bob.id}`]),
          ['POST', `/trust/friend/${bob.id}`, { approved: true }],
          ['PUT', `/trust/friend/${bob.id}`, { approved: true, baseuri: 'https://evil.example.com/x' }],
          ['POST', `/callbacks/permissions/${bob.id}`, { id: bob.id, data: { properties: { patterns: ['*'] } } }],
          ['POST', `/callbacks/moved/${bob.id}`, { statement: 'e30.e30.e30' }],
          ['POST', `/subscriptions/${bob.id}`, { id: bob.id, target: 'properties', granularity: 'high' }],
          ...ids.flatMap((id): [string, string, object?][] => [
            ['POST', `/callbacks/subscriptions/${bob.id}/${id}`, diff],
            ['POST', `/callbacks/subscriptions/${bob.id}/${id}`, { ...diff, type: 'resync', url: `${peerUrl}/x` }],
            ['DELETE', `/callbacks/subscriptions/${bob.id}/${id}`],
            ['GET', `/subscriptions/${bob.id}/${id}`],
            ['PUT', `/subscriptions/${bob.id}/${id}`, { sequence: 5 }],
            ['DELETE', `/subscriptions/${bob.id}/${id}`],
          ]),
        ]
        for (const bearer of [secret, 'stranger'.repeat(5), null]) {
          for (const [method, to, body] of requests) {
            const answer = await old.request(`/${alice.id}${to}`, {
              method,
              headers: {
                ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
                ...(body === undefined ? {} : { 'content-type': 'application/json' }),
              },
              ...(body === undefined ? {} : { body: JSON.stringify(body) }),
            })
            assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${to}: ${answer.status}`)
            assert.deepEqual(await state(), before, `${method} ${to}`)
          }
        }
        // A request of the same id from another address is one of a stranger, and waits for the owner.
        const asked = { id: bob.id, type: 'urn:x', secret: 'stranger'.repeat(5), verify: 'v'.repeat(40), desc: '' }
        const answer = await old.request(`/${alice.id}/trust/friend`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...asked, baseuri: `https://evil.example.com/${bob.id}` }),
        })
        assert.ok([202, 403].includes(answer.status), String(answer.status))
        const [trusts, ...others] = await state()
        const waiting = {
          approved: 0,
          peer_approved: 1,
          relationship: 'friend',
          baseuri: `https://evil.example.com/${bob.id}`,
        }
        assert.deepEqual(trusts, answer.status === 202 ? [waiting] : [])
        assert.deepEqual(others, before.slice(1))
        assert.ok(!network.saw(/^(?:POST|PUT|DELETE) https:\/\/evil\.example\.com/))
        assert.equal(old.url, oldUrl)
      })
    }
  })
})
