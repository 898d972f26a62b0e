/** Calls that need the owner's approval, from every caller and in every form of a call. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { ConfigError } from '../../src/config/config-error.ts'
import { ServiceError } from '../../src/errors.ts'
import type { App } from '../../src/troupe.ts'
import { everything, TestCallers } from '../support/callers.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser, signIn } from '../support/sessions.ts'
import { leavesAll, refused } from '../support/stored.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

interface Required {
  readonly error: string
  readonly message: string
  readonly approval_id: string
  readonly approval_url: string
  readonly expires_at: string
}

interface Approval {
  readonly id: string
  readonly state: string
  readonly arguments: unknown
}

/** The 403 of a call that needs an approval. */
async function required(answer: Response): Promise<Required> {
  const body = (await answer.json()) as Required
  assert.deepEqual([answer.status, body.error], [403, 'approval_required'])
  return body
}

async function decide(actor: TestActor, id: string, approved: boolean, status = 200): Promise<unknown> {
  const answer = await actor.request('PUT', `/approvals/${id}`, { approved })
  assert.equal(answer.status, status)
  return answer.json()
}

async function waiting(actor: TestActor): Promise<Approval[]> {
  const answer = await actor.request('GET', '/approvals')
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { approvals: Approval[] }).approvals
}

/** Counts in `runs` what the handlers did. */
function counting(runs: unknown[]): (app: App) => void {
  return (app) => {
    const run = ({ input }: { input: unknown }): { ran: number } => ({ ran: runs.push(input) })
    app.action('clear', { description: 'Removes every note', confirm: 'owner' }, run)
    app.action('clear/all', { confirm: 'owner', annotations: { readOnlyHint: true, title: 'Clear all' } }, run)
    app.method('pay', { description: 'Pays', confirm: 'owner', input: z.object({ to: z.string() }) }, run)
    app.action('look', { description: 'Looks' }, run)
  }
}

async function meet(service: TestService): Promise<{ actor: TestActor; friend: TestRelationship }> {
  const actor = await service.createActor()
  return { actor, friend: await relateTo(service, actor) }
}

async function limit(actor: TestActor, friend: TestRelationship, rules: object): Promise<void> {
  const answer = await actor.request('PUT', `/trust/friend/${friend.peerId}/permissions`, rules)
  assert.ok(answer.status === 200 || answer.status === 201, `${answer.status}`)
}

