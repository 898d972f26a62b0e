/** Calls of an actor to its peers from code: results, refusals, failures of the network, and addresses of the own service. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import type { ListQuery } from '../../src/app/list-query.ts'
import type { PeerHandle, PeerListPage } from '../../src/app/peer-handle.ts'
import { PeerRefused, PeerTimeout, PeerUnreachable } from '../../src/app/peer-errors.ts'
import { testing } from '../../src/testing.ts'
import { type App, troupe } from '../../src/troupe.ts'
import { relate } from '../support/friends.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { type ScriptedAnswer, ScriptedPeers } from '../support/scripted-peer.ts'
import { forEachService, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

function declare(app: App): void {
  app.list('shopping', { item: z.object({ text: z.string().min(1) }), description: 'What to buy' })
  app.list('tasks', {
    item: z.object({ text: z.string(), rank: z.number().optional(), due: z.string().nullable().optional() }),
    indexes: ['rank'],
  })
  app.property('budget', { schema: z.object({ limit: z.number() }), default: { limit: 500 } })
  app.property('private', ({ caller, value }) => (caller.kind === 'peer' ? null : value))
  app.action('add_item', { input: z.object({ text: z.string().min(1) }) }, async ({ actor, input, caller }) => ({
    index: await actor.list('shopping').append(input),
    caller: caller.kind,
  }))
  app.action('tidy', async ({ actor }) => actor.list('shopping').clear())
  app.action('forget', { confirm: 'owner' }, () => ({ done: true }))
  app.action('secret_action', () => ({ done: true }))
  app.action('count', { exclusive: true }, async ({ actor }) => {
    const count = Number((await actor.get('counter')) ?? 0) + 1
    await actor.set('counter', count)
    return { count }
  })
  app.action('ask', { input: z.object({ peer: z.string() }) }, async ({ actor, input }) => ({
    index: (await actor.peer(input.peer).action('secret_action')) ?? null,
  }))
  app.method('readings', ({ input }) => ({ readings: [1, 2], input: JSON.stringify(input) }))
  app.trustType({
    name: 'family',
    display_name: 'Family',
    description: 'Shops together',
    permissions: {
      properties: {
        patterns: ['shopping', 'tasks', 'budget', 'budget/*', 'private'],
        operations: ['read', 'write'],
      },
      methods: { allowed: ['readings'] },
      actions: { allowed: ['add_item', 'tidy', 'forget', 'count', 'unknown'] },
    },
  })
}

async function handleOf(service: TestService, { id }: TestActor): Promise<ActorHandle> {
  const handle = await service.app.actors.get(id)
  assert.ok(handle !== undefined)
  return handle
}

/** Returns the facts of a refusal by the peer. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  try {
    return { result: await call }
  } catch (error) {
    if (error instanceof PeerRefused) return { status: error.status, code: error.code, field: error.field }
    throw error
  }
}

forEachService((start) => {
  /** Ben calls Ada. Both are actors of one service whose public address no network reaches. */
  async function family(): Promise<{ service: TestService; ada: TestActor; ben: TestActor; peer: PeerHandle }> {
    const service = await start({ declare, baseUrl: 'https://household.invalid', activityPerActor: 1000 })
    const ada = await service.createActor('ada@example.com')
    const ben = await service.createActor('ben@example.com')
    const asking = { ...service, url: 'https://household.invalid' }
    await relate(ben, [asking, ada], 'family')
    return { service, ada, ben, peer: (await handleOf(service, ben)).peer(ada.id) }
  }

  describe('a call to a peer of the same service', () => {
    it('runs actions and methods, and reads and changes data, with the rights of the relationship', async () => {
      const { service, ada, peer } = await family()
      assert.equal(peer.id, ada.id)
      assert.deepEqual(await peer.action('add_item', { text: 'milk' }), { index: 0, caller: 'peer' })
      assert.deepEqual(await peer.method('readings', { from: 'a', to: 'b' }), {
        readings: [1, 2],
        input: '{"from":"a","to":"b"}',
      })
      assert.equal(await peer.list('shopping').append({ text: 'bread' }), 1)
      assert.deepEqual(await peer.list('shopping').items(), [{ text: 'milk' }, { text: 'bread' }])
      assert.deepEqual(await peer.list('shopping').items({ start: 1, limit: 5 }), [{ text: 'bread' }])
      assert.deepEqual(await peer.list('shopping').get(-1), { text: 'bread' })
      assert.equal(await peer.list('shopping').get(2), undefined)
      assert.equal(await peer.list('shopping').length(), 2)
      assert.deepEqual(await peer.get('budget'), { limit: 500 })
      await peer.set('budget', { limit: 7 })
      assert.equal(await peer.get('budget/limit'), 7)
      assert.equal(await peer.get(['budget', 'nothing']), undefined)
      assert.equal(await peer.action('tidy'), undefined)
      assert.deepEqual(await (await handleOf(service, ada)).list('shopping').items(), [])
    })

    it('has the rights of the trust type in both directions, less what an override takes from one of them', async () => {
      const { service, ada, ben, peer } = await family()
      const back = (await handleOf(service, ada)).peer(ben.id)
      await (await handleOf(service, ben)).list('shopping').append({ text: 'tea' })
      assert.deepEqual(await back.list('shopping').items(), [{ text: 'tea' }])
      assert.equal(await back.list('shopping').append({ text: 'milk' }), 1)
      assert.deepEqual(await back.action('add_item', { text: 'jam' }), { index: 2, caller: 'peer' })
      const nothing = { patterns: [], allowed: [], operations: [], merge: false }
      const override = { properties: nothing, actions: nothing, methods: nothing }
      const taken = await ben.request('PUT', `/trust/family/${ada.id}/permissions`, override)
      assert.equal(taken.status, 201, await taken.text())
      const forbidden = { status: 403, code: 'forbidden', field: undefined }
      assert.deepEqual(await refusal(back.list('shopping').items()), forbidden)
      assert.deepEqual(await refusal(back.action('add_item', { text: 'salt' })), forbidden)
      assert.deepEqual(await refusal(back.method('readings')), forbidden)
      assert.deepEqual(await peer.action('add_item', { text: 'milk' }), { index: 0, caller: 'peer' })
    })

    it('has the rights at the requesting actor from the request on', async () => {
      const service = await start({ declare, baseUrl: 'https://household.invalid' })
      const [ada, ben] = [await service.createActor('ada@example.com'), await service.createActor('ben@example.com')]
      const asked = { ...service, url: 'https://household.invalid' }
      const { secret } = await relate(ben, [asked, ada], 'family', false)
      const authorization = `Bearer ${secret}`
      const read = (id: string) => service.request(`/${id}/properties/budget`, { headers: { authorization } })
      assert.deepEqual([(await read(ben.id)).status, (await read(ada.id)).status], [200, 403])
    })

    it('queries its lists, page by page', async () => {
      const { service, ada, peer } = await family()
      const tasks = [
        { text: 'a', rank: 3 },
        { text: 'b', rank: 1, due: '12' },
        { text: 'c', rank: 3, due: null },
        { text: 'd "&=?', rank: 12 },
      ]
      await (await handleOf(service, ada)).list('tasks').extend(tasks)
      const list = peer.list('tasks')
      const texts = async (query: ListQuery): Promise<string[]> => {
        const found: string[] = []
        let after: string | null = null
        do {
          const page: PeerListPage = await list.query({ ...query, after })
          assert.ok(page.items.length <= (query.limit ?? 1000))
          found.push(...page.items.map(({ item }) => (item as { text: string }).text))
          after = page.next
        } while (after !== null)
        return found
      }
      for (const limit of [1, 3, 1000]) {
        assert.deepEqual(await texts({ limit }), ['a', 'b', 'c', 'd "&=?'])
        assert.deepEqual(await texts({ limit, where: { rank: 3 } }), ['a', 'c'])
        assert.deepEqual(await texts({ limit, where: { rank: 3, due: null } }), ['c'])
        assert.deepEqual(await texts({ limit, where: { due: '12' } }), ['b'])
        assert.deepEqual(await texts({ limit, where: { text: 'd "&=?' } }), ['d "&=?'])
        assert.deepEqual(await texts({ limit, sort: '-rank' }), ['d "&=?', 'c', 'a', 'b'])
      }
      assert.equal(await list.count(), 4)
      assert.equal(await list.count({ rank: 3 }), 2)
      assert.equal(await list.count({ rank: '3' }), 0)
      await assert.rejects(list.query({ limit: 0 }), { name: 'ServiceError', code: 'bad_request' })
      await assert.rejects(list.count({ rank: [3] as unknown as number }), {
        name: 'ServiceError',
        code: 'bad_request',
      })
      await assert.rejects(list.query({ after: 'x', sort: 'rank' }), { name: 'ServiceError', code: 'bad_request' })
      assert.deepEqual(await refusal(peer.list('other').query()), { status: 403, code: 'forbidden', field: undefined })
    })

    it('receives the refusal of a query that needs an index', async () => {
      const { service, ada, peer } = await family()
      const tasks = (await handleOf(service, ada)).list('tasks')
      await tasks.extend(Array.from({ length: 10_001 }, () => ({ text: 't' })))
      assert.deepEqual(await refusal(peer.list('tasks').query({ sort: 'due' })), {
        status: 400,
        code: 'index_required',
        field: undefined,
      })
    })

    it('is refused by the rights, the hooks and the schemas of the peer', async () => {
      const { service, ada, peer } = await family()
      await (await handleOf(service, ada)).set('private', 'diary')
      assert.equal(await peer.get('private'), undefined)
      const refused = { status: 403, code: 'forbidden', field: undefined }
      assert.deepEqual(await refusal(peer.action('secret_action')), refused)
      assert.deepEqual(await refusal(peer.set('other', 1)), refused)
      assert.deepEqual(await refusal(peer.action('forget')), { ...refused, code: 'approval_required' })
      assert.deepEqual(await refusal(peer.action('add_item', { text: '' })), {
        status: 400,
        code: 'invalid_input',
        field: 'text',
      })
      assert.deepEqual(await refusal(peer.set('budget', { limit: 'much' })), {
        status: 400,
        code: 'invalid_value',
        field: 'limit',
      })
      const { code, status } = (await refusal(peer.action('unknown'))) as { code: string; status: number }
      assert.deepEqual([status, code], [404, 'not_found'])
    })

    it('gives the address of the page for the owner’s approval', async () => {
      const { peer } = await family()
      await assert.rejects(peer.action('forget'), (error) => {
        assert.ok(error instanceof PeerRefused)
        assert.match(JSON.stringify(error.details['approval_url']), /^"https:\/\/household\.invalid\//)
        return true
      })
    })

    it('runs an exclusive action, and concurrent calls run one after another', async () => {
      const { peer } = await family()
      const counts = await Promise.all(Array.from({ length: 5 }, () => peer.action('count')))
      assert.deepEqual(
        counts.map((count) => JSON.stringify(count)).toSorted(),
        [1, 2, 3, 4, 5].map((count) => `{"count":${count}}`),
      )
    })

    it('is refused inside a transaction', async () => {
      const { service, ben, peer } = await family()
      const handle = await handleOf(service, ben)
      await assert.rejects(
        handle.transaction(() => peer.get('budget')),
        {
          name: 'ServiceError',
          code: 'bad_request',
          message: 'Cannot call a peer inside a transaction, which may run again: do it before or after',
        },
      )
    })

    it('appears in the audit log of the peer', async () => {
      const { service, ada, ben, peer } = await family()
      await assert.rejects(peer.action('secret_action'), { name: 'PeerRefused' })
      await writtenAuditLog(service)
      const { entries } = await (await handleOf(service, ada)).activity({ caller: ben.id })
      // The service of the caller also fetches the profile of the peer, at any time.
      const calls = entries.filter(({ path }) => path !== '/properties')
      assert.deepEqual(
        calls.map(({ callerKind, method, path, decision, status }) => [callerKind, method, path, decision, status]),
        [
          ['peer', 'POST', '/actions/secret_action', 'refused', 403],
          ['peer', 'POST', '/trust/family', 'approved', 200],
        ],
      )
    })

    it('that a handler does not catch has the peer’s status for its caller, without the peer’s message', async () => {
      const { ada, ben } = await family()
      const answer = await ben.request('POST', '/actions/ask', { peer: ada.id })
      assert.deepEqual(
        [answer.status, await answer.json()],
        [403, { error: 'peer_refused', message: 'The peer refused the call with status 403' }],
      )
    })

    it('fails for a peer whose actor or relationship no longer exists', async () => {
      const { service, ada, ben, peer } = await family()
      const handle = await handleOf(service, ben)
      await service.app.actors.delete(ada.id)
      const { status } = (await refusal(peer.action('tidy'))) as { status: number }
      assert.equal(status, 404)
      await handle.trust.delete(ada.id)
      await assert.rejects(peer.action('tidy'), { name: 'ServiceError', code: 'not_found' })
    })
  })

  describe('a call without an approved relationship', () => {
    it('names what to do', async () => {
      const service = await start({ declare })
      const ada = await service.createActor()
      const handle = await handleOf(service, ada)
      await assert.rejects(handle.peer('stranger').get('a'), {
        code: 'not_found',
        message:
          'Cannot call peer "stranger": this actor has no relationship with it. Request one with actor.trust.request(url)',
      })
      const { peerId } = await relateTo(service, ada, { baseuri: 'https://peer.example.com/p', approved: false })
      await assert.rejects(handle.peer(peerId).get('a'), {
        code: 'forbidden',
        message: `Cannot call peer "${peerId}": its relationship is not approved. Approve it with actor.trust.approve(peerId)`,
      })
      const program = await relateTo(service, ada, { baseuri: '' })
      await assert.rejects(handle.peer(program.peerId).get('a'), {
        code: 'bad_request',
        message: `Cannot call peer "${program.peerId}": it is a program without an address`,
      })
    })
  })
})

