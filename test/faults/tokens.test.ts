import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { clockOff } from '../support/clock-off.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { startService, type TestActor, type TestService } from '../support/service.ts'
import { createTestDatabase, forEachStore, type TestDatabase } from '../support/stores.ts'

const minuteMs = 60_000

interface Tokens {
  readonly access: string
  readonly refresh: string
}

interface Answered {
  readonly status: number
  readonly body: { readonly [member: string]: unknown }
}

type At = (path: string, init?: RequestInit) => Promise<Response>

async function token(at: At, fields: object): Promise<Answered> {
  const answer = await at('/oauth/spa/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(fields),
  })
  return { status: answer.status, body: (await answer.json()) as Answered['body'] }
}

async function signIn(at: At, { id, passphrase }: TestActor): Promise<Tokens> {
  const { status, body } = await token(at, { grant_type: 'passphrase', actor_id: id, passphrase })
  assert.equal(status, 200)
  return { access: String(body['access_token']), refresh: String(body['refresh_token']) }
}

const refresh = (at: At, value: string): Promise<Answered> =>
  token(at, { grant_type: 'refresh_token', refresh_token: value })

const statusOf = async (at: At, { id }: TestActor, access: string): Promise<number> =>
  (await at(`/${id}/properties`, { headers: { authorization: `Bearer ${access}` } })).status

forEachStore((dialect, _open, database) => {
  describe('a process that is killed', () => {
    it('after a rotation leaves its successor able to judge the old token (ORF-06)', async () => {
      const { url } = await database()
      let process = await startServiceProcess({ database: url })
      const at: At = (path, init) => fetch(`${process.url}${path}`, init)
      try {
        const made = await at('/', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
        const actor = (await made.json()) as TestActor
        const first = await signIn(at, actor)
        const next = await refresh(at, first.refresh)
        assert.equal(next.status, 200)
        await process.kill()
        process = await startServiceProcess({ database: url })
        const again = await refresh(at, first.refresh)
        assert.equal(again.status, 200)
        await process.kill()
        // Two minutes later. Only SQLite takes the time from this machine, so only there the offset has an effect.
        if (dialect === 'sqlite') {
          process = await startServiceProcess({ database: url, env: clockOff(2 * minuteMs) })
          assert.equal((await refresh(at, first.refresh)).status, 401)
          assert.equal(await statusOf(at, actor, String(again.body['access_token'])), 401)
          assert.equal((await refresh(at, String(next.body['refresh_token']))).status, 401)
          await process.kill()
        }
      } finally {
        await process.kill()
      }
    })
  })
})

describe('two processes on one PostgreSQL', () => {
  let database: TestDatabase
  let first: TestService
  let second: ServiceProcess | undefined
  let actor: TestActor
  const here: At = (path, init) => first.request(path, init)
  const there: At = (path, init) => fetch(`${second?.url}${path}`, init)

  beforeEach(async () => {
    database = await createTestDatabase('postgres')
    first = await startService(database.url)
    actor = await first.createActor()
  })
  afterEach(async () => {
    await second?.kill()
    await first.close()
    await database.remove()
  })

  it('issue tokens of one session to fifty concurrent refreshes with one token (ORF-02)', async () => {
    second = await startServiceProcess({ database: database.url })
    const { refresh: value } = await signIn(here, actor)
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => refresh(n % 2 === 0 ? here : there, value)))
    assert.deepEqual([...new Set(all.map(({ status }) => status))], [200])
    const { parts, store } = await first.app.running()
    assert.equal((await parts.sessions.list(actor.id)).length, 1)
    const used = await store.read((q) =>
      q.all<{ grace_answers: number }>('SELECT grace_answers FROM token WHERE used_at IS NOT NULL'),
    )
    assert.deepEqual(used, [{ grace_answers: 49 }])
  })

  it('enforce each other’s revocations with the next request (ORF-12, ORF-04, I7)', async () => {
    second = await startServiceProcess({ database: database.url })
    const tokens = await signIn(here, actor)
    const other = await signIn(there, actor)
    assert.deepEqual(
      [await statusOf(here, actor, other.access), await statusOf(there, actor, tokens.access)],
      [200, 200],
    )
    const answer = await here('/oauth/revoke', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: tokens.access }),
    })
    assert.equal(answer.status, 200)
    assert.equal(await statusOf(there, actor, tokens.access), 401)
    assert.equal((await refresh(there, tokens.refresh)).status, 401)
    assert.equal(await statusOf(there, actor, other.access), 200)
    await actor.request('DELETE', '')
    assert.equal(await statusOf(there, actor, other.access), 404)
    assert.equal((await refresh(there, other.refresh)).status, 401)
  })

  it('redeem a one-time value once when fifty requests present it concurrently (R-OC-07, I6)', async () => {
    const other = await startService(database.url)
    try {
      const services = [await first.app.running(), await other.app.running()]
      const { parts, store } = await first.app.running()
      for (const purpose of ['ticket', 'spa_session', 'state', 'code'] as const) {
        const value = await store.write((tx) => parts.oneTime.create(tx, { purpose, data: {} }))
        const all = await Promise.all(
          Array.from({ length: 50 }, (_, n) => {
            const service = services[n % 2]
            assert.ok(service !== undefined)
            return service.store.write((tx) => service.parts.oneTime.consume(tx, { purpose, value }))
          }),
        )
        assert.equal(all.filter((one) => one !== null).length, 1)
      }
    } finally {
      await other.close()
    }
  })

  for (const skew of [2 * minuteMs, -2 * minuteMs]) {
    const side = skew > 0 ? 'ahead' : 'behind'
    it(`judge retries and expiry alike when the second clock is two minutes ${side} (ORF-07)`, async () => {
      second = await startServiceProcess({ database: database.url, env: clockOff(skew) })
      const { refresh: value } = await signIn(here, actor)
      const rotated = await refresh(here, value)
      const retried = await refresh(there, value)
      assert.deepEqual([rotated.status, retried.status], [200, 200])
      for (const one of [rotated, retried]) {
        assert.equal(await statusOf(there, actor, String(one.body['access_token'])), 200)
        assert.equal(await statusOf(here, actor, String(one.body['access_token'])), 200)
      }
      const { store } = await first.app.running()
      // By the database’s clock the token was used 61 s ago, so both processes must treat it as reused.
      await store.write((tx) => tx.run('UPDATE token SET used_at = used_at - 61000 WHERE used_at IS NOT NULL'))
      assert.equal((await refresh(skew > 0 ? there : here, value)).status, 401)
      assert.equal((await refresh(skew > 0 ? here : there, String(rotated.body['refresh_token']))).status, 401)
      // A token that expired a minute ago is expired for both processes.
      const late = await signIn(there, actor)
      await store.write((tx) => tx.run(`UPDATE token SET expires_at = expires_at - 3660000 WHERE kind = 'access'`))
      assert.deepEqual(
        [await statusOf(here, actor, late.access), await statusOf(there, actor, late.access)],
        [401, 401],
      )
    })
  }
})
