import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { open, type Sealed } from '../../src/secret/sealed.ts'
import { EventRecorder } from '../support/event-recorder.ts'
import { bound } from '../support/stores.ts'
import { basic, forEachService, type TestActor, type TestService } from '../support/service.ts'

type Json = Record<string, unknown>

forEachService((start) => {
  describe('a companion', () => {
    const heard = new EventRecorder()
    let factory: TestService
    let onDeleted: (actorId: string) => void = () => {}
    let service: TestService
    let beforeChange: (actorId: string) => Promise<void> = async () => {}
    before(async () => {
      factory = await start({
        listen: true,
        type: 'urn:actingweb:example.com:box',
        declare: (app) => app.on('actor_deleted_complete', ({ actor_id }) => onDeleted(actor_id)),
      })
      service = await start({
        listen: true,
        wrapStore: (store) => ({
          ...bound(store),
          writeActor: async (actorId, work, origin) => {
            await beforeChange(actorId)
            return store.writeActor(actorId, work, origin)
          },
        }),
        declare: (app) => {
          heard.declare(app)
          app.companion('box', {
            factory: `${factory.url}/`,
            type: 'urn:actingweb:example.com:box',
            relationship: 'partner',
          })
          app.companion('other', { factory: `${factory.url}/`, type: 'urn:other', relationship: 'friend' })
          app.companion('nowhere', { factory: 'http://127.0.0.1:1/', relationship: 'friend' })
        },
      })
    })

    const passphraseAt = async (owner: TestActor): Promise<string> => {
      const { store, keyRing } = await service.app.running()
      const row = await store.read((q) =>
        q.get<{ passphrase: string }>('SELECT passphrase FROM companion WHERE actor_id = $1', owner.id),
      )
      assert.ok(row !== undefined)
      return open(keyRing, row.passphrase as Sealed, [owner.id, 'companion.passphrase', 'box'])
    }

    async function withBox(): Promise<{ owner: TestActor; boxId: string; boxUrl: string; passphrase: string }> {
      const owner = await service.createActor()
      const actor = await service.app.actors.get(owner.id)
      const trust = await actor?.trust.companion('box')
      assert.ok(trust !== undefined)
      return { owner, boxId: trust.peerid, boxUrl: trust.baseuri, passphrase: await passphraseAt(owner) }
    }

    it('is created at its factory, knows its trustee, and both actors approve', async () => {
      const { owner, boxId, boxUrl, passphrase } = await withBox()
      const actor = await service.app.actors.get(owner.id)
      assert.equal(boxUrl, `${factory.url}/${boxId}`)
      const box = (await (
        await fetch(boxUrl, { headers: { authorization: basic('trustee', passphrase) } })
      ).json()) as Json
      assert.deepEqual([box['creator'], box['trustee_root']], ['trustee', `${service.url}/${owner.id}`])
      const own = await actor?.trust.get(boxId)
      assert.deepEqual([own?.relationship, own?.approved, own?.peer_approved], ['partner', true, true])
      const there = await (await factory.app.actors.get(boxId))?.trust.get(owner.id)
      assert.deepEqual([there?.relationship, there?.approved, there?.peer_approved], ['partner', true, true])
      assert.deepEqual(heard.names(owner.id), ['trust_initiated', 'trust_fully_approved_remote'])
      assert.equal((await actor?.trust.companion('box'))?.peerid, boxId, 'there is one companion of each kind')
    })

    it('has its passphrase stored encrypted', async () => {
      const { owner, passphrase } = await withBox()
      const { store } = await service.app.running()
      const rows = await store.read((q) => q.all('SELECT * FROM companion WHERE actor_id = $1', owner.id))
      assert.equal(rows.length, 1)
      assert.equal(JSON.stringify(rows).includes(passphrase), false)
    })

    it('authenticates its trustee by the passphrase as a bearer token, but grants no data', async () => {
      const { boxUrl, passphrase } = await withBox()
      const statusOf = async (path: string, token = passphrase): Promise<number> =>
        (await fetch(`${boxUrl}${path}`, { headers: { authorization: `Bearer ${token}` } })).status
      assert.deepEqual(
        [await statusOf(''), await statusOf('/trust'), await statusOf('/properties'), await statusOf('/methods')],
        [200, 200, 403, 403],
      )
      assert.equal(await statusOf('', `${passphrase}x`), 403)
    })

    it('is deleted with the actor that created it', async () => {
      const { owner, boxId } = await withBox()
      const gone = new Promise<string>((resolve) => void (onDeleted = resolve))
      assert.equal((await owner.request('DELETE', '')).status, 204)
      assert.equal(await gone, boxId)
      assert.equal(await factory.app.actors.get(boxId), undefined)
    })

    it('is deleted alone, with the relationship', async () => {
      const { owner, boxId } = await withBox()
      const actor = await service.app.actors.get(owner.id)
      assert.equal(await actor?.trust.deleteCompanion('box'), true)
      assert.equal(await factory.app.actors.get(boxId), undefined)
      assert.equal(await actor?.trust.get(boxId), undefined)
      assert.equal(await actor?.trust.deleteCompanion('box'), false)
    })

    it('is deleted also when its own notification ends the relationship meanwhile (PEER-08)', async (t) => {
      const { owner, boxId } = await withBox()
      const actor = await service.app.actors.get(owner.id)
      const { store } = await service.app.running()
      beforeChange = async (actorId) => {
        const sql = 'SELECT kind FROM companion WHERE actor_id = $1'
        if (actorId !== owner.id || (await store.read((q) => q.get(sql, owner.id))) !== undefined) return
        beforeChange = async () => {}
        await actor?.trust.delete(boxId)
      }
      t.after(() => (beforeChange = async () => {}))
      assert.equal(await actor?.trust.deleteCompanion('box'), true)
      assert.equal(await factory.app.actors.get(boxId), undefined)
      assert.equal(await actor?.trust.get(boxId), undefined)
      assert.equal(await actor?.trust.delete(boxId), false)
      assert.equal(heard.names(owner.id).filter((name) => name === 'trust_deleted').length, 1)
    })

    it('leaves nothing behind when it cannot be created', async () => {
      const owner = await service.createActor()
      const actor = await service.app.actors.get(owner.id)
      await assert.rejects(async () => actor?.trust.companion('nowhere'), { code: 'peer_failed' })
      await assert.rejects(async () => actor?.trust.companion('other'), { code: 'peer_failed' })
      await assert.rejects(async () => actor?.trust.companion('unknown'), { code: 'bad_request' })
      assert.deepEqual(await actor?.trust.list(), [])
      const { store } = await factory.app.running()
      const left = await store.read((q) =>
        q.all('SELECT id FROM actor WHERE trustee_root = $1', `${service.url}/${owner.id}`),
      )
      assert.deepEqual(left, [])
    })

    it('is what the devtest proxy reads and writes', async () => {
      const owner = await service.createActor()
      const made = await owner.request('POST', '/devtest/proxy/create', { color: 'blue' })
      assert.equal(made.status, 200)
      const meta = (await made.json()) as Json
      assert.equal(meta['trustee_root'], `${service.url}/${owner.id}`)
      assert.equal(made.headers.get('location'), `${service.url}/${String(meta['id'])}`)
      const path = '/devtest/proxy/properties'
      assert.deepEqual(await (await owner.request('GET', path)).json(), { color: 'blue' })
      assert.equal(await (await owner.request('GET', `${path}/color`)).json(), 'blue')
      assert.equal((await owner.request('PUT', `${path}/size`, { w: 1 })).status, 204)
      assert.equal((await owner.request('PUT', `${path}/word`, 'plain text')).status, 204)
      assert.deepEqual(await (await owner.request('GET', path)).json(), {
        color: 'blue',
        size: { w: 1 },
        word: 'plain text',
      })
      assert.equal((await owner.request('DELETE', `${path}/color`)).status, 204)
      assert.equal((await owner.request('GET', `${path}/color`)).status, 404)
      assert.equal((await owner.request('GET', '/devtest/proxy')).status, 404)
      const again = await owner.request('POST', '/devtest/proxy/create')
      assert.equal(((await again.json()) as Json)['id'], meta['id'])
    })
  })

  describe('the trustee of an actor', () => {
    it('is set and removed by the owner (R-TRUST-01)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const rootOf = async (): Promise<unknown> =>
        ((await (await actor.request('GET', '')).json()) as Json)['trustee_root']
      assert.equal((await actor.request('PUT', '/trust/trustee', { trustee_root: 'https://t.example/77' })).status, 204)
      assert.equal(await rootOf(), 'https://t.example/77')
      assert.equal((await actor.request('PUT', '/trust/trustee', {})).status, 204)
      assert.equal(await rootOf(), 'https://t.example/77')
      for (const body of [{ trustee_root: 7 }, { trustee_root: null }, { creator: 1 }]) {
        assert.equal((await actor.request('PUT', '/trust/trustee', body)).status, 400)
      }
      assert.equal((await actor.request('PUT', '/trust/trustee', '{')).status, 400)
      assert.equal(await rootOf(), 'https://t.example/77')
      assert.equal((await actor.request('DELETE', '/trust/trustee')).status, 204)
      assert.equal(await rootOf(), undefined)
      const anonymous = await service.request(`/${actor.id}/trust/trustee`, { method: 'DELETE' })
      assert.equal(anonymous.status, 401)
    })

    it('authenticates only with the trustee’s address, its name, and a strong passphrase', async () => {
      const service = await start()
      const bearer = async (id: string, token: string): Promise<number> =>
        (await service.request(`/${id}`, { headers: { authorization: `Bearer ${token}` } })).status
      const make = async (creator: string, trusteeRoot: string, passphrase: string): Promise<string> =>
        (await service.app.actors.create({ creator, trusteeRoot, passphrase })).actor.id
      const [strong, weak] = ['p'.repeat(13), 'p'.repeat(12)]
      assert.equal(await bearer(await make('trustee', 'https://t.example/1', strong), strong), 200)
      assert.equal(await bearer(await make('Trustee', 'https://t.example/1', strong), strong), 200)
      assert.equal(await bearer(await make('trustee', 'https://t.example/1', weak), weak), 403)
      assert.equal(await bearer(await make('trustee', '', strong), strong), 403)
      assert.equal(await bearer(await make('other', 'https://t.example/1', strong), strong), 403)
    })

    it('changes the creator, which stays unique where creators are', async () => {
      const service = await start({ uniqueCreator: true })
      const actor = await service.createActor('one@example.com')
      await service.createActor('two@example.com')
      assert.equal((await actor.request('PUT', '/trust/trustee', { creator: 'two@example.com' })).status, 409)
      assert.equal((await actor.request('GET', '')).status, 200)
      assert.equal((await actor.request('PUT', '/trust/trustee', { creator: 'Three@Example.com' })).status, 204)
      const authorization = basic('three@example.com', actor.passphrase)
      assert.equal((await actor.request('GET', '', undefined, { authorization })).status, 200)
    })
  })
})
