/** An actor moves to another service with everything that it has (docs/spec/moving.md). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/index.ts'
import { linesOf } from '../support/archives.ts'
import { relate } from '../support/friends.ts'
import {
  addressAt,
  arrivedAt,
  movingWorld,
  type MovingWorld,
  newUrl,
  oldUrl,
  peerUrl,
  secretAt,
} from '../support/moving.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { until } from '../support/until.ts'

const json = async <T>(answer: Response): Promise<T> => {
  assert.ok(answer.ok, `${answer.status} ${await answer.clone().text()}`)
  return (await answer.json()) as T
}

forEachService((start) => {
  /** Bob, at another service, copies the properties of Alice. */
  async function subscribed(world: MovingWorld): Promise<{ alice: TestActor; bob: TestActor; secret: string }> {
    const alice = await world.old.createActor('alice@example.com')
    const bob = await world.peers.createActor('bob@example.com')
    const { secret } = await relate(bob, [world.old, alice])
    const wanted = { peerid: alice.id, target: 'properties', granularity: 'high' }
    assert.ok((await bob.request('POST', '/subscriptions', wanted)).ok)
    return { alice, bob, secret }
  }

  const copyOf = async (bob: TestActor, alice: TestActor, name: string): Promise<unknown> => {
    const answer = await bob.request('GET', `/remote/${alice.id}/${name}`)
    return answer.status === 200 ? answer.json() : answer.status
  }

  /** The peer hears nothing of the move. */
  const holdStatements = ({ network }: MovingWorld): void => {
    network.fate = ({ url }) => (url.includes('/callbacks/moved/') ? 'unreached' : 'arrives')
  }

  describe('a move to another service', () => {
    it('takes data, files, history, rights and webhooks along (R-MOVE-01)', async () => {
      const world = await movingWorld(start, { all: { historyDays: 30 } })
      const { alice, bob } = await subscribed(world)
      await alice.request('POST', '/properties', { note: { text: 'one' }, jobs: { _type: 'list' } })
      for (const job of ['wash', 'cook']) await alice.request('POST', '/properties/jobs', JSON.stringify(job))
      await alice.request('PUT', '/properties/note', { text: 'two' })
      await alice.request('PUT', '/files/a.txt', 'hello')
      await alice.request('POST', '/webhooks', { url: 'https://hooks.example.com/x', events: ['property_changed'] })
      await alice.request('PUT', `/trust/friend/${bob.id}`, { nickname: 'Bobby' })
      const rights = { permissions: { properties: { excluded_patterns: ['secret/*'] } } }
      assert.ok((await alice.request('PUT', `/trust/friend/${bob.id}/permissions`, rights.permissions)).ok)
      const before = linesOf(await (await alice.request('GET', '/export')).text())
      await world.move(alice)
      await world.arrived(alice)
      await world.informed(alice)
      const after = linesOf(await (await world.atHome(alice, 'GET', '/export')).text())
      const comparable = (lines: readonly object[]) =>
        lines
          .map((line) => line as Record<string, unknown>)
          .filter(({ kind }) => !['archive', 'activity', 'end'].includes(String(kind)))
          .map(({ last_accessed: _used, last_connected_via: _via, ...line }) => line)
      assert.deepEqual(comparable(after), comparable(before))
      assert.ok(before.some(({ kind }) => kind === 'webhook'))
      assert.ok(before.some(({ kind }) => kind === 'rights'))
      assert.ok(before.some(({ kind }) => kind === 'change'))
      assert.equal(await (await world.atHome(alice, 'GET', '/files/a.txt')).text(), 'hello')
    })

    it('takes waiting events, webhook messages and invitations along (R-MOVE-01)', async () => {
      const handled: string[] = []
      const declare =
        (name: string, isReady: boolean) =>
        (app: App): void => {
          app.on('property_changed', ({ name: property, operation, caller }) => {
            if (!isReady) throw new Error('Not ready')
            handled.push(`${name} ${operation} ${property} ${caller.kind}`)
          })
        }
      const world = await movingWorld(start, {
        all: { random: () => 0.5 },
        old: { declare: declare('old', false) },
        home: { declare: declare('new', true) },
      })
      const alice = await world.old.createActor('alice@example.com')
      await alice.request('POST', '/webhooks', { url: 'https://hooks.example.com/x', events: ['property_changed'] })
      for (const text of ['one', 'two']) await alice.request('PUT', '/properties/note', { text })
      const { url } = await json<{ url: string }>(
        await alice.request('POST', '/invitations', { relationship: 'friend', nickname: 'Bobby' }),
      )
      await until(() => world.network.calls.filter((call) => call.includes('hooks.example.com')).length > 0)
      const received: unknown[] = []
      await world.move(alice)
      await world.arrived(alice)
      assert.deepEqual(
        handled.filter((line) => line.startsWith('old')),
        [],
      )
      world.network.serve('https://hooks.example.com', async (request) => {
        received.push([request.headers.get('webhook-id'), (await request.json()) as object])
        return new Response(null, { status: 204 })
      })
      await until(() => handled.length === 2)
      assert.deepEqual(handled, ['new set note creator', 'new set note creator'])
      await until(() => received.length === 2)
      await world.gone(alice)
      const invited = await world.old.request(new URL(url).pathname)
      assert.equal(invited.headers.get('location'), url.replace(oldUrl, newUrl))
      const offer = await json<object>(await world.home.request(new URL(url).pathname))
      assert.deepEqual(
        { ...offer, ends_at: '' },
        { actor: `${newUrl}/${alice.id}`, relationship: 'friend', ends_at: '' },
      )
    })

    it('gives peers the new address and a new secret, which alone opens the actor (R-MOVE-03, R-MOVE-05)', async () => {
      const world = await movingWorld(start)
      const { alice, bob, secret: old } = await subscribed(world)
      await alice.request('PUT', '/properties/note', { text: 'one' })
      await world.move(alice)
      await world.arrived(alice)
      const view = await world.informed(alice)
      assert.deepEqual(view.arrived?.peers, { informed: 1 })
      assert.equal(view.arrived.from, `${oldUrl}/${alice.id}`)
      const known = await json<{ moved_at: string }>(await bob.request('GET', `/trust/friend/${alice.id}`))
      assert.equal(known.moved_at, view.arrived.at)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), `${newUrl}/${alice.id}`)
      const secret = await secretAt(world.peers, bob.id, alice.id)
      assert.notEqual(secret, old)
      assert.equal(await secretAt(world.home, alice.id, bob.id), secret)
      const read = async (bearer: string): Promise<number> =>
        (await world.home.request(`/${alice.id}/properties/note`, { headers: { authorization: `Bearer ${bearer}` } }))
          .status
      assert.equal(await read(secret), 200)
      assert.equal(await read(old), 403)
      const fromNew = async (bearer: string): Promise<number> =>
        (await world.peers.request(`/${bob.id}/meta`, { headers: { authorization: `Bearer ${bearer}` } })).status
      assert.equal(await fromNew(secret), 200)
      const asOld = await world.peers.request(`/${bob.id}/properties`, { headers: { authorization: `Bearer ${old}` } })
      assert.equal(asOld.status, 403)
      for (const passphrase of [alice.passphrase])
        assert.equal(
          (
            await world.home.request(`/${alice.id}/properties`, {
              headers: { authorization: `Basic ${btoa(`${alice.creator}:${passphrase}`)}` },
            })
          ).status,
          403,
        )
    })

    it('redirects every request for the configured time (R-MOVE-02)', async () => {
      let skewMs = 0
      const world = await movingWorld(start, { old: { now: () => Date.now() + skewMs, movedDays: 2 } })
      const alice = await world.old.createActor('alice@example.com')
      await world.move(alice)
      await world.arrived(alice)
      await world.gone(alice)
      const url = `${newUrl}/${alice.id}`
      const answers = [
        ['GET', '/properties/a%20b?metadata=true', '/properties/a%20b?metadata=true'],
        ['PUT', '/properties/x', '/properties/x'],
        ['DELETE', '', ''],
        ['GET', '/www/settings', '/www/settings'],
      ] as const
      for (const [method, path, to] of answers) {
        const answer = await world.old.request(`/${alice.id}${path}`, { method })
        assert.deepEqual([answer.status, answer.headers.get('location')], [308, `${url}${to}`], path)
        assert.equal(answer.headers.get('cache-control'), 'no-store')
        const body = (await answer.json()) as Record<string, string>
        assert.deepEqual([body['error'], body['moved_to']], ['actor_moved', url])
        assert.match(body['notice'] ?? '', /^[\w-]+\.[\w-]+\.[\w-]+$/)
      }
      const page = await world.old.request(`/${alice.id}/www`, { headers: { accept: 'text/html' } })
      assert.deepEqual([page.status, page.headers.get('location')], [308, `${url}/www`])
      assert.match(await page.text(), /This account has moved to another service\./)
      assert.deepEqual(
        Object.keys(await json<object>(await world.old.request(`/${alice.id}/meta/moving`))).toSorted(),
        ['key', 'notice', 'state', 'to'],
      )
      skewMs = 2 * 86_400_000
      // A Python peer deletes its relationship and its copy when a synchronization meets 404 (W-17).
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/meta'],
        ['GET', `/trust/friend/${alice.id}`],
        ['GET', `/subscriptions/${alice.id}/1`],
        ['PUT', '/properties/x'],
        ['DELETE', ''],
      ] as const) {
        const answer = await world.old.request(`/${alice.id}${path}`, { method })
        assert.deepEqual([answer.status, answer.headers.get('location')], [410, null], `${method} ${path}`)
        assert.equal(((await answer.json()) as { error: string }).error, 'gone')
      }
      assert.equal((await world.old.request(`/${alice.id}/meta/moving`)).status, 404)
    })
  })

  describe('a relationship that changes before the peer knows the new address', () => {
    it('keeps the secret of a new trust request (R-MOVE-03, R-MOVE-05)', async () => {
      const world = await movingWorld(start)
      const { alice, bob, secret: old } = await subscribed(world)
      holdStatements(world)
      await world.move(alice)
      await world.arrived(alice)
      const asked = await bob.request('POST', '/trust', { url: `${newUrl}/${alice.id}`, relationship: 'friend' })
      assert.equal(asked.status, 201, await asked.text())
      world.network.fate = () => 'arrives'
      await (await world.home.app.running()).parts.arrivalClaims.retry(alice.id)
      await world.informed(alice)
      const secret = await secretAt(world.home, alice.id, bob.id)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), secret)
      assert.notEqual(secret, old)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), `${newUrl}/${alice.id}`)
    })

    it('gets its statement at once when the owner retries, also while it waits for a later attempt (R-MOVE-03)', async () => {
      const world = await movingWorld(start)
      const { alice, bob } = await subscribed(world)
      holdStatements(world)
      await world.move(alice)
      await world.arrived(alice)
      const { store } = await world.home.app.running()
      const dueIn = (ms: number): Promise<number> =>
        store.write((tx) =>
          tx.run(
            `UPDATE arrival_peer SET due_at = due_at + $2 WHERE actor_id = $1 AND attempts > 0 AND state = 'waiting'`,
            alice.id,
            ms,
          ),
        )
      await until(async () => (await dueIn(3_600_000)) === 1)
      world.network.fate = () => 'arrives'
      const { arrivalClaims } = (await world.home.app.running()).parts
      assert.equal(await arrivalClaims.retry(alice.id), 1)
      await world.informed(alice)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), `${newUrl}/${alice.id}`)
    })

    it('is renewed by a request from the new address, which the notices confirm (R-MOVE-03)', async () => {
      const world = await movingWorld(start)
      const { alice, bob, secret: old } = await subscribed(world)
      holdStatements(world)
      await world.move(alice)
      await world.arrived(alice)
      const asked = await world.atHome(alice, 'POST', '/trust', { url: `${peerUrl}/${bob.id}`, relationship: 'friend' })
      assert.equal(asked.status, 201, await asked.text())
      const secret = await secretAt(world.home, alice.id, bob.id)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), secret)
      assert.notEqual(secret, old)
      assert.equal(await addressAt(world.peers, bob.id, alice.id), `${newUrl}/${alice.id}`)
      const known = await json<{ approved: boolean }>(await bob.request('GET', `/trust/friend/${alice.id}`))
      assert.equal(known.approved, true)
      assert.ok((await world.atHome(alice, 'PUT', '/properties/note', { text: 'two' })).ok)
      await until(async () => JSON.stringify(await copyOf(bob, alice, 'note')) === '{"text":"two"}')
    })

    it('ignores a statement that is older than the relationship (R-MOVE-03)', async () => {
      const world = await movingWorld(start)
      const { alice, bob } = await subscribed(world)
      const statements: string[] = []
      world.network.fate = ({ url, body }) => {
        if (!url.includes('/callbacks/moved/')) return 'arrives'
        statements.push(String(body))
        return 'unreached'
      }
      await world.move(alice)
      await world.arrived(alice)
      await until(() => statements.length > 0)
      assert.equal((await bob.request('DELETE', `/trust/friend/${alice.id}`)).status, 204)
      const asked = await world.atHome(alice, 'POST', '/trust', { url: `${peerUrl}/${bob.id}`, relationship: 'friend' })
      assert.equal(asked.status, 201, await asked.text())
      const secret = await secretAt(world.peers, bob.id, alice.id)
      const late = await world.peers.request(`/${bob.id}/callbacks/moved/${alice.id}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: statements[0] ?? '',
      })
      assert.equal(late.status, 403)
      assert.equal(await secretAt(world.peers, bob.id, alice.id), secret)
      assert.equal(await secretAt(world.home, alice.id, bob.id), secret)
    })

    it('is renewed when the peer, given up before, moves too (R-MOVE-03)', async () => {
      const world = await movingWorld(start, { all: { random: () => 0 } })
      const { alice, bob, secret: old } = await subscribed(world)
      holdStatements(world)
      await world.move(alice)
      await world.arrived(alice)
      assert.deepEqual((await world.informed(alice)).arrived?.peers, { failed: 1 })
      const third = await start({ baseUrl: 'https://third.example.com', peerClient: world.network, acceptMoves: true })
      world.network.add(third)
      world.network.fate = () => 'arrives'
      await world.move(bob, third.url)
      await arrivedAt(third, bob)
      await until(async () => (await addressAt(third, bob.id, alice.id)) === `${newUrl}/${alice.id}`)
      await until(async () => (await addressAt(world.home, alice.id, bob.id)) === `${third.url}/${bob.id}`)
      await until(
        async () => (await secretAt(third, bob.id, alice.id)) === (await secretAt(world.home, alice.id, bob.id)),
      )
      assert.notEqual(await secretAt(third, bob.id, alice.id), old)
    })
  })

  describe('subscriptions of a moved actor', () => {
    it('continue with the next number, and waiting diffs are applied once (R-MOVE-04)', async () => {
      const world = await movingWorld(start)
      const { alice, bob } = await subscribed(world)
      const add = (entry: number) => alice.request('POST', '/properties/log', String(entry))
      const copied = async (): Promise<unknown> => {
        const answer = await bob.request('GET', `/remote/${alice.id}/log/items`)
        return answer.status === 200
          ? ((await answer.json()) as { items: { item: unknown }[] }).items.map(({ item }) => item)
          : []
      }
      const has = async (...entries: number[]): Promise<void> => {
        await until(async () => JSON.stringify(await copied()) === JSON.stringify(entries))
      }
      await alice.request('POST', '/properties', { log: { _type: 'list' } })
      await add(1)
      await has(1)
      // The peer cannot be reached, so these changes wait.
      world.network.fate = ({ url }) => (url.startsWith(peerUrl) ? 'unreached' : 'arrives')
      await add(2)
      await add(3)
      await world.move(alice)
      await world.arrived(alice)
      assert.ok((await world.atHome(alice, 'POST', '/properties/log', 4)).ok)
      const sent: unknown[] = []
      world.network.fate = ({ url, body }) => {
        if (url.startsWith(`${peerUrl}/${bob.id}/callbacks/subscriptions`)) sent.push(JSON.parse(String(body)))
        return 'arrives'
      }
      await has(1, 2, 3, 4)
      assert.ok((await world.atHome(alice, 'POST', '/properties/log', 5)).ok)
      await has(1, 2, 3, 4, 5)
      assert.deepEqual(
        sent.filter((callback) => JSON.stringify(callback).includes('resync')),
        [],
      )
      const held = await json<{ data: { sequence: number }[] }>(await world.atHome(alice, 'GET', '/subscriptions'))
      assert.deepEqual(
        held.data.map(({ sequence }) => sequence),
        [6],
      )
    })

    it('at peers continue, with changes that the peer made during the move (R-MOVE-04)', async () => {
      const world = await movingWorld(start)
      const { alice, bob } = await subscribed(world)
      const wanted = { peerid: bob.id, target: 'properties', granularity: 'high' }
      assert.ok((await alice.request('POST', '/subscriptions', wanted)).ok)
      await bob.request('PUT', '/properties/mood', { now: 'calm' })
      await until(async () => (await copyOf(alice, bob, 'mood')) !== 404)
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      world.network.fate = async ({ method, url }) => {
        if (method === 'PUT' && url.startsWith(`${newUrl}/moves`)) await held
        return 'arrives' as const
      }
      await world.move(alice)
      assert.ok((await bob.request('PUT', '/properties/mood', { now: 'glad' })).ok)
      assert.ok((await bob.request('PUT', '/properties/food', { now: 'rice' })).ok)
      await until(() => world.network.saw(new RegExp(`^POST ${oldUrl}/${alice.id}/callbacks/subscriptions`)))
      release()
      await world.arrived(alice)
      const copied = async (name: string): Promise<unknown> => {
        const answer = await world.atHome(alice, 'GET', `/remote/${bob.id}/${name}`)
        return answer.status === 200 ? answer.json() : null
      }
      await until(async () => (await copied('food')) !== null)
      assert.deepEqual([await copied('mood'), await copied('food')], [{ now: 'glad' }, { now: 'rice' }])
    })

    it('end when the actor ended them, and the peer was not reached before the move', async () => {
      const world = await movingWorld(start)
      const { alice, bob } = await subscribed(world)
      const list = async (): Promise<readonly { subscriptionid: string }[]> =>
        (await json<{ data: { subscriptionid: string }[] }>(await bob.request('GET', '/subscriptions'))).data
      const [held] = await list()
      world.network.fate = ({ url }) => (url.startsWith(peerUrl) ? 'unreached' : 'arrives')
      assert.equal((await alice.request('DELETE', `/subscriptions/${bob.id}/${held?.subscriptionid}`)).status, 204)
      const rights = { properties: { excluded_patterns: ['secret/*'] } }
      assert.ok((await alice.request('PUT', `/trust/friend/${bob.id}/permissions`, rights)).ok)
      await until(() => world.network.saw(new RegExp(`^DELETE ${peerUrl}/${bob.id}/`)))
      await world.move(alice)
      await world.arrived(alice)
      assert.equal((await list()).length, 1)
      world.network.fate = () => 'arrives'
      await until(async () => (await list()).length === 0)
      await until(() => world.network.saw(new RegExp(`^POST ${peerUrl}/${bob.id}/callbacks/permissions/${alice.id}`)))
    })

    it('end when the peer ends them before it knows the new address', async () => {
      const world = await movingWorld(start)
      const { alice, bob } = await subscribed(world)
      const wanted = { peerid: bob.id, target: 'properties', granularity: 'high' }
      assert.ok((await alice.request('POST', '/subscriptions', wanted)).ok)
      const { data } = await json<{ data: { subscriptionid: string }[] }>(await bob.request('GET', '/subscriptions'))
      assert.equal(data.length, 2)
      holdStatements(world)
      await world.move(alice)
      await world.arrived(alice)
      for (const { subscriptionid: id } of data)
        assert.equal((await bob.request('DELETE', `/subscriptions/${alice.id}/${id}`)).status, 204)
      await until(() => world.network.saw(new RegExp(`^DELETE ${oldUrl}/${alice.id}/.*subscriptions/`)))
      world.network.fate = () => 'arrives'
      await (await world.home.app.running()).parts.arrivalClaims.retry(alice.id)
      await world.informed(alice)
      await until(
        async () =>
          (await json<{ data: object[] }>(await world.atHome(alice, 'GET', '/subscriptions'))).data.length === 0,
      )
    })
  })
})
