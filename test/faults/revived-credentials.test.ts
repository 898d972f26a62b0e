/** Credentials of a restored database: `troupe restored --revoke-after` ends those that were issued or changed after a time. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { openStore } from '../../src/open-store.ts'
import { stopMove } from '../../src/moving/stop-move.ts'
import { builtInTables } from '../../src/features/features.ts'
import { countCredentials, revokeCredentials } from '../../src/operator/revoke-credentials.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Param, Store } from '../../src/store/store.ts'
import type { Trust } from '../../src/trust/trust.ts'
import { findTrust, updateTrust } from '../../src/trust/trust-store.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { Workplace } from '../support/program.ts'
import { relateTo } from '../support/recording-peer.ts'
import { startService, testKeys, type TestActor, type TestService } from '../support/service.ts'
import { signIn } from '../support/sessions.ts'
import { createTestDatabase, faulty, type TestDatabase } from '../support/stores.ts'

const hourMs = 3_600_000
const begin = Date.UTC(2026, 0, 1)

interface Issued {
  readonly actor: TestActor
  readonly key: string
  readonly keyId: string
  readonly session: string
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`credentials of a restored database with ${dialect}`, () => {
    let database: TestDatabase
    let service: TestService
    const clock = new ManualClock(begin)
    const ada: Issued[] = []
    let grace: TestActor
    before(async () => {
      database = await createTestDatabase(dialect)
      service = await startService(database.url, { now: clock.now, timers: clock.timers, maxSessionDays: 3650 })
      const actor = await service.createActor('ada@example.com')
      ada.push(await issue(actor, 'old'))
      clock.pass(2 * hourMs)
      ada.push(await issue(actor, 'new'))
      grace = await service.createActor('grace@example.com')
    })
    after(async () => {
      await service.close()
      await database.remove()
    })
    const time = begin + hourMs

    const change = async (sql: string, ...params: Param[]): Promise<number> =>
      (await service.app.running()).store.write((tx) => tx.run(sql, ...params))
    const count = async (table: string): Promise<number> => {
      const row = await (await service.app.running()).store.read((q) =>
        q.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`),
      )
      return row?.n ?? 0
    }

    /** Gives the actor one credential of each kind. */
    async function issue(actor: TestActor, name: string): Promise<Issued> {
      const made = await actor.request('POST', '/keys', {
        name,
        grants: { properties: { patterns: ['color'], operations: ['read', 'write'] } },
      })
      const { key, id: keyId } = (await made.json()) as { key: string; id: string }
      assert.equal(made.status, 201)
      for (const [path, body] of [
        ['/webhooks', { url: `https://${name}.example.com/hook`, events: ['property_changed'] }],
        ['/invitations', { relationship: 'friend', nickname: name }],
      ] as const)
        assert.equal((await actor.request('POST', path, body)).status, 201)
      await relateTo(service, actor, { peerId: name, baseuri: `https://${name}.example.com/p` })
      await change('UPDATE trust SET created_at = $2 WHERE peer_id = $1', name, clock.now())
      const session = await signIn(service, actor)
      await change(
        `INSERT INTO passkey (actor_id, passkey_id, public_key, counter, transports, synced, name, created_at)
         VALUES ($1, $2, '', 0, '[]', 0, '', $3)`,
        actor.id,
        name,
        clock.now(),
      )
      const { store } = await service.app.running()
      await store.write(async (tx) => {
        await tx.run('INSERT INTO recovery_code (actor_id, hash) VALUES ($1, $2)', actor.id, `code ${name}`)
        await tx.run(
          `INSERT INTO one_time (hash, purpose, actor_id, provider, data, expires_at)
           VALUES ($2, 'recovery_code', $1, '', '', $3)`,
          actor.id,
          `code ${name}`,
          clock.now() + 3_155_760_000_000,
        )
        await tx.run(
          `INSERT INTO service_connection (actor_id, service, tokens, connected_at) VALUES ($1, $2, '', $3)`,
          actor.id,
          name,
          clock.now(),
        )
      })
      return { actor, key, keyId, session }
    }

    const statusWith = async (authorization: string, path = '/properties/color'): Promise<number> => {
      const answer = await service.request(`/${ada[0]?.actor.id}${path}`, { headers: { authorization } })
      return answer.status
    }

    it('end when they were issued after the time, and the older ones stay (DUR-22)', async () => {
      const [old, recent] = ada as [Issued, Issued]
      await old.actor.request('PUT', '/properties/color', 'red')
      assert.deepEqual([await statusWith(`Bearer ${old.key}`), await statusWith(`Bearer ${recent.key}`)], [200, 200])
      assert.equal(await statusWith(`Bearer ${recent.session}`), 200)
      const { store, keyRing } = await service.app.running()
      const planned = await countCredentials({ store, tables: builtInTables }, time)
      const revoked = await revokeCredentials({ store, tables: builtInTables, keyRing, stopMove }, time)
      for (const kind of ['relationships', 'API keys', 'passkeys', 'recovery codes', 'invitations', 'webhooks'])
        assert.deepEqual([kind, revoked.ended[kind], planned.ended[kind]], [kind, 1, 1])
      assert.equal(revoked.ended['passphrases'], 1)
      assert.deepEqual([await statusWith(`Bearer ${old.key}`), await statusWith(`Bearer ${recent.key}`)], [200, 401])
      assert.equal(await statusWith(`Bearer ${recent.session}`), 401)
      const peers = await store.read((q) => q.all<{ id: string }>('SELECT peer_id AS id FROM trust'))
      assert.deepEqual(peers.map(({ id }) => id).toSorted(), [old.keyId, 'old'].toSorted())
      assert.equal((await old.actor.request('GET', '/properties/color')).status, 200)
      assert.equal((await grace.request('GET', '/properties')).status, 403)
      for (const table of ['passkey', 'recovery_code', 'service_connection', 'invitation', 'webhook'])
        assert.deepEqual([table, await count(table)], [table, 1])
      const notices = await store.read((q) => q.all<{ url: string }>('SELECT url FROM notice'))
      assert.ok(notices.some(({ url }) => url.startsWith('https://new.example.com/p/trust/')))
      const again = await revokeCredentials({ store, tables: builtInTables, keyRing, stopMove }, time)
      const left = Object.entries(again.ended).filter(([name, number]) => name !== 'passphrases' && number > 0)
      assert.deepEqual(left, [])
    })

    it('end after changes too: a key with other grants, and a session that was used (DUR-22)', async () => {
      const [old] = ada as [Issued]
      const later = clock.now() + hourMs
      await signIn(service, old.actor)
      clock.pass(2 * hourMs)
      const granted = await old.actor.request('PUT', `/trust/api_key/${old.keyId}/permissions`, {
        properties: { patterns: ['*'], operations: ['read'] },
      })
      assert.ok(granted.ok, await granted.text())
      await change('UPDATE token_chain SET last_used_at = $1 WHERE kind = $2', clock.now(), 'session')
      const { store, keyRing } = await service.app.running()
      const { ended } = await revokeCredentials({ store, tables: builtInTables, keyRing, stopMove }, later)
      assert.deepEqual([ended['API keys'], ended['relationships'], ended['sessions and tokens of apps']], [1, 0, 2])
      assert.equal(await statusWith(`Bearer ${old.key}`), 401)
    })

    it('end after a change in favor of the peer: an older relationship, key or app (DUR-22)', async () => {
      const actor = await service.createActor('eve@example.com')
      const { store, keyRing } = await service.app.running()
      const far = clock.now() + 1000 * hourMs
      const changes: readonly (readonly [name: string, before: Partial<Trust>, after: Partial<Trust>])[] = [
        ['approved', { approved: false }, { approved: true }],
        ['approved-with-end', { approved: false }, { approved: true, approvedUntil: far }],
        ['later', { approvedUntil: far }, { approvedUntil: far + 1 }],
        ['endless', { approvedUntil: far }, { approvedUntil: null }],
        ['type', {}, { relationship: 'admin' }],
        ['secret', {}, { secretHash: hashSecret('another') }],
        ['address', {}, { baseuri: 'https://other.example.com/p' }],
        ['app-approved', { baseuri: '', approved: false }, { approved: true }],
        ['app-type', { baseuri: '' }, { relationship: 'admin' }],
        ['key-later', { baseuri: '', establishedVia: 'api_key', approvedUntil: far }, { approvedUntil: far + 1 }],
      ]
      const others: typeof changes = [
        ['denied', {}, { approved: false }],
        ['earlier', { approvedUntil: far }, { approvedUntil: far - 1 }],
        ['ending', {}, { approvedUntil: far }],
        ['named', {}, { nickname: 'Bob', description: 'A friend', facts: { peer_identifier: 'bob' } }],
        ['agreed', { peerApproved: false }, { peerApproved: true }],
        ['verified', { verified: false }, { verified: true }],
        ['untouched', {}, {}],
        ['waiting', { approved: false }, {}],
        ['app', { baseuri: '' }, { facts: { client_version: '2' } }],
      ]
      const made = clock.now()
      for (const [peerId, before] of [...changes, ...others]) {
        await relateTo(service, actor, { peerId, baseuri: `https://${peerId}.example.com/p` })
        await change('UPDATE trust SET created_at = $2 WHERE peer_id = $1', peerId, made)
        const trust = await store.read((q) => findTrust(q, actor.id, peerId))
        assert.ok(trust)
        await store.writeActor(actor.id, (tx) => updateTrust(tx, { ...trust, ...before }, made))
      }
      clock.pass(hourMs)
      const later = clock.now()
      clock.pass(hourMs)
      const put = await actor.request('PUT', '/trust/friend/approved', { approved: true })
      assert.equal(put.status, 204, await put.text())
      for (const [peerId, , after] of [...changes.slice(1), ...others]) {
        const trust = await store.read((q) => findTrust(q, actor.id, peerId))
        assert.ok(trust)
        await store.writeActor(actor.id, (tx) => updateTrust(tx, { ...trust, ...after }, clock.now()))
      }
      const { ended } = await revokeCredentials({ store, tables: builtInTables, keyRing, stopMove }, later)
      assert.deepEqual([ended['relationships'], ended['API keys'], ended['connected apps']], [7, 1, 2])
      const left = 'SELECT peer_id AS id FROM trust WHERE actor_id = $1'
      const stay = await store.read((q) => q.all<{ id: string }>(left, actor.id))
      assert.deepEqual(stay.map(({ id }) => id).toSorted(), others.map(([name]) => name).toSorted())
    })

    it('end after a decision about them: an approved call, and the kept password of a program (DUR-22)', async () => {
      const actor = await service.createActor('mia@example.com')
      const { store, keyRing } = await service.app.running()
      await relateTo(service, actor, { peerId: 'mia-app' })
      await change('UPDATE trust SET created_at = $2 WHERE peer_id = $1', 'mia-app', clock.now())
      const hour = clock.now() + hourMs
      for (const [id, ends] of [
        ['over', hour - 1],
        ['open', hour + 1],
      ] as const)
        await change(
          `INSERT INTO approval (actor_id, approval_id, peer_id, client_id, operation, digest, arguments, state, created_at,
             expires_at) VALUES ($1, $2, 'mia-app', '', 'pay', $2, '', 'approved', $3, $4)`,
          actor.id,
          id,
          clock.now(),
          ends,
        )
      for (const [creator, decision, decidedAt] of [
        ['kept-before', 'kept', hour - 1],
        ['kept-after', 'kept', hour + 1],
        ['asked', 'pending', null],
      ] as const)
        await change(
          `INSERT INTO password_access (creator, actor_id, decision, proven_at, decided_at) VALUES ($1, $2, $3, 1, $4)`,
          creator,
          actor.id,
          decision,
          decidedAt,
        )
      clock.pass(2 * hourMs)
      const { ended } = await revokeCredentials({ store, tables: builtInTables, keyRing, stopMove }, hour)
      assert.deepEqual([ended['approvals of calls'], ended['decisions to keep passwords of programs']], [1, 1])
      assert.deepEqual(await store.read((q) => q.all('SELECT approval_id AS id FROM approval')), [{ id: 'over' }])
      const decisions = 'SELECT creator, decision FROM password_access WHERE actor_id = $1 ORDER BY creator'
      assert.deepEqual(await store.read((q) => q.all(decisions, actor.id)), [
        { creator: 'asked', decision: 'pending' },
        { creator: 'kept-after', decision: 'pending' },
        { creator: 'kept-before', decision: 'kept' },
      ])
    })

    it('continue to end after an interruption at any statement (DUR-22)', async () => {
      const [{ actor }] = ada as [Issued]
      const now = clock.now()
      clock.pass(hourMs)
      await issue(actor, 'third')
      const { keyRing } = await service.app.running()
      const opened = await openStore({ url: database.url, mustExist: true, now: clock.now })
      try {
        let isDone = false
        for (let at = 2; !isDone; at += 5) {
          const store: Store = faulty(opened, { at })
          isDone = await revokeCredentials({ store, tables: builtInTables, keyRing, stopMove }, now).then(
            () => true,
            (error: unknown) => {
              assert.ok(error instanceof ServiceError)
              return false
            },
          )
        }
        const left = await countCredentials({ store: opened, tables: builtInTables }, now)
        assert.deepEqual(
          Object.values(left.ended).reduce((sum, number) => sum + number, 0),
          0,
        )
      } finally {
        await opened.close()
      }
    })
  })
}

