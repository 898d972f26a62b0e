import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { type App, troupe, type TroupeOptions } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'

const added = z.object({ index: z.int() })

function createNotes(options: Partial<TroupeOptions> = {}): App {
  const app = troupe({ type: 'urn:actingweb:example.com:notes', name: 'Notes', ...options })
  app.action(
    'add_note',
    { input: z.object({ text: z.string().min(1) }), output: added, mcp: true },
    async ({ actor, input }) => ({ index: await actor.list('notes').append(input) }),
  )
  app.action('forget_notes', { confirm: 'owner', mcp: true }, async ({ actor }) => {
    await actor.list('notes').clear()
  })
  app.action('break', () => {
    throw new Error('The handler is broken')
  })
  app.method('count', async ({ actor }) => ({ count: await actor.list('notes').length() }))
  app.trustType({
    name: 'reader',
    display_name: 'Reader',
    description: 'Reads the notes, and may ask to remove them',
    permissions: {
      properties: { patterns: ['notes'], operations: ['read', 'subscribe'] },
      actions: { allowed: ['forget_notes'] },
    },
  })
  app.trustType({
    name: 'mcp_client',
    display_name: 'Assistant',
    description: 'Adds notes',
    permissions: { tools: { allowed: ['add_note', 'forget_notes'] } },
  })
  return app
}

describe('testing(app)', () => {
  it('runs the application without a port and without a file', async () => {
    const before = readdirSync('.')
    await using t = await testing(createNotes({ port: 1, database: 'sqlite:missing/folder/notes.db' }))
    const front = await t.fetch('/')
    assert.deepEqual([t.url, front.status], ['https://service.test', 200])
    assert.deepEqual(readdirSync('.'), before)
    assert.equal(process.getActiveResourcesInfo().includes('TCPServerWrap'), false)
  })

  it('begins with an empty store each time, and refuses an application that runs already', async () => {
    const app = createNotes()
    const t = await testing(app)
    const ada = await t.signIn('ada@example.com')
    await ada.action('add_note', { text: 'First' })
    await assert.rejects(testing(app), { message: 'Cannot start the application for a test: it runs already' })
    await t.close()
    await t.close()
    await using again = await testing(app)
    assert.equal(await app.actors.findByCreator('ada@example.com'), undefined)
    assert.deepEqual(await (await again.signIn('ada@example.com')).method('count'), { count: 0 })
  })

  it('ignores the environment, and takes the settings of the test', async () => {
    process.env['TROUPE_UNKNOWN_SETTING'] = '1'
    try {
      await using t = await testing(createNotes(), { settings: { webUi: false } })
      const ada = await t.signIn('ada@example.com')
      assert.equal((await ada.fetch('/www')).status, 404)
    } finally {
      delete process.env['TROUPE_UNKNOWN_SETTING']
    }
    const unknown = { settings: { env: { TROUPE_UNKNOWN_SETTING: '1' } } }
    await assert.rejects(testing(createNotes(), unknown), { name: 'ConfigError' })
  })

  it('prints nothing, and keeps the log for the test', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    await assert.rejects(ada.action('break'), {
      name: 'RequestRefused',
      status: 500,
      code: 'server_error',
      message: /The handler is broken\n.*testing-kit\.test\.ts/s,
    })
    assert.deepEqual(
      t.log.errors.map(({ msg }) => msg),
      ['A request failed'],
    )
    assert.match(String(t.log), /^error A request failed\nError: The handler is broken$/m)
  })
})