describe('an operation that declares confirm', () => {
  forEachService((start) => {
    it('is shown as asking before each call in the view as the peer', async () => {
      const service = await start({ declare: counting([]) })
      const { actor, friend } = await meet(service)
      const browser = await OwnersBrowser.open(service, actor)
      const view = await (await browser.get(`/trust/${friend.peerId}/view`)).text()
      assert.deepEqual(view.match(/<strong>[^<]*<\/strong><span class="kind">Asks you first/g)?.length, 3)
    })

    it('runs for the owner by passphrase and by session, without an approval', async () => {
      const runs: unknown[] = []
      const service = await start({ declare: counting(runs) })
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/actions/clear', {})).status, 200)
      const authorization = `Bearer ${await signIn(service, actor)}`
      assert.equal((await actor.request('POST', '/actions/clear', {}, { authorization })).status, 200)
      assert.deepEqual(runs, [{}, {}])
      assert.deepEqual(await waiting(actor), [])
    })

    const forms: readonly (readonly [form: string, method: string, path: string, body?: unknown])[] = [
      ['POST of an action', 'POST', '/actions/clear', { all: true }],
      ['PUT of an action', 'PUT', '/actions/clear', { all: true }],
      ['GET of an action', 'GET', '/actions/clear'],
      ['DELETE of an action', 'DELETE', '/actions/clear'],
      ['GET of an action that only reads', 'GET', '/actions/clear/all'],
      ['an encoded spelling of the name', 'POST', '/actions/cl%65ar', {}],
      ['_method', 'GET', '/actions/clear?_method=DELETE'],
      ['POST of a method', 'POST', '/methods/pay', { to: 'Bob' }],
      ['JSON-RPC of a method', 'POST', '/methods', { jsonrpc: '2.0', method: 'pay', params: { to: 'Bob' }, id: 1 }],
      [
        'JSON-RPC with the name in the path',
        'POST',
        '/methods/pay',
        { jsonrpc: '2.0', method: 'pay', params: { to: 'Bob' } },
      ],
    ]
    for (const [form, method, path, body] of forms)
      it(`holds back a peer's call until the owner approves it, in the form of ${form}`, async () => {
        const runs: unknown[] = []
        const service = await start({ declare: counting(runs) })
        const { actor, friend } = await meet(service)
        const { approval_id: id, approval_url: url } = await required(await friend.request(method, path, body))
        assert.equal(url, `${service.url}/${actor.id}/www/approvals/${id}`)
        assert.equal((await required(await friend.request(method, path, body))).approval_id, id)
        assert.deepEqual(runs, [])
        await decide(actor, id, true)
        const done = await friend.request(method, path, body)
        assert.ok(done.status === 200 || done.status === 204, `${done.status}`)
        assert.equal(runs.length, 1)
        assert.notEqual((await required(await friend.request(method, path, body))).approval_id, id)
        assert.equal(runs.length, 1)
      })

    it('refuses a call that the owner denied with 403 approval_denied, for 15 minutes', async () => {
      const runs: unknown[] = []
      const clock = new ManualClock()
      const service = await start({ declare: counting(runs), now: clock.now })
      const { actor, friend } = await meet(service)
      const call = () => friend.request('POST', '/actions/clear', {})
      const { approval_id: id } = await required(await call())
      await decide(actor, id, false)
      await refused(await call(), 403, 'approval_denied', 'Cannot call "clear": the owner denied this call')
      clock.pass(15 * 60_000 + 1)
      assert.notEqual((await required(await call())).approval_id, id)
      assert.deepEqual(runs, [])
    })

    it('accepts an approval only for the same arguments, operation and caller', async () => {
      const runs: unknown[] = []
      const service = await start({ declare: counting(runs) })
      const { actor, friend } = await meet(service)
      const other = await relateTo(service, actor)
      const { approval_id: id } = await required(await friend.request('POST', '/actions/clear', { a: 1, b: [1, 2] }))
      await decide(actor, id, true)
      for (const body of [{ a: 1, b: [2, 1] }, { a: '1', b: [1, 2] }, { a: 1 }, { a: 1, b: [1, 2], c: null }, {}, []])
        await required(await friend.request('POST', '/actions/clear', body))
      await required(await friend.request('POST', '/actions/clear/all', { a: 1, b: [1, 2] }))
      await required(await other.request('POST', '/actions/clear', { a: 1, b: [1, 2] }))
      assert.deepEqual(runs, [])
      // The same arguments in another order are the same call.
      assert.equal((await friend.request('POST', '/actions/clear', { b: [1, 2], a: 1 })).status, 200)
      assert.deepEqual(runs, [{ b: [1, 2], a: 1 }])
    })

    it('distinguishes numbers that JSON serializes alike, and refuses a number that the owner cannot see', async () => {
      const runs: unknown[] = []
      const service = await start({ declare: counting(runs) })
      const { actor, friend } = await meet(service)
      const post = (body: string) =>
        service.request(`/${actor.id}/actions/clear`, {
          method: 'POST',
          headers: { authorization: `Bearer ${friend.secret}`, 'content-type': 'application/json' },
          body,
        })
      for (const body of ['{"n":null}', '{"n":0}'])
        await decide(actor, (await required(await post(body))).approval_id, true)
      const infinite = await post('{"n":1e999}')
      assert.deepEqual([infinite.status, ((await infinite.json()) as Required).error], [400, 'invalid_value'])
      await required(await post('{"n":-0}'))
      assert.deepEqual(runs, [])
    })

    it('runs one of many equal calls that arrive concurrently, in two services on one database', async () => {
      const runs: unknown[] = []
      const first = await start({ declare: counting(runs) })
      const second = await start({ declare: counting(runs), database: first.databaseUrl })
      const { actor, friend } = await meet(first)
      const { approval_id: id } = await required(await friend.request('POST', '/actions/clear', {}))
      await decide(actor, id, true)
      const headers = { authorization: `Bearer ${friend.secret}`, 'content-type': 'application/json' }
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 === 0 ? first : second).request(`/${actor.id}/actions/clear`, {
            method: 'POST',
            headers,
            body: '{}',
          }),
        ),
      )
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, ...Array.from({ length: 9 }, () => 403)],
      )
      assert.deepEqual(runs, [{}])
    })

    it('runs once under an Idempotency-Key after the approval, and replays that response instead of the 403', async () => {
      const runs: unknown[] = []
      const service = await start({ declare: counting(runs) })
      const { actor, friend } = await meet(service)
      const call = () => friend.request('POST', '/actions/clear', {}, { 'idempotency-key': 'key' })
      const { approval_id: id } = await required(await call())
      await required(await call())
      await decide(actor, id, true)
      for (const replayed of [null, 'true']) {
        const answer = await call()
        assert.deepEqual([answer.status, answer.headers.get('idempotency-replayed')], [200, replayed])
        assert.deepEqual(await answer.json(), { ran: 1 })
      }
      assert.equal(runs.length, 1)
    })

    it('uses up its approval by a call that fails, because the call may have had an effect', async () => {
      const service = await start({
        declare: (app) =>
          app.action('sell', { confirm: 'owner' }, () => {
            throw new ServiceError('conflict', 'Cannot sell twice')
          }),
      })
      const { actor, friend } = await meet(service)
      const call = () => friend.request('POST', '/actions/sell', {})
      await decide(actor, (await required(await call())).approval_id, true)
      assert.equal((await call()).status, 409)
      await required(await call())
    })

    it('checks permission and input first, and asks the owner about neither a forbidden nor an invalid call', async () => {
      const runs: unknown[] = []
      const service = await start({ declare: counting(runs) })
      const { actor, friend } = await meet(service)
      await limit(actor, friend, { actions: { allowed: ['look'], denied: ['clear'] }, methods: { allowed: ['pay'] } })
      assert.equal((await friend.request('POST', '/actions/look', {})).status, 200)
      const errorOf = (text: string): string => (JSON.parse(text) as Required).error
      const refusedAs = async (path: string, body: object, status: number): Promise<string> =>
        errorOf(await leavesAll(service, () => friend.request('POST', path, body), status))
      assert.equal(await refusedAs('/actions/clear', {}, 403), 'forbidden')
      assert.equal(await refusedAs('/methods/pay', { to: 7 }, 400), 'invalid_input')
      assert.equal(await refusedAs('/actions/unknown', {}, 404), 'not_found')
      // An approval grants no permission.
      const { approval_id: id } = await required(await friend.request('POST', '/methods/pay', { to: 'Bob' }))
      await decide(actor, id, true)
      await limit(actor, friend, { methods: { allowed: [], denied: ['pay'] } })
      assert.equal((await friend.request('POST', '/methods/pay', { to: 'Bob' })).status, 403)
      assert.equal(runs.length, 1)
    })

    it('refuses arguments that are too long for the owner to review, and a caller with too many waiting calls', async () => {
      const service = await start({ declare: counting([]) })
      const { actor, friend } = await meet(service)
      const long = await friend.request('POST', '/actions/clear', { text: 'x'.repeat(16_384) })
      assert.equal(long.status, 403)
      assert.match(((await long.json()) as Required).message, /too long for the owner to review/)
      for (let n = 0; n < 20; n++) await required(await friend.request('POST', '/actions/clear', { n }))
      const over = await friend.request('POST', '/actions/clear', { n: 20 })
      assert.deepEqual([over.status, over.headers.get('retry-after')], [429, '60'])
      const rpc = { jsonrpc: '2.0', method: 'pay', params: { to: 'Bob' }, id: 1 }
      assert.equal((await friend.request('POST', '/methods', rpc)).status, 429)
      assert.equal((await waiting(actor)).length, 20)
    })

    it('needs an approval for its name when any of its handlers declares it, also for `*`', async () => {
      const runs: string[] = []
      const service = await start({
        declare: (app) => {
          app.action('one', () => runs.push('plain'))
          app.action('one', { confirm: 'owner' }, () => runs.push('guarded'))
          app.method('*', { confirm: 'owner' }, () => runs.push('any'))
          app.method('exact', () => runs.push('exact'))
        },
      })
      const { friend } = await meet(service)
      for (const path of ['/actions/one', '/methods/exact', '/methods/whatever'])
        await required(await friend.request('POST', path, {}))
      assert.deepEqual(runs, [])
    })

    it('needs an approval also when only mcp.confirm is declared', async () => {
      const runs: unknown[] = []
      const service = await start({
        declare: (app) => app.action('clear', { mcp: { confirm: 'owner' } }, ({ input }) => runs.push(input)),
      })
      const { friend } = await meet(service)
      await required(await friend.request('POST', '/actions/clear', {}))
      assert.deepEqual(runs, [])
    })

    it('holds back an AI client that calls over HTTP, and refuses a trustee', async () => {
      const callers = new TestCallers()
      const runs: unknown[] = []
      const service = await start({ declare: counting(runs), ...callers.parts })
      const actor = await service.createActor()
      const call = (token: string) => actor.request('POST', '/actions/clear', {}, { authorization: `Bearer ${token}` })
      assert.equal((await call(callers.trustee(actor.id))).status, 403)
      // The client has no stored relationship, so the service cannot store an approval, and nothing runs.
      assert.equal((await call(callers.client(actor.id, { grants: everything }))).status, 409)
      assert.deepEqual(runs, [])
    })

    it('loses its waiting approvals with the relationship of their caller', async () => {
      const service = await start({ declare: counting([]) })
      const { actor, friend } = await meet(service)
      const { approval_id: id } = await required(await friend.request('POST', '/actions/clear', {}))
      assert.equal((await actor.request('DELETE', `/trust/friend/${friend.peerId}`)).status, 204)
      assert.deepEqual(await waiting(actor), [])
      assert.equal((await actor.request('GET', `/approvals/${id}`)).status, 404)
    })
  })
})