describe('the answers of a peer', () => {
  const start = sqliteService()

  async function scripted(): Promise<{ peers: ScriptedPeers; peer: PeerHandle; secret: string }> {
    const peers = new ScriptedPeers()
    const service = await start({ peerClient: peers })
    const ada = await service.createActor()
    const { peerId, secret } = await relateTo(service, ada, { baseuri: peers.baseuri })
    return { peers, peer: (await handleOf(service, ada)).peer(peerId), secret }
  }

  it('are requested below the address of the peer, with the secret only in the credential', async () => {
    const { peers, peer, secret } = await scripted()
    peers.answers.set('POST /actions/a%2Fb%3Fc', { body: { ok: true } })
    assert.deepEqual(await peer.action('a/b?c'), { ok: true })
    const [call] = peers.calls
    assert.deepEqual(
      [call?.method, call?.url, call?.body, call?.bearer],
      ['POST', `${peers.baseuri}/actions/a%2Fb%3Fc`, '{}', { secret, baseuri: peers.baseuri }],
    )
    assert.equal(JSON.stringify(peer).includes(secret), false)
  })

  const refusals: readonly (readonly [string, ScriptedAnswer, object])[] = [
    [
      'redirects',
      { status: 302, headers: { location: 'https://other.example.com/' } },
      { status: 302, code: 'redirected' },
    ],
    ['invalid JSON', { body: '{"a":' }, { status: 200, code: 'invalid_answer' }],
    ['no body and status 403', { status: 403 }, { status: 403, code: 'forbidden' }],
    ['no body and status 418', { status: 418 }, { status: 418, code: 'refused' }],
    ['text and status 500', { status: 500, body: 'oops' }, { status: 500, code: 'refused' }],
    [
      'a code',
      { status: 400, body: { error: 'rejected', message: 'No' } },
      { status: 400, code: 'rejected', message: 'No' },
    ],
    ['an error of another form', { status: 409, body: { error: true } }, { status: 409, code: 'conflict' }],
  ]
  for (const [what, answer, expected] of refusals) {
    it(`with ${what} are a refusal`, async () => {
      const { peers, peer } = await scripted()
      peers.answers.set('POST /actions/a', answer)
      await assert.rejects(peer.action('a'), { name: 'PeerRefused', ...expected })
    })
  }

  it('must have the form of a list', async () => {
    const { peers, peer } = await scripted()
    for (const body of [[], { items: {} }, { items: [1], count: 1 }, { items: [] }, 7]) {
      peers.answers.set('GET /properties/l/items?start=0', { body })
      await assert.rejects(peer.list('l').items(), {
        name: 'PeerRefused',
        code: 'invalid_answer',
        message: 'The answer of the peer is not a list',
      })
    }
    const search = '?where%5Bk%5D=%22a%22&sort=-k&limit=2'
    const query = { where: { k: 'a' }, sort: '-k', limit: 2 } as const
    // An item of a list that this service would have to select from is missing.
    const part = { items: [{ index: 0, item: { k: 'a' } }], count: 2 }
    for (const body of [7, { items: {} }, { items: [1] }, { items: [], next: 3 }, part]) {
      peers.answers.set(`GET /properties/l/items${search}`, { body })
      await assert.rejects(peer.list('l').query(query), {
        name: 'PeerRefused',
        code: 'invalid_answer',
        message: 'The answer of the peer is not a page of a query',
      })
    }
    peers.answers.set(`GET /properties/l/items${search}`, { body: { items: [{ item: { k: 'a' } }], next: 'abc' } })
    assert.deepEqual(await peer.list('l').query(query), { items: [{ item: { k: 'a' } }], next: 'abc' })
    peers.answers.set('POST /properties/l/items', { status: 201, body: { success: true } })
    await assert.rejects(peer.list('l').append(1), { message: 'The answer of the peer is not the index of an item' })
  })
})

