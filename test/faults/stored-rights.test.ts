/* oxlint-disable typescript/no-unsafe-member-access, typescript/no-unsafe-assignment, typescript/no-unsafe-argument -- protocol responses are untyped, and the tests compare them with literals */
/** Rights to what the service stored earlier: responses, results of tasks, approvals. They apply when a caller reads it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/troupe.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { authorizeClient, listen } from '../support/mcp-client.ts'
import { EventStream } from '../support/event-stream.ts'
import { relateTo } from '../support/recording-peer.ts'
import { FakePeers } from '../support/fake-peers.ts'
import { declareAll, furnish, isBelowActor, requestOf, routes } from '../support/routes.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'

const minute = 60_000
const form = {
  message: 'Who are you?',
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
}
const fills = { capabilities: { elicitation: {} } }
const tasks = { capabilities: { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } } }

function declare(ran: string[]): (app: App) => void {
  return (app) => {
    app.action('reveal', { description: 'Reveals', mcp: true }, () => ({ found: `value-${ran.push('reveal')}` }))
    app.method('reveal', { description: 'Reveals' }, () => ({ found: `value-${ran.push('reveal')}` }))
    app.action('work', { mcp: true }, ({ mcp }) => {
      mcp?.background()
      return { found: 'the result' }
    })
    app.action('wait', { mcp: true }, async ({ mcp }) => {
      mcp?.background()
      const answer = await mcp?.elicit('name', form)
      ran.push(`answered ${answer?.action}`)
      return { found: 'the result' }
    })
    app.action('pay', { confirm: 'owner', mcp: true }, async ({ mcp }) => {
      ran.push('before')
      const answer = await mcp?.elicit('name', form)
      ran.push(`paid ${answer?.action}`)
      return {}
    })
    app.action('clear', { confirm: 'owner', mcp: true }, () => ({ ran: ran.push('cleared') }))
  }
}

async function limit(actor: TestActor, peerId: string, relationship: string, rules: object): Promise<void> {
  const answer = await actor.request('PUT', `/trust/${relationship}/${peerId}/permissions`, rules)
  assert.ok(answer.status === 200 || answer.status === 201, `${answer.status}`)
}

forEachService((start) => {
  async function open(clock = new ManualClock()) {
    const ran: string[] = []
    const service = await start({ declare: declare(ran), now: clock.now })
    const actor = await service.createActor()
    const friend = await relateTo(service, actor)
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    const approval = async (): Promise<{ id: string }> => {
      const { approvals } = (await (await actor.request('GET', '/approvals')).json()) as { approvals: { id: string }[] }
      return approvals[0] ?? assert.fail('nothing waits')
    }
    const decide = async (id: string, approved: boolean): Promise<number> =>
      (await actor.request('PUT', `/approvals/${id}`, { approved })).status
    return { service, actor, friend, client, ran, clock, approval, decide }
  }

  describe('a stored response to an Idempotency-Key', () => {
    const cases: readonly (readonly [what: string, path: string, body: unknown, denied: object, granted: object])[] = [
      [
        'an action',
        '/actions/reveal',
        {},
        { actions: { denied: ['reveal'] } },
        { actions: { allowed: ['reveal'], denied: [] } },
      ],
      [
        'a method',
        '/methods/reveal',
        {},
        { methods: { denied: ['reveal'] } },
        { methods: { allowed: ['reveal'], denied: [] } },
      ],
      [
        'JSON-RPC',
        '/methods',
        { jsonrpc: '2.0', method: 'reveal', params: {}, id: 1 },
        { methods: { denied: ['reveal'] } },
        { methods: { allowed: ['reveal'], denied: [] } },
      ],
    ]
    for (const [what, path, body, denied, granted] of cases)
      it(`is not repeated after its right was denied, and again after it was granted: ${what} (ACL-17)`, async () => {
        const { actor, friend, ran } = await open()
        const call = () => friend.request('POST', path, body, { 'idempotency-key': 'key' })
        const first = await call()
        assert.equal(first.status, 200)
        const text = await first.text()
        assert.match(text, /value-1/)
        await limit(actor, friend.peerId, 'friend', denied)
        const refused = await call()
        assert.equal(refused.status, 403)
        assert.doesNotMatch(await refused.text(), /value-1/)
        await limit(actor, friend.peerId, 'friend', granted)
        const again = await call()
        assert.deepEqual([again.status, await again.text()], [200, text])
        assert.deepEqual(ran, ['reveal'])
      })

    it('is not repeated after one of several rights was denied (ACL-17)', async () => {
      const { actor, friend } = await open()
      const rights = (names: readonly string[]): object => ({
        properties: { patterns: names, operations: ['read', 'write', 'append', 'delete'], excluded_patterns: [] },
      })
      await limit(actor, friend.peerId, 'friend', rights(['color', 'size']))
      const call = () =>
        friend.request('POST', '/properties', { color: 'red', size: 'big' }, { 'idempotency-key': 'key' })
      assert.equal((await call()).status, 201)
      assert.equal((await call()).headers.get('idempotency-replayed'), 'true')
      await limit(actor, friend.peerId, 'friend', {
        properties: { ...(rights(['color']) as { properties: object }).properties, merge: false },
      })
      assert.equal((await call()).status, 403)
    })

    it('is repeated for the owner, who has every right (ACL-17)', async () => {
      const { actor, ran } = await open()
      for (const replayed of [null, 'true']) {
        const answer = await actor.request('POST', '/actions/reveal', {}, { 'idempotency-key': 'key' })
        assert.deepEqual([answer.status, answer.headers.get('idempotency-replayed')], [200, replayed])
      }
      assert.deepEqual(ran, ['reveal'])
    })

    it('has no secret: every POST whose response has one refuses the key (ACL-19)', async () => {
      const service = await start({ declare: declareAll, mode: 'development', peerClient: new FakePeers() })
      const kept: string[] = []
      let asked = 0
      let replayed = 0
      for (const route of routes.filter(({ method, access }) => method === 'POST' && access !== 'www')) {
        if (!isBelowActor(route)) continue
        const actor = await service.createActor(`owner${asked++}@example.com`)
        await furnish(actor)
        const headers = { authorization: actor.authorization, 'idempotency-key': 'key' }
        const send = () => service.request(...requestOf(route, actor.id, headers))
        await (await send()).text()
        const again = await send()
        const text = await again.text()
        // A public route, which a peer without credentials calls, keeps no response.
        const isKept = again.headers.get('idempotency-replayed') === 'true'
        if (isKept && /"[^"]*(?:secret|passphrase|password|token|claim)[^"]*":"[^"]+"/i.test(text)) kept.push(route.id)
        if (isKept) replayed += 1
      }
      assert.ok(asked > 10 && replayed > 5, `${asked} ${replayed}`)
      assert.deepEqual(kept, [])
    })

    for (const path of ['/webhooks', '/webhooks/none/secret', '/trust', '/move', '/keys', '/invitations'])
      it(`is refused with 400 at POST ${path} (ACL-19)`, async () => {
        const { actor } = await open()
        const answer = await actor.request(
          'POST',
          path,
          { url: 'https://receiver.example/', events: ['property'] },
          { 'idempotency-key': 'key' },
        )
        assert.equal(answer.status, 400)
        assert.match(await answer.text(), /Cannot accept an Idempotency-Key here: the response has a secret/)
      })
  })

  describe('a task', () => {
    const deny = { tools: { allowed: [], denied: ['work', 'wait'], merge: false } }

    it('has no readable result after the right to its tool ended (MCP-20)', async () => {
      const { actor, client } = await open()
      const { taskId } = (await client.modern('tools/call', { name: 'work' }, tasks)).body.result
      const get = () => client.modern('tasks/get', { taskId }, tasks)
      await until(async () => (await get()).body.result.status === 'completed')
      const stream = new EventStream(await listen(client, { taskIds: [taskId] }, { capabilities: tasks.capabilities }))
      await stream.next()
      await limit(actor, client.peerId, 'admin', deny)
      const { body } = await get()
      assert.equal(body.result, undefined)
      assert.match(body.error.message, /These credentials may not use the tool "work"/)
      await stream.close()
      await limit(actor, client.peerId, 'admin', { tools: { allowed: ['work'], denied: [] } })
      assert.equal((await get()).body.result.status, 'completed')
    })

    it('takes no answers after the right to its tool ended, and can be cancelled (MCP-20)', async () => {
      const { actor, client, ran } = await open()
      const { taskId } = (await client.modern('tools/call', { name: 'wait' }, tasks)).body.result
      await until(
        async () => (await client.modern('tasks/get', { taskId }, tasks)).body.result.status === 'input_required',
      )
      await limit(actor, client.peerId, 'admin', deny)
      const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
      const { body } = await client.modern('tasks/update', { taskId, inputResponses }, tasks)
      assert.match(body.error.message, /These credentials may not use the tool "wait"/)
      assert.deepEqual((await client.modern('tasks/cancel', { taskId }, tasks)).body.result.resultType, 'complete')
      assert.deepEqual(ran, [])
    })
  })

  describe('an approval of a call that asks questions', () => {
    it('ends 15 minutes after the decision, however many rounds are not answered (ACL-18)', async () => {
      const { client, clock, ran, approval, decide } = await open()
      const call = (more: object = {}) => client.modern('tools/call', { name: 'pay', ...more }, fills)
      await call()
      assert.equal(await decide((await approval()).id, true), 200)
      for (let round = 0; round < 3; round++) {
        assert.equal((await call()).body.result.resultType, 'input_required')
        clock.pass(5 * minute - 1)
      }
      clock.pass(4)
      const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
      assert.match(JSON.stringify((await call({ inputResponses })).body), /must approve/)
      assert.deepEqual(ran, ['before', 'before', 'before'])
    })

    it('runs the code before its questions at most ten times (ACL-18)', async () => {
      const { client, ran, approval, decide } = await open()
      const call = (more: object = {}) => client.modern('tools/call', { name: 'pay', ...more }, fills)
      await call()
      assert.equal(await decide((await approval()).id, true), 200)
      for (let round = 0; round < 10; round++) assert.equal((await call()).body.result.resultType, 'input_required')
      const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
      for (let round = 0; round < 3; round++)
        assert.match(JSON.stringify((await call({ inputResponses })).body), /must approve/)
      assert.deepEqual(
        ran,
        Array.from({ length: 10 }, () => 'before'),
      )
    })

    it('still runs once with the answer of the last round (ACL-18)', async () => {
      const { client, ran, approval, decide } = await open()
      const call = (more: object = {}) => client.modern('tools/call', { name: 'pay', ...more }, fills)
      await call()
      assert.equal(await decide((await approval()).id, true), 200)
      const { requestState } = (await call()).body.result
      const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
      assert.equal((await call({ inputResponses, requestState })).body.result.resultType, 'complete')
      assert.match(JSON.stringify((await call({ inputResponses, requestState })).body), /must approve/)
      assert.deepEqual(ran, ['before', 'before', 'paid accept'])
    })
  })

  describe('an approval that is not used yet', () => {
    it('is withdrawn by the owner through the API, and the call is denied for 15 minutes (ACL-18)', async () => {
      const { actor, friend, ran, clock, approval, decide } = await open()
      const call = () => friend.request('POST', '/actions/clear', {})
      assert.equal((await call()).status, 403)
      const { id } = await approval()
      assert.deepEqual([await decide(id, true), await decide(id, true), await decide(id, false)], [200, 200, 200])
      assert.equal(
        ((await (await actor.request('GET', `/approvals/${id}`)).json()) as { state: string }).state,
        'denied',
      )
      assert.equal(((await (await call()).json()) as { error: string }).error, 'approval_denied')
      assert.equal(await decide(id, true), 409)
      clock.pass(15 * minute + 1)
      assert.equal(((await (await call()).json()) as { error: string }).error, 'approval_required')
      assert.deepEqual(ran, [])
    })

    it('is withdrawn by the owner on its page, between two rounds of questions too (ACL-18)', async () => {
      const { service, actor, client, ran, approval } = await open()
      const call = (more: object = {}) => client.modern('tools/call', { name: 'pay', ...more }, fills)
      await call()
      const { id } = await approval()
      const browser = await OwnersBrowser.open(service, actor)
      const send = (decision: string) =>
        browser.send(`/approvals/${id}`, { decision }, { 'sec-fetch-site': 'same-origin' })
      assert.equal((await send('allow')).status, 302)
      const { requestState } = (await call()).body.result
      const page = await (await browser.get(`/approvals/${id}`)).text()
      assert.match(
        page,
        /<input type="hidden" name="decision" value="refuse"><button class="quiet" type="submit">Withdraw approval<\/button>/,
      )
      assert.equal((await send('refuse')).status, 302)
      assert.doesNotMatch(await (await browser.get(`/approvals/${id}`)).text(), /Withdraw approval/)
      const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
      assert.match(JSON.stringify((await call({ inputResponses, requestState })).body), /The owner refused this call/)
      assert.deepEqual(ran, ['before'])
    })

    it('cannot be withdrawn after the call was made (ACL-18)', async () => {
      const { friend, ran, approval, decide } = await open()
      assert.equal((await friend.request('POST', '/actions/clear', {})).status, 403)
      const { id } = await approval()
      assert.equal(await decide(id, true), 200)
      assert.equal((await friend.request('POST', '/actions/clear', {})).status, 200)
      assert.equal(await decide(id, false), 409)
      assert.deepEqual(ran, ['cleared'])
    })
  })
})