describe('a person of a test', () => {
  it('is signed in to a new actor, and returns to it', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('Ada@Example.com', { name: 'Ada Lovelace' })
    assert.equal(ada.actor.creator, 'ada@example.com')
    assert.equal((await ada.actor.signIn.get())?.isProven, true)
    assert.equal(ada.cookies.has('oauth_token'), true)
    assert.equal((await t.signIn('ada@example.com')).actor.id, ada.actor.id)
    assert.notEqual((await t.signIn('ben@example.com')).actor.id, ada.actor.id)
  })

  it('cannot sign in when the application refuses it, or without an address', async () => {
    const app = createNotes()
    app.on('oauth_success', ({ email }) => email !== 'eve@example.com')
    await using t = await testing(app)
    await assert.rejects(t.signIn('eve@example.com'), { name: 'RequestRefused', status: 403 })
    assert.equal(await app.actors.findByCreator('eve@example.com'), undefined)
    await assert.rejects(t.signIn('eve'), { message: 'Cannot sign in "eve": it is not an email address' })
  })

  it('calls actions and methods, and receives typed results', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    const { index } = await ada.action('add_note', { text: 'Buy a violin' }, added)
    assert.equal(index satisfies number, 0)
    assert.deepEqual(await ada.method('count'), { count: 1 })
    assert.equal(await ada.action('forget_notes'), undefined)
    assert.deepEqual(await ada.actor.list('notes').items(), [])
  })

  it('receives results by a schema that JSON Schema cannot express', async () => {
    const app = createNotes()
    app.method('opened', { outputSchema: { type: 'string' }, output: z.date() }, () => new Date('2026-01-02'))
    await using t = await testing(app)
    const ada = await t.signIn('ada@example.com')
    assert.deepEqual(await ada.method('opened', {}, z.coerce.date()), new Date('2026-01-02'))
    await assert.rejects(ada.method('opened', {}, z.date()), { code: 'invalid_input' })
  })

  it('receives each refusal with its status and code', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    await assert.rejects(ada.action('add_note', { text: '' }), { status: 400, code: 'invalid_input' })
    await assert.rejects(ada.method('missing'), { status: 404, code: 'not_found' })
    await assert.rejects(ada.method('count', {}, z.object({ count: z.string() })), { code: 'invalid_input' })
  })

  it('sends requests with the session, which other people do not have', async () => {
    await using t = await testing(createNotes())
    const [ada, ben] = [await t.signIn('ada@example.com'), await t.signIn('ben@example.com')]
    const put = await ada.fetch('/properties/color', { method: 'PUT', json: 'green' })
    assert.equal(put.status, 204)
    assert.equal(await ada.json('/properties/color'), 'green')
    assert.equal((await ben.fetch(`${ada.actor.url}/properties/color`)).status, 403)
    assert.equal((await t.fetch(`/${ada.actor.id}/properties/color`)).status, 401)
  })
})