describe('prompts and resources of a method that declares confirm', () => {
  const start = sqliteService()
  const opens = { capabilities: { elicitation: { url: {} } } }
  const declare = (app: App): void => {
    app.method('card', { confirm: 'owner', mcp: { prompt: { title: 'Write a card' } } }, () => 'A card')
    app.method('door', { confirm: 'owner', mcp: { resource: { uri: 'house://{name}' } } }, () => 'open')
  }

  for (const [method, params, kind, operation] of [
    ['prompts/get', { name: 'card', arguments: { to: 'Ada' } }, 'prompts', 'card'],
    ['resources/read', { uri: 'house://door' }, 'resources', 'door'],
  ] as const)
    it(`wait for the owner in the forms of the protocol: ${method}`, async () => {
      const service = await start({ declare, activityPerActor: 1000, timers: stoppedTimers })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor, { relationship: 'admin' })
      const asked = await client.modern(method, params, opens)
      const { result } = asked.body as { result: { inputRequests: Record<string, { params: { url: string } }> } }
      const { inputRequests } = result
      const [first] = (await waiting(actor)) as (Approval & { kind: string; operation: string })[]
      assert.deepEqual([first?.kind, first?.operation], [kind, operation])
      assert.equal(inputRequests['owner_approval']?.params.url, `${service.url}/${actor.id}/www/approvals/${first?.id}`)
      const failed = (await client.legacy(method, params)).body as { error: { message: string } }
      assert.ok(failed.error.message.includes(`/www/approvals/${first?.id}`))
      await decide(actor, first?.id ?? '', true)
      assert.match(JSON.stringify((await client.legacy(method, params)).body), /A card|"open"/)
      assert.match(JSON.stringify((await client.legacy(method, params)).body), /must approve/)
      await writtenAuditLog(service)
      const { activity } = (await (await actor.request('GET', '/activity')).json()) as {
        activity: { decision: string }[]
      }
      assert.deepEqual(
        activity.map(({ decision }) => decision),
        ['allowed', 'approved', 'asked'],
      )
    })
})

