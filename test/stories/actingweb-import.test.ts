/* cspell:ignore pkey */
/** A service takes over the database of a service in Python: what its owners, peers and apps find afterwards. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { ImportReport } from '../../src/actingweb-import/import-actors.ts'
import { ActingWebDatabase, takeOver } from '../support/actingweb-database.ts'
import { archiveOf, linesOf } from '../support/archives.ts'
import { mcpStatus, requestTokens } from '../support/oauth-client.ts'
import { basic, forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { dumpStore } from '../support/store-dump.ts'

const day = 86_400
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds
const accessToken = `aw_${'a'.repeat(43)}`
const refreshToken = `rt_${'r'.repeat(43)}`
const sessionToken = 's'.repeat(64)

const friend: StartOptions = {
  declare: (app) =>
    app.trustType({
      name: 'friend',
      display_name: 'Friend',
      description: 'Reads the color',
      permissions: { properties: { patterns: ['color'], operations: ['read'] } },
    }),
}

forEachService((start) => {
  describe('import of an ActingWeb database', () => {
    let old: ActingWebDatabase
    let service: TestService
    const asOwner = (path: string, init: RequestInit = {}): Promise<Response> =>
      service.request(path, { ...init, headers: { authorization: basic('ada@example.com', 'passphrase-of-ada') } })
    const asPeer = (path: string, secret: string, init: RequestInit = {}): Promise<Response> =>
      service.request(path, { ...init, headers: { authorization: `Bearer ${secret}` } })
    const recordsOf = async (id: string, kind: string) =>
      linesOf(await archiveOf(service, id)).filter((line) => line.kind === kind)

    before(async () => {
      old = await ActingWebDatabase.create()
    })
    after(() => old.remove())
    beforeEach(async () => {
      await old.run('TRUNCATE actors, properties, attributes, trusts, peertrustees, subscriptions, subscription_diffs')
      await old.actor('ada')
      service = await start(friend)
    })

    it('keeps id, creator, passphrase and time of creation (R-IMP-01)', async () => {
      const report = await takeOver(service, old)
      assert.deepEqual([report.actors, report.imported, report.existing, report.failed], [1, 1, 0, 0])
      const answer = await asOwner('/ada')
      assert.equal(answer.status, 200)
      assert.deepEqual(await answer.json(), {
        id: 'ada',
        creator: 'ada@example.com',
        passphrase: 'passphrase-of-ada',
      })
      const [header] = await recordsOf('ada', 'archive')
      assert.equal(header?.['created_at'], '2025-03-01T12:00:00.000Z')
      const wrong = await service.request('/ada', { headers: { authorization: basic('ada@example.com', 'other') } })
      assert.equal(wrong.status, 403)
    })

    it('reads stored texts as the library does: JSON when it can be parsed, else a string (R-IMP-02)', async () => {
      const stored = {
        plain: 'hello ü',
        number: '12345678901234567890',
        float: '1.0',
        quoted: '"42"',
        object: '{"b": 1.0, "a": [null, "x"]}',
        python: "{'a': 1}",
        nan: 'NaN',
        huge: '1e400',
      }
      for (const [name, value] of Object.entries(stored)) await old.property('ada', name, value)
      await takeOver(service, old)
      const archive = await archiveOf(service, 'ada')
      const values = archive.split('\n').filter((line) => line.startsWith('{"kind":"property"'))
      assert.deepEqual(values, [
        '{"kind":"property","name":"float","value":1.0}',
        '{"kind":"property","name":"huge","value":"1e400"}',
        '{"kind":"property","name":"nan","value":"NaN"}',
        '{"kind":"property","name":"number","value":12345678901234567890}',
        '{"kind":"property","name":"object","value":{"b":1.0,"a":[null,"x"]}}',
        '{"kind":"property","name":"plain","value":"hello ü"}',
        `{"kind":"property","name":"python","value":"{'a': 1}"}`,
        '{"kind":"property","name":"quoted","value":"42"}',
      ])
    })

    it('reads lists of format 1 by their numbers, and ignores rows after the length (R-IMP-02)', async () => {
      await old.property('ada', 'list:long-meta', '{"length": 12, "description": "Twelve", "explanation": "For AI"}')
      for (let n = 0; n < 14; n++) await old.property('ada', `list:long-${n}`, String(n))
      await old.property('ada', 'list:long-er-meta', '{"length": 1, "created_at": "2025-04-01T10:00:00.123456"}')
      await old.property('ada', 'list:long-er-0', '"other"')
      await old.property('ada', 'list:long-#a0', '"of another format"')
      const report = await takeOver(service, old)
      assert.equal(report.problems, 0)
      assert.deepEqual(await (await asOwner('/ada/properties/long')).json(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
      assert.deepEqual(await (await asOwner('/ada/properties/long-er')).json(), ['other'])
      const metadata = (await (await asOwner('/ada/properties/long/metadata')).json()) as Record<string, unknown>
      assert.deepEqual([metadata['description'], metadata['explanation']], ['Twelve', 'For AI'])
      const [, longer] = await recordsOf('ada', 'list')
      assert.equal(longer?.['created_at'], '2025-04-01T10:00:00.123Z')
    })

    it('reads lists of format 2 by their keys, and continues them (R-IMP-02)', async () => {
      await old.property('ada', 'list:notes-meta', '{"format": 2, "count_hint": 99}')
      for (const [key, value] of [
        ['a1', '"c"'],
        ['Zz', '"a"'],
        ['a0', '"b"'],
        ['a1V', '{"d": 1.0}'],
      ] as const)
        await old.property('ada', `list:notes-#${key}`, value)
      await old.property('ada', 'list:notes-0', '"of format 1"')
      await old.property('ada', 'list:notes-#x-meta', '{"length": 1}')
      await old.property('ada', 'list:notes-#x-0', '"of a list with a sign"')
      await takeOver(service, old)
      assert.equal(await (await asOwner('/ada/properties/notes')).text(), '["a","b","c",{"d":1.0}]')
      const added = await service.request('/ada/properties/notes', {
        method: 'POST',
        headers: { authorization: basic('ada@example.com', 'passphrase-of-ada'), 'content-type': 'application/json' },
        body: '"e"',
      })
      assert.equal(added.headers.get('location'), `${service.url}/ada/properties/notes/4`)
      assert.deepEqual(
        (await recordsOf('ada', 'list')).map((list) => list['name']),
        ['notes', 'notes-#x'],
      )
    })

    it('reads a list of several pages', async () => {
      await old.property('ada', 'list:big-meta', '{"length": 1500}')
      await old.run(
        `INSERT INTO properties SELECT 'ada', 'list:big-' || n, CAST(n AS text) FROM generate_series(0, 1499) AS n`,
      )
      await old.run(
        `INSERT INTO properties SELECT 'ada', 'value-' || n, CAST(n AS text) FROM generate_series(0, 1199) AS n`,
      )
      const report = await takeOver(service, old)
      assert.deepEqual(report.counts, { property: 1200, list: 1, item: 1500 })
      assert.deepEqual(
        await (await asOwner('/ada/properties/big')).json(),
        Array.from({ length: 1500 }, (_, n) => n),
      )
    })

    it('keeps secrets of relationships, so that peers notice nothing (R-IMP-03)', async () => {
      await old.property('ada', 'color', 'blue')
      await old.trust('ada', 'p1', { baseuri: 'https://peer.example.com/p1/' })
      await takeOver(service, old)
      assert.equal(await (await asPeer('/ada/properties/color', 'secret-of-ada-p1')).text(), 'blue')
      assert.equal((await asPeer('/ada/properties/shape', 'secret-of-ada-p1')).status, 403)
      assert.equal((await asPeer('/ada/properties/color', 'secret-of-ada-p2')).status, 403)
      const [relationship] = await recordsOf('ada', 'relationship')
      const { facts: _facts, ...stored } = relationship ?? { facts: null }
      assert.deepEqual(stored, {
        kind: 'relationship',
        peer_id: 'p1',
        baseuri: 'https://peer.example.com/p1',
        type: 'urn:actingweb:example.com:notes',
        relationship: 'friend',
        secret: 'secret-of-ada-p1',
        verification_token: 'token',
        description: 'A friend',
        nickname: '',
        approved: true,
        approved_until: null,
        peer_approved: true,
        verified: true,
        established_via: 'trust',
        created_at: '2025-03-02T12:00:00.500Z',
        last_accessed: (relationship?.['last_accessed'] as string | null) ?? null,
        last_connected_via: 'trust',
        request: null,
      })
    })

    it('gives no rights to a peer without approval', async () => {
      await old.property('ada', 'color', 'blue')
      await old.trust('ada', 'p1', { approved: false })
      await takeOver(service, old)
      assert.equal((await asPeer('/ada/properties/color', 'secret-of-ada-p1')).status, 403)
    })

    it('keeps changed rights, and lets names of an override replace those of the type (R-IMP-03)', async () => {
      await old.property('ada', 'shape', 'round')
      await old.trust('ada', 'p1')
      await old.attribute(
        'ada',
        '_trust_permissions',
        'ada:p1',
        JSON.stringify({
          actor_id: 'ada',
          peer_id: 'p1',
          trust_type: 'friend',
          properties: { patterns: ['shape'], operations: ['read'], excluded_patterns: [] },
          methods: { allowed: ['ping'], denied: [] },
          tools: null,
          created_by: 'ada',
          updated_at: '2025-05-01T08:00:00',
          notes: 'Only this',
        }),
      )
      await takeOver(service, old)
      assert.equal(await (await asPeer('/ada/properties/shape', 'secret-of-ada-p1')).text(), 'round')
      assert.deepEqual(await recordsOf('ada', 'rights'), [
        {
          kind: 'rights',
          peer_id: 'p1',
          rules: {
            properties: { patterns: ['shape'], operations: ['read'], excluded_patterns: [] },
            methods: { allowed: ['ping'], denied: [], merge: false },
          },
          created_by: 'ada',
          notes: 'Only this',
          updated_at: '2025-05-01T08:00:00.000Z',
        },
      ])
    })

    it('names rights that it cannot read, and leaves the relationship with those of its type', async () => {
      await old.property('ada', 'shape', 'round')
      await old.trust('ada', 'p1')
      const rights = { peer_id: 'p1', properties: { patterns: 'shape' } }
      await old.attribute('ada', '_trust_permissions', 'ada:p1', JSON.stringify(rights))
      const report = await takeOver(service, old)
      assert.deepEqual(report.first, [{ actor: 'ada', problem: 'the rights "ada:p1": they cannot be read' }])
      assert.equal((await asPeer('/ada/properties/shape', 'secret-of-ada-p1')).status, 403)
    })

    it('continues sequence numbers, and keeps the diffs that a peer has not cleared (R-IMP-04)', async () => {
      await old.property('ada', 'color', 'blue')
      await old.trust('ada', 'p1')
      await old.subscription('ada', 'p1', 'sub1', 7, { granularity: 'none' })
      await old.diff('ada', 'sub1', 7, { color: 'blue' })
      await old.diff('ada', 'sub1', 6, { color: 'green' })
      await old.diff('ada', 'gone', 1, { color: 'green' })
      const report = await takeOver(service, old)
      assert.equal(report.counts['diff'], 2)
      await service.settled()
      const path = '/ada/subscriptions/p1/sub1'
      const diffs = async (): Promise<unknown> => {
        const body = (await (await asPeer(path, 'secret-of-ada-p1')).json()) as {
          data: { sequence: number; data: unknown }[]
        }
        return body.data.map(({ sequence, data }) => [sequence, data])
      }
      assert.deepEqual(await diffs(), [
        [6, { color: 'green' }],
        [7, { color: 'blue' }],
      ])
      const put = { method: 'PUT', body: 'red' }
      assert.equal((await asOwner('/ada/properties/color', put)).status, 204)
      assert.deepEqual(await diffs(), [
        [6, { color: 'green' }],
        [7, { color: 'blue' }],
        [8, { color: 'red' }],
      ])
    })

    it('keeps subscriptions at peers with the last applied sequence number, and copies of their data', async () => {
      await old.trust('ada', 'p1')
      await old.subscription('ada', 'p1', 'mine', 41, { callback: true })
      await old.subscription('ada', 'p1', 'late', 5, { callback: true })
      await old.attribute('ada', '_callback_state', 'state:p1:late', { version: 3, resync_pending: true })
      await old.attribute('ada', 'remote:p1', 'city', 'Oslo')
      await old.attribute('ada', 'remote:p1', 'list:trips:meta', {
        length: 1,
        created_at: '2025-01-01T00:00:00',
        description: '',
        explanation: '',
      })
      await old.attribute('ada', 'remote:p1', 'list:trips:0', { to: 'Rome' })
      await takeOver(service, old)
      const held = await recordsOf('ada', 'subscription_to_peer')
      assert.deepEqual(
        held.map((one) => [one['subscription_id'], one['sequence']]),
        [
          ['late', 5],
          ['mine', 41],
        ],
      )
      const copy = (await service.app.actors.get('ada'))?.remote('p1')
      assert.equal(await copy?.get('city'), 'Oslo')
      assert.deepEqual(await copy?.list('trips').items(), [{ to: 'Rome' }])
      const { store } = await service.app.running()
      const pending = await store.read((q) =>
        q.all('SELECT subscription_id AS id, resync_pending AS pending FROM subscriber_subscription ORDER BY 1'),
      )
      assert.deepEqual(
        pending.map((row) => ({ ...row })),
        [
          { id: 'late', pending: 1 },
          { id: 'mine', pending: 1 },
        ],
      )
    })

    it('keeps attributes of the application, and none of the library', async () => {
      await old.attribute('ada', 'game', 'state', { level: 2 }, { timestamp: '2025-06-01 00:00:00' })
      await old.attribute('ada', '_internal', 'note', 'mine')
      await old.attribute('ada', '_internal', 'oauth_token', 'ya29.secret')
      await old.attribute('ada', '_internal', 'oauth_tokens:oauth2_client:x', { access_token: '' })
      await old.attribute('ada', '_peer_profiles', 'ada:p1', { name: 'P' })
      await old.attribute('ada', 'game', 'old', 1, { ttl_timestamp: inSeconds(-day) })
      await old.attribute('ada', 'game', 'soon', 1, { ttl_timestamp: inSeconds(day) })
      const report = await takeOver(service, old)
      const attributes = await recordsOf('ada', 'attribute')
      assert.deepEqual(
        attributes.map(({ bucket, name, data }) => [bucket, name, data]),
        [
          ['_internal', 'note', 'mine'],
          ['game', 'state', { level: 2 }],
        ],
      )
      assert.equal(attributes[1]?.['timestamp'], '2025-06-01T00:00:00.000Z')
      assert.deepEqual(report.first, [{ actor: 'ada', problem: 'the attribute "game/soon": it has an end' }])
    })

    it('keeps companions whose types the operator names', async () => {
      const calendar = { baseuri: 'https://calendar.example.com/c1', type: 'urn:actingweb:example.com:calendar' }
      await old.insert('peertrustees', { id: 'ada', peerid: 'c1', passphrase: 'their-passphrase', ...calendar })
      await old.insert('peertrustees', {
        id: 'ada',
        peerid: 'c2',
        passphrase: 'x',
        baseuri: 'https://x.example.com/c2',
        type: 'urn:other',
      })
      const companions = new Map([['urn:actingweb:example.com:calendar', 'calendar']])
      const report = await takeOver(service, old, { companions })
      assert.deepEqual(await recordsOf('ada', 'companion'), [
        { kind: 'companion', name: 'calendar', peer_id: 'c1', passphrase: 'their-passphrase', ...calendar },
      ])
      assert.deepEqual(report.first, [
        { actor: 'ada', problem: 'the companion of the type "urn:other": --companions names none of this type' },
      ])
    })

    it('keeps suspended targets where the library has them', async () => {
      await old.run(
        'CREATE TABLE subscription_suspensions (id text, target text, subtarget text, suspended_at timestamp)',
      )
      try {
        await old.insert('subscription_suspensions', { id: 'ada', target: 'properties', subtarget: 'color' })
        await takeOver(service, old)
        assert.deepEqual(await recordsOf('ada', 'suspension'), [
          { kind: 'suspension', target: 'properties', subtarget: 'color' },
        ])
      } finally {
        await old.run('DROP TABLE subscription_suspensions')
      }
    })
  })

  describe('clients and tokens of an imported ActingWeb database', () => {
    const provider = sharedProvider()
    const clientId = `mcp_${'1'.repeat(32)}`
    const sharedId = `mcp_${'2'.repeat(32)}`
    const secret = 'a-secret-of-32-random-bytes-in-base64url'
    let old: ActingWebDatabase
    let service: TestService

    const clientData = (client_id: string, actor_id: string): object => ({
      client_id,
      client_secret: secret,
      client_name: 'ChatGPT',
      redirect_uris: ['https://chat.example.com/back'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
      trust_type: 'mcp_client',
      created_at: inSeconds(-day),
      actor_id,
    })

    before(async () => {
      old = await ActingWebDatabase.create()
      await old.actor('ada')
      await old.actor('_actingweb_oauth2', { creator: 'oauth2-system' })
      await old.attribute('ada', 'mcp_clients', clientId, clientData(clientId, 'ada'))
      await old.attribute('_actingweb_oauth2', 'mcp_clients', sharedId, clientData(sharedId, '_actingweb_oauth2'))
      for (const id of [clientId, sharedId]) {
        await old.trust('ada', `oauth2_client:ada_at_example_dot_com:${id}`, {
          baseuri: '',
          type: 'mcp',
          relationship: 'mcp_client',
          established_via: 'oauth2_client',
          peer_identifier: 'ada@example.com',
          client_name: 'ChatGPT',
          oauth_client_id: id,
        })
      }
      const token = { actor_id: 'ada', client_id: clientId, created_at: inSeconds(-60) }
      await old.attribute('ada', 'mcp_tokens', accessToken, {
        ...token,
        token_id: 't1',
        scope: 'mcp',
        expires_at: inSeconds(1800),
      })
      await old.attribute('ada', 'mcp_refresh_tokens', refreshToken, {
        ...token,
        access_token_id: 't1',
        expires_at: inSeconds(20 * day),
      })
      await old.attribute('ada', 'mcp_tokens', `aw_${'x'.repeat(43)}`, { ...token, expires_at: inSeconds(-1) })
      await old.attribute('_actingweb_oauth2', 'spa_refresh_tokens', sessionToken, {
        actor_id: 'ada',
        identifier: 'ada@example.com',
        used: false,
        expires_at: inSeconds(10 * day),
      })
      await old.attribute('_actingweb_oauth2', 'spa_refresh_tokens', 'u'.repeat(64), {
        actor_id: 'ada',
        used: true,
        expires_at: inSeconds(10 * day),
      })
      for (const [name, data] of [
        ['auth_method', 'google_oauth2'],
        ['oauth_provider', 'google'],
        ['email', 'ada@example.com'],
        ['created_at', '1700000000'],
        ['oauth_refresh_token', '1//provider'],
      ] as const)
        await old.attribute('ada', '_internal', name, data)
    })
    after(() => old.remove())
    beforeEach(async () => {
      service = await start(signInAt(await provider()))
    })

    it('accepts the access token of a client, and lets it refresh once (R-IMP-05)', async () => {
      const report = await takeOver(service, old)
      assert.deepEqual(
        ['client', 'app', 'token', 'session', 'account'].map((kind) => report.counts[kind]),
        [2, 2, 2, 1, 1],
      )
      assert.equal(await mcpStatus(service, accessToken), 200)
      assert.equal(await mcpStatus(service, `aw_${'x'.repeat(43)}`), 401)
      const form = {
        grant_type: 'refresh_token',
        client_id: clientId,
        client_secret: secret,
        refresh_token: refreshToken,
      }
      const wrong = await requestTokens(service, { ...form, client_secret: 'wrong' })
      assert.equal(wrong.status, 401)
      const foreign = await requestTokens(service, { ...form, client_id: sharedId })
      assert.equal(foreign.status, 400)
      const refreshed = await requestTokens(service, form)
      assert.equal(refreshed.status, 200)
      const { access_token: next } = (await refreshed.json()) as { access_token: string }
      assert.equal(await mcpStatus(service, next), 200)
    })

    it('continues the session of a single-page application with its refresh token', async () => {
      await takeOver(service, old)
      const refresh = (token: string): Promise<Response> =>
        service.request('/oauth/spa/token', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: token }),
        })
      assert.equal((await refresh('u'.repeat(64))).status, 401)
      const answer = await refresh(sessionToken)
      assert.equal(answer.status, 200)
      const { access_token: access, actor_id: actor } = (await answer.json()) as Record<string, string>
      assert.equal(actor, 'ada')
      const own = await service.request('/ada/properties', { headers: { authorization: `Bearer ${access}` } })
      assert.ok(own.status < 300)
    })

    it('lets the owner sign in to the same actor through a provider (R-IMP-01)', async () => {
      await takeOver(service, old)
      const browser = new TestBrowser(service)
      const back = await signIn(browser, await provider(), 'ada')
      assert.equal(back.headers.get('location'), `${service.url}/ada/www`)
      const actor = await service.app.actors.get('ada')
      const found = await actor?.signIn.get()
      assert.deepEqual([found?.email, found?.emailVerified], ['ada@example.com', true])
    })

    it('ends an app with its tokens as its owner disconnects it', async () => {
      await takeOver(service, old)
      const peerId = `oauth2_client:ada_at_example_dot_com:${clientId}`
      const gone = await service.request(`/ada/trust/mcp_client/${encodeURIComponent(peerId)}`, {
        method: 'DELETE',
        headers: { authorization: basic('ada@example.com', 'passphrase-of-ada') },
      })
      assert.equal(gone.status, 204)
      assert.equal(await mcpStatus(service, accessToken), 401)
    })
  })

  describe('a repeated or partial import of an ActingWeb database', () => {
    let old: ActingWebDatabase
    before(async () => {
      old = await ActingWebDatabase.create()
      for (const id of ['ada', 'bob', 'cyd']) {
        await old.actor(id)
        await old.property(id, 'color', 'blue')
      }
      await old.actor('twin', { creator: 'Bob@Example.com', created_at: '2025-02-01 00:00:00' })
      for (const id of ['bob', 'twin']) await old.attribute(id, '_internal', 'auth_method', 'google_oauth2')
      await old.actor('an actor/with a bad id')
      await old.property('cyd', 'list:damaged-meta', 'not JSON')
      await old.property('cyd', 'list:short-meta', '{"length": 3}')
      await old.property('cyd', 'list:short-1', '"only this"')
      await old.property('cyd', 'a/b', 'slash')
      await old.property('cyd', 'short', 'the name of a list')
      await old.trust('cyd', 'p1', { baseuri: '' })
    })
    after(() => old.remove())

    const problems = [
      { actor: 'an actor/with a bad id', problem: 'the service cannot serve an actor with this id' },
      { actor: 'bob', problem: 'its creator signs in to the actor "twin", so this one keeps its passphrase alone' },
      { actor: 'cyd', problem: 'the property "a/b": the service cannot store a property with this name' },
      { actor: 'cyd', problem: 'the property "short": a list has the same name' },
      { actor: 'cyd', problem: 'the metadata of the list "damaged" cannot be read' },
      { actor: 'cyd', problem: '2 of 3 items of the list "short" are missing' },
      { actor: 'cyd', problem: 'the relationship with "p1": it has no address' },
    ]

    /** Several actors come in at the same time. */
    const inOrder = (found: ImportReport['first']): ImportReport['first'] =>
      found.toSorted((a, b) => (a.actor < b.actor ? -1 : a.actor > b.actor ? 1 : 0))

    it('reports the same in a dry run, which writes nothing (R-IMP-06)', async () => {
      const service = await start()
      const { store } = await service.app.running()
      const earlier = await dumpStore(store)
      const dry = await takeOver(service, old, { isDryRun: true })
      assert.deepEqual(await dumpStore(store), earlier)
      const real = await takeOver(service, old)
      assert.deepEqual({ ...dry, first: inOrder(dry.first) }, { ...real, first: inOrder(real.first) })
      assert.deepEqual([real.actors, real.imported, real.failed, real.problems], [5, 4, 1, 7])
      assert.deepEqual(inOrder(real.first), problems)
      assert.deepEqual(real.counts, { account: 1, property: 3, list: 1, item: 1 })
      assert.deepEqual(real.trustTypes, { friend: 1 })
    })

    it('changes nothing the second time, and leaves an actor that exists as it is (R-IMP-06)', async () => {
      const service = await start()
      await takeOver(service, old)
      const changed = await service.request('/ada/properties/color', {
        method: 'PUT',
        headers: { authorization: basic('ada@example.com', 'passphrase-of-ada') },
        body: 'red',
      })
      assert.equal(changed.status, 204)
      const { store } = await service.app.running()
      const earlier = await dumpStore(store)
      const again = await takeOver(service, old)
      assert.deepEqual([again.imported, again.existing, again.failed], [0, 4, 1])
      assert.deepEqual(await dumpStore(store), earlier)
    })

    it('fails for an actor whose creator is taken where creators are unique, and imports the others', async () => {
      const service = await start({ uniqueCreator: true })
      await service.createActor('ada@example.com')
      const report = await takeOver(service, old, { uniqueCreator: true })
      assert.deepEqual(
        report.first.find(({ actor }) => actor === 'ada'),
        { actor: 'ada', problem: 'Cannot import the archive: another actor has the creator "ada@example.com"' },
      )
      const { parts } = await service.app.running()
      assert.equal(await parts.actors.find('ada'), null)
      assert.notEqual(await parts.actors.find('cyd'), null)
    })

    it('gives the sign-in to an actor with an account before an older one, and reports this first (R-IMP-06, SEC-12)', async () => {
      const other = await ActingWebDatabase.create()
      try {
        await other.actor('squatter', { creator: 'Eve@Example.com', created_at: '2020-01-01 00:00:00' })
        await other.actor('real', { creator: 'eve@example.com', created_at: '2025-01-01 00:00:00' })
        await other.attribute('real', '_internal', 'auth_method', 'google_oauth2')
        const service = await start()
        const dry = await takeOver(service, other, { isDryRun: true })
        const report = await takeOver(service, other)
        for (const { sharedCreators } of [dry, report])
          assert.deepEqual(
            sharedCreators.map(({ actors, decidedBy }) => [
              ...actors.map(({ id, account }) => `${id} ${account}`),
              decidedBy,
            ]),
            [['real verified', 'squatter none', 'account']],
          )
        assert.deepEqual([report.failed, report.counts['account']], [0, 1])
        const { store } = await service.app.running()
        const rows = await store.read((q) => q.all<{ actor_id: string }>('SELECT actor_id FROM account'))
        assert.deepEqual(
          rows.map((row) => row.actor_id),
          ['real'],
        )
        const chosen = await start()
        const choice = await takeOver(chosen, other, { signIns: new Map([['eve@example.com', 'squatter']]) })
        assert.deepEqual([choice.counts['account'], choice.sharedCreators[0]?.decidedBy], [undefined, 'choice'])
        await assert.rejects(takeOver(chosen, other, { signIns: new Map([['eve@example.com', 'none']]) }), {
          code: 'bad_request',
        })
      } finally {
        await other.remove()
      }
    })

    it('imports the older of two actors of a creator where creators are unique', async () => {
      const service = await start({ uniqueCreator: true })
      const report = await takeOver(service, old, { uniqueCreator: true })
      assert.deepEqual(
        report.first.filter(({ actor }) => ['bob', 'twin'].includes(actor)),
        [{ actor: 'bob', problem: 'the actor "twin" gets the creator "bob@example.com"' }],
      )
      const { parts } = await service.app.running()
      assert.equal(await parts.actors.find('bob'), null)
      assert.notEqual(await parts.actors.find('twin'), null)
    })

    it('imports the oldest row of an actor that a damaged database has twice, and reports the others', async () => {
      const damaged = await ActingWebDatabase.create()
      try {
        await damaged.run('ALTER TABLE actors DROP CONSTRAINT actors_pkey')
        for (const [creator, created_at] of [
          ['young@example.com', '2025-03-02 00:00:00'],
          ['old@example.com', '2025-03-01 00:00:00'],
          ['none@example.com', null],
        ])
          await damaged.actor('ada', { creator, created_at })
        const service = await start()
        const { actors, imported, first } = await takeOver(service, damaged)
        const problem = 'the database has 3 rows of this actor, and the oldest one counts'
        assert.deepEqual({ actors, imported, first }, { actors: 1, imported: 1, first: [{ actor: 'ada', problem }] })
        const { parts } = await service.app.running()
        assert.equal((await parts.actors.find('ada'))?.creator, 'old@example.com')
      } finally {
        await damaged.remove()
      }
    })
  })
})
