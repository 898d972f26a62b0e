import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { everything, granting, TestCallers } from '../support/callers.ts'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { faulty } from '../support/stores.ts'
import { authorizeClient, type McpAnswer } from '../support/mcp-client.ts'
import { registerClient, requestTokens } from '../support/oauth-client.ts'
import { basic, forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

interface Line {
  readonly at: string
  readonly caller_kind: string
  readonly caller: string
  readonly through: string
  readonly method: string
  readonly path: string
  readonly decision: string
  readonly reason: string
  readonly status: number
  readonly request_id: string
  readonly times: number
}

const on: StartOptions = { activityPerActor: 1000, timers: stoppedTimers }

async function activityOf(service: TestService, actor: TestActor, query = ''): Promise<Line[]> {
  await writtenAuditLog(service)
  const answer = await actor.request('GET', `/activity${query}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { activity: Line[] }).activity
}

const brief = ({ caller_kind, method, path, decision, status }: Line): unknown[] => [
  caller_kind,
  method,
  path,
  decision,
  status,
]

forEachService((start) => {
  describe('the activity of an actor', () => {
    it('records each access of a peer with its request and the decision', async () => {
      const callers = new TestCallers()
      const service = await start({ ...on, ...callers.parts })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red')
      const token = callers.peer(actor.id, { grants: granting('properties read color') })
      const asPeer = (method: string, path: string, body?: string): Promise<Response> =>
        service.request(`/${actor.id}${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'x-request-id': `of-${method}-${path.slice(-5)}` },
          ...(body === undefined ? {} : { body }),
        })
      assert.equal((await asPeer('GET', '/properties/color?index=hidden')).status, 200)
      assert.equal((await asPeer('PUT', '/properties/color', 'blue')).status, 403)
      const lines = await activityOf(service, actor)
      assert.deepEqual(lines.map(brief), [
        ['peer', 'PUT', '/properties/color', 'refused', 403],
        ['peer', 'GET', '/properties/color', 'allowed', 200],
      ])
      const [refused, allowed] = lines
      assert.match(refused?.reason ?? '', /^peer urn:\S+ may not write properties\/color: no rule grants it$/)
      assert.equal(allowed?.reason, 'granted')
      assert.deepEqual([allowed?.request_id, allowed?.through, allowed?.times], ['of-GET-idden', 'http', 1])
      assert.match(allowed?.caller ?? '', /^urn:actingweb:example\.com:peer:/)
      assert.ok(!JSON.stringify(lines).includes('hidden') && !JSON.stringify(lines).includes('blue'))
    })

    it('names the rule that granted access to a peer with a relationship', async () => {
      const service = await start({ ...on, peerClient: new FakePeers() })
      const actor = await service.createActor()
      const secret = '0f3c'.repeat(10)
      const asking = { baseuri: 'https://peer.example.com/p1', id: 'p1', secret }
      assert.equal((await actor.request('POST', '/trust/friend', asking)).status, 202)
      await actor.request('PUT', '/trust/friend/p1', { approved: true })
      await actor.request('PUT', '/properties/diary', 'x')
      const answer = await service.request(`/${actor.id}/properties/diary`, {
        headers: { authorization: `Bearer ${secret}` },
      })
      assert.equal(answer.status, 200)
      const [line] = await activityOf(service, actor, '?caller=p1')
      assert.deepEqual(line === undefined ? [] : brief(line), ['peer', 'GET', '/properties/diary', 'allowed', 200])
      assert.match(line?.reason ?? '', /friend/)
    })

    it('records clients, trustees and anonymous callers, and never the owner', async () => {
      const callers = new TestCallers()
      const service = await start({
        ...on,
        ...callers.parts,
        declare: (app) => app.callback('ring', () => 'rang', { public: true }),
      })
      const actor = await service.createActor()
      const send = (path: string, token?: string): Promise<Response> =>
        service.request(
          `/${actor.id}${path}`,
          token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
        )
      await send('/properties', callers.client(actor.id, { grants: everything }))
      await send('/trust', callers.trustee(actor.id))
      await send('/callbacks/ring')
      await send('/meta')
      await send('/properties', callers.session(actor.id))
      await actor.request('GET', '/properties')
      const lines = await activityOf(service, actor)
      assert.deepEqual(lines.map(brief), [
        ['anonymous', 'GET', '/meta', 'allowed', 200],
        ['anonymous', 'GET', '/callbacks/ring', 'allowed', 200],
        ['trustee', 'GET', '/trust', 'allowed', 200],
        ['client', 'GET', '/properties', 'allowed', 200],
      ])
      assert.deepEqual(
        lines.map(({ through, reason }) => [through, reason]),
        [
          ['http', 'open to everybody'],
          ['callback', 'open to everybody'],
          ['http', 'a trustee may read trust'],
          ['http', 'relationship mcp_client may read properties'],
        ],
      )
    })

    it('counts wrong credentials by the remote address, without the credentials that were tried (SEC-09)', async () => {
      const service = await start(on)
      const actor = await service.createActor()
      const tries = ['first-guess', 'second-guess', 'third-guess']
      for (const [index, guess] of tries.entries()) {
        const request = new Request(`http://troupe.test/${actor.id}/properties/p${index}`, {
          headers: { authorization: basic(actor.creator, guess) },
        })
        assert.equal((await service.app.fetch(request, { remoteAddress: '192.0.2.66' })).status, 403)
      }
      await service.request(`/${actor.id}/properties`)
      const lines = await activityOf(service, actor)
      assert.deepEqual(
        lines.map(({ caller, path, reason, status, times }) => [caller, path, reason, status, times]),
        [
          ['', '/properties', 'Authentication required', 401, 1],
          ['192.0.2.66', '/properties/:name/*', 'wrong credentials', 403, 3],
        ],
      )
      assert.ok(!JSON.stringify(lines).includes('guess'))
    })

    it('does not record a browser without a session that is redirected to the sign-in page', async () => {
      const service = await start(on)
      const actor = await service.createActor()
      const answer = await service.request(`/${actor.id}`, { headers: { accept: 'text/html' } })
      assert.equal(answer.status, 302)
      assert.deepEqual(await activityOf(service, actor), [])
    })

    it('records whether a call that needs the owner’s approval waited, was refused or ran', async () => {
      const service = await start({
        ...on,
        declare: (app) => {
          app.action('pay', { mcp: { confirm: 'owner' } }, () => 'paid')
          app.action('look', { mcp: true }, () => 'seen')
        },
      })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const { parts } = await service.app.running()
      const decide = async (decision: 'approved' | 'denied'): Promise<void> => {
        const [waiting] = await parts.approvals.waiting(actor.id)
        assert.equal(await parts.approvals.decide(actor.id, waiting?.approvalId ?? '', decision), true)
      }
      const opens = { elicitation: { url: {} } }
      const clientInfo = { name: 'test', version: '1' }
      const begun = await client.legacy('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: opens,
        clientInfo,
      })
      const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
      const pay = (to: string): [string, object] => ['tools/call', { name: 'pay', arguments: { to } }]
      const text = ({ body }: McpAnswer): string => JSON.stringify(body)
      const lines = async (): Promise<unknown[]> => {
        const of = (await activityOf(service, actor)).filter(({ method }) => method === 'tools/call')
        return of.map(({ through, path, decision, reason, times }) => [through, path, decision, reason, times])
      }
      // The service has three ways to make a client wait: an error result, error -32042 and input_required.
      assert.match(text(await client.legacy(...pay('one'))), /"isError":true/)
      assert.match(text(await client.legacy(...pay('one'), session)), /"code":-32042/)
      const modern = await client.modern(...pay('one'), { capabilities: opens })
      assert.match(text(modern), /"resultType":"input_required"/)
      const asked = ['mcp', 'pay', 'asked', 'the owner has to agree to it', 3]
      assert.deepEqual(await lines(), [asked])
      await decide('denied')
      await client.legacy(...pay('one'))
      const decided = ['mcp', 'pay', 'denied', 'the owner denied it', 1]
      const denied = ['mcp', 'pay', 'refused', 'the owner refused it', 1]
      assert.deepEqual(await lines(), [denied, decided, asked])
      await client.legacy(...pay('x'.repeat(20_000)))
      const unseen = ['mcp', 'pay', 'refused', 'its arguments are too long to be looked through', 1]
      assert.deepEqual(await lines(), [unseen, denied, decided, asked])
      await client.legacy(...pay('two'))
      await decide('approved')
      assert.match(text(await client.legacy(...pay('two'))), /"text":"paid"/)
      await client.legacy('tools/call', { name: 'look', arguments: {} })
      const does = 'tools.allowed ("*") of friend allows it'
      assert.deepEqual(await lines(), [
        ['mcp', 'look', 'allowed', does, 1],
        ['mcp', 'pay', 'allowed', does, 1],
        ['mcp', 'pay', 'approved', 'the owner approved it', 1],
        unseen,
        denied,
        decided,
        [...asked.slice(0, 4), 4],
      ])
      const handle = await service.app.actors.get(actor.id)
      const { entries } = (await handle?.activity({ caller: client.peerId })) ?? { entries: [] }
      assert.equal(entries.at(-1)?.decision, 'asked')
    })

    it('is visible only to the owner', async () => {
      const callers = new TestCallers()
      const service = await start({ ...on, ...callers.parts })
      const actor = await service.createActor()
      const other = await service.createActor('other@example.com')
      const admin = callers.peer(actor.id, { relationship: 'admin', grants: everything })
      const tokens = {
        peer: callers.peer(actor.id, { grants: everything }),
        admin,
        client: callers.client(actor.id, { grants: everything }),
        trustee: callers.trustee(actor.id),
      }
      for (const [who, token] of Object.entries(tokens)) {
        const answer = await service.request(`/${actor.id}/activity`, { headers: { authorization: `Bearer ${token}` } })
        assert.equal(answer.status, 403, who)
      }
      assert.equal((await service.request(`/${actor.id}/activity`)).status, 401)
      const stranger = { headers: { authorization: other.authorization } }
      assert.equal((await service.request(`/${actor.id}/activity`, stranger)).status, 403)
    })

    it('is paginated by cursor, and refuses an invalid limit or cursor', async () => {
      const callers = new TestCallers()
      const service = await start({ ...on, ...callers.parts })
      const actor = await service.createActor()
      const token = callers.peer(actor.id, { grants: everything })
      const all = Object.fromEntries([0, 1, 2, 3, 4].map((index) => [`p${index}`, 1]))
      assert.equal((await actor.request('PUT', '/properties', all)).status, 204)
      for (let index = 0; index < 5; index++) {
        await service.request(`/${actor.id}/properties/p${index}`, { headers: { authorization: `Bearer ${token}` } })
      }
      await (await service.app.running()).parts.auditLog.flush()
      const paths: string[] = []
      let next: string | null = ''
      while (next !== null) {
        const answer = await actor.request('GET', `/activity?limit=2${next === '' ? '' : `&cursor=${next}`}`)
        const page = (await answer.json()) as { activity: Line[]; next: string | null }
        paths.push(...page.activity.map(({ path }) => path))
        next = page.next
      }
      assert.deepEqual(paths, [
        '/properties/p4',
        '/properties/p3',
        '/properties/p2',
        '/properties/p1',
        '/properties/p0',
      ])
      for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?cursor=x']) {
        assert.equal((await actor.request('GET', `/activity${query}`)).status, 400, query)
      }
    })

    it('is available to the application', async () => {
      const callers = new TestCallers()
      const service = await start({ ...on, ...callers.parts })
      const actor = await service.createActor()
      const token = callers.peer(actor.id, { grants: everything })
      await service.request(`/${actor.id}/properties`, { headers: { authorization: `Bearer ${token}` } })
      await (await service.app.running()).parts.auditLog.flush()
      const handle = await service.app.actors.get(actor.id)
      const page = await handle?.activity({ limit: 10 })
      const [entry] = page?.entries ?? []
      assert.ok(entry?.at instanceof Date)
      assert.deepEqual(
        [entry.callerKind, entry.method, entry.path, entry.decision, entry.status, page?.next],
        ['peer', 'GET', '/properties', 'allowed', 200, null],
      )
    })

    it('adds no statement to a request, and is written when the service stops', async () => {
      const callers = new TestCallers()
      const service = await start({ ...on, ...callers.parts })
      const actor = await service.createActor()
      const token = callers.peer(actor.id, { grants: everything })
      service.reset()
      await service.request(`/${actor.id}/properties`, { headers: { authorization: `Bearer ${token}` } })
      assert.equal(service.statements.length, 2)
      await service.close()
      assert.ok(service.statements.some((sql) => sql.includes('INSERT INTO activity')))
      const again = await start({ database: service.databaseUrl })
      const answer = await again.request(`/${actor.id}/activity`, { headers: { authorization: actor.authorization } })
      assert.equal(((await answer.json()) as { activity: Line[] }).activity.length, 1)
    })

    it('is written for every actor after a client called a tool whose name PostgreSQL cannot store', async () => {
      const callers = new TestCallers()
      const service = await start({ ...on, ...callers.parts })
      const client = await registerClient(service, { grant_types: ['client_credentials'] })
      const tokens = await requestTokens(service, {
        grant_type: 'client_credentials',
        client_id: client.client_id,
        client_secret: client.client_secret ?? '',
      })
      const { access_token: token } = (await tokens.json()) as { access_token: string }
      const call = (name: string): Promise<Response> =>
        service.request('/mcp', {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{}}}`,
        })
      await call(String.raw`a\u0000b`)
      const actor = await service.createActor()
      const peer = callers.peer(actor.id, { grants: everything })
      await service.request(`/${actor.id}/properties`, { headers: { authorization: `Bearer ${peer}` } })
      assert.deepEqual((await activityOf(service, actor)).map(brief), [['peer', 'GET', '/properties', 'allowed', 200]])
      const { store } = await service.app.running()
      const kept = await store.read((q) =>
        q.all<{ path: string }>(`SELECT path FROM activity WHERE through = 'mcp' ORDER BY path`),
      )
      assert.deepEqual(
        kept.map(({ path }) => path),
        ['a\ufffdb'],
      )
      assert.ok(!service.log.some((line) => line.includes('Cannot write the audit log')))
    })

    it('fails no request when its records cannot be written', async () => {
      const callers = new TestCallers()
      const service = await start({
        ...on,
        ...callers.parts,
        wrapStore: (store) => faulty(store, { matching: /INSERT INTO activity/, times: Number.POSITIVE_INFINITY }),
      })
      const actor = await service.createActor()
      const token = callers.peer(actor.id, { grants: everything })
      const answer = await service.request(`/${actor.id}/properties`, { headers: { authorization: `Bearer ${token}` } })
      assert.equal(answer.status, 200)
      await (await service.app.running()).parts.auditLog.flush()
      assert.ok(service.log.some((line) => line.includes('Cannot write the audit log')))
    })
  })
})