describe('/approvals', () => {
  forEachService((start) => {
    it('lists what waits, reads one approval and decides it for the owner, also without pages', async () => {
      const runs: unknown[] = []
      const clock = new ManualClock()
      const service = await start({ declare: counting(runs), webUi: false, now: clock.now })
      const { actor, friend } = await meet(service)
      assert.deepEqual(await (await actor.request('GET', '/approvals')).json(), { approvals: [], next: null })
      const {
        approval_id: id,
        approval_url: url,
        expires_at: expires,
      } = await required(await friend.request('POST', '/actions/clear', { all: true }))
      assert.equal(url, `${service.url}/${actor.id}/approvals/${id}`)
      const created = new Date(clock.now()).toISOString()
      assert.equal(expires, new Date(clock.now() + 15 * 60_000).toISOString())
      const approval = {
        id,
        state: 'waiting',
        peerid: friend.peerId,
        client_id: null,
        kind: 'actions',
        operation: 'clear',
        title: 'clear',
        description: 'Removes every note',
        arguments: { all: true },
        created_at: created,
        expires_at: expires,
      }
      assert.deepEqual(await (await actor.request('GET', '/approvals')).json(), { approvals: [approval], next: null })
      const read = await service.request(url.slice(service.url.length), {
        headers: { authorization: actor.authorization },
      })
      assert.deepEqual(await read.json(), approval)
      assert.deepEqual(await decide(actor, id, true), { ...approval, state: 'approved' })
      assert.deepEqual(await waiting(actor), [])
      assert.equal((await friend.request('POST', '/actions/clear', { all: true })).status, 200)
      assert.deepEqual(runs, [{ all: true }])
      // The response to the first decision may be lost, so the owner may repeat it.
      assert.equal(((await decide(actor, id, true)) as Approval).state, 'used')
      await decide(actor, id, false, 409)
    })

    it('accepts a session of the owner, and refuses a second or an expired decision', async () => {
      const clock = new ManualClock()
      const service = await start({ declare: counting([]), now: clock.now })
      const { actor, friend } = await meet(service)
      const { approval_id: id } = await required(await friend.request('POST', '/actions/clear', {}))
      const authorization = `Bearer ${await signIn(service, actor)}`
      const bySession = await actor.request('PUT', `/approvals/${id}`, { approved: false }, { authorization })
      assert.equal(bySession.status, 200)
      assert.equal(((await decide(actor, id, false)) as Approval).state, 'denied')
      await decide(actor, id, true, 409)
      const { approval_id: late } = await required(await friend.request('POST', '/actions/clear', { more: 1 }))
      clock.pass(15 * 60_000)
      await decide(actor, late, true, 404)
      assert.equal((await actor.request('GET', `/approvals/${late}`)).status, 404)
    })

    it('serves only the owner of the actor', async () => {
      const callers = new TestCallers()
      const service = await start({ declare: counting([]), ...callers.parts })
      const actor = await service.createActor()
      const other = await service.createActor('other@example.com')
      const friend = await relateTo(service, actor)
      const tokens = {
        admin: callers.peer(actor.id, { relationship: 'admin', grants: everything }),
        client: callers.client(actor.id, { grants: everything }),
        trustee: callers.trustee(actor.id),
        friend: friend.secret,
      }
      for (const [who, token] of Object.entries(tokens))
        for (const [method, path] of [
          ['GET', '/approvals'],
          ['GET', '/approvals/none'],
          ['PUT', '/approvals/none'],
        ] as const)
          await leavesAll(
            service,
            () =>
              actor.request(method, path, method === 'PUT' ? { approved: true } : undefined, {
                authorization: `Bearer ${token}`,
              }),
            403,
          ).catch((error: unknown) => {
            throw new Error(`${who} ${method} ${path}`, { cause: error })
          })
      assert.equal((await service.request(`/${actor.id}/approvals`)).status, 401)
      const stranger = { headers: { authorization: other.authorization } }
      assert.equal((await service.request(`/${actor.id}/approvals`, stranger)).status, 403)
    })

    it('refuses other bodies with 400 and an approval of another actor with 404', async () => {
      const service = await start({ declare: counting([]) })
      const { actor, friend } = await meet(service)
      const other = await service.createActor('other@example.com')
      const { approval_id: id } = await required(await friend.request('POST', '/actions/clear', {}))
      for (const body of [{}, { approved: 'yes' }, { approved: null }, [], 'approve', { decision: 'allow' }])
        await leavesAll(service, () => actor.request('PUT', `/approvals/${id}`, JSON.stringify(body)), 400)
      await leavesAll(service, () => other.request('PUT', `/approvals/${id}`, { approved: true }), 404)
      await leavesAll(service, () => other.request('GET', `/approvals/${id}`), 404)
      await leavesAll(service, () => actor.request('GET', '/approvals?cursor=nonsense'), 400)
      assert.equal((await waiting(actor)).length, 1)
    })

    it('lists pages of 100, the newest first, each approval once', async () => {
      const service = await start({ declare: counting([]) })
      const actor = await service.createActor()
      for (let peer = 0; peer < 6; peer++) {
        const friend = await relateTo(service, actor)
        for (let n = 0; n < 20; n++) await required(await friend.request('POST', '/actions/clear', { n }))
      }
      const seen: string[] = []
      const sizes: number[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const answer = await actor.request('GET', `/approvals${cursor === '' ? '' : `?cursor=${cursor}`}`)
        const page = (await answer.json()) as { approvals: Approval[]; next: string | null }
        sizes.push(page.approvals.length)
        seen.push(...page.approvals.map(({ id }) => id))
        cursor = page.next
      }
      assert.deepEqual(sizes, [100, 20])
      assert.equal(new Set(seen).size, 120)
    })

    it('records in the activity that the call waited, how the owner decided, and that it ran', async () => {
      const service = await start({ declare: counting([]), activityPerActor: 1000, timers: stoppedTimers })
      const { actor, friend } = await meet(service)
      const lines = async (): Promise<unknown[]> => {
        await writtenAuditLog(service)
        const answer = await actor.request('GET', `/activity?caller=${friend.peerId}`)
        const { activity } = (await answer.json()) as { activity: Record<string, unknown>[] }
        return activity.map((line) =>
          ['caller_kind', 'through', 'method', 'path', 'decision', 'reason', 'status'].map((name) => line[name]),
        )
      }
      const call = (more: object = {}) => friend.request('POST', '/actions/clear/all', more)
      const line = (decision: string, reason: string, status: number): unknown[] => [
        'peer',
        'http',
        'POST',
        '/actions/clear/all',
        decision,
        reason,
        status,
      ]
      await decide(actor, (await required(await call())).approval_id, true)
      assert.equal((await call()).status, 200)
      await decide(actor, (await required(await call({ again: 1 }))).approval_id, false)
      assert.equal((await call({ again: 1 })).status, 403)
      assert.deepEqual(await lines(), [
        line('refused', 'the owner refused it', 403),
        line('denied', 'the owner denied it', 200),
        line('allowed', 'actions.allowed ("*") of friend allows it', 200),
        line('approved', 'the owner approved it', 200),
        line('asked', 'the owner has to agree to it', 403),
      ])
    })
  })
})

