/** `troupe actors import --replace`: the content of a live actor is replaced, and what others rely on stays. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { archiveOf, linesOf, planned, replaced } from '../support/archives.ts'
import { relate } from '../support/friends.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'
import { untilEqual } from '../support/until.ts'

const sent = async (actor: TestActor, method: string, path: string, body?: unknown): Promise<void> => {
  const answer = await actor.request(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${await answer.text()}`)
}

const read = async (actor: TestActor, path: string): Promise<unknown> => {
  const answer = await actor.request('GET', path)
  if (answer.status !== 200) return answer.status
  const text = await answer.text()
  // A bare string.
  return /^[a-z]+$/.test(text) ? text : JSON.parse(text)
}

/** The content that the archive has. */
async function fill(actor: TestActor): Promise<void> {
  await sent(actor, 'PUT', '/properties/color', 'red')
  await sent(actor, 'PUT', '/properties/shape', { sides: 4 })
  await sent(actor, 'POST', '/properties', { shopping: { _type: 'list' } })
  for (const item of ['milk', { name: 'bread' }]) await sent(actor, 'POST', '/properties/shopping', item)
  await actor.request('PUT', '/files/hello.txt', 'hello', { 'content-type': 'text/plain' })
}

/** Changes all of the content. */
async function spoil(actor: TestActor): Promise<void> {
  await sent(actor, 'PUT', '/properties/color', 'blue')
  await sent(actor, 'DELETE', '/properties/shape')
  await sent(actor, 'PUT', '/properties/added', 1)
  await sent(actor, 'DELETE', '/properties/shopping?index=0')
  await sent(actor, 'POST', '/properties/shopping', 'sand')
  await sent(actor, 'POST', '/properties', { noise: { _type: 'list' } })
  await actor.request('PUT', '/files/hello.txt', 'good bye', { 'content-type': 'text/plain' })
  await actor.request('PUT', '/files/more.txt', 'more', { 'content-type': 'text/plain' })
}

