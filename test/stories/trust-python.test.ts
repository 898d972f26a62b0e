import assert from 'node:assert/strict'
import { afterEach, before, describe, it } from 'node:test'
import { EventRecorder } from '../support/event-recorder.ts'
import { believe, PythonPeer } from '../support/python-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'

type Json = Record<string, unknown>

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

forEachService((start) => {
  describe('an actor of the Python implementation (R-TRUST-08)', () => {
    const heard = new EventRecorder()
    let service: TestService
    const peers: PythonPeer[] = []
    before(async () => {
      service = await start({ listen: true, declare: heard.declare })
    })
    afterEach(async () => {
      for (const peer of peers.splice(0)) await peer.close()
    })

    async function world(options?: { autoAccept?: string }): Promise<{ actor: TestActor; peer: PythonPeer }> {
      const peer = await PythonPeer.start(options)
      peers.push(peer)
      return { actor: await service.createActor(), peer }
    }

    const rootOf = ({ id }: TestActor): string => `${service.url}/${id}`

    async function recordOf(actor: TestActor, peer: PythonPeer): Promise<Json> {
      return (await (await actor.request('GET', `/trust/friend/${peer.id}`)).json()) as Json
    }

    it('receives a trust request, and fetches the verification token during the request (R-TRUST-02)', async () => {
      const { actor, peer } = await world()
      const answer = await actor.request(
        'POST',
        '/trust',
        { url: peer.url, relationship: 'friend', desc: 'book club' },
        { 'x-request-id': 'asked-by-the-owner' },
      )
      assert.equal(answer.status, 201)
      const record = (await answer.json()) as Json
      assert.deepEqual([record['approved'], record['peer_approved'], record['verified']], [true, false, true])

      assert.deepEqual(
        peer.requests.map(({ method, path }) => `${method} ${path}`),
        ['GET /meta', 'POST /trust/friend'],
      )
      const [, asking] = peer.requests
      assert.equal(asking?.headers.authorization, undefined)
      assert.equal(asking?.headers['content-type'], 'application/json')
      assert.match(String(asking?.headers['x-request-id']), uuid)
      assert.equal(asking?.headers['x-parent-request-id'], 'asked-by-the-owner')
      const { crossing, ...body } = JSON.parse(asking?.body ?? '') as Json
      assert.deepEqual(body, {
        baseuri: rootOf(actor),
        id: actor.id,
        type: 'urn:actingweb:example.com:test',
        secret: record['secret'],
        desc: 'book club',
        verify: record['verification_token'],
      })
      assert.equal(typeof crossing, 'string')

      const theirs = peer.trusts.get(actor.id)
      assert.deepEqual(
        [theirs?.verified, theirs?.approved, theirs?.peer_approved, theirs?.baseuri],
        [true, false, true, rootOf(actor)],
      )
    })

    it('sends an approval, which is stored (R-TRUST-05)', async () => {
      const { actor, peer } = await world()
      await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
      await peer.approve(actor.id)
      assert.equal((await recordOf(actor, peer))['peer_approved'], true)
      await peer.approve(actor.id)
      assert.deepEqual(heard.names(actor.id), ['trust_initiated', 'trust_fully_approved_remote'])
    })

    it('may approve immediately, so that both actors have approved (R-TRUST-05)', async () => {
      const { actor, peer } = await world({ autoAccept: 'friend' })
      const answer = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
      assert.equal(((await answer.json()) as Json)['peer_approved'], true)
      assert.deepEqual(heard.names(actor.id), ['trust_initiated', 'trust_fully_approved_remote'])
    })

    it('sends a trust request, is called for verification at its own path, and waits for approval (R-TRUST-03)', async () => {
      const { actor, peer } = await world()
      const trust = await peer.request(rootOf(actor), 'friend')
      assert.ok(trust !== null)
      assert.equal(trust.peer_approved, false)
      const call = peer.requests.at(-1)
      assert.equal(`${call?.method} ${call?.path}`, `GET /trust/friend/${actor.id}`)
      assert.equal(call?.headers.authorization, `Bearer ${trust.secret}`)
      assert.match(String(call?.headers['x-request-id']), uuid)
      assert.match(String(call?.headers['x-parent-request-id']), /./)
      const record = await recordOf(actor, peer)
      assert.deepEqual(
        [record['approved'], record['peer_approved'], record['verified'], record['secret'], record['type']],
        [false, true, true, trust.secret, peer.type],
      )
      assert.deepEqual(heard.names(actor.id), ['trust_request_received'])
    })

    it('remains unverified when it cannot be called for verification (R-TRUST-03)', async () => {
      for (const token of ['', 'another-token', 7, null]) {
        const { actor, peer } = await world()
        peer.route('GET', /^\/trust\/friend\//, () => ({ status: 200, body: { verification_token: token } }))
        assert.ok((await peer.request(rootOf(actor), 'friend')) !== null)
        assert.equal((await recordOf(actor, peer))['verified'], false)
      }
      for (const status of [301, 401, 403, 404, 500]) {
        const { actor, peer } = await world()
        peer.route('GET', /^\/trust\/friend\//, () => ({ status }))
        assert.ok((await peer.request(rootOf(actor), 'friend')) !== null)
        assert.equal((await recordOf(actor, peer))['verified'], false, String(status))
      }
    })

    it('is verified with either spelling of the token (R-TRUST-03)', async () => {
      for (const name of ['verification_token', 'verificationToken']) {
        const { actor, peer } = await world()
        peer.route('GET', /^\/trust\/friend\//, () => ({
          status: 200,
          body: { [name]: peer.trusts.get(actor.id)?.verification_token },
        }))
        await peer.request(rootOf(actor), 'friend')
        assert.equal((await recordOf(actor, peer))['verified'], true, name)
      }
    })

    it('receives the approval by POST with a JSON boolean (R-TRUST-04)', async () => {
      const { actor, peer } = await world()
      const trust = await peer.request(rootOf(actor), 'friend')
      const noticed = peer.answered('POST', /^\/trust\/friend\//)
      assert.equal((await actor.request('PUT', `/trust/friend/${peer.id}`, { approved: true })).status, 204)
      const { body, headers } = await noticed
      assert.equal(body, '{"approved":true}')
      assert.equal(headers.authorization, `Bearer ${trust?.secret}`)
      assert.match(String(headers['x-request-id']), uuid)
      assert.equal(trust?.peer_approved, true)
      assert.deepEqual(heard.names(actor.id), ['trust_request_received', 'trust_fully_approved_local'])
    })

    it('receives the end of the relationship, even when it no longer has it (R-TRUST-06)', async () => {
      for (const knows of [true, false]) {
        const { actor, peer } = await world()
        await peer.request(rootOf(actor), 'friend')
        if (!knows) peer.trusts.clear()
        const notice = peer.answered('DELETE', /^\/trust\/friend\//)
        assert.equal((await actor.request('DELETE', `/trust/friend/${peer.id}`)).status, 204)
        await notice
        assert.equal(peer.trusts.size, 0)
      }
    })

    it('ends the relationship itself, and accepts our response (R-TRUST-06)', async () => {
      const { actor, peer } = await world()
      await peer.request(rootOf(actor), 'friend')
      assert.equal(await peer.end(actor.id), true)
      assert.equal((await actor.request('GET', `/trust/friend/${peer.id}`)).status, 404)
      assert.equal((await heard.first('trust_deleted', actor.id)).initiated_by_peer, true)

      const again = await peer.request(rootOf(actor), 'friend')
      assert.ok(again !== null)
      await actor.request('DELETE', `/trust/friend/${peer.id}?peer=true`)
      assert.equal(await peer.end(actor.id), true, 'our 404 says that there is nothing left')
    })

    it('finds out by its own id whether the relationship still exists', async () => {
      const { actor, peer } = await world()
      const trust = await peer.request(rootOf(actor), 'friend')
      const probe = () => peer.call('GET', `${rootOf(actor)}/trust/${peer.id}`, trust?.secret)
      await actor.request('PUT', `/trust/friend/${peer.id}`, { approved: true })
      const kept = await probe()
      assert.equal('data' in kept && (kept.data as Json)['peerid'], peer.id)
      await actor.request('DELETE', `/trust/friend/${peer.id}`)
      assert.deepEqual(await probe(), { error: 403 })
    })

    it('understands each of our errors', async () => {
      const { actor, peer } = await world()
      const trust = await peer.request(rootOf(actor), 'friend')
      const refusals: readonly [method: string, path: string, secret: string | undefined, status: number][] = [
        ['GET', '/properties', trust?.secret, 403],
        ['GET', '/properties', undefined, 401],
        ['GET', `/trust/lover/${peer.id}`, trust?.secret, 404],
        ['DELETE', '/trust/friend/unknown', trust?.secret, 403],
        ['DELETE', '/trust/friend/unknown', 'the-secret-of-an-ended-relationship', 404],
        ['GET', '/nothing', trust?.secret, 404],
        ['DELETE', '/meta', trust?.secret, 405],
        ['POST', '/trust/creator', undefined, 400],
      ]
      for (const [method, path, secret, status] of refusals) {
        const answer = await peer.call(method, `${rootOf(actor)}${path}`, secret, method === 'POST' ? {} : undefined)
        assert.deepEqual(answer, { error: status }, `${method} ${path}`)
      }
      assert.deepEqual(believe(404, '{"detail":"Not Found"}'), { data: { detail: 'Not Found' } }, 'as it would others')
    })

    it('is understood when it sends errors without a body', async () => {
      const { actor, peer } = await world()
      peer.route('POST', /^\/trust\/friend$/, () => ({ status: 403 }))
      const answer = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
      assert.equal(answer.status, 408)
      assert.deepEqual(await (await actor.request('GET', '/trust')).json(), [])
    })

    it('loses nothing when it sends another request, which changes the secret of both actors', async () => {
      const { actor, peer } = await world()
      await peer.request(rootOf(actor), 'friend')
      await actor.request('PUT', `/trust/friend/${peer.id}`, { approved: true })
      const trust = await peer.request(rootOf(actor), 'friend')
      assert.equal(trust?.peer_approved, true)
      assert.equal((await recordOf(actor, peer))['secret'], trust?.secret)
    })
  })
})
