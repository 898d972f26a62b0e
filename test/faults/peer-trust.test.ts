import assert from 'node:assert/strict'
import { afterEach, before, describe, it } from 'node:test'
import type { Timers } from '../../src/timers.ts'
import { EventRecorder } from '../support/event-recorder.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes, samples } from '../support/routes.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { type Dump, dumpStore, rowsOf } from '../support/store-dump.ts'
import { until } from '../support/until.ts'

type Json = Record<string, unknown>

/** Runs short waits, such as pauses between attempts, immediately. No test depends on waits of a minute or more. */
const hurried: Timers = {
  setTimer(ms, then) {
    // Real time: long waits keep their length, so none of them ends within a test.
    const timer = setTimeout(then, ms < 10_000 ? 0 : ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

const strong = (letter: string): string => letter.repeat(40)

forEachService((start) => {
  const heard = new EventRecorder()
  let service: TestService
  const peers: PythonPeer[] = []

  before(async () => {
    // Profiles are fetched in the background, which would change the store between two dumps.
    service = await start({ listen: true, declare: heard.declare, timers: hurried, peerProfileAttributes: [] })
  })
  afterEach(async () => {
    for (const peer of peers.splice(0)) await peer.close()
  })

  async function pythonPeer(options?: { autoAccept?: string }): Promise<PythonPeer> {
    const peer = await PythonPeer.start(options)
    peers.push(peer)
    return peer
  }

  const rootOf = ({ id }: TestActor): string => `${service.url}/${id}`

  async function stored(actor: TestActor): Promise<Dump> {
    return rowsOf(await dumpStore((await service.app.running()).store), actor.id)
  }

  async function recordOf(actor: TestActor, peerId: string, relationship = 'friend'): Promise<Json> {
    return (await (await actor.request('GET', `/trust/${relationship}/${peerId}`)).json()) as Json
  }

  async function send(method: string, path: string, secret: string | null, body?: unknown): Promise<Response> {
    return service.request(path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }

  /** Sends a trust request of an unverified peer. Its address is unreachable unless one is given. */
  async function ask(actor: TestActor, body: Json, relationship = 'friend'): Promise<Response> {
    return send('POST', `/${actor.id}/trust/${relationship}`, null, body)
  }

  function stranger(name: string, more: Json = {}): Json {
    return { baseuri: `http://127.0.0.1:1/${name}`, id: name, type: 'urn:x', secret: strong('a'), ...more }
  }

  /** Creates a peer and a relationship that both sides approved. */
  async function befriended(actor: TestActor): Promise<{ peer: PythonPeer; secret: string; path: string }> {
    const peer = await pythonPeer()
    const trust = await peer.request(rootOf(actor), 'friend')
    assert.ok(trust !== null)
    assert.equal((await actor.request('PUT', `/trust/friend/${peer.id}`, { approved: true })).status, 204)
    return { peer, secret: trust.secret, path: `/${actor.id}/trust/friend/${peer.id}` }
  }

  describe('the approval notice', () => {
    it('is accepted only from that peer, which is authenticated before the body is parsed (PEER-01)', async () => {
      const actor = await service.createActor()
      const { peer, secret } = await befriended(actor)
      const asked = await pythonPeer()
      assert.equal((await actor.request('POST', '/trust', { url: asked.url, relationship: 'friend' })).status, 201)
      const path = `/${actor.id}/trust/friend/${asked.id}`
      const before = await stored(actor)
      const senders: readonly [status: number, secret: string | null][] = [
        [401, null],
        [403, strong('f')],
        [403, secret],
        [403, actor.passphrase],
      ]
      for (const [status, sender] of senders) {
        for (const body of [{ approved: true }, '{', '[]', 'x'.repeat(3_000_000)]) {
          assert.equal((await send('POST', path, sender, body)).status, status)
        }
      }
      assert.equal((await actor.request('POST', `/trust/friend/${asked.id}`, { approved: true })).status, 403)
      assert.deepEqual(await stored(actor), before)
      assert.notEqual(peer.id, asked.id)
    })

    it('counts only when `approved` is the JSON value true (PEER-06)', async () => {
      const actor = await service.createActor()
      const asked = await pythonPeer()
      const request = await actor.request('POST', '/trust', { url: asked.url, relationship: 'friend' })
      const { secret } = (await request.json()) as { secret: string }
      const path = `/${actor.id}/trust/friend/${asked.id}`
      for (const approved of [false, 'true', 'false', 1, null, [true], { approved: true }]) {
        assert.equal((await send('POST', path, secret, { approved })).status, 204, JSON.stringify(approved))
      }
      assert.equal((await send('POST', path, secret, {})).status, 204)
      for (const body of ['', '{', '[]', 'true', '"approved"']) {
        assert.equal((await send('POST', path, secret, body)).status, 400, body)
      }
      assert.equal((await recordOf(actor, asked.id))['peer_approved'], false)
      assert.equal((await send('POST', `/${actor.id}/trust/lover/${asked.id}`, secret, { approved: true })).status, 404)
      assert.equal((await send('POST', path, secret, { approved: true })).status, 204)
      assert.equal((await recordOf(actor, asked.id))['peer_approved'], true)
      assert.deepEqual(heard.names(actor.id), ['trust_initiated', 'trust_fully_approved_remote'])
    })

    it('may arrive before the response to the request, and both sides then agree with one event each (PEER-07)', async () => {
      for (const status of [201, 202]) {
        const actor = await service.createActor()
        const peer = await pythonPeer()
        peer.route('POST', /^\/trust\/friend$/, async ({ body }) => {
          const { secret } = JSON.parse(body) as { secret: string }
          const notified = await send('POST', `/${actor.id}/trust/friend/${peer.id}`, secret, { approved: true })
          assert.equal(notified.status, 204)
          return { status }
        })
        const answer = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        assert.equal(answer.status, 201)
        const record = (await answer.json()) as Json
        assert.deepEqual([record['approved'], record['peer_approved']], [true, true])
        assert.equal((await recordOf(actor, peer.id))['peer_approved'], true)
        assert.deepEqual(heard.names(actor.id).toSorted(), ['trust_fully_approved_remote', 'trust_initiated'])
      }
    })

    it('is stored for a retry when the peer is unreachable, and the approval counts here (PEER-07)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      await peer.request(rootOf(actor), 'friend')
      await peer.close()
      assert.equal((await actor.request('PUT', `/trust/friend/${peer.id}`, { approved: true })).status, 204)
      const record = await recordOf(actor, peer.id)
      assert.deepEqual([record['approved'], record['peer_approved']], [true, true])
      assert.deepEqual(heard.names(actor.id), ['trust_request_received', 'trust_fully_approved_local'])
      const { store } = await service.app.running()
      const notices = await store.read((q) =>
        q.all<{ kind: string }>('SELECT kind FROM notice WHERE sender = $1', actor.id),
      )
      assert.deepEqual(
        notices.map(({ kind }) => kind),
        ['approval'],
        'stored until it is delivered',
      )
    })
  })

  describe('a trust request to an actor', () => {
    const answers: readonly [what: string, meta: { status: number; body?: string | object }, tries: number][] = [
      ['whose meta data names another actor', { status: 200, body: { id: 'somebody-else', type: 'urn:x' } }, 1],
      ['whose meta data has no id', { status: 200, body: { type: 'urn:x' } }, 1],
      ['whose meta data has no type', { status: 200, body: { id: 'x' } }, 1],
      ['whose id is not a string', { status: 200, body: { id: 7, type: 'urn:x' } }, 1],
      ['whose meta data is a list', { status: 200, body: [] }, 1],
      ['whose meta data is an HTML page', { status: 200, body: '<html>' }, 1],
      ['whose meta data is empty', { status: 200 }, 1],
      ['whose meta data is not found', { status: 404, body: { id: 'x', type: 'urn:x' } }, 1],
      ['whose meta data redirects', { status: 302 }, 1],
      ['whose meta data is nested too deeply', { status: 200, body: `${'['.repeat(10_000)}${']'.repeat(10_000)}` }, 1],
      ['that fails', { status: 500, body: { id: 'x', type: 'urn:x' } }, 3],
    ]
    for (const [what, meta, tries] of answers) {
      it(`${what} stops: 408, nothing stored, nothing sent (PEER-03)`, async () => {
        const actor = await service.createActor()
        const peer = await pythonPeer()
        peer.route('GET', /^\/meta$/, () => meta)
        const before = await stored(actor)
        const answer = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        assert.equal(answer.status, 408)
        assert.equal(((await answer.json()) as Json)['error'], 'peer_failed')
        assert.deepEqual(
          peer.requests.map(({ method, path }) => `${method} ${path}`),
          Array.from({ length: tries }, () => 'GET /meta'),
        )
        assert.deepEqual(await stored(actor), before)
        assert.deepEqual(heard.names(actor.id), [])
      })
    }

    it('that recovers between the attempts continues (PEER-03)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      let asked = 0
      peer.route('GET', /^\/meta$/, () => {
        asked += 1
        return asked < 3 ? { status: 503 } : undefined
      })
      assert.equal((await actor.request('POST', '/trust', { url: peer.url })).status, 201)
      assert.equal(asked, 3)
    })

    it('that is missing, is the sender itself or has another type gives 408 with one message (PEER-03)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      const before = await stored(actor)
      const texts = new Set<string>()
      for (const body of [
        { url: 'http://127.0.0.1:1/missing' },
        { url: 'http://127.0.0.1:9/missing' },
        { url: rootOf(actor) },
        { url: `${service.url}/missing` },
        { url: peer.url, type: 'urn:something-else' },
      ]) {
        const answer = await actor.request('POST', '/trust', body)
        assert.equal(answer.status, 408, body.url)
        texts.add(await answer.text())
      }
      assert.equal(texts.size, 1, 'the answers must not map the network')
      assert.deepEqual(await stored(actor), before)
    })

    for (const status of [200, 204, 302, 400, 403, 404, 500, 503]) {
      it(`that answers ${status} stores nothing`, async () => {
        const actor = await service.createActor()
        const peer = await pythonPeer()
        peer.route('POST', /^\/trust\/friend$/, () => ({ status }))
        const before = await stored(actor)
        assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 408)
        assert.deepEqual(await stored(actor), before)
        assert.deepEqual(heard.names(actor.id), [])
        assert.equal(peer.requests.filter(({ method }) => method === 'POST').length, 1, 'a request is not repeated')
      })
    }

    it('that subscribed before it rejected the request leaves no subscription', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      peer.route('POST', /^\/trust\/friend$/, async ({ body }) => {
        const { secret } = JSON.parse(body) as { secret: string }
        const wish = { target: 'properties', granularity: 'high' }
        assert.equal((await send('POST', `/${actor.id}/subscriptions/${peer.id}`, secret, wish)).status, 201)
        return { status: 500 }
      })
      const before = await stored(actor)
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 408)
      assert.deepEqual(await stored(actor), before)
    })

    it('whose response is lost sends a withdrawal to the peer', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      peer.route('POST', /^\/trust\/friend$/, () => ({ status: 202, body: 'x'.repeat(2_000_000) }))
      const withdrawn = peer.answered('DELETE', /^\/trust\/friend\//)
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 408)
      const { path, headers } = await withdrawn
      assert.equal(path, `/trust/friend/${actor.id}`)
      assert.match(String(headers.authorization), /^Bearer [0-9a-f]{40}$/)
      assert.deepEqual(await (await actor.request('GET', '/trust')).json(), [])
    })

    it('keeps the existing relationship when the peer rejects its renewal', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      const first = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
      assert.equal(first.status, 201)
      // Each request has its own verification token, which prevents the confirmation of an older one, so the token is excluded.
      const kept = async (): Promise<unknown> => {
        const { verification_token: _token, verificationToken: _same, ...record } = await recordOf(actor, peer.id)
        return record
      }
      const record = await kept()
      peer.route('POST', /^\/trust\//, () => ({ status: 403 }))
      for (const relationship of ['friend', 'partner']) {
        assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship })).status, 408)
        assert.deepEqual(await kept(), record)
      }
      const known = peer.trusts.get(actor.id)?.secret ?? ''
      assert.equal((await send('GET', `/${actor.id}/trust/friend/${peer.id}`, known)).status, 200)
    })

    it('renews the secret when repeated: the new one is valid, the old one is not, and one relationship remains (PEER-05)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      const secrets: string[] = []
      for (let time = 0; time < 3; time++) {
        const answer = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        assert.equal(answer.status, 201)
        secrets.push(((await answer.json()) as { secret: string }).secret)
        assert.equal(peer.trusts.get(actor.id)?.verified, true)
        assert.equal(peer.trusts.get(actor.id)?.secret, secrets.at(-1))
      }
      const path = `/${actor.id}/trust/friend/${peer.id}`
      assert.deepEqual(
        await Promise.all(secrets.map(async (secret) => (await send('GET', path, secret)).status)),
        [403, 403, 200],
      )
      assert.equal(((await (await actor.request('GET', '/trust')).json()) as Json[]).length, 1)
    })

    it('renews the secret with a Python actor whose response was lost, and requires its approval again (PEER-05)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer({ autoAccept: 'friend' })
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
      const before = await recordOf(actor, peer.id)
      const known = peer.trusts.get(actor.id)
      assert.ok(known !== undefined)
      peer.route('POST', /^\/trust\/friend$/, ({ body }) => {
        const { secret } = JSON.parse(body) as { secret: string }
        peer.trusts.set(actor.id, { ...known, secret, approved: false })
        return { status: 202, body: 'x'.repeat(2_000_000) }
      })
      // The Python actor hides its own record from a peer that it has not approved, with the response for strangers.
      const shown = peer.answered('GET', /^\/trust\/friend\//)
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 408)
      await shown
      await until(async () => (await recordOf(actor, peer.id))['secret'] !== before['secret'])
      const after = await recordOf(actor, peer.id)
      assert.equal(after['secret'], peer.trusts.get(actor.id)?.secret)
      assert.deepEqual([before['peer_approved'], after['approved'], after['peer_approved']], [true, true, false])
    })

    it('conflicts with another one that is in progress (PEER-05)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      let second: Response | undefined
      peer.route('POST', /^\/trust\/friend$/, async () => {
        second = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        return undefined
      })
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
      assert.equal(second?.status, 409)
      assert.equal(peer.trusts.get(actor.id)?.secret, (await recordOf(actor, peer.id))['secret'])
    })
  })

  describe('an incoming trust request', () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
    const refused: readonly [what: string, body: unknown][] = [
      ['an empty body', ''],
      ['invalid JSON', '{'],
      ['a list', '[]'],
      ['neither id nor address', {}],
      ['an address alone', { baseuri: 'http://127.0.0.1:1/x' }],
      ['an id alone', { id: 'x' }],
      ['an id that differs from the one in the address (PEER-03)', { baseuri: 'http://127.0.0.1:1/x', id: 'y' }],
      ['an id that is null', stranger('x', { id: null })],
      ['an empty id', stranger('x', { id: '' })],
      ['a number for an id', { baseuri: 'http://127.0.0.1:1/7', id: 7 }],
      ['an address that is null', stranger('x', { baseuri: null })],
      ['a file address', { baseuri: 'file:///etc/x', id: 'x' }],
      ['an address without a path', { baseuri: 'http://x', id: 'x' }],
      ['an address with a query', { baseuri: 'http://127.0.0.1:1/x?', id: 'x' }],
      ['an address with a password', { baseuri: 'http://a:b@127.0.0.1:1/x', id: 'x' }],
      ['an address that is not ASCII', { baseuri: 'http://127.0.0.1:1/é', id: 'é' }],
      ['a secret of 15 characters (PEER-04)', stranger('x', { secret: 'a'.repeat(15) })],
      ['a secret with a space (PEER-04)', stranger('x', { secret: `${strong('a')} b` })],
      ['a secret with a line break (PEER-04)', stranger('x', { secret: `${strong('a')}\r\nX: y` })],
      ['a secret beyond ASCII (PEER-04)', stranger('x', { secret: 'é'.repeat(40) })],
      ['a secret that is not a string (PEER-04)', stranger('x', { secret: { a: 1 } })],
      ['a secret that is null (PEER-04)', stranger('x', { secret: null })],
      ['a token that is not a string', stranger('x', { verify: 1 })],
      ['a description that is not a string', stranger('x', { desc: [] })],
      ['a type of 2001 characters', stranger('x', { type: 'x'.repeat(2001) })],
      ['10 000 levels (PEER-10)', `{"id":"x","baseuri":"http://127.0.0.1:1/x","desc":${nested(10_000)}}`],
      ['NUL in the id (PEER-10)', '{"id":"x\\u0000","baseuri":"http://127.0.0.1:1/x%00"}'],
      ['half a surrogate pair in the id (PEER-10)', '{"id":"x\\ud800","baseuri":"http://127.0.0.1:1/x"}'],
      ['a huge number in a member that is not read (PEER-10)', '{"id":"x","baseuri":"http://127.0.0.1:1/x","n":1e999}'],
      ['a huge number for an id (PEER-10)', '{"id":1e400,"baseuri":"http://127.0.0.1:1/1e400"}'],
    ]
    for (const [what, body] of refused) {
      it(`is rejected with ${what}`, async () => {
        const actor = await service.createActor()
        const before = await stored(actor)
        assert.equal((await send('POST', `/${actor.id}/trust/friend`, null, body)).status, 400)
        assert.deepEqual(await stored(actor), before)
        assert.deepEqual(heard.names(actor.id), [])
      })
    }

    // The Python library 3.14.0 sends null, and texts without a limit. It deletes its own record on any 400.
    for (const [what, sent, desc, type] of [
      ['null for the message and the type', { desc: null, type: null }, '', ''],
      ['a message of 2001 characters', { desc: `${'x'.repeat(2000)}y` }, 'x'.repeat(2000), 'urn:test'],
      ['a message of 5000 lines', { desc: 'ab\n'.repeat(5000) }, 'ab\n'.repeat(667).slice(0, 2000), 'urn:test'],
      ['a message that would be cut in a character', { desc: `${'x'.repeat(1999)}😀` }, 'x'.repeat(1999), 'urn:test'],
    ] as const) {
      it(`is taken with ${what} (PEER-13)`, async () => {
        const actor = await service.createActor()
        const body = { ...stranger('x'), type: 'urn:test', ...sent }
        assert.equal((await send('POST', `/${actor.id}/trust/friend`, null, body)).status, 202)
        const record = await recordOf(actor, 'x')
        assert.equal(record['desc'], desc)
        assert.equal(record['type'], type)
      })
    }

    it('is rejected with a relationship name that would gain rights of another caller kind', async () => {
      const actor = await service.createActor()
      const before = await stored(actor)
      for (const name of ['creator', 'trustee', 'owner', 'any', 'anyone', 'OWNER', 'ｃreator', '%20friend', '%C2%85']) {
        const encoded = name.startsWith('%') ? name : encodeURIComponent(name)
        const answer = await send('POST', `/${actor.id}/trust/${encoded}`, null, stranger('x'))
        assert.equal(answer.status, 400, name)
      }
      assert.deepEqual(await stored(actor), before)
    })

    it('is rejected from the actor itself', async () => {
      const actor = await service.createActor()
      const answer = await ask(actor, { baseuri: rootOf(actor), id: actor.id, secret: strong('a') })
      assert.equal(answer.status, 400)
    })

    it('from an unverified peer waits for approval, and the response omits the secret that the peer knows (R-TRUST-03)', async () => {
      const actor = await service.createActor()
      const answer = await ask(actor, stranger('stranger', { desc: 'hello' }), 'collaborator')
      assert.equal(answer.status, 202)
      assert.equal(answer.headers.get('location'), `${rootOf(actor)}/trust/collaborator/stranger`)
      const record = (await answer.json()) as Json
      assert.deepEqual(
        [record['approved'], record['peer_approved'], record['verified'], 'secret' in record, record['peerid']],
        [false, true, false, false, 'stranger'],
      )
      assert.equal((await recordOf(actor, 'stranger', 'collaborator'))['secret'], strong('a'))
    })

    it('without a secret gets a generated one, which is shown once (PEER-04)', async () => {
      const actor = await service.createActor()
      for (const [name, secret] of [
        ['one', ''],
        ['two', undefined],
      ] as const) {
        const { secret: _, ...rest } = stranger(name)
        const answer = await ask(actor, secret === undefined ? rest : { ...rest, secret })
        assert.equal(answer.status, 202)
        const record = (await answer.json()) as { secret: string }
        assert.match(record.secret, /^[0-9a-f]{40}$/)
        const own = await send('GET', `/${actor.id}/trust/friend/${name}`, record.secret)
        assert.equal(own.status, 202)
        assert.equal('secret' in ((await own.json()) as Json), false)
      }
    })

    it('with a secret in use gets the same error as any other rejection (PEER-04)', async () => {
      const [actor, other] = [await service.createActor(), await service.createActor('other@example.com')]
      assert.equal((await ask(actor, stranger('first'))).status, 202)
      const before = await stored(actor)
      const inUse = await ask(actor, stranger('second'))
      const otherAddress = await ask(actor, {
        ...stranger('first', { secret: strong('b') }),
        baseuri: 'http://127.0.0.1:9/first',
      })
      assert.deepEqual([inUse.status, otherAddress.status], [403, 403])
      assert.equal(await inUse.text(), await otherAddress.text())
      assert.deepEqual(await stored(actor), before)
      assert.equal((await ask(other, stranger('second'))).status, 202, 'secrets are unique per actor')
    })

    it('may hold strings that no store accepts, which are cleaned (PEER-10)', async () => {
      const actor = await service.createActor()
      const body =
        '{"id":"odd","baseuri":"http://127.0.0.1:1/odd","type":"urn:\\u0000x","desc":"a\\ud800b\\u0000c",' +
        '"__proto__":{"approved":true},"constructor":1,"approved":true,"peer_approved":false,"n":1e300}'
      assert.equal((await send('POST', `/${actor.id}/trust/friend`, null, body)).status, 202)
      const record = await recordOf(actor, 'odd')
      assert.deepEqual([record['type'], record['desc'], record['approved']], ['urn:x', 'a\ufffdbc', false])
    })

    it('is approved automatically only for the default relationship, if configured, and never for an administrator', async () => {
      const off = await service.createActor()
      assert.equal((await ask(off, stranger('x'), 'associate')).status, 202)
      for (const relationship of ['associate', 'admin']) {
        const events = new EventRecorder()
        const accepting = await start({ autoAcceptTrust: true, relationship, declare: events.declare, timers: hurried })
        const actor = await accepting.createActor()
        const asking = async (name: string, as: string) =>
          accepting.request(`/${actor.id}/trust/${as}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ ...stranger(name), secret: strong(name) }),
          })
        assert.equal((await asking('b', 'friend')).status, 202)
        const answer = await asking('c', relationship)
        assert.equal(answer.status, relationship === 'admin' ? 202 : 201)
        assert.equal(((await answer.json()) as Json)['approved'], relationship !== 'admin')
        assert.deepEqual(events.names(actor.id), [
          'trust_request_received',
          'trust_request_received',
          ...(relationship === 'admin' ? [] : ['trust_fully_approved_local']),
        ])
      }
    })
  })

  describe('an existing relationship', () => {
    it('is not taken over by a caller that knows the peer’s id (PEER-05)', async () => {
      const actor = await service.createActor()
      const { peer, secret, path } = await befriended(actor)
      const before = await stored(actor)
      const verify = strong('e')
      const attempts: readonly Json[] = [
        { baseuri: 'http://127.0.0.1:1/elsewhere', id: peer.id },
        { baseuri: `http://127.0.0.1:1/${peer.id}`, id: peer.id, secret: strong('a'), verify },
        { baseuri: peer.url, id: peer.id, secret: strong('a'), verify },
        { baseuri: peer.url, id: peer.id, secret, verify },
        { baseuri: peer.url, id: peer.id, secret: strong('a') },
        { baseuri: peer.url, id: peer.id },
        { baseuri: peer.url.replace('127.0.0.1', 'localhost'), id: peer.id, secret: strong('a'), verify },
      ]
      for (const attempt of attempts) {
        for (const relationship of ['friend', 'admin']) {
          const answer = await ask(actor, attempt, relationship)
          assert.equal(answer.status, String(attempt['baseuri']).endsWith('/elsewhere') ? 400 : 403)
          const text = await answer.text()
          assert.equal(text.includes(secret), false)
        }
      }
      assert.deepEqual(await stored(actor), before)
      assert.equal((await send('GET', path, secret)).status, 200)
      assert.deepEqual(heard.names(actor.id), ['trust_request_received', 'trust_fully_approved_local'])
    })

    it('is renewed by the peer: it keeps its rights, and the old secret becomes invalid (PEER-05)', async () => {
      const actor = await service.createActor()
      const { peer, secret, path } = await befriended(actor)
      await actor.request('PUT', `/trust/friend/${peer.id}/permissions`, { properties: { excluded_patterns: ['x'] } })
      const renewed = await peer.request(rootOf(actor), 'friend')
      assert.ok(renewed !== null)
      assert.equal(renewed.peer_approved, true, 'answered 201: the approval remains')
      assert.equal((await send('GET', path, secret)).status, 403)
      assert.equal((await send('GET', path, renewed.secret)).status, 200)
      const record = (await (await actor.request('GET', `/trust/friend/${peer.id}?permissions=true`)).json()) as Json
      assert.deepEqual(
        [record['approved'], record['permissions']],
        [true, { properties: { excluded_patterns: ['x'] } }],
      )
      assert.equal(((await (await actor.request('GET', '/trust')).json()) as Json[]).length, 1)
      assert.deepEqual(heard.names(actor.id), ['trust_request_received', 'trust_fully_approved_local'])
    })

    it('is not raised to another trust type once it is approved (PEER-05, PEER-06)', async () => {
      const actor = await service.createActor()
      const { peer, secret, path } = await befriended(actor)
      const before = await stored(actor)
      assert.equal(await peer.request(rootOf(actor), 'admin'), null)
      assert.deepEqual(await stored(actor), before)
      assert.equal((await send('GET', path, secret)).status, 200)
    })

    it('may get another trust type before its approval, and then exists only with that type (PEER-05)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      assert.ok((await peer.request(rootOf(actor), 'friend')) !== null)
      assert.ok((await peer.request(rootOf(actor), 'partner')) !== null)
      assert.equal((await actor.request('GET', `/trust/friend/${peer.id}`)).status, 404)
      const record = await recordOf(actor, peer.id, 'partner')
      assert.deepEqual([record['approved'], record['verified']], [false, true])
      assert.equal(((await (await actor.request('GET', '/trust')).json()) as Json[]).length, 1)
    })

    it('gives its peer no way to approve itself or to change its trust type or rights (PEER-06)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      const trust = await peer.request(rootOf(actor), 'friend')
      assert.ok(trust !== null)
      const path = `/${actor.id}/trust/friend/${peer.id}`
      const attempts: readonly [method: string, path: string, body: unknown][] = [
        ['PUT', path, { approved: true }],
        ['PUT', path, { relationship: 'admin' }],
        ['PUT', path, { baseuri: 'http://127.0.0.1:1/x' }],
        ['PUT', path, { permissions: { properties: ['*'] } }],
        ['PUT', `${path}/permissions`, { properties: ['*'] }],
        ['DELETE', `${path}/permissions`, undefined],
        ['GET', `${path}?_method=PUT&approved=true`, undefined],
        ['PUT', `/${actor.id}/trust/${peer.id}`, { approved: true }],
        ['POST', `/${actor.id}/trust`, { url: peer.url }],
        ['PUT', `/${actor.id}/trust/trustee`, { creator: 'trustee' }],
      ]
      for (const approved of [false, true]) {
        if (approved) await actor.request('PUT', `/trust/friend/${peer.id}`, { approved: true })
        const before = await stored(actor)
        for (const [method, target, body] of attempts) {
          assert.equal((await send(method, target, trust.secret, body)).status, 403, `${method} ${target}`)
        }
        assert.deepEqual(await stored(actor), before)
      }
    })

    it('is not ended by another peer (PEER-02)', async () => {
      const actor = await service.createActor()
      const one = await befriended(actor)
      const two = await befriended(actor)
      const before = await stored(actor)
      assert.equal((await send('DELETE', one.path, two.secret)).status, 403)
      assert.equal((await send('DELETE', `/${actor.id}/trust/${one.peer.id}`, two.secret)).status, 403)
      assert.deepEqual(await stored(actor), before)
      assert.equal((await send('DELETE', one.path, one.secret)).status, 204)
      assert.equal((await send('DELETE', one.path, one.secret)).status, 404)
      assert.equal((await send('GET', two.path, two.secret)).status, 200)
    })

    it('ends immediately when its peer is unreachable, with one event (PEER-08)', async () => {
      const actor = await service.createActor()
      const { peer } = await befriended(actor)
      await peer.close()
      heard.all.length = 0
      assert.equal((await actor.request('DELETE', `/trust/friend/${peer.id}`)).status, 204)
      assert.equal((await actor.request('DELETE', `/trust/friend/${peer.id}`)).status, 404)
      assert.equal((await actor.request('GET', `/trust/friend/${peer.id}`)).status, 404)
      assert.deepEqual(heard.names(actor.id), ['trust_deleted'])
      const { store } = await service.app.running()
      const kept = await store.read((q) =>
        q.all<{ kind: string }>(`SELECT kind FROM notice WHERE sender = $1 AND kind = 'trust_deleted'`, actor.id),
      )
      assert.equal(kept.length, 1)
    })

    it('that both sides end concurrently is deleted on both, with one event each (PEER-08)', async () => {
      const [one, other] = [await service.createActor('one@example.com'), await service.createActor('two@example.com')]
      await one.request('POST', '/trust', { url: rootOf(other), relationship: 'friend' })
      heard.all.length = 0
      const answers = await Promise.all([
        one.request('DELETE', `/trust/friend/${other.id}`),
        other.request('DELETE', `/trust/friend/${one.id}`),
      ])
      for (const { status } of answers) assert.ok(status === 204 || status === 404, String(status))
      await heard.first('trust_deleted', one.id)
      await heard.first('trust_deleted', other.id)
      for (const actor of [one, other]) {
        assert.deepEqual(await (await actor.request('GET', '/trust')).json(), [])
        assert.deepEqual(heard.names(actor.id), ['trust_deleted'])
      }
    })
  })

  describe('crossing trust requests', () => {
    it('result in one relationship with one secret, approved by both, with one event each (PEER-05)', async () => {
      for (let round = 0; round < 12; round++) {
        const [one, two] = [await service.createActor('one@example.com'), await service.createActor('two@example.com')]
        const answers = await Promise.all([
          one.request('POST', '/trust', { url: rootOf(two), relationship: 'friend' }),
          two.request('POST', '/trust', { url: rootOf(one), relationship: 'friend' }),
        ])
        assert.deepEqual(
          answers.map(({ status }) => status),
          [201, 201],
        )
        const [ours, theirs] = [await recordOf(one, two.id), await recordOf(two, one.id)]
        assert.equal(ours['secret'], theirs['secret'])
        for (const record of [ours, theirs]) {
          assert.deepEqual([record['approved'], record['peer_approved'], record['verified']], [true, true, true])
        }
        for (const actor of [one, two]) {
          assert.equal(heard.names(actor.id).filter((name) => name.startsWith('trust_fully_approved')).length, 1)
          assert.equal(heard.names(actor.id).filter((name) => name === 'trust_initiated').length, 1)
        }
      }
    })

    it('with different trust types result in one relationship, which no side gets without its owner’s approval (PEER-05)', async () => {
      for (let round = 0; round < 8; round++) {
        const [one, two] = [await service.createActor('one@example.com'), await service.createActor('two@example.com')]
        await Promise.all([
          one.request('POST', '/trust', { url: rootOf(two), relationship: 'friend' }),
          two.request('POST', '/trust', { url: rootOf(one), relationship: 'partner' }),
        ])
        const [[ours, ...more], [theirs, ...others]] = (await Promise.all(
          [one, two].map(async (actor) => (await (await actor.request('GET', '/trust')).json()) as Json[]),
        )) as [Json[], Json[]]
        assert.deepEqual([more, others], [[], []])
        assert.equal(ours?.['relationship'], theirs?.['relationship'])
        assert.equal(ours?.['secret'], theirs?.['secret'])
        const wanted = ours?.['relationship'] === 'friend' ? [true, false] : [false, true]
        assert.deepEqual([ours?.['approved'], theirs?.['approved']], wanted)
      }
    })

    it('with a Python actor result in the same secret on both sides (PEER-05)', async () => {
      for (let round = 0; round < 4; round++) {
        const actor = await service.createActor()
        const peer = await pythonPeer()
        // The peer sends its own request while ours waits for the response.
        let own: Promise<unknown> | undefined
        peer.route('POST', /^\/trust\/friend$/, async () => {
          own = peer.request(rootOf(actor), 'friend')
          return undefined
        })
        const answer = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        await own
        assert.equal(answer.status, 201)
        assert.equal(peer.trusts.size, 1)
        const record = await recordOf(actor, peer.id)
        assert.equal(record['secret'], peer.trusts.get(actor.id)?.secret)
      }
    })

    it('of a Python actor that arrive just after our response change nothing (PEER-05)', async () => {
      const actor = await service.createActor()
      const peer = await pythonPeer()
      assert.equal((await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })).status, 201)
      const before = await stored(actor)
      // The Python actor stored its own secret and then ours over it, and only then its request arrives.
      const late = { baseuri: peer.url, id: peer.id, secret: strong('e'), verify: strong('f') }
      const answer = await ask(actor, late)
      assert.equal(answer.status, 202, 'a rejection would make the peer delete the relationship')
      assert.equal((await answer.text()).includes(peer.trusts.get(actor.id)?.secret ?? ''), false)
      assert.equal((await ask(actor, { ...late, baseuri: `http://127.0.0.1:1/${peer.id}` })).status, 403)
      assert.deepEqual(await stored(actor), before)
    })

    it('make one relationship when many arrive concurrently (PEER-05)', async () => {
      const [one, two] = [await service.createActor('one@example.com'), await service.createActor('two@example.com')]
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => {
          const [from, to] = n % 2 === 0 ? [one, two] : [two, one]
          return from.request('POST', '/trust', { url: rootOf(to), relationship: 'friend' })
        }),
      )
      for (const { status } of answers) assert.ok([201, 409, 408].includes(status), String(status))
      const [ours, theirs] = [await recordOf(one, two.id), await recordOf(two, one.id)]
      assert.equal(ours['secret'], theirs['secret'])
      assert.deepEqual([ours['approved'], theirs['approved']], [true, true])
    })
  })

  describe('a relationship without the owner’s approval', () => {
    it('authorizes only its own state, its notice and its end (ACL-12)', async () => {
      const own = await start({ declare: declareAll, timers: hurried })
      const actor = await own.createActor()
      await furnish(actor)
      const secret = strong('d')
      const asking = await actor.request('POST', '/trust/admin', { ...stranger('pending'), secret })
      assert.equal(asking.status, 202)
      const { store } = await own.app.running()
      const before = await dumpStore(store)
      for (const route of routes) {
        if (!isBelowActor(route) || route.access === 'public' || route.id === 'receiveTrust') continue
        if (!(route.id in samples)) continue
        const answer = await own.request(...requestOf(route, actor.id, { authorization: `Bearer ${secret}` }))
        // A callback for an unknown subscription gives 404 to all callers.
        const isRefused = answer.status === 403 || (route.access === 'open' && answer.status === 404)
        assert.ok(isRefused, `${route.id}: ${answer.status}`)
      }
      for (const path of ['/subscriptions/pending', '/permissions/pending', '/trust/admin/pending/permissions']) {
        const answer = await actor.request('GET', path, undefined, { authorization: `Bearer ${secret}` })
        assert.ok(answer.status === 403 || answer.status === 404, `${path}: ${answer.status}`)
      }
      assert.deepEqual(await dumpStore(store), before)
      const state = await actor.request('GET', '/trust/admin/pending', undefined, { authorization: `Bearer ${secret}` })
      assert.equal(state.status, 202)
      const end = await actor.request('DELETE', '/trust/admin/pending', undefined, {
        authorization: `Bearer ${secret}`,
      })
      assert.equal(end.status, 204)
    })
  })
})
