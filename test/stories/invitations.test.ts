/** Invitations: links by which the owner of an actor approves a relationship in advance. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'

interface World {
  readonly service: TestService
  readonly ada: TestActor
  readonly grace: TestActor
}

interface Created {
  readonly id: string
  readonly url: string
  readonly relationship: string
  readonly nickname: string
  readonly created_at: string
  readonly ends_at: string
}

const dayMs = 86_400_000

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const service = await start({ listen: true, ...options })
    const ada = await service.createActor('ada@example.com')
    const grace = await service.createActor('grace@example.com')
    return { service, ada, grace }
  }

  async function invite(owner: TestActor, wish: object = { relationship: 'friend' }): Promise<Created> {
    const answer = await owner.request('POST', '/invitations', wish)
    assert.equal(answer.status, 201, await answer.clone().text())
    return (await answer.json()) as Created
  }

  const openOf = async (owner: TestActor): Promise<Created[]> =>
    (await (await owner.request('GET', '/invitations')).json()) as Created[]

  /** The relationship of the owner with the peer, as the owner sees it. */
  async function trustOf(owner: TestActor, peer: TestActor): Promise<Record<string, unknown> | undefined> {
    const found = (await (await owner.request('GET', `/trust?peerid=${peer.id}`)).json()) as Record<string, unknown>[]
    return found[0]
  }

  const stateOf = async (owner: TestActor, peer: TestActor): Promise<unknown> => {
    const trust = await trustOf(owner, peer)
    return trust === undefined ? null : [trust['approved'], trust['peer_approved']]
  }

  describe('an invitation', () => {
    it('has a link that only its first response contains', async () => {
      const { service, ada } = await open()
      const before = Date.now()
      const answer = await ada.request('POST', '/invitations', { relationship: 'friend', nickname: ' Aunt  Grace ' })
      assert.equal(answer.status, 201)
      assert.equal(answer.headers.get('cache-control'), 'no-store')
      const created = (await answer.json()) as Created
      assert.equal(answer.headers.get('location'), `${service.url}/${ada.id}/invitations/${created.id}`)
      const [, code = ''] = new RegExp(`^${service.url}/${ada.id}/invite/([\\w-]{22})$`).exec(created.url) ?? []
      assert.notEqual(code, '')
      assert.deepEqual([created.relationship, created.nickname], ['friend', 'Aunt Grace'])
      assert.equal(Date.parse(created.ends_at) - Date.parse(created.created_at), 7 * dayMs)
      assert.ok(Date.parse(created.created_at) >= before - 5000)
      const { url: _, ...listed } = created
      assert.deepEqual(await openOf(ada), [listed])
      const stored = JSON.stringify(await dumpStore((await service.app.running()).store))
      assert.ok(stored.includes(created.id) && !stored.includes(code))
    })

    it('connects the first person who requests the relationship with its link, and is used up', async () => {
      const { ada, grace, service } = await open()
      const { url } = await invite(ada, { relationship: 'friend', nickname: 'Aunt Grace' })
      const answer = await grace.request('POST', '/trust', { url })
      assert.equal(answer.status, 201)
      assert.equal(((await answer.json()) as { relationship: string }).relationship, 'friend')
      assert.deepEqual(
        [await stateOf(ada, grace), await stateOf(grace, ada)],
        [
          [true, true],
          [true, true],
        ],
      )
      const trust = await trustOf(ada, grace)
      assert.deepEqual([trust?.['nickname'], trust?.['verified']], ['Aunt Grace', true])
      assert.deepEqual(await openOf(ada), [])
      assert.equal((await service.request(new URL(url).pathname)).status, 404)
    })

    it('is used once when two people use it at the same time', async () => {
      const { ada, grace, service } = await open()
      const bob = await service.createActor('bob@example.com')
      const { url } = await invite(ada)
      const wish = { url, relationship: 'friend' }
      const answers = await Promise.all([grace, bob].map((person) => person.request('POST', '/trust', wish)))
      assert.deepEqual(
        answers.map(({ status }) => status),
        [201, 201],
      )
      const states = await Promise.all([grace, bob].map((person) => stateOf(ada, person)))
      assert.deepEqual(new Set(states.map(String)), new Set(['false,true', 'true,true']))
    })

    it('that was used leaves a later request to the owner', async () => {
      const { ada, grace, service } = await open()
      const bob = await service.createActor('bob@example.com')
      const { url } = await invite(ada)
      assert.equal((await grace.request('POST', '/trust', { url })).status, 201)
      const refused = await bob.request('POST', '/trust', { url })
      assert.equal(refused.status, 400)
      assert.match(await refused.text(), /the invitation was used, has ended or cannot be reached/)
      assert.equal(await stateOf(bob, ada), null)
      assert.equal((await bob.request('POST', '/trust', { url, relationship: 'friend' })).status, 201)
      assert.deepEqual(await stateOf(ada, bob), [false, true])
    })

    it('of another trust type leaves the request to the owner, and stays open', async () => {
      const { ada, grace } = await open()
      const { url, id } = await invite(ada, { relationship: 'associate' })
      assert.equal((await grace.request('POST', '/trust', { url, relationship: 'friend' })).status, 201)
      assert.deepEqual(await stateOf(ada, grace), [false, true])
      assert.deepEqual(
        (await openOf(ada)).map((each) => each.id),
        [id],
      )
    })

    it('is not used by a request without proof of its sender, which could claim any address', async () => {
      const { ada, grace, service } = await open()
      const { url } = await invite(ada)
      const request = {
        baseuri: `${service.url}/${grace.id}`,
        id: grace.id,
        type: 'urn:actingweb:example.com:test',
        secret: 'a-secret-that-grace-never-chose',
        verify: 'a-token-that-grace-never-chose',
        invitation: url.slice(url.lastIndexOf('/') + 1),
      }
      const answer = await service.request(`/${ada.id}/trust/friend`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      })
      assert.equal(answer.status, 202)
      assert.deepEqual(await stateOf(ada, grace), [false, true])
      assert.equal((await openOf(ada)).length, 1)
    })

    it('approves a request of the same person that waits', async () => {
      const { ada, grace, service } = await open()
      const url = `${service.url}/${ada.id}`
      assert.equal((await grace.request('POST', '/trust', { url, relationship: 'friend' })).status, 201)
      assert.deepEqual(await stateOf(ada, grace), [false, true])
      const invitation = await invite(ada)
      assert.equal((await grace.request('POST', '/trust', { url: invitation.url })).status, 201)
      assert.deepEqual(
        [await stateOf(ada, grace), await stateOf(grace, ada)],
        [
          [true, true],
          [true, true],
        ],
      )
      assert.deepEqual(await openOf(ada), [])
    })

    it('counts although the limit of waiting requests is reached', async () => {
      const { ada, grace, service } = await open({ maxPendingTrusts: 1 })
      const bob = await service.createActor('bob@example.com')
      const url = `${service.url}/${ada.id}`
      await bob.request('POST', '/trust', { url, relationship: 'friend' })
      const refused = await grace.request('POST', '/trust', { url, relationship: 'friend' })
      assert.equal(refused.status, 408)
      const invitation = await invite(ada)
      assert.equal((await grace.request('POST', '/trust', { url: invitation.url })).status, 201)
      assert.deepEqual(await stateOf(ada, grace), [true, true])
    })

    it('ends at its time', async () => {
      let now = Date.now()
      const { ada, grace, service } = await open({ now: () => now })
      const { url } = await invite(ada, { relationship: 'friend', ends_at: new Date(now + dayMs).toISOString() })
      const shown = await service.request(new URL(url).pathname)
      assert.equal(shown.status, 200)
      now += dayMs
      assert.equal((await service.request(new URL(url).pathname)).status, 404)
      assert.deepEqual(await openOf(ada), [])
      assert.equal((await grace.request('POST', '/trust', { url, relationship: 'friend' })).status, 201)
      assert.deepEqual(await stateOf(ada, grace), [false, true])
    })

    it('can be revoked', async () => {
      const { ada, grace } = await open()
      const { url, id } = await invite(ada)
      assert.equal((await ada.request('DELETE', `/invitations/${id}`)).status, 204)
      assert.equal((await ada.request('DELETE', `/invitations/${id}`)).status, 404)
      await grace.request('POST', '/trust', { url, relationship: 'friend' })
      assert.deepEqual(await stateOf(ada, grace), [false, true])
    })

    it('says at its link who invites to what, without a credential', async () => {
      const { ada, service } = await open()
      const { url, ends_at } = await invite(ada)
      const path = new URL(url).pathname
      const actor = `${service.url}/${ada.id}`
      assert.deepEqual(await (await service.request(path)).json(), { actor, relationship: 'friend', ends_at })
      await ada.request('PUT', '/properties/displayname', '"Ada Lovelace"')
      const named = { actor, relationship: 'friend', name: 'Ada Lovelace', ends_at }
      assert.deepEqual(await (await service.request(path)).json(), named)
      for (const wrong of [`${path}x`, path.slice(0, -1), `/${ada.id}/invite/${'A'.repeat(22)}`])
        assert.equal((await service.request(wrong)).status, 404, wrong)
    })

    it('of another service cannot choose a trust type that only the owner of this actor may choose', async () => {
      const declare = (app: App): void => {
        app.trustType({
          name: 'auditor',
          display_name: 'Auditor',
          description: '',
          permissions: {},
          needsConfirmation: true,
        })
      }
      const { grace } = await open({ declare })
      let named = 'admin'
      const paths: (string | undefined)[] = []
      const other = createServer((request, response) => {
        paths.push(request.url)
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ relationship: named }))
      })
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
      try {
        const { port } = other.address() as AddressInfo
        const url = `http://127.0.0.1:${port}/mallory/invite/${'a'.repeat(22)}`
        for (named of ['admin', 'auditor']) {
          const answer = await grace.request('POST', '/trust', { url })
          assert.equal(answer.status, 400, named)
          assert.match(await answer.text(), /which only the owner can choose/)
        }
        assert.deepEqual(new Set(paths), new Set([`/mallory/invite/${'a'.repeat(22)}`]))
        assert.deepEqual(await (await grace.request('GET', '/trust')).json(), [])
      } finally {
        other.close()
      }
    })

    it('names its owner only when peers may see the name', async () => {
      const { ada, service } = await open({ peerProfileAttributes: [] })
      await ada.request('PUT', '/properties/displayname', '"Ada Lovelace"')
      const { url } = await invite(ada)
      assert.ok(!(await (await service.request(new URL(url).pathname)).text()).includes('Lovelace'))
    })

    it('is refused for a wrong trust type, nickname or end, and nothing is stored', async () => {
      const { ada } = await open()
      const refusals: readonly [object, RegExp][] = [
        [{ relationship: 'stranger' }, /the trust type "stranger" does not exist/],
        [{ relationship: 'admin' }, /the trust type "admin" can only be given to an existing connection/],
        [{ relationship: 'api_key' }, /the trust type "api_key" is for programs/],
        [{ relationship: 'mcp_client' }, /the trust type "mcp_client" is for programs/],
        [{ relationship: 7 }, /relationship must be/],
        [{ nickname: 'n'.repeat(81) }, /a nickname has at most 80 characters/],
        [{ ends_at: 'soon' }, /ends_at must be a time in ISO 8601/],
        [{ ends_at: '2020-01-01T00:00:00Z' }, /ends_at must be in the future/],
        [{ ends_at: new Date(Date.now() + 91 * dayMs).toISOString() }, /an invitation ends within 90 days/],
      ]
      for (const [wish, why] of refusals) {
        const answer = await ada.request('POST', '/invitations', wish)
        assert.equal(answer.status, 400, JSON.stringify(wish))
        assert.match(((await answer.json()) as { message: string }).message, why)
      }
      assert.deepEqual(await openOf(ada), [])
    })

    it('is refused as the 101st open one, and an ended one does not count', async () => {
      let now = Date.now()
      const { ada } = await open({ now: () => now })
      for (let n = 0; n < 100; n++) await invite(ada)
      const answer = await ada.request('POST', '/invitations', {})
      assert.equal(answer.status, 409)
      assert.match(await answer.text(), /100 invitations are open\. Revoke one first/)
      now += 7 * dayMs
      await invite(ada)
      assert.equal((await openOf(ada)).length, 1)
    })

    it('belongs to the owner alone', async () => {
      const { service, ada, grace } = await open()
      const { id } = await invite(ada)
      const admin = await relateTo(service, ada, { relationship: 'admin' })
      const client = await authorizeClient(service, ada, { relationship: 'admin', audience: '' })
      const callers = [
        [(method: string, path: string) => admin.request(method, path, method === 'POST' ? {} : undefined), 403],
        [
          (method: string, path: string) =>
            service.request(`/${ada.id}${path}`, { method, headers: { authorization: `Bearer ${client.token}` } }),
          403,
        ],
        [
          (method: string, path: string) =>
            service.request(`/${ada.id}${path}`, { method, headers: { authorization: grace.authorization } }),
          403,
        ],
        [(method: string, path: string) => service.request(`/${ada.id}${path}`, { method }), 401],
      ] as const
      for (const [ask, status] of callers)
        for (const [method, path] of [
          ['GET', '/invitations'],
          ['POST', '/invitations'],
          ['DELETE', `/invitations/${id}`],
        ] as const)
          assert.equal((await ask(method, path)).status, status, `${method} ${path}`)
      assert.equal((await openOf(ada)).length, 1)
    })

    it('can be created, listed and revoked by the application', async () => {
      const { service, ada, grace } = await open()
      const actor = await service.app.actors.get(ada.id)
      assert.ok(actor)
      const endsAt = new Date(Date.now() + dayMs)
      const created = await actor.invitations.create({ relationship: 'friend', nickname: 'Grace', endsAt })
      const { url, ...shown } = created
      assert.deepEqual(await actor.invitations.list(), [shown])
      assert.deepEqual([shown.relationship, shown.nickname, shown.endsAt], ['friend', 'Grace', endsAt])
      assert.equal((await grace.request('POST', '/trust', { url })).status, 201)
      assert.deepEqual(await actor.invitations.list(), [])
      const other = await actor.invitations.create()
      assert.equal(other.relationship, 'associate')
      assert.deepEqual(
        [await actor.invitations.revoke(other.id), await actor.invitations.revoke(other.id)],
        [true, false],
      )
      await assert.rejects(actor.invitations.create({ endsAt: new Date(0) }), { code: 'bad_request' })
    })

    it('is deleted with its actor', async () => {
      const { service, ada } = await open()
      const { id } = await invite(ada)
      assert.equal((await ada.request('DELETE', '')).status, 204)
      assert.ok(!JSON.stringify(await dumpStore((await service.app.running()).store)).includes(id))
    })
  })
})