describe('a peer over the network', () => {
  const start = sqliteService()

  async function calling(url: string, options: { allowPrivatePeers?: boolean } = {}): Promise<PeerHandle> {
    const service = await start({ allowPrivatePeers: true, ...options })
    const ada = await service.createActor()
    const { peerId } = await relateTo(service, ada, { baseuri: url })
    return (await handleOf(service, ada)).peer(peerId)
  }

  it('that refuses connections, or has an unknown name, is unreachable', async () => {
    // Nothing listens on port 1.
    for (const url of ['http://127.0.0.1:1', 'https://unknown.invalid/a'])
      await assert.rejects(
        (await calling(url)).action('a'),
        (error) =>
          error instanceof PeerUnreachable && !error.mayHaveRun && error.message === 'The peer could not be reached',
      )
  })

  it('at an address that is not allowed is unreachable', async () => {
    const peer = await new RecordingPeer().start()
    try {
      const called = (await calling(peer.url, { allowPrivatePeers: false })).action('a')
      await assert.rejects(called, (error) => error instanceof PeerUnreachable && !error.mayHaveRun)
      assert.equal(peer.received.length, 0)
    } finally {
      await peer.stop()
    }
  })

  it('that cuts the connection may have run the call', async () => {
    const peer = await new RecordingPeer().start()
    try {
      peer.replies = ['cut']
      const called = (await calling(peer.url)).action('a')
      await assert.rejects(called, (error) => error instanceof PeerUnreachable && error.mayHaveRun)
    } finally {
      await peer.stop()
    }
  })

  // Real time: the time-out of a call over the network is one second.
  it('that does not answer in time may have run the call', async () => {
    const peer = await new RecordingPeer().start()
    try {
      peer.replies = ['hang']
      const service = await start({ allowPrivatePeers: true, peerReadSeconds: 1 })
      const ada = await service.createActor()
      const { peerId } = await relateTo(service, ada, { baseuri: peer.url })
      const called = (await handleOf(service, ada)).peer(peerId).action('a')
      await assert.rejects(called, (error) => error instanceof PeerTimeout && error.mayHaveRun)
    } finally {
      await peer.stop()
    }
  })

  it('keeps the status of a refusal that a handler does not catch, unless it is about the peer itself', async () => {
    const same = [
      400, 402, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 422, 423, 428, 429, 451,
    ]
    const expected: readonly [status: number, received: number, code: string][] = [
      ...same.map((status): [number, number, string] => [status, status, 'peer_refused']),
      // These would sign the caller out, or name a fault of the caller's own connection.
      ...[401, 407, 408, 421, 426, 431].map((status): [number, number, string] => [status, 403, 'peer_refused']),
      ...[302, 308, 500, 501, 502, 503].map((status): [number, number, string] => [status, 408, 'peer_failed']),
    ]
    const peer = await new RecordingPeer().start()
    try {
      const service = await start({ declare, allowPrivatePeers: true })
      const ada = await service.createActor()
      const { peerId } = await relateTo(service, ada, { baseuri: peer.url })
      for (const [status, received, code] of expected) {
        peer.replies = [status]
        const answer = await ada.request('POST', '/actions/ask', { peer: peerId })
        const { error, message } = (await answer.json()) as { error: string; message: string }
        assert.deepEqual([answer.status, error], [received, code], String(status))
        assert.equal(message, `The peer refused the call with status ${status}`)
        assert.equal(answer.headers.get('www-authenticate'), null)
      }
    } finally {
      await peer.stop()
    }
  })

  it('passes the Retry-After of a peer on, within an hour, and only when the peer names a time (PEER-18)', async () => {
    const hour = 3600
    const expected: readonly [status: number, sent: string | undefined, received: [number, string | null]][] = [
      [429, '7', [429, '7']],
      [503, '30', [408, '30']],
      [500, '1', [408, '1']],
      [413, '60', [413, '60']],
      [401, '5', [403, '5']],
      [429, '0', [429, '0']],
      [503, String(hour * 30), [408, String(hour)]],
      [503, '9'.repeat(400), [408, String(hour)]],
      [429, new Date(Date.now() + 30 * hour * 1000).toUTCString(), [429, String(hour)]],
      [429, 'Thu, 01 Jan 1970 00:00:00 GMT', [429, '0']],
      ...[undefined, '', '-1', '1.5', 'soon', '1; url=x', '0x10', '1e3', 'NaN'].map(
        (sent): [number, string | undefined, [number, string | null]] => [503, sent, [408, null]],
      ),
      // An answer that cannot be used says nothing about a later call.
      [302, '7', [408, null]],
    ]
    const peer = await new RecordingPeer().start()
    try {
      const service = await start({ declare, allowPrivatePeers: true })
      const ada = await service.createActor()
      const { peerId } = await relateTo(service, ada, { baseuri: peer.url })
      for (const [status, sent, received] of expected) {
        peer.replies = [{ status, headers: sent === undefined ? {} : { 'retry-after': sent } }]
        const answer = await ada.request('POST', '/actions/ask', { peer: peerId })
        assert.deepEqual([answer.status, answer.headers.get('retry-after')], received, `${status} ${sent}`)
      }
      peer.replies = [{ status: 429, headers: { 'retry-after': '7' } }]
      const called = (await handleOf(service, ada)).peer(peerId).action('a')
      await assert.rejects(called, (error) => error instanceof PeerRefused && error.retryAfterSeconds === 7)
    } finally {
      await peer.stop()
    }
  })

  it('receives the id of the request that caused the call', async () => {
    const peer = await new RecordingPeer().start()
    try {
      peer.replies = [403]
      const service = await start({ declare, allowPrivatePeers: true })
      const ada = await service.createActor()
      const { peerId, secret } = await relateTo(service, ada, { baseuri: peer.url })
      const answer = await ada.request('POST', '/actions/ask', { peer: peerId }, { 'x-request-id': 'cause-1' })
      assert.equal(answer.status, 403)
      const { method, path, headers } = (await peer.has(1))[0] ?? {}
      assert.deepEqual(
        [method, path, headers?.['x-parent-request-id'], headers?.authorization],
        ['POST', '/actions/secret_action', 'cause-1', `Bearer ${secret}`],
      )
    } finally {
      await peer.stop()
    }
  })

  it('that announces an answer beyond the limit is refused', async () => {
    const peer = await new RecordingPeer().start()
    try {
      peer.replies = [{ status: 200, headers: { 'content-length': '33554433' } }]
      await assert.rejects((await calling(peer.url)).action('a'), {
        name: 'PeerRefused',
        status: 200,
        code: 'answer_too_large',
      })
    } finally {
      await peer.stop()
    }
  })

  it('that runs the Python implementation answers in its own forms', async () => {
    const python = await PythonPeer.start()
    try {
      python.route('POST', /^\/actions\/add$/, ({ body }) => ({
        status: 200,
        body: { given: JSON.parse(body) as object },
      }))
      python.route('GET', /^\/properties\/motto$/, () => ({ status: 200, body: 'seize the day' }))
      python.route('GET', /^\/properties\/missing$/, () => ({ status: 404 }))
      python.route('GET', /^\/properties\/l\/items/, () => ({
        status: 200,
        body: { items: ['a', 'b', 'c'].map((item, index) => ({ index, item })), count: 3 },
      }))
      const numbered = [{ k: 1, n: 5 }, { k: 2 }, { k: 1, n: 7 }]
      python.route('GET', /^\/properties\/m\/items/, () => ({
        status: 200,
        body: { items: numbered.map((item, index) => ({ index, item })), count: 3 },
      }))
      python.route('POST', /^\/properties\/l\/items$/, () => ({ status: 201, body: { success: true, index: 3 } }))
      const peer = await calling(python.url)
      assert.deepEqual(await peer.action('add', { text: 'milk' }), { given: { text: 'milk' } })
      assert.equal(await peer.get('motto'), 'seize the day')
      assert.equal(await peer.get('missing'), undefined)
      assert.deepEqual(await peer.list('l').items({ start: 1, limit: 1 }), ['b'])
      assert.equal(await peer.list('l').length(), 3)
      const first = await peer.list('l').query({ limit: 2 })
      assert.deepEqual(first.items, [{ item: 'a' }, { item: 'b' }])
      assert.deepEqual(await peer.list('l').query({ limit: 2, after: first.next }), {
        items: [{ item: 'c' }],
        next: null,
      })
      assert.deepEqual(await peer.list('l').query({ where: { k: 1 } }), { items: [], next: null })
      const highest = await peer.list('m').query({ where: { k: 1 }, sort: '-n', limit: 1 })
      assert.deepEqual(highest.items, [{ item: { k: 1, n: 7 } }])
      assert.deepEqual(await peer.list('m').query({ where: { k: 1 }, sort: '-n', after: highest.next }), {
        items: [{ item: { k: 1, n: 5 } }],
        next: null,
      })
      assert.equal(await peer.list('m').count({ k: 1 }), 2)
      assert.equal(await peer.list('l').append('d'), 3)
      assert.deepEqual(await refusal(peer.action('other')), { status: 404, code: 'not_found', field: undefined })
      const { headers } = python.requests[0] ?? {}
      assert.match(String(headers?.['x-request-id']), /^[\da-f-]{36}$/)
    } finally {
      await python.close()
    }
  })
})

