/** API keys of programs and devices. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NewGrant } from '../../src/handles.ts'
import type { ActorHandle } from '../../src/index.ts'
import type { App } from '../../src/troupe.ts'
import { stoppedTimers } from '../support/fake-peers.ts'
import { mcpStatus } from '../support/oauth-client.ts'
import { forEachService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { dumpStore } from '../support/store-dump.ts'
import { refused } from '../support/stored.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

interface World {
  readonly service: TestService
  readonly owner: TestActor
  readonly actor: ActorHandle
  readonly begin: number
  /** The time of the test moves only here. */
  readonly pass: (milliseconds: number) => void
}

const hour = 3_600_000
const push = { actions: { patterns: ['push'], operations: ['execute'] } } as const satisfies NewGrant

function declare(app: App): void {
  app.action('push', { mcp: { name: 'push' } }, ({ input, caller }) => ({ pushed: input, by: caller.kind }))
  app.action('erase', { confirm: 'owner' }, () => ({ erased: true }))
}

forEachService((start) => {
  async function open(options: StartOptions = {}): Promise<World> {
    const begin = Date.now()
    let time = begin
    const service = await start({ declare, now: () => time, ...options })
    const owner = await service.createActor('ada@example.com')
    await owner.request('PUT', '/properties', { room: 'kitchen', diary: 'planted' })
    const actor = (await service.app.actors.get(owner.id)) ?? assert.fail()
    return { service, owner, actor, begin, pass: (milliseconds) => void (time += milliseconds) }
  }

  const send = (
    { service, owner }: Pick<World, 'service' | 'owner'>,
    key: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Response> =>
    service.request(`/${owner.id}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

  const created = async (owner: TestActor, body: object): Promise<{ id: string; key: string }> => {
    const answer = await owner.request('POST', '/keys', body)
    const text = await answer.text()
    assert.equal(answer.status, 201, text)
    return JSON.parse(text) as { id: string; key: string }
  }

  const listed = async (owner: TestActor): Promise<Record<string, unknown>[]> => {
    const answer = await owner.request('GET', '/keys')
    assert.equal(answer.status, 200)
    return (await answer.json()) as Record<string, unknown>[]
  }

  describe('actor.keys', () => {
    it('creates a key that calls what it was granted, at the addresses and at /mcp, and nothing else', async () => {
      const world = await open()
      const { id, key } = await world.actor.keys.create({
        name: ' Sensor in the <b>kitchen</b> ',
        grants: {
          ...push,
          properties: { patterns: ['room'], operations: ['read'] },
          tools: { patterns: ['push'], operations: ['use'] },
        },
      })
      assert.match(id, /^key_[0-9a-f]{32}$/)
      assert.match(key, /^trp_[0-9A-Za-z]{38}$/)
      const pushed = await send(world, key, 'POST', '/actions/push', { value: 21 })
      assert.deepEqual([pushed.status, await pushed.json()], [200, { pushed: { value: 21 }, by: 'client' }])
      assert.deepEqual(await (await send(world, key, 'GET', '/properties')).json(), { room: 'kitchen' })
      const tools = await world.service.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
      assert.match(await tools.text(), /"name":"push"/)
      for (const [method, path] of [
        ['GET', '/properties/diary'],
        ['PUT', '/properties/room'],
        ['POST', '/actions/erase'],
        ['GET', ''],
        ['GET', '/keys'],
        ['POST', '/keys'],
        ['GET', '/trust'],
        ['GET', '/www'],
      ] as const) {
        const body = method === 'GET' ? undefined : { name: 'x', grants: push }
        assert.equal((await send(world, key, method, path, body)).status, 403, `${method} ${path}`)
      }
    })

    it('lists keys with their grants and last use, renames them and moves their end', async () => {
      const { service, owner, actor, begin, pass } = await open()
      const until = new Date(begin + 3 * hour)
      const first = await actor.keys.create({ name: 'First', grants: push, until })
      pass(1)
      const second = await actor.keys.create({ name: 'Second', grants: push })
      const grants = [{ category: 'actions', pattern: 'push', operations: ['execute'], until: null }]
      const expected = { grants, createdAt: new Date(begin), lastUsedAt: null }
      assert.deepEqual(await actor.keys.list(), [
        { ...expected, id: second.id, name: 'Second', createdAt: new Date(begin + 1), until: null },
        { ...expected, id: first.id, name: 'First', until },
      ])
      assert.equal((await send({ service, owner }, first.key, 'POST', '/actions/push', {})).status, 200)
      const { sessionUses } = (await service.app.running()).parts
      await sessionUses.settled()
      assert.equal(await actor.keys.rename(first.id, 'Renamed'), true)
      assert.equal(await actor.keys.moveEnd(first.id, null), true)
      const [, renamed] = await actor.keys.list()
      assert.deepEqual(renamed, {
        ...expected,
        id: first.id,
        name: 'Renamed',
        lastUsedAt: new Date(begin + 1),
        until: null,
      })
      service.reset()
      pass(59_999)
      for (let use = 0; use < 3; use++) await send({ service, owner }, first.key, 'POST', '/actions/push', {})
      await sessionUses.settled()
      assert.equal(service.backgroundStatements.filter((sql) => sql.includes('last_used_at =')).length, 0)
      pass(1)
      for (let use = 0; use < 3; use++) await send({ service, owner }, first.key, 'POST', '/actions/push', {})
      await sessionUses.settled()
      assert.equal(service.backgroundStatements.filter((sql) => sql.includes('last_used_at =')).length, 1)
      for (const id of ['key_none', 'none']) {
        assert.deepEqual(
          [await actor.keys.rename(id, 'x'), await actor.keys.moveEnd(id, null), await actor.keys.revoke(id)],
          [false, false, false],
        )
      }
    })

    it('adds and withdraws grants as for any relationship', async () => {
      const world = await open()
      const { actor } = world
      const { id, key } = await actor.keys.create({ name: 'A', grants: push })
      const read = { properties: { patterns: ['diary'], operations: ['read'] } } as const
      assert.equal((await send(world, key, 'GET', '/properties/diary')).status, 403)
      await actor.trust.grant(id, read)
      assert.equal((await send(world, key, 'GET', '/properties/diary')).status, 200)
      assert.equal((await actor.trust.may(id, 'execute', 'push')).allowed, true)
      assert.equal((await actor.trust.may(id, 'trust.read' as never, 'x')).allowed, false)
      await actor.trust.withdraw(id, read)
      assert.equal((await send(world, key, 'GET', '/properties/diary')).status, 403)
    })

    it('refuses a key without a name, grants or a future end, and stores nothing', async () => {
      const { owner, actor, begin, service } = await open()
      const patterns = Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(700, 'x'))
      const long = { actions: { patterns, operations: ['execute'] } }
      const bad: readonly [object, RegExp][] = [
        [{ name: ' ', grants: push }, /name of a key/],
        [{ name: 'A', grants: [] }, /must be an object/],
        [{ name: 'A', grants: {} }, /names no category/],
        [
          { name: 'A', grants: { trust: { patterns: ['*'], operations: ['read'] } } },
          /category "trust" does not exist/,
        ],
        [{ name: 'A', grants: { actions: { patterns: ['push'], operations: ['call'] } } }, /operation "call"/],
        [{ name: 'A', grants: { actions: { patterns: [], operations: ['execute'] } } }, /at least one pattern/],
        [{ name: 'A', grants: { ...push, until: new Date(begin + hour) } }, /until belongs beside grants/],
        [{ name: 'A', grants: push, until: new Date(begin) }, /must be in the future/],
        [{ name: 'A', grants: long }, /its grants have more than 65536 characters/],
      ]
      const dump = async (): Promise<unknown> => dumpStore((await service.app.running()).store)
      const before = await dump()
      for (const body of [{ grants: push }, { name: 'A' }, { name: 'A', grants: push, until: 'never' }])
        await refused(
          await owner.request('POST', '/keys', body),
          400,
          'bad_request',
          /^Cannot create a key: (name|grants|until) /,
        )
      for (const [given, message] of bad) {
        await assert.rejects(async () => actor.keys.create(given as never), { name: 'ServiceError', message })
        const code = given === bad[0]?.[0] ? 'invalid_value' : 'bad_request'
        await refused(
          await owner.request('POST', '/keys', given),
          400,
          code,
          /^(Cannot create a key|Cannot grant|Invalid name)/,
        )
      }
      assert.deepEqual(await dump(), before)
    })
  })

  describe('a key', () => {
    it('is shown once, and is in no table, log or page (SEC-01)', async () => {
      const world = await open({ activityPerActor: 100, timers: stoppedTimers })
      const { service, owner } = world
      const answer = await owner.request('POST', '/keys', { name: 'A', grants: push })
      const { id, key } = (await answer.json()) as { id: string; key: string }
      assert.deepEqual(
        [answer.headers.get('cache-control'), answer.headers.get('location')],
        ['no-store', `http://troupe.test/${owner.id}/keys/${id}`],
      )
      assert.equal((await send(world, key, 'POST', '/actions/push', {})).status, 200)
      assert.equal((await send(world, key, 'POST', '/actions/erase', {})).status, 403)
      // The service does not accept a key in an address, and does not log the address.
      assert.equal((await service.request(`/${owner.id}/properties?access_token=${key}`)).status, 401)
      assert.equal((await service.request(`/mcp?access_token=${key}`, { method: 'POST', body: '{}' })).status, 401)
      await writtenAuditLog(service)
      const browser = await OwnersBrowser.open(service, owner)
      const shown = await Promise.all([
        (await owner.request('GET', '/keys')).text(),
        (await owner.request('GET', `/keys/${id}`)).text(),
        (await owner.request('GET', '/trust')).text(),
        (await owner.request('GET', '/activity')).text(),
        (await browser.get('/apps')).text(),
      ])
      const stored = JSON.stringify(await dumpStore((await service.app.running()).store))
      for (const text of [...shown, stored, service.log.join('\n')]) assert.ok(!text.includes(key))
      const { activity } = JSON.parse(shown[3] ?? '') as { activity: Record<string, unknown>[] }
      assert.deepEqual(
        activity.map(({ caller_kind, path, decision }) => [caller_kind, path, decision]),
        [
          ['anonymous', '/properties', 'refused'],
          ['client', '/actions/erase', 'refused'],
          ['client', '/actions/push', 'allowed'],
          ['owner', '/keys', 'allowed'],
        ],
      )
      assert.deepEqual(
        activity.slice(1, 3).map(({ caller }) => caller),
        [id, id],
      )
      const keyed = { 'idempotency-key': 'one' }
      await refused(
        await owner.request('POST', '/keys', { name: 'A', grants: push }, keyed),
        400,
        'bad_request',
        /secret/,
      )
    })

    it('ends at once with its revocation, relationship or actor, in every process (OTK-12)', async () => {
      const world = await open()
      const { service, owner, actor } = world
      const beside = await start({ declare, database: service.databaseUrl })
      const elsewhere = { service: beside, owner }
      const ends: readonly ((id: string) => Promise<unknown>)[] = [
        (id) => actor.keys.revoke(id),
        async (id) => (await owner.request('DELETE', `/keys/${id}`)).status,
        (id) => actor.trust.delete(id),
        async (id) => (await owner.request('DELETE', `/trust/api_key/${id}`)).status,
      ]
      for (const end of ends) {
        const { id, key } = await created(owner, { name: 'A', grants: push })
        assert.equal((await send(elsewhere, key, 'POST', '/actions/push', {})).status, 200)
        assert.ok([true, 204].includes((await end(id)) as never))
        const answer = await send(elsewhere, key, 'POST', '/actions/push', {})
        await refused(answer, 401, 'unauthorized', /was revoked/)
        assert.equal(await mcpStatus(beside, key), 401)
        assert.equal((await owner.request('DELETE', `/keys/${id}`)).status, 404)
      }
      const last = await created(owner, { name: 'A', grants: push })
      await service.app.actors.delete(owner.id)
      assert.equal((await send(elsewhere, last.key, 'POST', '/actions/push', {})).status, 404)
      assert.equal(await mcpStatus(beside, last.key), 401)
    })

    it('ends at its end, is deleted then, and its end can move before', async () => {
      const world = await open()
      const { service, owner, begin, pass } = world
      const { id, key } = await created(owner, { name: 'A', grants: push, until: new Date(begin + hour).toISOString() })
      const status = async (): Promise<number> => (await send(world, key, 'POST', '/actions/push', {})).status
      pass(hour - 1)
      assert.equal(await status(), 200)
      const change = async (body: object): Promise<number> => (await owner.request('PUT', `/keys/${id}`, body)).status
      assert.equal(await change({ until: new Date(begin + hour - 1).toISOString() }), 400)
      assert.equal(await change({ until: 'tomorrow' }), 400)
      assert.equal(await change({ name: 'B', until: new Date(begin + 2 * hour).toISOString() }), 204)
      pass(1)
      assert.equal(await status(), 200)
      assert.deepEqual(
        (await listed(owner)).map(({ name, until }) => [name, until]),
        [['B', new Date(begin + 2 * hour).toISOString()]],
      )
      pass(hour)
      assert.equal(await status(), 401)
      assert.deepEqual(await listed(owner), [])
      assert.equal(await change({ until: null }), 404)
      const { parts } = await service.app.running()
      parts.expiries.wake()
      await parts.expiries.settled()
      assert.equal((await owner.request('GET', `/trust/api_key/${id}`)).status, 404)
    })

    it('may do nothing while the owner took its approval back', async () => {
      const world = await open()
      const { owner } = world
      const { id, key } = await created(owner, { name: 'A', grants: push })
      const approve = (approved: boolean): Promise<Response> =>
        owner.request('PUT', `/trust/api_key/${id}`, { approved })
      assert.equal((await approve(false)).status, 204)
      assert.equal((await send(world, key, 'POST', '/actions/push', {})).status, 403)
      assert.equal((await listed(owner))[0]?.['approved'], false)
      assert.equal((await owner.request('PUT', `/keys/${id}`, { until: null })).status, 409)
      assert.equal((await approve(true)).status, 204)
      assert.equal((await send(world, key, 'POST', '/actions/push', {})).status, 200)
    })

    it('waits for the owner’s approval like any other program', async () => {
      const world = await open()
      const { owner } = world
      const grants = { actions: { patterns: ['erase'], operations: ['execute'] } }
      const { id, key } = await created(owner, { name: 'A', grants })
      const asked = (await (await send(world, key, 'POST', '/actions/erase', {})).json()) as Record<string, string>
      assert.equal(asked['error'], 'approval_required')
      const decided = await owner.request('PUT', `/approvals/${asked['approval_id']}`, { approved: true })
      const { peerid, client_id } = (await decided.json()) as Record<string, string>
      assert.deepEqual([peerid, client_id], [id, id])
      assert.deepEqual(await (await send(world, key, 'POST', '/actions/erase', {})).json(), { erased: true })
    })

    it('is refused at another actor, in a cookie, as a passphrase and with a wrong checksum (ACL-02)', async () => {
      const world = await open()
      const { service, owner } = world
      const other = await service.createActor('ben@example.com')
      const { key } = await created(owner, {
        name: 'A',
        grants: { ...push, properties: { patterns: ['*'], operations: ['read'] } },
      })
      assert.equal((await send({ service, owner: other }, key, 'GET', '/properties')).status, 403)
      const at = async (headers: Record<string, string>): Promise<number> =>
        (await service.request(`/${owner.id}/properties`, { headers })).status
      assert.equal(await at({ authorization: `Bearer ${key}` }), 200)
      assert.equal(await at({ cookie: `oauth_token=${key}` }), 401)
      assert.equal(await at({ cookie: `access_token=${key}` }), 401)
      assert.equal(
        await at({ authorization: `Basic ${Buffer.from(`${owner.creator}:${key}`).toString('base64')}` }),
        403,
      )
      const last = key.endsWith('a') ? 'b' : 'a'
      assert.equal(await at({ authorization: `Bearer ${key.slice(0, -1)}${last}` }), 403)
      for (const path of ['/oauth/revoke', '/oauth/logout', '/oauth/spa/logout']) {
        await service.request(path, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ token: key }),
        })
      }
      assert.equal(await at({ authorization: `Bearer ${key}` }), 200)
    })
  })

  describe('the page of connected apps', () => {
    it('shows the keys with their last use, and revokes one', async () => {
      const world = await open()
      const { service, owner } = world
      const { id, key } = await created(owner, { name: 'Sensor <i>', grants: push })
      const browser = await OwnersBrowser.open(service, owner)
      const page = await (await browser.get('/apps')).text()
      assert.ok(page.includes('Sensor i'))
      assert.ok(page.includes('never used'))
      assert.equal((await browser.send('/apps', { action: 'revoke_key', key: id })).status, 302)
      assert.equal((await send(world, key, 'POST', '/actions/push', {})).status, 401)
      assert.equal((await browser.send('/apps', { action: 'revoke_key', key: id })).status, 409)
    })
  })
})