describe('the clock of a test', () => {
  it('stands still until the test advances it', async () => {
    await using t = await testing(createNotes(), { now: '2030-01-01T00:00:00Z' })
    assert.equal(t.clock.now(), 1_893_456_000_000)
    await t.clock.advance('1.5h')
    await t.clock.advance(250)
    assert.equal(t.clock.now(), 1_893_461_400_250)
    for (const wrong of [-1, Number.NaN, '-1h'] as const) await assert.rejects(t.clock.advance(wrong), TypeError)
    await assert.rejects(testing(createNotes(), { now: 'yesterday' }), TypeError)
  })

  it('does not stop a request that waits for a timer', async () => {
    const app = createNotes()
    const [begun, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    app.action('wait', async () => {
      begun.resolve()
      await free.promise
      return { done: true }
    })
    await using t = await testing(app)
    const ada = await t.signIn('ada@example.com')
    const headers = { 'idempotency-key': 'once' }
    const first = ada.json('/actions/wait', { json: {}, headers })
    await begun.promise
    const begin = t.clock.now()
    const repeated = ada.json('/actions/wait', { json: {}, headers })
    await t.settled()
    free.resolve()
    assert.deepEqual(await Promise.all([first, repeated]), [{ done: true }, { done: true }])
    assert.equal(t.clock.now(), begin)
  })

  it('ends a session, and the person signs in again', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    const token = ada.cookies.get('oauth_token')
    await t.clock.advance(3_600_001)
    assert.equal(ada.cookies.has('oauth_token'), false)
    const headers = { cookie: `oauth_token=${token}` }
    assert.equal((await t.fetch(`/${ada.actor.id}/properties`, { headers })).status, 401)
    assert.deepEqual(await ada.method('count'), { count: 0 })
  })

  it('ends a waiting approval', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    const ai = await t.mcp(ada)
    await ai.call('forget_notes')
    await t.clock.advance('15m')
    await assert.rejects(t.approve(ada), {
      message: 'Cannot decide for ada@example.com: 0 calls wait for approval, expected one',
    })
  })

  it('repeats failed deliveries at their time', async () => {
    await using t = await testing(createNotes())
    const other = await t.second(createNotes())
    const [ada, ben] = [await t.signIn('ada@example.com'), await other.signIn('ben@example.com')]
    await t.befriend(ben, ada, 'reader')
    const { subscriptionid } = await ben.actor.subscribe(ada.actor.id, { target: 'properties', subtarget: 'notes' })
    await other.close()
    await ada.action('add_note', { text: 'No peer receives this' })
    const attempts = async (): Promise<number | undefined> =>
      (await ada.actor.subscriptions.timeline(ben.actor.id, subscriptionid))?.[0]?.attempts
    await t.settled()
    assert.equal(await attempts(), 1)
    await t.settled()
    assert.equal(await attempts(), 1)
    await t.clock.advance('10m')
    assert.ok(((await attempts()) ?? 0) > 3, `${await attempts()} attempts`)
  })
})

describe('people of a test who are related', () => {
  it('share what the trust type grants, and nothing else', async () => {
    await using t = await testing(createNotes())
    const [ada, ben] = [await t.signIn('ada@example.com'), await t.signIn('ben@example.com')]
    await t.befriend(ben, ada, 'reader')
    await ada.actor.set('secret', 'hidden')
    await ben.actor.subscribe(ada.actor.id, { target: 'properties' })
    await ada.action('add_note', { text: 'Buy a violin' })
    await t.settled()
    assert.deepEqual(await ben.actor.remote(ada.actor.id).all(), { notes: [{ text: 'Buy a violin' }] })
  })

  it('cannot be related by a trust type that does not exist', async () => {
    await using t = await testing(createNotes())
    const [ada, ben] = [await t.signIn('ada@example.com'), await t.signIn('ben@example.com')]
    await assert.rejects(t.befriend(ada, ben, 'readers'), {
      name: 'TypeError',
      message: 'Cannot create a relationship: no application of the test has the trust type readers',
    })
    assert.deepEqual(await ada.actor.trust.list(), [])
  })

  it('reach each other from two services without sockets', async () => {
    await using t = await testing(createNotes())
    const other = await t.second(createNotes())
    assert.equal(other.url, 'https://service-2.test')
    const [ada, ben] = [await t.signIn('ada@example.com'), await other.signIn('ben@example.com')]
    await t.befriend(ben, ada, 'reader')
    await ben.actor.subscribe(ada.actor.id, { target: 'properties', subtarget: 'notes' })
    await ada.action('add_note', { text: 'Across services' })
    await other.settled()
    assert.deepEqual(await ben.actor.remote(ada.actor.id).get('notes'), [{ text: 'Across services' }])
    assert.equal(other.clock, t.clock)
    assert.equal(process.getActiveResourcesInfo().includes('TCPSocketWrap'), false)
  })

  it('have their accesses in the audit log once the test is settled', async () => {
    await using t = await testing(createNotes())
    const [ada, ben] = [await t.signIn('ada@example.com'), await t.signIn('ben@example.com')]
    // Reads of missing names share one entry.
    await ada.action('add_note', { text: 'To read' })
    await t.befriend(ben, ada, 'reader')
    await ben.actor.subscribe(ada.actor.id, { target: 'properties', subtarget: 'notes' })
    await t.settled()
    const { entries } = await ada.actor.activity({ caller: ben.actor.id })
    const read = entries.find(({ path }) => path === '/properties/notes')
    assert.deepEqual(
      [read?.method, read?.decision, read?.reason],
      ['GET', 'allowed', 'properties.patterns ("notes") of reader allows it'],
    )
  })
})