describe('a call in the test kit', () => {
  function household(): App {
    const app = troupe({ type: 'urn:actingweb:example.com:household', name: 'Household' })
    declare(app)
    return app
  }

  it('reaches another application, with its refusals', async () => {
    await using t = await testing(household())
    const other = await t.second(household())
    const ada = await t.signIn('ada@example.com')
    const ben = await other.signIn('ben@example.com')
    await t.befriend(ben, ada, 'family')
    const peer = ben.actor.peer(ada.actor.id)
    assert.deepEqual(await peer.action('add_item', { text: 'milk' }), { index: 0, caller: 'peer' })
    assert.deepEqual(await ada.actor.list('shopping').items(), [{ text: 'milk' }])
    assert.deepEqual(await refusal(peer.action('secret_action')), { status: 403, code: 'forbidden', field: undefined })
    await other.close()
    await assert.rejects(ada.actor.peer(ben.actor.id).get('budget'), { name: 'PeerUnreachable', mayHaveRun: false })
  })

  it('runs outside of a transaction that caused it', async () => {
    await using t = await testing(household())
    const ada = await t.signIn('ada@example.com')
    const ben = await t.signIn('ben@example.com')
    await t.befriend(ben, ada, 'family')
    const handle = ben.actor
    await handle.transaction(async (tx) => tx.set('note', 1))
    assert.deepEqual(await handle.peer(ada.actor.id).action('count'), { count: 1 })
    await assert.rejects(
      handle.transaction(() => handle.peer(ada.actor.id).action('count')),
      { code: 'bad_request' },
    )
  })
})
