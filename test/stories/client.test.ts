import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createClient, RequestFailed, type ClientSession } from 'troupe/client'
import { z } from 'zod'
import type { App } from '../../src/troupe.ts'
import { listenTo } from '../support/scripted-peer.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { signIn } from '../support/sessions.ts'
import { untilWatched } from '../support/stored.ts'
import { until } from '../support/until.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const Budget = z.object({ limit: z.number(), spent: z.number() })
const Task = z.object({ text: z.string().min(1), due: z.int() })

/** The exports of the module of an application, as clients see them. */
function declare(app: App) {
  return {
    budget: app.property('budget', { schema: Budget, default: { limit: 500, spent: 0 } }),
    name: app.property('name', { schema: z.string() }),
    tasks: app.list('tasks', { item: Task, indexes: ['due'] }),
    add: app.action('add', { input: Task.partial(), output: z.object({ sum: z.number() }) }, ({ input }) => ({
      sum: (input.due ?? 0) + 1,
    })),
    rest: app.action('rest', () => {}),
    twice: app.method(
      'twice',
      { input: z.object({ of: z.number() }), output: z.number() },
      ({ input }) => input.of * 2,
    ),
  }
}
type Application = ReturnType<typeof declare>

const start = sqliteService()

interface Signed {
  readonly service: TestService
  readonly clock: ManualClock
  readonly actor: TestActor
  /** The refresh token that the client keeps. */
  readonly stored: { token: string | null }
  readonly client: ReturnType<typeof createClient<Application>>
  /** The requests of the client: method and path. */
  readonly sent: string[]
}

async function signed(): Promise<Signed> {
  const clock = new ManualClock()
  const service = await start({ devtest: true, now: clock.now, declare: (app) => void declare(app) })
  const actor = await service.createActor()
  const response = await service.request('/oauth/spa/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }),
  })
  const { refresh_token: token } = (await response.json()) as { refresh_token: string }
  const stored: Signed['stored'] = { token }
  return { service, clock, actor, stored, ...clientOf(service, stored) }
}

function clientOf(service: TestService, stored: Signed['stored']): Pick<Signed, 'client' | 'sent'> {
  const sent: string[] = []
  const send = sendTo(service)
  const client = createClient<Application>({
    url: `${service.url}/`,
    storage: { get: () => stored.token, set: (token) => void (stored.token = token) },
    fetch: (input, init) => {
      sent.push(`${init?.method ?? 'GET'} ${pathOf(service, input)}`)
      return send(input, init)
    },
  })
  return { client, sent }
}

function sendTo(service: TestService): typeof fetch {
  return (input, init) => service.request(pathOf(service, input), init)
}

function pathOf(service: TestService, input: Parameters<typeof fetch>[0]): string {
  assert.ok(typeof input === 'string')
  return input.slice(service.url.length)
}

/** Returns the failure of a call. */
async function failure(call: Promise<unknown>): Promise<RequestFailed> {
  try {
    await call
  } catch (error) {
    assert.ok(error instanceof RequestFailed, String(error))
    return error
  }
  return assert.fail('the call succeeded')
}

