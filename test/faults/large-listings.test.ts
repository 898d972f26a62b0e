import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name}${String(n).padStart(4, '0')}`)

async function setAll(actor: TestActor, names: readonly string[], value: unknown): Promise<void> {
  const body = Object.fromEntries(names.map((name) => [name, value]))
  assert.equal((await actor.request('PUT', '/properties', body)).status, 204)
}

async function read(actor: Pick<TestActor, 'request'>, path: string): Promise<Record<string, unknown>> {
  const answer = await actor.request('GET', path)
  assert.equal(answer.status, 200)
  return (await answer.json()) as Record<string, unknown>
}

forEachService((start) => {
  describe('a list of an actor that is sent in pages', () => {
    it('has every property to which the peer may subscribe, and no other (HTTP-23)', async () => {
      const service = await start({
        declare: (app) => {
          app.list('tasks', { description: 'declared', item: {} })
          app.property('mood', { schema: {}, default: 'calm' })
        },
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 'x'.repeat(300))
      await setAll(actor, numbered('hidden', 300), 1)
      await actor.request('PUT', '/properties', { l: { _type: 'list' }, long: 'y'.repeat(9000) })
      await actor.request('POST', '/properties/l', '1')
      const peer = await relateTo(service, actor)
      const rights = {
        properties: { patterns: ['n*', 'l', 'long', 'tasks', 'mood'], operations: ['read', 'subscribe'], merge: false },
      }
      assert.ok((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, rights)).ok)
      const { shared_properties: shared, ...others } = await read(
        peer,
        `/trust/friend/${peer.peerId}/shared_properties`,
      )
      assert.deepEqual(others, {
        actor_id: actor.id,
        peer_id: peer.peerId,
        relationship: 'friend',
        excluded_properties: [],
      })
      const entries = shared as { name: string; item_count: number; operations: string[] }[]
      assert.deepEqual(
        entries.map(({ name }) => name).toSorted(),
        ['l', 'long', 'mood', ...numbered('n', 600), 'tasks'].toSorted(),
      )
      assert.deepEqual(
        entries.find(({ name }) => name === 'l'),
        { name: 'l', display_name: 'L', item_count: 1, operations: ['read', 'subscribe'] },
      )
    })

    it('has every relationship once, by peer, as the filters want it (HTTP-23)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peers = numbered('peer', 520)
      for (const [n, peerId] of peers.entries())
        await relateTo(service, actor, { peerId, relationship: n % 2 === 0 ? 'friend' : 'partner' })
      const idsAt = async (path: string): Promise<unknown> =>
        ((await read(actor, path)) as unknown as { peerid: string }[]).map(({ peerid }) => peerid)
      assert.deepEqual(await idsAt('/trust'), peers)
      const friends = peers.filter((_, n) => n % 2 === 0)
      assert.deepEqual(await idsAt('/trust?relationship=friend'), friends)
      assert.deepEqual(await idsAt('/trust/friend'), friends)
      assert.deepEqual(await idsAt('/trust?peerid=peer0300'), ['peer0300'])
      assert.deepEqual(await idsAt('/trust?relationship=friend&peerid=peer0300'), ['peer0300'])
      assert.deepEqual(await idsAt('/trust?relationship=partner&peerid=peer0300'), [])
      assert.deepEqual(await idsAt('/trust?type=none'), [])
      const handle = await service.app.actors.get(actor.id)
      assert.equal((await handle?.trust.list())?.length, 520)
    })

    it('has the first items of each list, as a peer sees them (HTTP-23)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      for (const list of ['short', 'long'])
        await handle?.list(list).extend(Array.from({ length: list === 'long' ? 400 : 2 }, (_, n) => `${list}-${n}.`))
      const peer = await relateTo(service, actor)
      const browser = await OwnersBrowser.open(service, actor)
      const page = await (await browser.get(`/trust/${peer.peerId}/view`)).text()
      assert.deepEqual(
        ['short-0.', 'short-1.', 'long-0.', 'long-4.', 'long-5.'].map((item) => page.includes(item)),
        [true, true, true, true, false],
      )
    })

    it('has every subscription once, oldest first (HTTP-23)', async () => {
      let now = Date.now()
      const service = await start({ maxPeerSubscriptions: 1200, now: () => now })
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const ids: string[] = []
      for (let n = 0; n < 1100; n += 1) {
        // Groups of the same age cross the border of a page.
        if (n % 40 === 0) now += 1
        ids.push(await peer.subscribe({ subtarget: n % 2 === 0 ? 'even' : 'odd' }))
      }
      const idsAt = async (caller: Pick<TestActor, 'request'>, path: string): Promise<string[]> => {
        const { data } = (await read(caller, path)) as { data: { subscriptionid: string }[] }
        return data.map(({ subscriptionid }) => subscriptionid)
      }
      const listed = await idsAt(actor, '/subscriptions')
      assert.deepEqual(listed.toSorted(), ids.toSorted())
      const place = new Map(ids.map((id, n) => [id, Math.floor(n / 40)]))
      assert.deepEqual(
        listed.map((id) => place.get(id)),
        ids.map((_, n) => Math.floor(n / 40)),
      )
      assert.deepEqual(await idsAt(peer, `/subscriptions/${peer.peerId}`), listed)
      assert.equal((await idsAt(actor, '/subscriptions?subtarget=odd')).length, 550)
    })
  })

  describe('a condition on all properties', () => {
    it('never holds for a listing that is too long for an entity tag (HTTP-24)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 10), 1)
      const tag = (await actor.request('GET', '/properties')).headers.get('etag') ?? ''
      assert.match(tag, /^".+"$/)
      await setAll(actor, numbered('n', 256), 1)
      assert.equal((await actor.request('GET', '/properties')).headers.get('etag'), null)
      for (const wrong of [tag, '"x"', '""']) {
        const refused = await actor.request('PUT', '/properties', { a: 1 }, { 'if-match': wrong })
        assert.equal(refused.status, 412)
        assert.match(
          await refused.text(),
          /Nothing was changed: the properties are too many or too long for an entity tag\. Use If-Match at one property/,
        )
        assert.equal((await actor.request('DELETE', '/properties', undefined, { 'if-match': wrong })).status, 412)
      }
      assert.equal((await actor.request('PUT', '/properties', { a: 1 }, { 'if-none-match': '*' })).status, 412)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 256)
      assert.equal((await actor.request('PUT', '/properties', { a: 1 }, { 'if-match': '*' })).status, 204)
      assert.equal((await actor.request('PUT', '/properties', { b: 1 }, { 'if-none-match': tag })).status, 204)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 258)
    })
  })

  describe('the deletion of more properties than fit into a page', () => {
    it('removes all, keeps each in the history, and tells subscribers of each (HTTP-25)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 1)
      await actor.request('PUT', '/properties', { l: { _type: 'list' }, long: 'y'.repeat(9000) })
      await actor.request('POST', '/properties/l', '1')
      const peer = await relateTo(service, actor)
      const id = await peer.subscribe({})
      assert.equal((await actor.request('DELETE', '/properties')).status, 204)
      assert.deepEqual(await read(actor, '/properties'), {})
      const { data } = (await read(peer, `/subscriptions/${peer.peerId}/${id}`)) as { data: { data: object }[] }
      assert.deepEqual(data.flatMap((diff) => Object.keys(diff.data)).toSorted(), ['l', 'long', ...numbered('n', 600)])
      const handle = await service.app.actors.get(actor.id)
      const changes = (await handle?.history.list({ limit: 1000 }))?.changes ?? []
      assert.equal(changes.filter(({ operation }) => operation === 'delete').length, 602)
    })

    it('removes nothing when a right or a hook is missing for one of the last (HTTP-25)', async () => {
      const service = await start({
        declare: (app) => void app.property('n0599', { delete: () => null }),
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 600), 1)
      assert.equal((await actor.request('DELETE', '/properties')).status, 403)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 600)
      await setAll(actor, ['z-private'], 1)
      const peer = await relateTo(service, actor)
      const properties = { patterns: ['*'], excluded_patterns: ['z*'], operations: ['read', 'delete'], merge: false }
      assert.ok((await actor.request('PUT', `/trust/friend/${peer.peerId}/permissions`, { properties })).ok)
      assert.equal((await peer.request('DELETE', '/properties')).status, 403)
      assert.equal(Object.keys(await read(actor, '/properties')).length, 601)
    })

    it('gives the hooks of values and lists what they hold (HTTP-25)', async () => {
      const seen: [string, unknown][] = []
      const service = await start({
        declare: (app) => {
          for (const name of ['n0000', 'n0299', 'l'])
            app.property(name, {
              delete: ({ value }) => {
                seen.push([name, value])
                return value
              },
            })
        },
      })
      const actor = await service.createActor()
      await setAll(actor, numbered('n', 300), { deep: true })
      await actor.request('PUT', '/properties', { l: { _type: 'list' } })
      await actor.request('POST', '/properties/l', '"one"')
      assert.equal((await actor.request('DELETE', '/properties')).status, 204)
      assert.deepEqual(seen, [
        ['l', ['one']],
        ['n0000', { deep: true }],
        ['n0299', { deep: true }],
      ])
    })
  })
})