describe('troupe restored --revoke-after', () => {
  let place: Workplace
  let database: TestDatabase
  before(async () => {
    place = new Workplace()
    database = await createTestDatabase('sqlite')
    const service = await startService(database.url)
    await signIn(service, await service.createActor())
    await service.close()
  })
  after(async () => {
    await place.remove()
    await database.remove()
  })
  const run = (...args: string[]) =>
    place.run(['restored', ...args], { env: { DATABASE_URL: database.url, TROUPE_SECRET_KEYS: testKeys } })

  it('counts, asks, and ends them', async () => {
    const dry = await run('--revoke-after', '2020-01-01', '--dry-run', '--json')
    const planned = JSON.parse(dry.stdout) as { ended: Record<string, number>; incarnation: null }
    assert.deepEqual(
      [planned.ended['passphrases'], planned.ended['sessions and tokens of apps'], planned.incarnation],
      [1, 1, null],
    )
    const asked = await run('--revoke-after', '2020-01-01')
    assert.deepEqual(
      [asked.code, asked.stderr],
      [1, 'Cannot ask for confirmation without a terminal: add --yes to end the credentials.\n'],
    )
    const done = await run('--revoke-after', '2020-01-01', '--yes')
    assert.deepEqual([done.code, done.stderr], [0, ''])
    assert.match(done.stdout, /^ {7}1 {2}sessions and tokens of apps$/m)
    assert.match(done.stdout, /^The database begins incarnation [0-9a-f-]{36}\.$/m)
  })

  it('refuses what is not a time, and changes nothing', async () => {
    for (const text of ['yesterday', '2026-13-01', '2026-01-01T10:00', '12', '2999-01-01', '']) {
      const ending = await run('--revoke-after', text, '--yes')
      assert.equal(ending.code, 1)
      assert.match(ending.stderr, /^Cannot (?:read the time "|end credentials after a time in the future)/)
      assert.equal(ending.stdout, '')
    }
    assert.match((await run('--dry-run')).stderr, /--dry-run needs --revoke-after/)
  })
})