describe('the session of a client', () => {
  it('is restored by the refresh token, once for all calls that wait, and reported', async () => {
    const { actor, client, sent } = await signed()
    const sessions: ClientSession[] = []
    client.onSession((session) => sessions.push(session))
    assert.deepEqual(client.session, { state: 'restoring' })
    const [restored] = await Promise.all([
      client.restore(),
      client.property('budget').get(),
      client.list('tasks').length(),
    ])
    assert.deepEqual(restored, { state: 'signed-in', actorId: actor.id })
    assert.deepEqual(sessions, [{ state: 'signed-in', actorId: actor.id }])
    assert.deepEqual(client.session, restored)
    assert.deepEqual(
      sent.filter((line) => line.includes('/oauth/')),
      ['POST /oauth/spa/token'],
    )
  })

  it('renews an expired access token once for simultaneous calls', async () => {
    const { client, sent, clock } = await signed()
    await client.property('name').set('Ada')
    clock.pass(61 * 60_000)
    sent.length = 0
    const names = await Promise.all([client.property('name').get(), client.property('name').get()])
    assert.deepEqual(names, ['Ada', 'Ada'])
    assert.deepEqual(
      sent.filter((line) => line.includes('/oauth/')),
      ['POST /oauth/spa/token'],
    )
  })

  it('ends when the session was ended elsewhere', async () => {
    const { actor, client, stored } = await signed()
    await client.restore()
    const [session] = (await (await actor.request('GET', '/sessions')).json()) as { id: string }[]
    assert.equal((await actor.request('DELETE', `/sessions/${session?.id}`)).status, 204)
    const refused = await failure(client.property('name').get())
    assert.deepEqual([refused.status, refused.code], [401, 'unauthorized'])
    assert.deepEqual(client.session, { state: 'signed-out' })
    assert.equal(stored.token, null)
  })

  it('ends by signing out, which revokes the tokens', async () => {
    const { service, client, stored } = await signed()
    await client.restore()
    const kept = { token: stored.token }
    await client.signOut()
    assert.deepEqual([client.session, stored.token], [{ state: 'signed-out' }, null])
    assert.equal((await failure(client.property('name').get())).code, 'signed_out')
    assert.deepEqual(await clientOf(service, kept).client.restore(), { state: 'signed-out' })
  })

  it('is signed out without a refresh token, and unreachable without a service', async () => {
    const { service } = await signed()
    const { client, sent } = clientOf(service, { token: null })
    assert.deepEqual(await client.restore(), { state: 'signed-out' })
    assert.deepEqual(sent, [])
    const alone = createClient({
      url: 'http://troupe.test',
      storage: { get: () => 'x', set: () => {} },
      fetch: () => Promise.reject(new TypeError('no route')),
    })
    const unreached = await failure(alone.restore())
    assert.deepEqual([unreached.status, unreached.code], [0, 'unreachable'])
    assert.deepEqual(alone.session, { state: 'unreachable', reason: 'Cannot reach the service: no route' })
  })

  it('cannot begin a sign-in outside of a browser', async () => {
    const { client } = await signed()
    assert.equal((await failure(client.signIn())).code, 'no_browser')
    assert.throws(() => createClient(), { message: 'Cannot create the client: url is missing' })
  })
})

/** Lets the code see a page at this path of the service, and returns the addresses that the code opens. */
function inPage(t: TestContext, service: TestService, path: string): string[] {
  const opened: string[] = []
  const location = { href: service.url + path, assign: (address: string) => void opened.push(address) }
  for (const [name, value] of Object.entries({ location, history: { replaceState: () => {} } }))
    Object.defineProperty(globalThis, name, { value, configurable: true })
  t.after(() => {
    for (const name of ['location', 'history']) Reflect.deleteProperty(globalThis, name)
  })
  return opened
}

/** A client of the page that sends this cookie. */
function clientWithCookie(service: TestService, cookie: string) {
  const sent: RequestInit[] = []
  const client = createClient<Application>({
    url: service.url,
    signIn: 'pages',
    fetch: (input, init = {}) => {
      sent.push(init)
      const headers = { ...(init.headers as Record<string, string>), 'sec-fetch-site': 'same-origin', cookie }
      return service.request(pathOf(service, input), { ...init, headers })
    },
  })
  return { client, sent }
}