forEachService((start) => {
  const services: TestService[] = []
  afterEach(async () => {
    for (const service of services.splice(0)) await service.close()
  })
  const listening = async (): Promise<TestService> => {
    const service = await start({ listen: true, devtest: true })
    services.push(service)
    return service
  }

  describe('a replacement of the content of an actor', () => {
    it('keeps relationships and sign-ins, and each subscriber gets the content by one resync, and what is removed by a diff (R-ARC-10)', async () => {
      const [service, other] = [await listening(), await listening()]
      const [ada, bob] = [await service.createActor('ada@example.com'), await other.createActor('bob@example.com')]
      await fill(ada)
      const archive = await archiveOf(service, ada.id)
      const { secret } = await relate(bob, [service, ada])
      await sent(ada, 'PUT', `/trust/friend/${bob.id}/permissions`, { properties: { patterns: ['*'] } })
      await sent(bob, 'POST', '/subscriptions', { peerid: ada.id, target: 'properties', granularity: 'high' })
      await spoil(ada)
      const copy = async (): Promise<Record<string, unknown>> =>
        (await (await other.app.actors.get(bob.id))?.remote(ada.id).all()) ?? {}
      await untilEqual(
        async () => (await copy())['color'],
        () => 'blue',
      )
      const subscription = async (): Promise<{ sequence: number; data: { sequence: number; outcome: string }[] }> => {
        const { data } = (await read(ada, '/subscriptions')) as { data: { subscriptionid: string }[] }
        const answer = await ada.request('GET', `/subscriptions/${bob.id}/${data[0]?.subscriptionid}?timeline=true`)
        return (await answer.json()) as Awaited<ReturnType<typeof subscription>>
      }
      const before = (await subscription()).sequence
      const { store } = await service.app.running()
      const kept = ['trust', 'account', 'token_chain', 'permission_override', 'creator', 'companion'] as const
      const rows = await dumpStore(store)
      const plan = await replaced(service, archive)
      assert.deepEqual(plan.changes, {
        property: { added: 1, changed: 1, removed: 1, same: 0 },
        list: { added: 0, changed: 1, removed: 1, same: 0 },
        file: { added: 0, changed: 1, removed: 1, same: 0 },
      })
      assert.deepEqual(await read(ada, '/properties/color'), 'red')
      assert.deepEqual(await read(ada, '/properties/shape'), { sides: 4 })
      assert.deepEqual(await read(ada, '/properties/added'), 404)
      const list = (await service.app.actors.get(ada.id))?.list('shopping')
      assert.deepEqual(await list?.items(), ['milk', { name: 'bread' }])
      assert.equal(await (await ada.request('GET', '/files/hello.txt')).text(), 'hello')
      assert.equal((await ada.request('GET', '/files/more.txt')).status, 404)
      const after = await dumpStore(store)
      for (const table of kept) {
        const shown = (row: string): string => row.replace(/"last_accessed":\d+/, '')
        assert.deepEqual(after[table]?.map(shown), rows[table]?.map(shown), table)
      }
      assert.equal(after['deleted_actor']?.length, 0)
      assert.equal(after['notice']?.length, 0)
      const content = (text: string): string[] =>
        linesOf(text)
          .filter(({ kind }) => ['property', 'item', 'file', 'bytes'].includes(kind))
          .map((line) => JSON.stringify(line))
      assert.deepEqual(content(await archiveOf(service, ada.id)), content(archive))
      const shown = async (): Promise<unknown> => {
        const remote = (await other.app.actors.get(bob.id))?.remote(ada.id)
        const { color, shape, ...more } = await copy()
        return [
          color,
          shape,
          Object.keys(more),
          await remote?.list('shopping').items(),
          await remote?.list('noise').exists(),
        ]
      }
      await untilEqual(shown, () => ['red', { sides: 4 }, ['shopping'], ['milk', { name: 'bread' }], false])
      await untilEqual(
        async () => (await subscription()).sequence,
        () => before + 2,
      )
      await untilEqual(
        async () => (await subscription()).data.find(({ sequence }) => sequence === before + 1)?.outcome,
        () => 'delivered',
      )
      const asPeer = await service.request(`/${ada.id}/properties/color`, {
        headers: { authorization: `Bearer ${secret}` },
      })
      assert.equal(asPeer.status, 200)
      await sent(ada, 'PUT', '/properties/color', 'green')
      await untilEqual(
        async () => (await copy())['color'],
        () => 'green',
      )
    })

    it('adds what it replaced to the history, and an entry to the activity (R-ARC-10)', async () => {
      const service = await listening()
      const ada = await service.createActor('ada@example.com')
      await sent(ada, 'PUT', '/properties/color', 'red')
      const archive = await archiveOf(service, ada.id)
      await sent(ada, 'PUT', '/properties/color', 'blue')
      await sent(ada, 'PUT', '/properties/added', 1)
      await replaced(service, archive)
      const { history: entries } = (await read(ada, '/history')) as { history: Record<string, unknown>[] }
      assert.deepEqual(
        entries.slice(0, 2).map(({ name, operation, before, caller_kind: by }) => [name, operation, before, by]),
        [
          ['color', 'set', 'blue', 'application'],
          ['added', 'delete', 1, 'application'],
        ],
      )
      const { activity: acts } = (await read(ada, '/activity')) as { activity: Record<string, unknown>[] }
      const [act] = acts.filter(({ caller_kind: kind }) => kind === 'operator')
      assert.deepEqual([act?.['method'], act?.['path'], act?.['status']], ['POST', '/import', 200])
    })

    it('never brings a relationship back that has ended, and names it (R-ARC-11)', async () => {
      const service = await listening()
      const ada = await service.createActor('ada@example.com')
      await relateTo(service, ada, { baseuri: 'https://old.example.com/p1', peerId: 'p1' })
      await relateTo(service, ada, { baseuri: 'https://peer.example.com/p2', peerId: 'p2' })
      await sent(ada, 'PUT', '/trust/friend/p2/permissions', { properties: { patterns: ['*'] } })
      const archive = await archiveOf(service, ada.id)
      const { parts } = await service.app.running()
      const actor = await parts.actors.require(ada.id)
      await parts.trusts.delete(actor, 'p1', null, { byPeer: false, notify: false })
      await sent(ada, 'PUT', '/trust/friend/p2/permissions', { properties: { patterns: ['public/*'] } })
      const rights = await read(ada, '/trust/friend/p2/permissions')
      const plan = await replaced(service, archive)
      assert.deepEqual(plan.unrelated, ['p1'])
      assert.deepEqual([plan.leftOut['relationship'], plan.leftOut['rights']], [2, 1])
      assert.equal((await ada.request('GET', '/trust/friend/p1')).status, 404)
      assert.deepEqual(await read(ada, '/trust/friend/p2/permissions'), rights)
    })

    it('restores attributes from an archive with secrets, and leaves the copies of peers and their facts (R-ARC-12)', async () => {
      for (const hasSecrets of [true, false]) {
        const service = await listening()
        const ada = await service.createActor('ada@example.com')
        const { store } = await service.app.running()
        const put = (bucket: string, name: string, data: unknown): Promise<number> =>
          store.write((tx) =>
            tx.run(
              `INSERT INTO attribute (actor_id, bucket, name, data, timestamp) VALUES ($1, $2, $3, $4, 1)
               ON CONFLICT (actor_id, bucket, name) DO UPDATE SET data = excluded.data`,
              ada.id,
              bucket,
              name,
              JSON.stringify(data),
            ),
          )
        const buckets = ['private', 'remote:p1', '_peer_profiles', '_peer_permissions', '_peer_capabilities']
        for (const bucket of buckets) await put(bucket, 'a', 'then')
        const archive = await archiveOf(service, ada.id, hasSecrets)
        for (const bucket of buckets) await put(bucket, 'a', 'now')
        for (const bucket of buckets) await put(bucket, 'b', 'now')
        await replaced(service, archive)
        const rows = await store.read((q) =>
          q.all<{ bucket: string; name: string; data: string }>(
            'SELECT bucket, name, data FROM attribute WHERE actor_id = $1 ORDER BY bucket, name',
            ada.id,
          ),
        )
        const found = (wanted: string): unknown[] =>
          rows.filter(({ bucket }) => bucket === wanted).map(({ name, data }) => [name, data])
        const now = [
          ['a', '"now"'],
          ['b', '"now"'],
        ]
        assert.deepEqual(found('private'), hasSecrets ? [['a', '"then"']] : now)
        for (const bucket of buckets.slice(1)) assert.deepEqual(found(bucket), now, bucket)
        assert.deepEqual(found('_archive'), [])
      }
    })

    it('plans without a change, and finds nothing to change afterwards (R-ARC-13)', async () => {
      const service = await listening()
      const ada = await service.createActor('ada@example.com')
      await fill(ada)
      const archive = await archiveOf(service, ada.id)
      await spoil(ada)
      await service.settled()
      const { store } = await service.app.running()
      const before = await dumpStore(store)
      const first = await planned(service, archive)
      assert.deepEqual(first.changes['property'], { added: 1, changed: 1, removed: 1, same: 0 })
      assert.deepEqual(await dumpStore(store), before)
      await replaced(service, archive)
      assert.deepEqual((await planned(service, archive)).changes, {
        property: { added: 0, changed: 0, removed: 0, same: 2 },
        list: { added: 0, changed: 0, removed: 0, same: 1 },
        file: { added: 0, changed: 0, removed: 0, same: 1 },
      })
    })
  })
})
