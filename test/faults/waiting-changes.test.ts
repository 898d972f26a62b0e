import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { systemTimers } from '../../src/timers.ts'
import { countOf } from '../support/citus.ts'
import { RecordingPeer, relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { faulty, type FaultyStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

interface Subscribed {
  readonly remote: RecordingPeer
  readonly peer: TestRelationship
  readonly id: string
}

interface World {
  readonly service: TestService
  readonly faults: FaultyStore
  readonly actor: TestActor
  readonly subscribed: readonly [Subscribed, Subscribed]
}

/**
 * The statements with which the background worker looks for waiting changes: those of all actors, and on a sharded database
 * those of one actor. Without them the worker writes nothing, as after a crash between the response and its first look.
 */
const looks = /^\/\* changes \*\/ SELECT|FROM waiting_change WHERE actor_id = \$1 ORDER BY/

const remotes: RecordingPeer[] = []
afterEach(async () => {
  for (const remote of remotes.splice(0)) await remote.stop()
})

forEachService((start) => {
  /** An actor with two subscribers. Their diffs are written behind the response of each change, by a worker that is held. */
  async function world(granularity: string, options: StartOptions = {}): Promise<World> {
    let faults: FaultyStore | undefined
    const service = await start({
      maxDirectSubscriptions: 0,
      wrapStore: (store) => (faults = faulty(store, {}, looks)),
      ...options,
    })
    assert.ok(faults !== undefined)
    const actor = await service.createActor()
    const subscribe = async (): Promise<Subscribed> => {
      const remote = await new RecordingPeer().start()
      remotes.push(remote)
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      return { remote, peer, id: await peer.subscribe({ granularity }) }
    }
    return { service, faults, actor, subscribed: [await subscribe(), await subscribe()] }
  }

  const put = async (actor: TestActor, value: unknown, name = 'mood'): Promise<void> => {
    assert.equal((await actor.request('PUT', `/properties/${name}`, value)).status, 204)
  }

  /** The actor at another service with the same database. */
  const actorOf = (service: TestService, actor: TestActor): TestActor => ({
    ...actor,
    request: (method, path, body) =>
      service.request(`/${actor.id}${path}`, {
        method,
        headers: { authorization: actor.authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  })

  const poll = async ({ peer, id }: Pick<Subscribed, 'peer' | 'id'>): Promise<(readonly [number, unknown])[]> => {
    const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
    assert.equal(answer.status, 200)
    const { data } = (await answer.json()) as { data: { sequence: number; data: unknown }[] }
    return data.map((diff) => [diff.sequence, diff.data])
  }

  const waitingRows = async (service: TestService): Promise<number> => {
    const { store } = await service.app.running()
    const [rows, counts] = await store.read((q) =>
      Promise.all([
        q.all('SELECT position FROM waiting_change'),
        q.all<{ waiting: number }>('SELECT waiting_changes AS waiting FROM actor'),
      ]),
    )
    assert.equal(
      counts.reduce((sum, { waiting }) => sum + waiting, 0),
      rows.length,
    )
    return rows.length
  }

  /** Damages the only waiting change. Returns a function that restores it. */
  const damage = async (service: TestService): Promise<() => Promise<unknown>> => {
    const { store } = await service.app.running()
    const rows = await store.read((q) => q.all<{ changes: string }>('SELECT changes FROM waiting_change'))
    assert.deepEqual(
      rows.map(({ changes }) => changes),
      ['[["mood",null,"\\"first\\"",null]]'],
    )
    await store.write((tx) => tx.run("UPDATE waiting_change SET changes = 'damaged'"))
    const [{ changes } = { changes: '' }] = rows
    return () =>
      store.write((tx) => tx.run("UPDATE waiting_change SET changes = $1 WHERE changes = 'damaged'", changes))
  }

  const errorsIn = (service: TestService): unknown[] =>
    service.log
      .map((line) => JSON.parse(line) as { level: unknown; msg: unknown; actorId?: unknown })
      .filter(({ level }) => level === 'error' || level === 'fatal')
      .map(({ level, msg, actorId }) => [level, msg, actorId])

  describe('diffs that are written behind the response of a change', () => {
    it('are complete and in order for a poll right after the response (SUB-01, I3)', async () => {
      const { service, actor, subscribed } = await world('none')
      for (const value of ['first', 'second', 'third']) await put(actor, value)
      assert.equal(await waitingRows(service), 3)
      for (const one of subscribed) {
        assert.deepEqual(await poll(one), [
          [1, { mood: 'first' }],
          [2, { mood: 'second' }],
          [3, { mood: 'third' }],
        ])
      }
      assert.equal(await waitingRows(service), 0)
    })

    it('are counted by every listing right after the response (SUB-01)', async () => {
      const { service, actor, subscribed } = await world('none')
      const [{ peer, id }] = subscribed
      const sequenceIn = async (path: string): Promise<unknown> => {
        const answer = await actor.request('GET', path)
        assert.equal(answer.status, 200)
        const { data } = (await answer.json()) as { data: { subscriptionid: string; sequence: number }[] }
        return data.find(({ subscriptionid }) => subscriptionid === id)?.sequence
      }
      await put(actor, 'first')
      assert.equal(await sequenceIn('/subscriptions'), 1)
      await put(actor, 'second')
      assert.equal(await sequenceIn(`/subscriptions/${peer.peerId}`), 2)
      await put(actor, 'third')
      const handle = await service.app.actors.get(actor.id)
      assert.deepEqual(
        (await handle?.subscriptions.listeners())?.map(({ sequence }) => sequence),
        [3, 3],
      )
      await put(actor, 'fourth')
      const one = await actor.request('GET', `/subscriptions/${peer.peerId}/${id}`)
      assert.equal(((await one.json()) as { sequence: number }).sequence, 4)
    })

    it('can be read and acknowledged one by one, and do not return (SUB-01)', async () => {
      const { actor, subscribed } = await world('none')
      const [one, other] = subscribed
      for (const value of ['first', 'second', 'third']) await put(actor, value)
      const address = `/subscriptions/${one.peer.peerId}/${one.id}`
      const read = await one.peer.request('GET', `${address}/2`)
      assert.deepEqual([read.status, ((await read.json()) as { data: unknown }).data], [200, { mood: 'second' }])
      await put(actor, 'fourth')
      assert.equal((await one.peer.request('PUT', address, { sequence: 3 })).status, 204)
      await put(actor, 'fifth')
      assert.deepEqual(await poll(one), [
        [4, { mood: 'fourth' }],
        [5, { mood: 'fifth' }],
      ])
      await put(actor, 'sixth')
      assert.equal((await one.peer.request('PUT', address, { sequence: 0 })).status, 204)
      assert.deepEqual(await poll(one), [])
      assert.deepEqual(
        (await poll(other)).map(([sequence]) => sequence),
        [1, 2, 3, 4, 5, 6],
      )
      assert.equal((await one.peer.request('GET', `${address}/7`)).status, 404)
    })

    it('are sent once and in order by the next process after a crash (SUB-02, R-SUB-03)', async () => {
      const { service, actor, subscribed } = await world('high')
      for (const value of ['first', 'second', 'third']) await put(actor, value)
      assert.equal(await waitingRows(service), 3)
      assert.deepEqual(
        subscribed.map(({ remote }) => remote.received.length),
        [0, 0],
      )
      await service.close()
      const next = await start({ database: service.databaseUrl, maxDirectSubscriptions: 0 })
      for (const { remote } of subscribed) await until(() => remote.received.length >= 3)
      const after = await next.request(`/${actor.id}/properties/mood`, {
        method: 'PUT',
        headers: { authorization: actor.authorization, 'content-type': 'application/json' },
        body: '"fourth"',
      })
      assert.equal(after.status, 204)
      for (const { remote } of subscribed) {
        await until(() => remote.received.length >= 4)
        await next.settled()
        assert.deepEqual(
          remote.received.map(({ body }) => [body?.['sequence'], body?.['data']]),
          [
            [1, { mood: 'first' }],
            [2, { mood: 'second' }],
            [3, { mood: 'third' }],
            [4, { mood: 'fourth' }],
          ],
        )
      }
      assert.equal(await waitingRows(next), 0)
    })

    it('are written entirely or not at all when a statement fails, and later completely (SUB-02, I2)', async () => {
      const { service, faults, actor, subscribed } = await world('none')
      await put(actor, 'first')
      await put(actor, 'second')
      for (const matching of [
        /FROM waiting_change WHERE actor_id/,
        /^SELECT s.peer_id/,
        /FROM permission_override/,
        /^UPDATE publisher_subscription SET sequence/,
        /^INSERT INTO diff/,
        /^INSERT INTO delivery/,
        /^DELETE FROM waiting_change/,
        /^UPDATE actor SET waiting_changes/,
      ]) {
        faults.plan({ matching, times: Number.POSITIVE_INFINITY })
        const [{ peer, id }] = subscribed
        const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        assert.equal(answer.status, 503, String(matching))
        faults.plan()
        const { store } = await service.app.running()
        assert.deepEqual(await store.read((q) => q.all('SELECT sequence FROM diff')), [])
        assert.equal(await waitingRows(service), 2)
      }
      for (const one of subscribed) {
        assert.deepEqual(await poll(one), [
          [1, { mood: 'first' }],
          [2, { mood: 'second' }],
        ])
      }
    })

    it('wait with their change, or not at all, when a statement of the change fails (SUB-02, I2)', async () => {
      const { service, faults, actor, subscribed } = await world('none')
      for (const matching of [/FROM suspension/, /^INSERT INTO waiting_change/, /^UPDATE actor SET waiting_changes/]) {
        faults.plan({ matching, times: Number.POSITIVE_INFINITY })
        assert.equal((await actor.request('PUT', '/properties/mood', 'never')).status, 503, String(matching))
        faults.plan()
        assert.equal((await actor.request('GET', '/properties/mood')).status, 404)
        assert.equal(await waitingRows(service), 0)
      }
      assert.deepEqual(await poll(subscribed[0]), [])
    })

    it('follow the rights and suspensions that applied to their change (SUB-08)', async () => {
      const { service, actor, subscribed } = await world('none')
      const [one, other] = subscribed
      const handle = await service.app.actors.get(actor.id)
      const permissions = `/trust/friend/${one.peer.peerId}/permissions`
      await put(actor, 'seen before')
      const rights = { properties: { excluded_patterns: ['mood'] } }
      assert.equal((await actor.request('PUT', permissions, rights)).status, 201)
      await put(actor, 'hidden from one')
      assert.equal((await actor.request('DELETE', permissions)).status, 204)
      await put(actor, 'seen again')
      assert.equal(await handle?.subscriptions.suspend('properties', 'mood'), true)
      await put(actor, 'suspended')
      assert.equal(await handle?.subscriptions.resume('properties', 'mood'), true)
      await put(actor, 'resumed')
      assert.equal((await actor.request('PUT', `/trust/friend/${one.peer.peerId}`, { approved: false })).status, 204)
      await put(actor, 'while one is not approved')
      assert.equal((await actor.request('PUT', `/trust/friend/${one.peer.peerId}`, { approved: true })).status, 204)
      await put(actor, 'last')
      // A resync has a number too, and a poll leaves it out.
      assert.deepEqual(await poll(other), [
        [1, { mood: 'seen before' }],
        [2, { mood: 'hidden from one' }],
        [3, { mood: 'seen again' }],
        [5, { mood: 'resumed' }],
        [6, { mood: 'while one is not approved' }],
        [7, { mood: 'last' }],
      ])
      assert.deepEqual(await poll(one), [
        [1, { mood: 'seen before' }],
        [2, { mood: 'seen again' }],
        [4, { mood: 'resumed' }],
        [6, { mood: 'last' }],
      ])
    })

    it('are not written for a subscription or a relationship that ended in the meantime (SUB-08)', async () => {
      const { service, actor, subscribed } = await world('none')
      const [one, other] = subscribed
      await put(actor, 'first')
      assert.equal((await one.peer.request('DELETE', `/subscriptions/${one.peer.peerId}/${one.id}`)).status, 204)
      const again = { ...one, id: await one.peer.subscribe({ granularity: 'none' }) }
      await put(actor, 'second')
      assert.deepEqual(await poll(again), [[1, { mood: 'second' }]])
      assert.deepEqual(
        (await poll(other)).map(([sequence]) => sequence),
        [1, 2],
      )
      await put(actor, 'third')
      assert.equal((await actor.request('DELETE', `/trust/friend/${one.peer.peerId}`)).status, 204)
      assert.deepEqual(
        (await poll(other)).map(([sequence]) => sequence),
        [1, 2, 3],
      )
      const { store } = await service.app.running()
      assert.deepEqual(
        await store.read((q) => q.all('SELECT sequence FROM diff WHERE peer_id = $1', one.peer.peerId)),
        [],
      )
    })

    it('end with their actor (I8)', async () => {
      const { service, actor } = await world('none')
      await put(actor, 'first')
      assert.equal(await waitingRows(service), 1)
      assert.equal((await actor.request('DELETE', '')).status, 204)
      assert.equal(await waitingRows(service), 0)
    })

    it('are dropped at the limit like others (SUB-01)', async () => {
      const { actor, subscribed } = await world('none', { maxDiffs: 3 })
      for (let n = 1; n <= 6; n++) await put(actor, n)
      assert.deepEqual(await poll(subscribed[1]), [
        [4, { mood: 4 }],
        [5, { mood: 5 }],
        [6, { mood: 6 }],
      ])
    })

    it('make the next change wait when 20,000 of them wait (SUB-01)', async () => {
      const { service, actor, subscribed } = await world('none')
      const { store } = await service.app.running()
      await store.write((tx) => tx.run('UPDATE actor SET subscription_count = 10000 WHERE id = $1', actor.id))
      await put(actor, 'first')
      assert.equal(await waitingRows(service), 1)
      await put(actor, 'second')
      assert.equal(await waitingRows(service), 2)
      await put(actor, 'third')
      assert.equal(await waitingRows(service), 1)
      for (const one of subscribed) {
        assert.deepEqual(await poll(one), [
          [1, { mood: 'first' }],
          [2, { mood: 'second' }],
          [3, { mood: 'third' }],
        ])
      }
    })

    it('are sent in order before the response of a change with synchronous callbacks (SUB-02, SUB-16)', async () => {
      const { service, actor, subscribed } = await world('high')
      for (const value of ['first', 'second', 'third']) await put(actor, value)
      assert.equal(await waitingRows(service), 3)
      await service.close()
      const expired: number[] = []
      const synchronous = await start({
        database: service.databaseUrl,
        synchronousCallbacks: true,
        wrapStore: (store) => faulty(store, {}, looks),
        timers: {
          setTimer: (ms, then) =>
            systemTimers.setTimer(ms, () => {
              expired.push(ms)
              then()
            }),
        },
      })
      await put(actorOf(synchronous, actor), 'fourth')
      for (const { remote } of subscribed) {
        assert.deepEqual(
          remote.received.map(({ body }) => [body?.['sequence'], body?.['data']]),
          [
            [1, { mood: 'first' }],
            [2, { mood: 'second' }],
            [3, { mood: 'third' }],
            [4, { mood: 'fourth' }],
          ],
        )
      }
      assert.equal(await waitingRows(synchronous), 0)
      // A response waits for callbacks until the time limit of a call, 25 seconds, at most.
      assert.deepEqual(
        expired.filter((ms) => ms === 25_000),
        [],
      )
    })

    it('block neither their actor nor others while the row of a change is damaged (SUB-02, I2)', async () => {
      const { service, faults, actor, subscribed } = await world('none')
      const other = await service.createActor('other@example.com')
      const sound = await relateTo(service, other)
      const soundId = await sound.subscribe({ granularity: 'none' })
      await put(actor, 'first')
      const restore = await damage(service)
      const failure = ['error', 'Cannot write the diffs of a change; the service tries again', actor.id]

      service.reset()
      assert.deepEqual(await poll(subscribed[0]), [])
      assert.deepEqual(errorsIn(service), [failure])
      service.reset()
      await put(actor, 'second')
      assert.equal(await (await actor.request('GET', '/properties/mood')).text(), 'second')
      assert.deepEqual(errorsIn(service), [])
      const permissions = `/trust/friend/${subscribed[0].peer.peerId}/permissions`
      const rights = { properties: { excluded_patterns: ['secret'] } }
      assert.equal((await actor.request('PUT', permissions, rights)).status, 201)
      assert.deepEqual(errorsIn(service), [failure])

      service.reset()
      await put(other, 'sound')
      assert.equal(await waitingRows(service), 3)
      faults.hold()
      const { waitingChanges } = (await service.app.running()).parts
      for (const { id } of [actor, other]) waitingChanges.wake(id)
      await waitingChanges.settled()
      assert.deepEqual(errorsIn(service), [failure])
      assert.equal(await waitingRows(service), 2)
      const { store } = await service.app.running()
      const written = await store.read((q) => q.all<{ id: string }>('SELECT actor_id AS id FROM diff'))
      assert.deepEqual(
        written.map(({ id }) => id),
        [other.id],
      )
      assert.deepEqual(await poll({ peer: sound, id: soundId }), [[1, { mood: 'sound' }]])

      await restore()
      for (const one of subscribed) {
        assert.deepEqual(await poll(one), [
          [1, { mood: 'first' }],
          [2, { mood: 'second' }],
        ])
      }
    })

    it('let later changes wait behind a damaged row when few subscriptions are left (SUB-02, I2)', async () => {
      const { service, actor, subscribed } = await world('none')
      await put(actor, 'first')
      await service.close()
      const next = await start({ database: service.databaseUrl, wrapStore: (store) => faulty(store, {}, looks) })
      const restore = await damage(next)
      const again = actorOf(next, actor)
      await put(again, 'second')
      await put(again, 'third')
      assert.equal(await waitingRows(next), 3)
      await restore()
      await put(again, 'fourth')
      assert.equal(await waitingRows(next), 0)
      for (const one of subscribed) {
        assert.deepEqual(await poll(one), [
          [1, { mood: 'first' }],
          [2, { mood: 'second' }],
          [3, { mood: 'third' }],
          [4, { mood: 'fourth' }],
        ])
      }
    })

    it('reach the peers as the same callbacks as others (R-SUB-03)', async () => {
      const sent: unknown[] = []
      for (const maxDirectSubscriptions of [0, 64]) {
        const { faults, actor, subscribed } = await world('high', {
          maxDirectSubscriptions,
          now: () => 1_900_000_000_000,
        })
        faults.hold()
        for (const value of ['first', { mode: 'dark' }, 3]) await put(actor, value)
        for (const { remote, id } of subscribed) {
          await until(() => remote.received.length === 3)
          const text = JSON.stringify(remote.received.map(({ path, body }) => [path, body]))
          sent.push(text.replaceAll(actor.id, 'ACTOR').replaceAll(id, 'SUBSCRIPTION'))
        }
      }
      assert.equal(new Set(sent).size, 1)
      assert.match(
        String(sent[0]),
        /"sequence":3,"timestamp":"2030-03-17T17:46:40.000Z","granularity":"high","data":\{"mood":3\}/,
      )
    })
  })

  describe('an actor with 300 subscriptions', () => {
    /** Adds subscriptions of one more peer, more than one transaction of the worker writes. */
    async function crowd(service: TestService, actor: TestActor): Promise<string> {
      const { peerId } = await relateTo(service, actor)
      const { store } = await service.app.running()
      await store.write(async (tx) => {
        await tx.run(
          `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
             created_at)
           SELECT $1, $2, made.id, 'properties', '', '', 'none', 0 FROM rows($3, id TEXT) AS made`,
          actor.id,
          peerId,
          JSON.stringify(Array.from({ length: 300 }, (_, n) => [`s${String(n).padStart(3, '0')}`])),
        )
        await tx.run('UPDATE actor SET subscription_count = 300 WHERE id = $1', actor.id)
      })
      return peerId
    }

    const sequences = async (service: TestService): Promise<readonly unknown[]> => {
      const { store } = await service.app.running()
      const rows = await store.read((q) =>
        q.all<{ sequence: number; times: number }>(
          `SELECT d.sequence, COUNT(*) AS times FROM diff d
           JOIN publisher_subscription s ON s.actor_id = d.actor_id AND s.peer_id = d.peer_id
             AND s.subscription_id = d.subscription_id AND s.sequence = 3
           GROUP BY d.sequence ORDER BY d.sequence`,
        ),
      )
      return rows.map(({ sequence, times }) => [sequence, times])
    }

    it('answers a change with a fixed number of statements, and the worker writes every diff once', async () => {
      const service = await start({})
      const actor = await service.createActor()
      await crowd(service, actor)
      for (const value of [1, 2, 3]) {
        service.reset()
        await put(actor, value)
        assert.equal(countOf(service.statements), 7)
      }
      await service.settled()
      assert.equal(await waitingRows(service), 0)
      assert.deepEqual(await sequences(service), [
        [1, 300],
        [2, 300],
        [3, 300],
      ])
    })

    it('continues after the subscription where the worker failed (SUB-02)', async () => {
      let faults: FaultyStore | undefined
      const service = await start({ wrapStore: (store) => (faults = faulty(store)), now: () => 1_900_000_000_000 })
      const actor = await service.createActor()
      const peerId = await crowd(service, actor)
      // The first transaction of the worker writes 250 subscriptions. The second one fails.
      faults?.plan({ matching: /^DELETE FROM waiting_change/ })
      await put(actor, 1)
      await until(() => faults?.failed === 1)
      await service.settled()
      const { store } = await service.app.running()
      const diffs = await store.read((q) => q.all('SELECT sequence FROM diff'))
      const [row] = await store.read((q) =>
        q.all('SELECT peer_id AS peer, subscription_id AS subscription, due_at AS due FROM waiting_change'),
      )
      assert.equal(diffs.length, 250)
      assert.deepEqual({ ...row }, { peer: peerId, subscription: 's249', due: 1_900_000_005_000 })
      await put(actor, 2)
      await put(actor, 3)
      assert.equal((await actor.request('GET', `/subscriptions/${peerId}`)).status, 200)
      assert.deepEqual(await sequences(service), [
        [1, 300],
        [2, 300],
        [3, 300],
      ])
    })
  })
})