describe('the session of a client that uses the pages for sign-in', () => {
  it('is that of the cookie, and ends with it', async (t) => {
    const { service, actor } = await signed()
    inPage(t, service, `/${actor.id}/app`)
    const token = await signIn(service, actor)
    const { client, sent } = clientWithCookie(service, `oauth_token=${token}`)
    assert.deepEqual(await client.restore(), { state: 'signed-in', actorId: actor.id })
    await client.property('name').set('Ada')
    assert.equal(await client.property('name').get(), 'Ada')
    for (const { credentials, headers } of sent) {
      assert.equal(credentials, 'include')
      assert.equal(Object.keys(headers ?? {}).includes('authorization'), false)
    }
    const sessions: ClientSession[] = []
    client.onSession((session) => sessions.push(session))
    await client.signOut()
    assert.deepEqual(sessions, [{ state: 'signed-out' }])
    assert.equal((await failure(client.property('name').get())).code, 'signed_out')
    const again = clientWithCookie(service, `oauth_token=${token}`).client
    assert.deepEqual(await again.restore(), { state: 'signed-out' })
  })

  it('is signed out after a request was refused', async (t) => {
    const { service, actor } = await signed()
    inPage(t, service, `/${actor.id}/app`)
    const token = await signIn(service, actor)
    const { client } = clientWithCookie(service, `oauth_token=${token}`)
    await client.restore()
    await clientWithCookie(service, `oauth_token=${token}`).client.signOut()
    assert.equal((await failure(client.property('name').get())).status, 401)
    assert.deepEqual(client.session, { state: 'signed-out' })
  })

  it('is signed out without a cookie, and the sign-in leads back to the page', async (t) => {
    const { service, actor } = await signed()
    const opened = inPage(t, service, `/${actor.id}/app?view=list`)
    const { client } = clientWithCookie(service, '')
    assert.deepEqual(await client.restore(), { state: 'signed-out' })
    await client.signIn()
    await client.signIn('google', { returnTo: `/${actor.id}/www` })
    assert.deepEqual(opened, [
      `${service.url}/login?redirect=%2F${actor.id}%2Fapp%3Fview%3Dlist`,
      `${service.url}/login?redirect=%2F${actor.id}%2Fwww`,
    ])
  })

  it('is unreachable without a service', async (t) => {
    const { service } = await signed()
    inPage(t, service, '/')
    const client = createClient({
      url: service.url,
      signIn: 'pages',
      fetch: () => Promise.reject(new TypeError('no route')),
    })
    assert.equal((await failure(client.restore())).code, 'unreachable')
    assert.deepEqual(client.session, { state: 'unreachable', reason: 'Cannot reach the service: no route' })
  })

  it('needs a browser', () => {
    assert.throws(() => createClient({ url: 'https://example.com', signIn: 'pages' }), {
      message: "Cannot create the client: signIn 'pages' needs a page of the service",
    })
  })
})

