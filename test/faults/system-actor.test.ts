import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type RegisteredClient, registerClient, requestTokens } from '../support/oauth-client.ts'
import { basic, forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'

const id = '_actingweb_oauth2'

const declare: NonNullable<StartOptions['declare']> = (app) => {
  app.action('get_note', { mcp: true }, async ({ actor }) => {
    await actor.set('notes', { secret: 'of one program' })
    return { note: 'hello' }
  })
  app.action('delete_note', { mcp: true }, async () => ({ deleted: true }))
  app.action('admin_reset', { mcp: true }, async () => ({ reset: true }))
  app.method('note', { mcp: { resource: { uri: 'notes://note' } } }, async () => ({ text: 'hello' }))
}

async function tokenOf(service: TestService, { client_id, client_secret = '' }: RegisteredClient): Promise<string> {
  const answer = await requestTokens(service, { grant_type: 'client_credentials', client_id, client_secret })
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { access_token: string }).access_token
}

interface Answered {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number }
}

async function call(service: TestService, token: string, method: string, params: object = {}): Promise<Answered> {
  const answer = await service.request('/mcp', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  assert.equal(answer.status, 200)
  return (await answer.json()) as Answered
}

forEachService((start) => {
  describe('the actor that owns self-registered clients', () => {
    it('offers clients only the tools and resources of their trust type, and none of its stored data', async () => {
      const service = await start({ declare })
      const own = { grant_types: ['client_credentials'] }
      const [one, other] = [await registerClient(service, own), await registerClient(service, own)]
      const token = await tokenOf(service, one)
      const listed = (await call(service, token, 'tools/list')).result?.['tools'] as { name: string }[]
      assert.deepEqual(
        listed.map(({ name }) => name),
        ['get_note'],
      )
      const called = await call(service, token, 'tools/call', { name: 'get_note', arguments: {} })
      assert.equal(called.result?.['isError'], false)
      for (const name of ['delete_note', 'admin_reset'])
        assert.ok((await call(service, token, 'tools/call', { name, arguments: {} })).error !== undefined, name)
      const stranger = await tokenOf(service, other)
      for (const reader of [token, stranger]) {
        const resources = (await call(service, reader, 'resources/list')).result?.['resources'] as { uri: string }[]
        assert.deepEqual(
          resources.map(({ uri }) => uri),
          ['notes://note'],
        )
        assert.ok((await call(service, reader, 'resources/read', { uri: 'notes://note' })).result !== undefined)
        for (const uri of ['actingweb://properties/notes', 'actingweb://properties/all'])
          assert.ok((await call(service, reader, 'resources/read', { uri })).error !== undefined, uri)
      }
    })

    it('has no address: no caller reads, changes, deletes or signs in to it', async () => {
      const service = await start({ declare })
      const client = await registerClient(service, { grant_types: ['client_credentials'] })
      const token = await tokenOf(service, client)
      const { rate_limit: _counters, ...before } = await dumpStore((await service.app.running()).store)
      for (const credentials of [
        {},
        { authorization: `Bearer ${token}` },
        { authorization: basic('oauth2-system', 'x') },
        { authorization: basic(client.client_id, client.client_secret ?? '') },
        { cookie: `oauth_token=${token}` },
      ]) {
        for (const spelled of [
          id,
          id.toUpperCase(),
          encodeURIComponent(id),
          '%5Factingweb_oauth2',
          '_actingweb%5foauth2',
        ]) {
          for (const path of [
            '',
            '/meta',
            '/meta/id',
            '/properties',
            '/trust',
            '/www',
            '/methods',
            '/callbacks/x',
            '/activity',
          ]) {
            const answer = await service.request(`/${spelled}${path}`, { headers: credentials })
            assert.equal(answer.status, 404, `${spelled}${path}`)
          }
          const deletion = await service.request(`/${spelled}`, { method: 'DELETE', headers: credentials })
          assert.equal(deletion.status, 404, spelled)
          const trust = await service.request(`/${spelled}/trust`, {
            method: 'POST',
            headers: { ...credentials, 'content-type': 'application/json' },
            body: '{"url":"https://peer.example/x"}',
          })
          assert.equal(trust.status, 404, spelled)
        }
      }
      const passphrase = await service.request('/oauth/spa/token', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ grant_type: 'passphrase', actor_id: id, passphrase: 'x' }),
      })
      assert.equal(passphrase.status, 404)
      assert.equal(await service.app.actors.get(id), undefined)
      assert.equal(await service.app.actors.delete(id), false)
      const { rate_limit: _more, ...after } = await dumpStore((await service.app.running()).store)
      assert.deepEqual(after, before)
      assert.ok((after['actor'] ?? []).some((row) => row.includes(id)))
    })

    it('cannot be taken over through its creator’s name, with or without unique creators', async () => {
      for (const uniqueCreator of [false, true]) {
        const service = await start({ uniqueCreator })
        await registerClient(service)
        const made = await service.request('/', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ creator: 'oauth2-system', passphrase: 'guess' }),
        })
        const answer = (await made.json()) as { id?: string; error?: string }
        assert.notEqual(answer.id, id)
        assert.equal(made.status, uniqueCreator ? 403 : 201)
        // The system actor still exists with its client, even after the other actor is deleted.
        if (answer.id !== undefined) await service.app.actors.delete(answer.id)
        assert.equal((await service.app.clients.stats()).total, 1)
      }
    })
  })
})
