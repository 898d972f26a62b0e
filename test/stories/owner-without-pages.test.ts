import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { forEachService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'

interface ListedApp {
  readonly id: string
  readonly name: string
  readonly redirect_place: string
  readonly relationship: string
  readonly approved: boolean
  readonly has_access: boolean
}

forEachService((start) => {
  describe('an owner without the pages of the service', () => {
    it('lists the programs that act for them, and disconnects one (R-MCP-04)', async () => {
      const service = await start({ webUi: false })
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      const made = await handle?.clients.create({ name: 'Robot', redirectUris: ['https://robot.example.com/back'] })
      assert.ok(made)
      const list = async (): Promise<readonly ListedApp[]> =>
        ((await (await actor.request('GET', '/apps')).json()) as { apps: ListedApp[] }).apps
      const [app, ...others] = await list()
      assert.deepEqual(others, [])
      assert.ok(app)
      assert.equal(app.name, 'Robot')
      // No address has received an access yet.
      assert.equal(app.redirect_place, '')
      assert.equal(app.relationship, 'mcp_client')
      assert.equal(app.approved, true)
      assert.equal(app.has_access, false)
      assert.equal((await actor.request('DELETE', '/apps/none')).status, 404)
      assert.equal((await actor.request('DELETE', `/apps/${app.id}`)).status, 204)
      assert.deepEqual(await list(), [])
      assert.equal((await actor.request('DELETE', `/apps/${app.id}`)).status, 404)
    })

    it('does not disconnect a peer as if it were an app', async () => {
      const service = await start({ webUi: false })
      const actor = await service.createActor()
      const made = await actor.request('POST', '/trust/friend', { baseuri: 'https://peer.example.com/one', id: 'one' })
      assert.equal(made.status, 202, await made.text())
      assert.equal((await actor.request('DELETE', '/apps/one')).status, 404)
      assert.equal((await actor.request('GET', '/trust/friend/one')).status, 202)
    })

    it('ends every other session at once, and keeps the session of the request (R-TOK-06)', async () => {
      const service = await start({ webUi: false })
      const actor = await service.createActor()
      const kept = await signIn(service, actor)
      const ended = await signIn(service, actor)
      const send = (method: string, token: string): Promise<Response> =>
        service.request(`/${actor.id}/sessions`, { method, headers: { authorization: `Bearer ${token}` } })
      assert.deepEqual(await (await send('DELETE', kept)).json(), { ended: 1 })
      assert.equal((await send('GET', ended)).status, 401)
      assert.equal((await send('GET', kept)).status, 200)
      assert.deepEqual(await (await send('DELETE', kept)).json(), { ended: 0 })
    })

    it('has these addresses alone: neither a peer nor another owner may use them', async () => {
      const service = await start({ webUi: false })
      const actor = await service.createActor()
      const other = await service.createActor('other@example.com')
      for (const [method, path] of [
        ['GET', '/apps'],
        ['DELETE', '/apps/x'],
        ['DELETE', '/sessions'],
      ] as const) {
        const headers = { authorization: other.authorization }
        assert.equal((await service.request(`/${actor.id}${path}`, { method, headers })).status, 403)
        assert.equal((await service.request(`/${actor.id}${path}`, { method })).status, 401)
      }
    })
  })
})