describe('calls of a test to other hosts', () => {
  it('fail, because no call leaves the process', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    await assert.rejects(ada.actor.trust.request('https://example.com/someone', 'reader'), { code: 'peer_failed' })
    await assert.rejects(t.fetch('https://example.com/'), TypeError)
  })

  it('reach the function of the test', async () => {
    const seen: string[] = []
    const outside = (request: Request): Response => {
      seen.push(`${request.method} ${request.url}`)
      return Response.json({ error: 'not_found' }, { status: 404 })
    }
    await using t = await testing(createNotes(), { outside })
    const ada = await t.signIn('ada@example.com')
    await assert.rejects(ada.actor.trust.request('https://example.com/someone', 'reader'), { code: 'peer_failed' })
    assert.equal(seen[0], 'GET https://example.com/someone/meta')
  })
})

describe('an AI client of a test', () => {
  it('lists and calls the tools that the owner authorized', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    const ai = await t.mcp(ada, { name: 'Claude' })
    assert.deepEqual(
      (await ai.tools()).map(({ name }) => name),
      ['add_note', 'forget_notes'],
    )
    const { structured, isError, text } = await ai.call('add_note', { text: 'By a client' })
    assert.deepEqual([structured, isError, text], [{ index: 0 }, false, '{"index":0}'])
    assert.equal((await ai.call('add_note', { text: '' })).isError, true)
    await assert.rejects(ai.call('break'), { name: 'ClientRefused', code: -32003 })
    assert.deepEqual(await ada.actor.list('notes').items(), [{ text: 'By a client' }])
  })

  it('repeats a call after the owner approved it, and not after the owner denied it', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    await ada.action('add_note', { text: 'Buy a violin' })
    const ai = await t.mcp(ada)
    assert.equal((await ai.call('forget_notes')).isError, true)
    assert.deepEqual(await t.approve(ada), { operation: 'forget_notes', arguments: {} })
    assert.equal((await ai.call('forget_notes')).isError, false)
    await ai.call('forget_notes')
    await assert.rejects(t.deny(ada, 'add_note'), {
      message: 'Cannot decide for ada@example.com: 0 calls of add_note wait for approval (forget_notes), expected one',
    })
    await t.deny(ada, 'forget_notes')
    const { isError, text } = await ai.call('forget_notes')
    assert.deepEqual([isError, text], [true, 'The owner refused this call.'])
  })

  it('keeps its access while the clock advances, until the owner disconnects it', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    const ai = await t.mcp(ada)
    await t.clock.advance('7d')
    assert.equal((await ai.call('add_note', { text: 'A week later' })).isError, false)
    const [client] = await ada.actor.trust.list({ relationship: 'mcp_client' })
    await ada.actor.trust.delete(client?.peerid ?? '')
    await assert.rejects(ai.tools(), { name: 'RequestRefused', status: 401 })
  })

  it('cannot receive a trust type that the application does not offer to clients', async () => {
    await using t = await testing(createNotes())
    const ada = await t.signIn('ada@example.com')
    await assert.rejects(t.mcp(ada, { type: 'reader' }), { name: 'RequestRefused', status: 400 })
  })

  it('lends its access to the official client library', async () => {
    await using t = await testing(createNotes())
    const ai = await t.mcp(await t.signIn('ada@example.com'))
    const client = new Client({ name: 'official', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(ai.url), { fetch: ai.fetch }))
    const result = await client.callTool({ name: 'add_note', arguments: { text: 'Official' } })
    assert.deepEqual(result.structuredContent, { index: 0 })
    await client.close()
  })
})