describe('the client of an actor', () => {
  it('calls actions and methods', async () => {
    const { client } = await signed()
    assert.deepEqual(await client.action('add', { due: 4 }), { sum: 5 })
    assert.deepEqual(await client.action('add'), { sum: 1 })
    assert.equal(await client.action('rest'), undefined)
    assert.equal(await client.method('twice', { of: 21 }), 42)
  })

  it('reports a refusal with status, code, field and message', async () => {
    const { client } = await signed()
    const refused = await failure(client.property('budget').set({ limit: 1, spent: JSON.parse('"much"') as number }))
    assert.deepEqual([refused.status, refused.code, refused.field], [400, 'invalid_value', 'spent'])
    assert.match(refused.message, /spent/)
    const absent = await failure(client.request('GET', '/nothing'))
    assert.deepEqual([absent.status, absent.code], [404, 'not_found'])
  })

  it('reads, stores, updates and deletes properties', async () => {
    const { client } = await signed()
    const budget = client.property('budget')
    assert.equal(client.property('budget'), budget)
    assert.deepEqual(await budget.get(), { limit: 500, spent: 0 })
    assert.deepEqual(await budget.update((value) => ({ ...value, spent: value.spent + 1 })), { limit: 500, spent: 1 })
    assert.equal(await client.property('name').get(), undefined)
    await client.property('name').set('Ada')
    assert.equal(await client.property('name').get(), 'Ada')
    await client.property('name').delete()
    await client.property('name').delete()
    assert.equal(await client.property('name').get(), undefined)
    await client.property(['budget', 'limit']).set(700)
    assert.equal(await client.property(['budget', 'limit']).get(), 700)
  })

  it('loses no update of another caller', async () => {
    const { client } = await signed()
    await Promise.all(
      Array.from({ length: 12 }, () =>
        client.property('budget').update((value) => ({ ...value, spent: value.spent + 1 })),
      ),
    )
    assert.deepEqual(await client.property('budget').get(), { limit: 500, spent: 12 })
    await client.property('name').update((value) => `${value ?? 'someone'} and Ada`)
    assert.equal(await client.property('name').get(), 'someone and Ada')
  })

  it('reads parts of lists, queries them, and changes items by index', async () => {
    const { client } = await signed()
    const tasks = client.list('tasks')
    for (const due of [3, 1, 2]) assert.equal(await tasks.append({ text: `task ${due}`, due }), [3, 1, 2].indexOf(due))
    const part = await tasks.read({ start: 1, limit: 1 })
    assert.deepEqual(
      { ...part, next: typeof part.next, version: typeof part.version },
      { items: [{ text: 'task 1', due: 1 }], start: 1, length: 3, next: 'string', version: 'string' },
    )
    assert.deepEqual((await tasks.read({ after: part.next })).items, [{ text: 'task 2', due: 2 }])
    const sorted = await tasks.read({ sort: 'due', limit: 2 })
    assert.deepEqual(
      sorted.items.map(({ due }) => due),
      [1, 2],
    )
    assert.deepEqual((await tasks.read({ sort: 'due', after: sorted.next })).items, [{ text: 'task 3', due: 3 }])
    assert.deepEqual((await tasks.read({ where: { due: 2 } })).items, [{ text: 'task 2', due: 2 }])
    const compared = { text: { startsWith: 'task' }, due: { in: [2] } } as const
    assert.deepEqual((await tasks.read({ where: compared })).items, [{ text: 'task 2', due: 2 }])
    await assert.rejects(tasks.read({ where: { due: { above: 1 } as object } }), { code: 'bad_request' })
    await tasks.update(0, { text: 'first', due: 9 })
    await tasks.delete(1, { ifVersion: (await tasks.read()).version })
    assert.equal((await failure(tasks.delete(0, { ifVersion: part.version }))).status, 412)
    const all: unknown[] = []
    for await (const task of tasks) all.push(task)
    assert.deepEqual(all, [
      { text: 'first', due: 9 },
      { text: 'task 2', due: 2 },
    ])
    assert.equal(await tasks.length(), 2)
  })

  it('reads a list of more than one part in order', async () => {
    const { service, actor, client } = await signed()
    const handle = await service.app.actors.get(actor.id)
    await handle?.list('tasks').extend(Array.from({ length: 2345 }, (_, due) => ({ text: 'x', due })))
    let next = 0
    for await (const { due } of client.list('tasks')) assert.equal(due, next++)
    assert.equal(next, 2345)
  })

  it('reads the copies of peers', async () => {
    const { service, actor, client } = await signed()
    const peer = await listenTo(service, actor)
    const items = [{ text: 'tea', due: 1 }]
    assert.equal((await peer.diff(1, { tasks: { list: 'tasks', operation: 'extend', items } })).status, 204)
    assert.equal((await peer.diff(2, { budget: { limit: 5, spent: 1 } })).status, 204)
    const theirs = client.peer(peer.peerId)
    assert.deepEqual(await theirs.property('budget').get(), { limit: 5, spent: 1 })
    assert.equal(await theirs.property('name').get(), undefined)
    assert.deepEqual((await theirs.list('tasks').read()).items, items)
    assert.deepEqual((await theirs.list('tasks').read({ where: { due: 1 } })).items, items)
    assert.deepEqual((await theirs.list('tasks').read({ where: { due: { gte: 1, lt: 2 } } })).items, items)
  })

  it('lists the relationships without their secrets, and follows them', async () => {
    const { service, actor, client } = await signed()
    const peer = await listenTo(service, actor)
    const [one, ...more] = await client.peers.list()
    assert.deepEqual(more, [])
    assert.deepEqual(one, {
      peerid: peer.peerId,
      relationship: 'friend',
      baseuri: 'https://publisher.example.com/b1',
      type: 'urn:actingweb:example.com:peer',
      desc: '',
      approved: true,
      peer_approved: true,
    })
    const shown: string[][] = []
    const stop = client.peers.live((peers) => shown.push(peers.map(({ peerid }) => peerid)))
    await until(() => shown.length === 1)
    await untilWatched(service, actor)
    assert.equal((await actor.request('DELETE', `/trust/friend/${peer.peerId}`)).status, 204)
    await until(() => shown.length === 2)
    stop()
    assert.deepEqual(shown, [[peer.peerId], []])
  })

  it('repeats any read after a change of the actor', async () => {
    const { service, actor, client } = await signed()
    const sum = client.watched(async () => (await client.property('budget').get())?.spent)
    const seen: (number | undefined)[] = []
    const stop = sum.live((spent) => seen.push(spent))
    await until(() => seen.length === 1)
    await untilWatched(service, actor)
    assert.equal((await actor.request('PUT', '/properties/budget', { limit: 5, spent: 3 })).status, 204)
    await until(() => seen.length === 2)
    stop()
    assert.deepEqual(seen, [0, 3])
  })

  it('lists the calls that wait for the owner', async () => {
    const { client } = await signed()
    assert.deepEqual(await client.approvals.list(), [])
    assert.equal((await failure(client.approvals.decide('none', true))).status, 404)
  })

  it('lists changes with what they replaced, and takes them back', async () => {
    const { client } = await signed()
    const budget = client.property('budget')
    await budget.set({ limit: 1, spent: 0 })
    await budget.set({ limit: 2, spent: 0 })
    await client.list('tasks').append({ text: 'tea', due: 1 })
    const { changes, next } = await client.history.list({ limit: 3 })
    assert.deepEqual(
      changes.map(({ name, kind, operation, before, caller_kind: by }) => ({ name, kind, operation, before, by })),
      [
        { name: 'tasks', kind: 'list', operation: 'add', before: undefined, by: 'creator' },
        { name: 'tasks', kind: 'list', operation: 'create', before: undefined, by: 'creator' },
        { name: 'budget', kind: 'value', operation: 'set', before: { limit: 1, spent: 0 }, by: 'creator' },
      ],
    )
    assert.notEqual(next, null)
    const rest = await client.history.list({
      name: 'budget',
      before: next ?? 0,
      since: new Date(0),
      callerKind: 'creator',
    })
    assert.deepEqual([rest.changes.length, rest.next], [1, null])
    const id = changes[2]?.id ?? 0
    assert.deepEqual(await client.history.undo({ id }, { preview: true }), { undone: ['budget'], conflicts: [] })
    assert.equal((await budget.get())?.limit, 2)
    assert.deepEqual(await client.history.undo({ id }), { undone: ['budget'], conflicts: [] })
    assert.equal((await budget.get())?.limit, 1)
    for (const [which, status] of [
      [{ id: 999_999 }, 404],
      [{}, 400],
      [{ id }, 409],
    ] as const)
      assert.equal((await failure(client.history.undo(which))).status, status)
  })

  it('sends bytes, forms and streams as they are, with the content type that the caller gives', async () => {
    const sent: [type: string | null, body: string][] = []
    const client = createClient<Application>({
      url: 'http://troupe.test',
      credential: { actorId: 'a'.repeat(32), token: 'aw_token' },
      fetch: async (input, init) => {
        const request = new Request(input, init)
        sent.push([request.headers.get('content-type'), await request.text()])
        return new Response(null, { status: 204 })
      },
    })
    const bytes = new TextEncoder().encode('bytes')
    for (const [body, headers] of [
      [new Blob(['blob'], { type: 'image/png' }), {}],
      [new Blob(['blob'], { type: 'image/png' }), { 'Content-Type': 'image/webp' }],
      [bytes, { 'content-type': 'image/png' }],
      [bytes.buffer, {}],
      [new DataView(bytes.buffer, 1, 3), {}],
      [new Blob(['stream']).stream(), { 'content-type': 'text/plain' }],
      [new URLSearchParams({ a: '1' }), {}],
      ['text', { 'content-type': 'text/plain' }],
      ['text', {}],
      ['text', { 'content-type': 'application/merge-patch+json' }],
      [{ a: 1 }, {}],
      [null, {}],
    ] as const)
      await client.request('PUT', '/files/x', { body, headers })
    assert.deepEqual(sent, [
      ['image/png', 'blob'],
      ['image/webp', 'blob'],
      ['image/png', 'bytes'],
      [null, 'bytes'],
      [null, 'yte'],
      ['text/plain', 'stream'],
      ['application/x-www-form-urlencoded;charset=UTF-8', 'a=1'],
      ['text/plain', 'text'],
      ['application/json', '"text"'],
      ['application/merge-patch+json', '"text"'],
      ['application/json', '{"a":1}'],
      ['application/json', 'null'],
    ])
  })

  // Each marks the versions of what it compresses.
  const proxies: readonly (readonly [product: string, change: (tag: string) => string])[] = [
    ['nginx, Varnish and Cloudflare', (tag) => `W/${tag}`],
    ['Apache and Caddy', (tag) => tag.replace(/"$/, '-gzip"')],
    ['Caddy with Zstandard, weakened again', (tag) => `W/${tag.replace(/"$/, '-zstd"')}`],
    ['Jetty', (tag) => tag.replace(/"$/, '--gzip"')],
    ['LiteSpeed', (tag) => tag.replace(/"$/, ';br"')],
  ]
  for (const [product, change] of proxies) {
    it(`updates a value behind ${product}, which turn "tag" into ${change('"tag"')}`, async () => {
      const { service, stored } = await signed()
      const send = sendTo(service)
      const client = createClient<Application>({
        url: service.url,
        storage: { get: () => stored.token, set: (token) => void (stored.token = token) },
        fetch: async (input, init) => {
          const response = await send(input, init)
          const tag = response.headers.get('etag')
          if (tag !== null) response.headers.set('etag', change(tag))
          return response
        },
      })
      await client.restore()
      const budget = client.property('budget')
      await budget.set({ limit: 1, spent: 0 })
      await budget.update((value) => ({ limit: (value?.limit ?? 0) + 1, spent: 0 }))
      assert.deepEqual(await budget.get(), { limit: 2, spent: 0 })
    })
  }

  it('works for a program with a token', async () => {
    const { service, actor, stored } = await signed()
    const { client: person } = clientOf(service, stored)
    await person.restore()
    const response = await service.request('/oauth/spa/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'passphrase', actor_id: actor.id, passphrase: actor.passphrase }),
    })
    const { access_token: token } = (await response.json()) as { access_token: string }
    const program = createClient<Application>({
      url: service.url,
      credential: { actorId: actor.id, token },
      fetch: sendTo(service),
    })
    assert.deepEqual(await program.restore(), { state: 'signed-in', actorId: actor.id })
    assert.equal(await program.method('twice', { of: 2 }), 4)
  })

  it('asks for the stream of changes once when the program may not read it', async (t) => {
    const { service, actor } = await signed()
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const paths: string[] = []
    const program = createClient<Application>({
      url: service.url,
      credential: { actorId: actor.id, token: 'aw_token' },
      fetch: async (input) => {
        const path = pathOf(service, input)
        paths.push(path)
        return path.endsWith('/live') ? new Response(null, { status: 403 }) : Response.json({ limit: 1, spent: 0 })
      },
    })
    const first = Promise.withResolvers<unknown>()
    const stop = program.property('budget').live(first.resolve)
    await first.promise
    while (!paths.some((path) => path.endsWith('/live'))) await setImmediate()
    for (let second = 0; second < 120; second += 1) {
      t.mock.timers.tick(1000)
      await setImmediate()
    }
    stop()
    assert.equal(paths.filter((path) => path.endsWith('/live')).length, 1)
  })
})