describe('a declaration of confirm', () => {
  const start = sqliteService()

  it('is part of the OpenAPI document, with the 403 response that a caller receives', async () => {
    const service = await start({ declare: counting([]) })
    const { paths } = (await (await service.request('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, { content: object }> }>>
    }
    const refusals = ['/{actor}/actions/clear', '/{actor}/methods/pay', '/{actor}/actions/look'].map((path) =>
      JSON.stringify(paths[path]?.['post']?.responses['403']?.content ?? null).includes('approval_url'),
    )
    assert.deepEqual(refusals, [true, true, false])
    assert.deepEqual(Object.keys(paths['/{actor}/approvals/{approval}'] ?? {}), ['get', 'put'])
  })

  it('is part of the description of the operation that callers receive', async () => {
    const service = await start({ declare: counting([]) })
    const { friend } = await meet(service)
    const marked = async (kind: string): Promise<unknown> => {
      const body = (await (await friend.request('GET', `/${kind}`)).json()) as Record<string, { confirm?: string }[]>
      return body[kind]?.map(({ confirm }) => confirm)
    }
    assert.deepEqual(await marked('actions'), ['owner', 'owner', undefined])
    assert.deepEqual(await marked('methods'), ['owner'])
  })

  it('gives callers the URL of the page of the application where one is configured', async () => {
    const approvalUrl = 'https://app.example.com/approve/{actor}?call={approval}'
    const service = await start({ declare: counting([]), approvalUrl, webUi: false })
    const { actor, friend } = await meet(service)
    const { approval_id: id, approval_url: url } = await required(await friend.request('POST', '/actions/clear', {}))
    assert.equal(url, `https://app.example.com/approve/${actor.id}?call=${id}`)
  })

  for (const [approvalUrl, complaint] of [
    ['https://app.example.com/approve', 'must contain {approval}, which identifies the call'],
    ['/approve/{approval}', 'must be an http or https URL'],
    ['javascript:alert("{approval}")', 'must be an http or https URL'],
  ] as const)
    it(`is refused at the start with the approval address ${approvalUrl}`, async () => {
      await assert.rejects(
        async () => start({ declare: counting([]), approvalUrl }),
        (error) => error instanceof ConfigError && error.message.includes(complaint),
      )
    })
  const declared: readonly (readonly [what: string, declare: (app: App) => void, message: string])[] = [
    [
      'an unknown value',
      (app) => app.action('clear', { confirm: true } as unknown as { confirm: 'owner' }, () => 1),
      'Cannot declare the action "clear": confirm must be \'owner\' or { owner: true, preview }, or absent when no approval is needed.',
    ],
    ...[{ owner: false }, { owner: true, preview: 'Clears it' }, { owner: true, previews: () => 'x' }, {}].map(
      (confirm) =>
        [
          `the object ${JSON.stringify(Object.keys(confirm))}`,
          (app: App) => app.action('clear', { confirm } as unknown as { confirm: 'owner' }, () => 1),
          'Cannot declare the action "clear": confirm must be \'owner\' or { owner: true, preview }, or absent when no approval is needed.',
        ] as const,
    ),
    [
      'an unknown value within mcp',
      (app) => app.action('clear', { mcp: { confirm: 'Owner' } } as unknown as { confirm: 'owner' }, () => 1),
      'Cannot declare the action "clear": confirm within mcp must be \'owner\' or absent.',
    ],
    [
      'a prompt that declares it in place of its method',
      (app) =>
        app.method('card', { mcp: { prompt: { confirm: 'owner' } } } as unknown as { confirm: 'owner' }, () => 1),
      'Cannot declare the method "card": write confirm beside its description, not within mcp.',
    ],
  ]
  for (const [what, declare, message] of declared)
    it(`is refused at the start with ${what}`, async () => {
      await assert.rejects(
        async () => start({ declare }),
        (error) => {
          assert.ok(error instanceof ConfigError)
          assert.equal(error.message, message)
          return true
        },
      )
    })
})
