import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { EventRecorder } from '../support/event-recorder.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { type Dump, dumpStore, rowsOf } from '../support/store-dump.ts'
import { until } from '../support/until.ts'

type TrustJson = Record<string, unknown> & { readonly secret: string; readonly verification_token: string }

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/
const fortyHex = /^[0-9a-f]{40}$/

async function jsonOf(response: Response): Promise<TrustJson> {
  return (await response.json()) as TrustJson
}

async function listOf(response: Response): Promise<TrustJson[]> {
  return (await response.json()) as TrustJson[]
}

async function storeOf(service: TestService, actor: TestActor): Promise<Dump> {
  return rowsOf(await dumpStore((await service.app.running()).store), actor.id)
}

forEachService((start) => {
  describe('two actors of two services', () => {
    const [heardHere, heardThere] = [new EventRecorder(), new EventRecorder()]
    let here: TestService
    let there: TestService
    before(async () => {
      here = await start({ listen: true, declare: heardHere.declare })
      there = await start({ listen: true, declare: heardThere.declare })
    })

    const rootOf = (service: TestService, { id }: TestActor): string => `${service.url}/${id}`

    /** `asker` lives on the service `here`, `asked` on `there`. */
    async function pair(): Promise<{ asker: TestActor; asked: TestActor }> {
      return { asker: await here.createActor('asker@example.com'), asked: await there.createActor('asked@example.com') }
    }

    async function pending(relationship = 'friend'): Promise<{ asker: TestActor; asked: TestActor; secret: string }> {
      const { asker, asked } = await pair()
      const answer = await asker.request('POST', '/trust', { url: rootOf(there, asked), relationship })
      assert.equal(answer.status, 201)
      const { secret } = await jsonOf(answer)
      return { asker, asked, secret }
    }

    async function mutual(): Promise<{ asker: TestActor; asked: TestActor; secret: string }> {
      const all = await pending()
      assert.equal((await all.asked.request('PUT', `/trust/friend/${all.asker.id}`, { approved: true })).status, 204)
      await heardHere.first('trust_fully_approved_remote', all.asker.id)
      return all
    }

    const asPeer = (service: TestService, method: string, path: string, secret: string, body?: unknown) =>
      service.request(path, {
        method,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })

    it('create a record on both sides by a request, approved by the requesting actor (R-TRUST-01, R-TRUST-02)', async () => {
      const { asker, asked } = await pair()
      const url = rootOf(there, asked)
      const answer = await asker.request('POST', '/trust', { url, relationship: 'friend', desc: 'book club' })
      assert.equal(answer.status, 201)
      assert.equal(answer.headers.get('location'), `${rootOf(here, asker)}/trust/friend/${asked.id}`)
      const record = await jsonOf(answer)
      const { secret, verification_token, created_at, last_accessed, last_connected_at, ...rest } = record
      assert.deepEqual(rest, {
        id: asker.id,
        peerid: asked.id,
        baseuri: url,
        type: 'urn:actingweb:example.com:test',
        relationship: 'friend',
        desc: 'book club',
        approved: true,
        peer_approved: false,
        verified: true,
        established_via: 'trust',
        last_connected_via: 'trust',
        verificationToken: verification_token,
      })
      assert.match(secret, fortyHex)
      assert.match(verification_token, fortyHex)
      assert.match(String(created_at), isoTime)
      assert.equal(last_accessed, created_at)
      assert.equal(last_connected_at, created_at)

      const other = await asked.request('GET', `/trust/friend/${asker.id}`)
      assert.equal(other.status, 202)
      const theirs = await jsonOf(other)
      assert.equal(theirs.secret, secret)
      assert.notEqual(theirs.verification_token, verification_token)
      assert.deepEqual(
        [theirs['id'], theirs['peerid'], theirs['baseuri'], theirs['desc']],
        [asked.id, asker.id, rootOf(here, asker), 'book club'],
      )
      assert.deepEqual([theirs['approved'], theirs['peer_approved'], theirs['verified']], [false, true, true])
    })

    it('fire the events of a request once in both applications, without secrets (R-TRUST-02, R-TRUST-03, R-EVT-01)', async () => {
      const { asker, asked, secret } = await pending()
      assert.deepEqual(heardHere.names(asker.id), ['trust_initiated'])
      assert.deepEqual(heardThere.names(asked.id), ['trust_request_received'])
      const [initiated, received] = [
        await heardHere.first('trust_initiated', asker.id),
        await heardThere.first('trust_request_received', asked.id),
      ]
      assert.deepEqual([initiated.peer_id, initiated.relationship], [asked.id, 'friend'])
      assert.deepEqual([received.peer_id, received.relationship], [asker.id, 'friend'])
      assert.deepEqual([initiated.trust_data.approved, received.trust_data.approved], [true, false])
      for (const { trust_data } of [initiated, received]) {
        assert.equal(JSON.stringify(trust_data).includes(secret), false)
        assert.deepEqual(
          Object.keys(trust_data).filter((name) => /secret|token/i.test(name)),
          [],
        )
      }
    })

    it('send an approval to the peer, and fire one event on each side when both approved (R-TRUST-04, R-TRUST-05, R-EVT-01)', async () => {
      const { asker, asked } = await mutual()
      const ours = await jsonOf(await asker.request('GET', `/trust/friend/${asked.id}`))
      const answer = await asked.request('GET', `/trust/friend/${asker.id}`)
      const theirs = await jsonOf(answer)
      assert.equal(answer.status, 200)
      for (const record of [ours, theirs]) {
        assert.deepEqual([record['approved'], record['peer_approved']], [true, true])
      }
      const local = await heardThere.first('trust_fully_approved_local', asked.id)
      const remote = await heardHere.first('trust_fully_approved_remote', asker.id)
      assert.deepEqual([local.peer_id, local.relationship], [asker.id, 'friend'])
      assert.deepEqual([remote.peer_id, remote.relationship], [asked.id, 'friend'])
      assert.deepEqual([local.trust_data.approved, local.trust_data.peer_approved], [true, true])

      assert.equal((await asked.request('PUT', `/trust/friend/${asker.id}`, { approved: 'true' })).status, 204)
      const again = await asPeer(here, 'POST', `/${asker.id}/trust/friend/${asked.id}`, ours.secret, { approved: true })
      assert.equal(again.status, 204)
      assert.deepEqual(heardHere.names(asker.id), ['trust_initiated', 'trust_fully_approved_remote'])
      assert.deepEqual(heardThere.names(asked.id), ['trust_request_received', 'trust_fully_approved_local'])
    })

    it('send a repeated approval to the peer again, in case the first notification was lost (R-TRUST-04)', async () => {
      const { asker, asked } = await mutual()
      const { store } = await here.app.running()
      // Locks the actor, because the fetch of metadata after an approval writes to the same row.
      await store.writeActor(asker.id, (tx) =>
        tx.run('UPDATE trust SET peer_approved = 0 WHERE actor_id = $1', asker.id),
      )
      heardHere.all.length = 0
      assert.equal((await asked.request('PUT', `/trust/friend/${asker.id}`, { approved: true })).status, 204)
      await heardHere.first('trust_fully_approved_remote', asker.id)
      const { peer_approved } = await jsonOf(await asker.request('GET', `/trust/friend/${asked.id}`))
      assert.equal(peer_approved, true)
      assert.deepEqual(heardThere.names(asked.id), ['trust_request_received', 'trust_fully_approved_local'])
    })

    it('end the relationship on both sides, with an event in each application that says who ended it (R-TRUST-06, R-EVT-01)', async () => {
      const { asker, asked, secret } = await mutual()
      assert.equal((await asker.request('DELETE', `/trust/friend/${asked.id}`)).status, 204)
      assert.equal((await asker.request('GET', `/trust/friend/${asked.id}`)).status, 404)
      const gone = await heardThere.first('trust_deleted', asked.id)
      assert.equal((await asked.request('GET', `/trust/friend/${asker.id}`)).status, 404)
      assert.deepEqual([gone.peer_id, gone.relationship, gone.initiated_by_peer], [asker.id, 'friend', true])
      assert.equal(gone.trust_data.peerid, asker.id)
      const own = await heardHere.first('trust_deleted', asker.id)
      assert.deepEqual([own.peer_id, own.relationship, own.initiated_by_peer], [asked.id, 'friend', false])
      assert.equal((await asPeer(there, 'GET', `/${asked.id}/trust/friend/${asker.id}`, secret)).status, 403)
      assert.equal(heardHere.names(asker.id).filter((name) => name === 'trust_deleted').length, 1)
      assert.equal(heardThere.names(asked.id).filter((name) => name === 'trust_deleted').length, 1)
    })

    it('let the owner end the relationship without notifying the peer (R-TRUST-06)', async () => {
      const { asker, asked } = await mutual()
      assert.equal((await asker.request('DELETE', `/trust/friend/${asked.id}?peer=true`)).status, 204)
      const { store } = await here.app.running()
      assert.deepEqual(await store.read((q) => q.all('SELECT id FROM notice WHERE sender = $1', asker.id)), [])
      assert.equal((await asked.request('GET', `/trust/friend/${asker.id}`)).status, 200)
      assert.equal((await heardHere.first('trust_deleted', asker.id)).initiated_by_peer, false)
    })

    it('delete everything about the peer with the relationship, and nothing about others (R-TRUST-06)', async () => {
      const { asker, asked } = await mutual()
      const other = await there.createActor('other@example.com')
      await asker.request('POST', '/trust', { url: rootOf(there, other), relationship: 'friend' })
      const rights = { properties: { patterns: ['x'], operations: ['read'] } }
      for (const peer of [asked, other]) {
        assert.equal((await asker.request('PUT', `/trust/friend/${peer.id}/permissions`, rights)).status, 201)
      }
      assert.equal((await asker.request('DELETE', `/trust/friend/${asked.id}`)).status, 204)
      const left = await storeOf(here, asker)
      for (const [table, rows] of Object.entries(left)) {
        assert.deepEqual(
          rows.filter((row) => row.includes(asked.id)),
          [],
          table,
        )
      }
      assert.equal(left['trust']?.length, 1)
      assert.equal(left['permission_override']?.length, 1)
    })

    it('delete the peer’s subscriptions with the relationship, and update the counts (R-TRUST-06)', async () => {
      const { asker, asked, secret } = await mutual()
      const listeners = async (): Promise<unknown> => {
        const { store } = await there.app.running()
        return (
          await store.read((q) =>
            q.get<{ counts: string }>(
              `SELECT subscription_count || ', to keys ' || key_subscription_count AS counts FROM actor WHERE id = $1`,
              asked.id,
            ),
          )
        )?.counts
      }
      for (const body of [
        { target: 'properties', subtarget: 'one', granularity: 'high' },
        { target: 'properties', subtarget: 'two', resource: 'key', granularity: 'high' },
      ]) {
        const answer = await asPeer(there, 'POST', `/${asked.id}/subscriptions/${asker.id}`, secret, body)
        assert.equal(answer.status, 201)
      }
      assert.equal(await listeners(), '2, to keys 1')
      assert.equal((await asked.request('DELETE', `/trust/friend/${asker.id}`)).status, 204)
      assert.equal(await listeners(), '0, to keys 0')
      assert.deepEqual((await storeOf(there, asked))['publisher_subscription'], [])
    })

    it('end the relationships of a deleted actor at every peer (R-TRUST-06)', async () => {
      const { asker, asked } = await mutual()
      assert.equal((await asker.request('DELETE', '')).status, 204)
      const gone = await heardThere.first('trust_deleted', asked.id)
      assert.equal(gone.initiated_by_peer, true)
      assert.equal((await asked.request('GET', `/trust/friend/${asker.id}`)).status, 404)
      assert.equal(heardHere.names(asker.id).includes('trust_deleted'), false)
    })

    it('end the relationships of a replaced actor (R-TRUST-06)', async () => {
      const { asked } = await pair()
      const { actor } = await here.app.actors.create({ creator: 'replaced@example.com' })
      await actor.trust.request(rootOf(there, asked), 'friend')
      await here.app.actors.create({ creator: 'replaced@example.com', deleteExisting: true })
      assert.equal((await heardThere.first('trust_deleted', asked.id)).peer_id, actor.id)
    })

    it('list relationships by trust type, kind of peer and peer, and answer 200 to an empty list (R-TRUST-01)', async () => {
      const { asker, asked } = await pending('friend')
      const second = await there.createActor('second@example.com')
      await asker.request('POST', '/trust', { url: rootOf(there, second), relationship: 'lover' })
      const peersAt = async (query: string): Promise<unknown[]> => {
        const answer = await asker.request('GET', `/trust${query}`)
        assert.equal(answer.status, 200, query)
        return (await listOf(answer)).map(({ peerid }) => peerid)
      }
      assert.deepEqual(new Set(await peersAt('')), new Set([asked.id, second.id]))
      assert.deepEqual(await peersAt('?relationship=lover'), [second.id])
      assert.deepEqual(await peersAt(`?peerid=${asked.id}`), [asked.id])
      assert.deepEqual(await peersAt(`?peerid=${asked.id}&relationship=lover`), [])
      assert.equal((await peersAt('?type=urn:actingweb:example.com:test')).length, 2)
      assert.deepEqual(await peersAt('?type=urn:actingweb:example.com:other'), [])
      assert.deepEqual(await listOf(await asker.request('GET', '/trust/lover')), [
        await jsonOf(await asker.request('GET', `/trust/lover/${second.id}`)),
      ])
      assert.deepEqual(await listOf(await asker.request('GET', '/trust/enemy')), [])
      assert.deepEqual(await listOf(await second.request('GET', '/trust?peerid=unknown')), [])
    })

    it('require both the relationship and the peer in a path (R-TRUST-01)', async () => {
      const { asker, asked } = await pending()
      for (const path of [`/trust/lover/${asked.id}`, '/trust/friend/unknown', `/trust/Friend/${asked.id}`]) {
        for (const method of ['GET', 'PUT', 'DELETE'] as const) {
          const body = method === 'PUT' ? { approved: false } : undefined
          assert.equal((await asker.request(method, path, body)).status, 404, `${method} ${path}`)
        }
      }
      assert.equal((await asker.request('GET', `/trust/friend/${asked.id}`)).status, 200)
    })

    it('accept the peer alone in a path, whatever the relationship (R-TRUST-01)', async () => {
      const { asker, asked } = await pending()
      assert.equal((await asked.request('PUT', `/trust/${asker.id}`, { desc: 'changed' })).status, 204)
      const { desc } = await jsonOf(await asked.request('GET', `/trust/friend/${asker.id}`))
      assert.equal(desc, 'changed')
      const byLink = await asked.request('GET', `/trust/${asker.id}?_method=DELETE`)
      assert.equal(byLink.status, 302)
      assert.equal(byLink.headers.get('location'), `${rootOf(there, asked)}/www/trust`)
      assert.equal((await asked.request('GET', `/trust/friend/${asker.id}`)).status, 404)
      assert.equal((await asked.request('PUT', '/trust/friend', { desc: 'x' })).status, 404)
      assert.equal((await asked.request('DELETE', '/trust/friend')).status, 404)
    })

    it('use the default relationship when it is missing or empty (R-TRUST-01)', async () => {
      for (const relationship of [undefined, '']) {
        const { asker, asked } = await pair()
        const answer = await asker.request('POST', '/trust', { url: `${rootOf(there, asked)}/`, relationship })
        assert.equal(answer.status, 201)
        const record = await jsonOf(answer)
        assert.deepEqual(
          [record['relationship'], record['desc'], record['baseuri']],
          ['associate', '', rootOf(there, asked)],
        )
        assert.equal((await asked.request('GET', `/trust/associate/${asker.id}`)).status, 202)
      }
    })

    it('accept a request as a form or a query as well as JSON (R-TRUST-01)', async () => {
      const { asker, asked } = await pair()
      const url = encodeURIComponent(rootOf(there, asked))
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      const byForm = await asker.request('POST', '/trust', `url=${url}&relationship=friend&desc=hi`, form)
      assert.equal(byForm.status, 201)
      assert.equal((await jsonOf(byForm))['desc'], 'hi')
      await asker.request('DELETE', `/trust/friend/${asked.id}`)
      await heardThere.first('trust_deleted', asked.id)
      assert.equal((await asker.request('POST', `/trust?url=${url}&relationship=partner`)).status, 201)
      assert.equal((await asked.request('GET', `/trust/partner/${asker.id}`)).status, 202)
    })

    it('reject an invalid request before they call any peer (R-TRUST-01)', async () => {
      const asker = await here.createActor()
      const before = await storeOf(here, asker)
      const refused: readonly unknown[] = [
        {},
        { url: '' },
        { url: null },
        { url: 12 },
        { url: ['http://127.0.0.1:9/x'] },
        { url: 'nothing' },
        { url: 'ftp://peer.example.com/1' },
        { url: 'https://peer.example.com' },
        { url: 'https://user:pass@peer.example.com/1' },
        ...['creator', 'trustee', 'owner', 'any', 'anyone', 'Owner', 'a/b', ' friend', '..', 'x'.repeat(101)].map(
          (relationship) => ({ url: 'https://peer.example.com/1', relationship }),
        ),
        { url: 'https://peer.example.com/1', relationship: null },
        { url: 'https://peer.example.com/1', desc: 1 },
        { url: 'https://peer.example.com/1', desc: 'x'.repeat(2001) },
        [],
        'text',
        null,
      ]
      for (const body of refused) {
        const answer = await asker.request('POST', '/trust', JSON.stringify(body), {
          'content-type': 'application/json',
        })
        assert.equal(answer.status, 400, JSON.stringify(body))
      }
      assert.equal((await asker.request('POST', '/trust', '{', { 'content-type': 'application/json' })).status, 400)
      assert.deepEqual(await storeOf(here, asker), before)
    })

    it('reject other methods (R-TRUST-01)', async () => {
      const { asker } = await pending()
      for (const method of ['PUT', 'DELETE']) {
        const answer = await asker.request(method, '/trust')
        assert.equal(answer.status, 405)
        assert.equal(answer.headers.get('allow'), 'GET, HEAD, POST')
      }
    })

    it('let the owner change only the description and the address of the peer (R-TRUST-01)', async () => {
      const { asker, asked, secret } = await pending()
      const path = `/trust/friend/${asked.id}`
      const before = await jsonOf(await asker.request('GET', path))
      assert.equal((await asker.request('PUT', path, {})).status, 204)
      assert.deepEqual(await jsonOf(await asker.request('GET', path)), before)
      const change = { desc: 'new', baseuri: `${rootOf(there, asked)}/`, secret: 'x'.repeat(40), peer_approved: true }
      assert.equal((await asker.request('PUT', path, { ...change, relationship: 'admin' })).status, 204)
      const after = await jsonOf(await asker.request('GET', path))
      assert.deepEqual(after, { ...before, desc: 'new' })
      assert.equal(after.secret, secret)
    })

    // FastAPI, which the Python library 3.14.0 uses, redirects these addresses, and clients of it send them.
    it('answer at addresses with a trailing slash as without it (PEER-14)', async () => {
      const { asker, asked, secret } = await mutual()
      // After the approval, the service stores the protocol of the peer, which the record shows.
      await there.settled()
      const paths = [
        '/trust/',
        '/trust/friend/',
        `/trust/friend/${asker.id}/`,
        `/trust/friend/${asker.id}/permissions/`,
        `/trust/friend/${asker.id}/shared_properties/`,
        `/permissions/${asker.id}/`,
        `/subscriptions/${asker.id}/`,
        '/meta/',
      ]
      for (const path of paths) {
        const [with_, without] = await Promise.all(
          [path, path.slice(0, -1)].map((each) => asPeer(there, 'GET', `/${asked.id}${each}`, secret)),
        )
        assert.ok(with_ !== undefined && without !== undefined)
        assert.equal(with_.status, without.status, path)
        assert.equal(await with_.text(), await without.text(), path)
      }
      const made = { target: 'properties', granularity: 'high' }
      assert.equal((await asPeer(there, 'POST', `/${asked.id}/subscriptions/${asker.id}/`, secret, made)).status, 201)
      for (const path of ['/properties/color/', '/trust/friend//', `/trust//${asker.id}/`]) {
        assert.equal((await asked.request('GET', path)).status, 404, path)
      }
    })

    it('accept permissions together with the approval (R-TRUST-01)', async () => {
      const { asker, asked, secret } = await pending('neighbor')
      await asked.request('PUT', '/properties/shared', 'for-the-neighbor')
      const read = () => asPeer(there, 'GET', `/${asked.id}/properties/shared`, secret)
      assert.equal((await read()).status, 403)
      const permissions = { properties: { patterns: ['shared'], operations: ['read'] } }
      const path = `/trust/neighbor/${asker.id}`
      assert.equal((await asked.request('PUT', path, { approved: true, permissions })).status, 204)
      assert.equal(await (await read()).text(), 'for-the-neighbor')
      const record = await jsonOf(await asked.request('GET', `${path}?permissions=true`))
      assert.deepEqual(record['permissions'], permissions)
      assert.equal(
        (await jsonOf(await asker.request('GET', `/trust/neighbor/${asked.id}?permissions=true`)))['permissions'],
        null,
      )
      for (const bad of [
        { approved: false, permissions: [] },
        { approved: false, permissions: { properties: 1 } },
      ]) {
        assert.equal((await asked.request('PUT', path, bad)).status, 400)
      }
      assert.equal((await asked.request('GET', path)).status, 200)
    })

    it('revoke every right when the approval is withdrawn, and restore them when it is renewed (R-TRUST-01)', async () => {
      const { asker, asked, secret } = await mutual()
      await asked.request('PUT', '/properties/color', 'blue')
      const read = async () => (await asPeer(there, 'GET', `/${asked.id}/properties/color`, secret)).status
      const path = `/trust/friend/${asker.id}`
      assert.equal(await read(), 200)
      for (const approved of [false, 'false']) {
        assert.equal((await asked.request('PUT', path, { approved })).status, 204)
        assert.equal(await read(), 403)
        assert.equal((await asked.request('GET', path)).status, 202)
        assert.equal((await asked.request('PUT', path, { approved: true })).status, 204)
        assert.equal(await read(), 200)
      }
      assert.equal(
        heardThere.names(asked.id).filter((name) => name === 'trust_fully_approved_local').length,
        3,
        'each time that both approve again',
      )
    })

    it('send no notification of a withdrawn approval, which the peer sees in its own record (R-TRUST-01)', async () => {
      const { asker, asked, secret } = await mutual()
      const path = `/trust/friend/${asker.id}`
      const { store } = await there.app.running()
      const notices = () => store.read((q) => q.all('SELECT id FROM notice WHERE sender = $1', asked.id))
      await until(async () => (await notices()).length === 0)
      assert.equal((await asked.request('PUT', path, { approved: false })).status, 204)
      assert.deepEqual(await notices(), [])
      const own = await asPeer(there, 'GET', `/${asked.id}${path}`, secret)
      assert.equal(own.status, 202)
      assert.equal((await jsonOf(own))['approved'], false)
      assert.equal((await jsonOf(await asker.request('GET', `/trust/friend/${asked.id}`)))['peer_approved'], true)
    })

    it('reject a change whose approval is not a boolean, and change nothing (R-TRUST-01, PEER-14)', async () => {
      const { asker, asked } = await pending()
      const path = `/trust/friend/${asker.id}`
      const before = await storeOf(there, asked)
      for (const approved of [1, 0, 'yes', 'True', '', null, [], {}]) {
        assert.equal((await asked.request('PUT', path, { approved, desc: 'x' })).status, 400, JSON.stringify(approved))
      }
      const elsewhere = [rootOf(there, asked), `${rootOf(here, asker)}x`, 'https://peer.example.com/1']
      for (const baseuri of elsewhere) {
        const change = { baseuri, permissions: { properties: ['*'] } }
        assert.equal((await asked.request('PUT', path, change)).status, 400, baseuri)
      }
      for (const change of [{ baseuri: 'nothing' }, { baseuri: null }, { baseuri: '' }, { desc: null }, { desc: 1 }]) {
        assert.equal((await asked.request('PUT', path, { approved: true, ...change })).status, 400)
      }
      assert.equal((await asked.request('PUT', path, '[]')).status, 400)
      assert.equal((await asked.request('PUT', path, '{')).status, 400)
      assert.deepEqual(await storeOf(there, asked), before)
    })

    it('show a peer its own relationship, without the secret, and no other relationship', async () => {
      const { asker, asked, secret } = await pending()
      const other = await here.createActor('other@example.com')
      await other.request('POST', '/trust', { url: rootOf(there, asked), relationship: 'friend' })
      const own = await asPeer(there, 'GET', `/${asked.id}/trust/friend/${asker.id}`, secret)
      assert.equal(own.status, 202, 'the state of its own relationship is shown while it waits')
      const record = await jsonOf(own)
      assert.equal('secret' in record, false)
      assert.equal(record['verificationToken'], record.verification_token)
      const paths = [
        ['GET', '/trust'],
        ['GET', '/trust/friend'],
        ['GET', `/trust/friend/${other.id}`],
        ['GET', `/trust/${other.id}`],
        ['GET', `/trust/${asker.id}`],
        ['POST', `/trust/friend/${other.id}`],
        ['PUT', `/trust/friend/${asker.id}`],
        ['DELETE', `/trust/friend/${other.id}`],
        ['PUT', '/trust/trustee'],
        ['DELETE', '/trust/trustee'],
      ] as const
      const before = await storeOf(there, asked)
      for (const [method, path] of paths) {
        const answer = await asPeer(there, method, `/${asked.id}${path}`, secret, method === 'GET' ? undefined : {})
        assert.equal(answer.status, 403, `${method} ${path}`)
      }
      assert.deepEqual(await storeOf(there, asked), before)
      await asked.request('PUT', `/trust/friend/${asker.id}`, { approved: true })
      const probe = await asPeer(there, 'GET', `/${asked.id}/trust/${asker.id}`, secret)
      assert.equal(probe.status, 200)
      assert.equal((await jsonOf(probe))['peerid'], asker.id)
    })

    it('let an administrator see and end the relationships of others, without their secrets', async () => {
      const { asker, asked, secret } = await pending('admin')
      const other = await here.createActor('other@example.com')
      await other.request('POST', '/trust', { url: rootOf(there, asked), relationship: 'friend' })
      await asked.request('PUT', `/trust/admin/${asker.id}`, { approved: true })
      const all = await listOf(await asPeer(there, 'GET', `/${asked.id}/trust`, secret))
      const shown = new Map(
        all.map((record) => [record['peerid'], ['secret' in record, 'verification_token' in record]]),
      )
      assert.deepEqual(shown.get(asker.id), [false, true])
      assert.deepEqual(shown.get(other.id), [false, false])
      assert.equal((await asPeer(there, 'DELETE', `/${asked.id}/trust/friend/${other.id}`, secret)).status, 204)
      assert.equal((await heardThere.first('trust_deleted', asked.id)).initiated_by_peer, false)
    })

    it('answer 404 for an unknown relationship to the owner and to an unknown token, and 401 or 403 to others (R-TRUST-06)', async () => {
      const { asked, asker, secret } = await pending()
      const path = `/${asked.id}/trust/friend/unknown`
      for (const [authorization, status] of [
        ['', 401],
        ['Bearer wrong', 404],
        [`Bearer ${secret}`, 403],
        [asked.authorization, 404],
      ] as const) {
        const headers: Record<string, string> = authorization === '' ? {} : { authorization }
        assert.equal((await there.request(path, { method: 'DELETE', headers })).status, status)
      }
      const existing = `/${asked.id}/trust/friend/${asker.id}`
      assert.equal((await there.request(existing, { method: 'DELETE' })).status, 401)
      const wrong = { authorization: 'Bearer wrong-and-long-enough' }
      assert.equal((await there.request(existing, { method: 'DELETE', headers: wrong })).status, 403)
      assert.equal((await asked.request('DELETE', `/trust/friend/${asked.id}`)).status, 400)
      assert.equal((await asked.request('GET', `/trust/friend/${asker.id}`)).status, 202)
    })

    it('offer the same operations to the application in process, without secrets', async () => {
      const { asked } = await pair()
      const { actor } = await here.app.actors.create({ creator: 'inside@example.com' })
      const record = await actor.trust.request(rootOf(there, asked), 'friend', 'from inside')
      assert.deepEqual(
        [record.peerid, record.relationship, record.desc, 'secret' in record, 'verification_token' in record],
        [asked.id, 'friend', 'from inside', false, false],
      )
      assert.deepEqual(await actor.trust.list(), [record])
      assert.deepEqual(await actor.trust.list({ relationship: 'lover' }), [])
      assert.deepEqual(await actor.trust.get(asked.id), record)
      assert.equal(await actor.trust.get('unknown'), undefined)
      const other = await there.app.actors.get(asked.id)
      assert.equal((await other?.trust.approve(actor.id))?.approved, true)
      await heardHere.first('trust_fully_approved_remote', actor.id)
      await assert.rejects(actor.trust.approve('unknown'), { code: 'not_found' })
      assert.equal(await actor.trust.delete(asked.id), true)
      assert.equal(await actor.trust.delete(asked.id), false)
      await heardThere.first('trust_deleted', asked.id)
      assert.deepEqual(await other?.trust.list(), [])
    })
  })
})
