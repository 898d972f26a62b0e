import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { TestCallers } from '../support/callers.ts'
import { FakePeers, stoppedTimers } from '../support/fake-peers.ts'
import { declareAll, furnish, requestOf, routes } from '../support/routes.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'

const made = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('the id of a request', () => {
  const start = sqliteService()
  const callers = new TestCallers()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({
      ...callers.parts,
      // Notices to peers would be sent again while a test looks at the log.
      peerClient: new FakePeers(),
      timers: stoppedTimers,
      declare: (app) => {
        declareAll(app)
        app.action('talk', async ({ actor: handle }) => {
          await handle.set('talked', 'yes')
          return {}
        })
        app.action('fail', () => {
          throw new Error('fails')
        })
      },
    })
    actor = await service.createActor()
    await furnish(actor)
  })

  const idOf = async (path: string, init: RequestInit = {}): Promise<string | null> =>
    (await service.request(path, init)).headers.get('x-request-id')

  for (const id of ['a', '0', 'A-Z.a_z:0-9', '-', ':::', 'x'.repeat(128), '4bf92f35-77b3-4da6-a3ce-929d0e0e4736']) {
    it(`is the sender’s ${id.slice(0, 40)} (R-OBS-01, CHOICE-51)`, async () => {
      assert.equal(await idOf('/health/live', { headers: { 'x-request-id': id } }), id)
    })
  }

  for (const [what, id] of [
    ['empty', ''],
    ['longer than 128 characters', 'x'.repeat(129)],
    ['a string with a space', 'a b'],
    ['a string with a tab', 'a\tb'],
    ['a string with a comma', 'a,b'],
    ['a string with a slash', 'a/b'],
    ['a string with quotes', '"a"'],
    ['markup', '<script>'],
    ['a string beyond ASCII', 'é'],
    ['a string in brackets', '[a:b:c]'],
    ['a percent sign', 'a%0d%0ab'],
  ] as const) {
    it(`is generated when the sender’s is ${what} (R-OBS-01, HTTP-08, CHOICE-51)`, async () => {
      assert.match((await idOf('/health/live', { headers: { 'x-request-id': id } })) ?? '', made)
    })
  }

  it('is generated for each request that has none or has two (R-OBS-01)', async () => {
    const ids = new Set(await Promise.all(Array.from({ length: 50 }, () => idOf('/health/live'))))
    assert.equal(ids.size, 50)
    for (const id of ids) assert.match(id ?? '', made)
    const headers = new Headers({ 'x-request-id': 'one' })
    headers.append('x-request-id', 'two')
    assert.match((await idOf('/health/live', { headers })) ?? '', made)
  })

  it('is returned with every response of every route (R-OBS-01)', async () => {
    for (const [index, route] of routes.filter(({ id }) => id !== 'deleteActor').entries()) {
      const id = `route-${index}`
      const [path, init] = requestOf(route, actor.id, { authorization: actor.authorization, 'x-request-id': id })
      assert.equal(await idOf(path, init), id, route.id)
    }
  })

  it('is returned with every error (R-OBS-01)', async () => {
    const refusals: [status: number, path: string, init: RequestInit][] = [
      [400, '/%00', {}],
      [400, `/health/live?${'a&'.repeat(201)}`, {}],
      [400, '/', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
      [401, `/${actor.id}/properties`, {}],
      [403, `/${actor.id}/properties`, { headers: { authorization: 'Basic eDp5' } }],
      [404, '/a/b/c/d', {}],
      [404, '/unknown/properties', {}],
      [405, '/', { method: 'PATCH' }],
      [413, '/', { method: 'POST', body: 'x'.repeat(2_097_153) }],
      [414, `/${'a'.repeat(8192)}`, {}],
      [415, '/', { method: 'POST', body: 'x', headers: { 'content-type': 'image/png' } }],
      [500, `/${actor.id}/actions/fail`, { method: 'POST', body: '{}' }],
      [501, '/', { method: 'PROPFIND' }],
      [302, `/${actor.id}`, { headers: { accept: 'text/html' } }],
      [307, `/${actor.id}/`, {}],
    ]
    for (const [status, path, init] of refusals) {
      const needsRight = status === 500 ? { authorization: actor.authorization } : {}
      const headers = { ...needsRight, ...(init.headers as Record<string, string>), 'x-request-id': `is-${status}` }
      const answer = await service.request(path, { ...init, headers })
      assert.equal(answer.status, status, path.slice(0, 50))
      assert.equal(answer.headers.get('x-request-id'), `is-${status}`)
    }
  })

  const tags = (): Set<string> => new Set(service.log.map((line) => (JSON.parse(line) as { context: string }).context))

  it('appears in every log line of its request as [last 8 characters:actor:peer], with "-" for a missing part (R-OBS-01)', async () => {
    const peer = callers.peer(actor.id, { grants: () => true })
    const cases: [path: string, headers: Record<string, string>, tag: string | RegExp][] = [
      ['/health/live', { 'x-request-id': 'request-one' }, '[questone:-:-]'],
      ['/health/live', { 'x-request-id': 'a' }, '[a:-:-]'],
      ['/health/live', { 'x-request-id': '---' }, '[-:-:-]'],
      ['/unknown/meta', { 'x-request-id': '12345678-9' }, '[23456789:-:-]'],
      [`/${actor.id}/meta`, { 'x-request-id': 'public' }, `[public:${actor.id}:-]`],
      [`/${actor.id}/properties`, { 'x-request-id': 'unsigned' }, `[unsigned:${actor.id}:-]`],
      [
        `/${actor.id}/properties`,
        { 'x-request-id': 'owner', authorization: actor.authorization },
        `[owner:${actor.id}:-]`,
      ],
    ]
    for (const [path, headers, tag] of cases) {
      service.reset()
      await service.request(path, { headers })
      assert.ok(service.log.length > 0)
      assert.deepEqual(tags(), new Set([tag]))
    }
    service.reset()
    const answer = await service.request(`/${actor.id}/properties`, {
      headers: { 'x-request-id': 'from-a-peer', authorization: `Bearer ${peer}` },
    })
    assert.equal(answer.status, 200)
    const last = [...tags()].at(-1) ?? ''
    // The id of the peer is a URN, and the part after its last colon names the peer.
    assert.match(
      last,
      new RegExp(`^\\[fromapeer:${actor.id}:[0-9a-f]{8}-[0-9a-f-]{27}\\]$`.replace('fromapeer', 'romapeer')),
    )
  })

  it('separates the log lines of concurrent requests (R-OBS-01)', async () => {
    service.reset()
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        actor.request('POST', '/actions/fail', {}, { 'x-request-id': `parallel-${String(index).padStart(2, '0')}` }),
      ),
    )
    const failed = service.log
      .map((line) => JSON.parse(line) as { msg: string; context: string })
      .filter(({ msg }) => msg === 'A request failed')
      .map(({ context }) => context)
    assert.deepEqual(
      failed.sort(),
      Array.from({ length: 20 }, (_, index) => `[rallel${String(index).padStart(2, '0')}:${actor.id}:-]`),
    )
  })
})
