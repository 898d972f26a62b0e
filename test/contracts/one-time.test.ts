import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createLog } from '../../src/observe/log.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import { parseKeyRing } from '../../src/secret/key-ring.ts'
import { resealAll } from '../../src/secret/reseal.ts'
import type { Store, Transaction } from '../../src/store/store.ts'
import { type NewOneTime, OneTime, type PresentedRecord } from '../../src/token/one-time.ts'
import { Purge } from '../../src/token/purge.ts'
import { SpaSessions } from '../../src/token/spa-sessions.ts'
import { Tokens } from '../../src/token/tokens.ts'
import { onShards } from '../support/citus.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { testKeys } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'
import { asSharded, faulty, forEachStore } from '../support/stores.ts'

const hour = 3_600_000
const day = 86_400_000

forEachStore((_dialect, open) => {
  let clock: ManualClock
  let store: Store
  let oneTime: OneTime

  beforeEach(async () => {
    clock = new ManualClock()
    store = await open({ now: clock.now })
    oneTime = new OneTime(parseKeyRing(testKeys), clock.now)
    await store.write((tx) =>
      tx.run(
        `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at) VALUES ('ada', 'a', 'v1.k1.x', NULL, 1)`,
      ),
    )
  })

  const create = (record: Partial<NewOneTime> = {}): Promise<string> =>
    store.write((tx) => oneTime.create(tx, { purpose: 'state', data: { planted: 'planted-data' }, ...record }))
  const consume = (value: string, presented: Partial<PresentedRecord> = {}): Promise<object | null> =>
    store.write((tx) => oneTime.consume(tx, { purpose: 'state', value, ...presented }))
  /** The record that `consume` returns at the moment of its use. */
  const givenOut = (): object => ({
    data: { planted: 'planted-data' },
    actorId: null,
    provider: '',
    usedAt: clock.now(),
  })

  describe('a one-time value', () => {
    it('returns the data that it was created with, once (IDP-02)', async () => {
      const value = await create({ actorId: 'ada', provider: 'google' })
      assert.match(value, /^[A-Za-z0-9_-]{43}$/)
      assert.deepEqual(await consume(value), { ...givenOut(), actorId: 'ada', provider: 'google' })
      assert.equal(await consume(value), null)
      assert.equal(await consume(value), null)
      assert.match(await create({ purpose: 'code' }), /^ac_[A-Za-z0-9_-]{43}$/)
    })

    it('is stored without its value or its data in clear (SEC-01, R-TOK-08, I9)', async () => {
      const value = await create({ browser: 'planted-browser' })
      const dump = JSON.stringify(await dumpStore(store))
      for (const secret of [value, 'planted-data', 'planted-browser']) assert.ok(!dump.includes(secret))
      assert.ok(dump.includes(hashSecret(value)))
    })

    const lifetimes = [
      ['state', 600],
      ['form_post', 60],
      ['ticket', 300],
      ['spa_session', 600],
      ['email_session', 600],
      ['email_verification', 86_400],
      ['claim', 600],
      ['code', 60],
      ['consent', 600],
      ['service', 600],
    ] as const
    for (const [purpose, seconds] of lifetimes) {
      it(`with the purpose ${purpose} is valid for ${seconds} s, to the last millisecond (R-OC-07, IDP-01, R-LIM-01)`, async () => {
        const inTime = await create({ purpose })
        const late = await create({ purpose })
        const longer = await create({ purpose, lifetimeSeconds: seconds + 1 })
        clock.pass(seconds * 1000)
        assert.deepEqual(await consume(inTime, { purpose }), givenOut())
        clock.pass(1)
        assert.equal(await consume(late, { purpose }), null)
        assert.deepEqual(await consume(longer, { purpose }), givenOut())
      })
    }

    it('is not valid for another purpose, and the attempt does not consume it (IDP-01, I6)', async () => {
      const value = await create({ purpose: 'ticket' })
      for (const purpose of ['state', 'spa_session', 'email_session', 'code'] as const) {
        assert.equal(await consume(value, { purpose }), null)
      }
      for (const wrong of ['', 'x', `${value}x`, value.toLowerCase().toUpperCase(), hashSecret(value)]) {
        assert.equal(await consume(wrong, { purpose: 'ticket' }), null)
      }
      assert.deepEqual(await consume(value, { purpose: 'ticket' }), givenOut())
    })

    it('is not valid for another provider, and the attempt does not consume it (IDP-04)', async () => {
      const value = await create({ provider: 'google' })
      for (const provider of ['apple', 'google-mobile', 'GOOGLE', ''])
        assert.equal(await consume(value, { provider }), null)
      assert.deepEqual(await consume(value, { provider: 'google' }), { ...givenOut(), provider: 'google' })
    })

    it('is not valid for a browser other than the one that began, and the attempt does not consume it (IDP-03)', async () => {
      const value = await create({ browser: 'mine' })
      for (const presented of [{}, { browser: 'other' }, { browser: '' }])
        assert.equal(await consume(value, presented), null)
      assert.deepEqual(await consume(value, { browser: 'mine' }), givenOut())
      const unbound = await create()
      assert.deepEqual(await consume(unbound, { browser: 'any' }), givenOut())
    })

    it('is consumed by exactly one of fifty parallel requests (R-OC-07, IDP-02, I6)', async () => {
      for (const purpose of ['ticket', 'state', 'code'] as const) {
        const value = await create({ purpose })
        const all = await Promise.all(Array.from({ length: 50 }, () => consume(value, { purpose })))
        assert.deepEqual(
          all.filter((one) => one !== null),
          [givenOut()],
        )
      }
    })

    it('can be read without being consumed, and is distinguished from a guess after its use', async () => {
      const value = await create({ purpose: 'code', browser: 'mine' })
      const presented = { purpose: 'code', value, browser: 'mine' } as const
      const peek = (of: PresentedRecord): Promise<object | null> => store.read((q) => oneTime.peek(q, of))
      const spent = (of: PresentedRecord): Promise<object | null> => store.read((q) => oneTime.spent(q, of))
      assert.deepEqual(await peek(presented), { ...givenOut(), usedAt: null })
      assert.equal(await spent(presented), null)
      assert.equal(await peek({ ...presented, browser: 'other' }), null)
      assert.deepEqual(await consume(value, presented), givenOut())
      assert.equal(await peek(presented), null)
      assert.deepEqual(await spent(presented), givenOut())
      assert.equal(await spent({ ...presented, value: 'guess' }), null)
      clock.pass(60_001)
      assert.equal(await spent(presented), null)
    })

    it('stays valid when the store fails during its use (I2)', async () => {
      const failing = faulty(store)
      const value = await create()
      failing.plan({ at: 1 })
      await assert.rejects(
        failing.write((tx) => oneTime.consume(tx, { purpose: 'state', value })),
        { code: 'store_unavailable' },
      )
      await assert.rejects(
        store.write(async (tx) => {
          await oneTime.consume(tx, { purpose: 'state', value })
          throw new Error('after it')
        }),
        { message: 'after it' },
      )
      assert.deepEqual(await consume(value), givenOut())
    })

    // On a sharded database, the service deletes it (test/cluster/deleted-actors.test.ts).
    if (!onShards()) {
      it('is deleted with its actor', async () => {
        const value = await create({ actorId: 'ada' })
        await store.write((tx) => tx.run(`DELETE FROM actor WHERE id = 'ada'`))
        assert.equal(await consume(value), null)
      })
    }

    it('is encrypted again with the other secrets when keys change, and so is the mark of an assertion (SEC-03)', async () => {
      const value = await create()
      await store.write((tx) => oneTime.markSeen(tx, { purpose: 'assertion', fingerprint: 'f', until: 1 }))
      const newKey = 'k2:fT3rX8vQ1mZb6WdKpYcN4hJsLg0uEiAo7Rx9QyBwV5U'
      await store.write((tx) => tx.run('DELETE FROM actor'))
      assert.deepEqual(await resealAll(store, parseKeyRing(`${newKey},${testKeys}`), []), { resealed: 2 })
      oneTime = new OneTime(parseKeyRing(newKey), clock.now)
      assert.deepEqual(await consume(value), givenOut())
    })
  })

  describe('the mark of an assertion', () => {
    const seen = (fingerprint: string, until = 0): Promise<boolean> =>
      store.write((tx) => oneTime.markSeen(tx, { purpose: 'assertion', fingerprint, until }))

    it('is set once for one assertion, even by fifty parallel requests (R-OC-06)', async () => {
      assert.equal(await seen('one'), true)
      assert.equal(await seen('one'), false)
      assert.equal(await seen('other'), true)
      const all = await Promise.all(Array.from({ length: 50 }, () => seen('many')))
      assert.equal(all.filter(Boolean).length, 1)
    })

    it('is kept as long as the assertion is valid, and at least 15 minutes (R-OC-06)', async () => {
      const log = createLog('silent')
      assert.equal(await seen('short'), true)
      assert.equal(await seen('long', Math.floor(clock.now() / 1000) + 7200), true)
      const purged = async (): Promise<void> => {
        const purge = new Purge(store, log, clock.now)
        purge.occasionally()
        await purge.settled()
      }
      clock.pass(900_000)
      await purged()
      assert.deepEqual([await seen('short'), await seen('long')], [false, false])
      clock.pass(1)
      await purged()
      assert.deepEqual([await seen('short'), await seen('long')], [true, false])
      clock.pass(7200_000 - 900_000)
      await purged()
      assert.equal(await seen('long'), true)
    })
  })

  describe('the outcome of a one-time value', () => {
    const remember = (value: string): Promise<void> =>
      store.write((tx) => oneTime.remember(tx, value, { outcome: 'done' }, 60))

    it('is stored with a used value until it expires', async () => {
      const value = await create({ purpose: 'code' })
      await consume(value, { purpose: 'code' })
      await remember(value)
      const spent = await store.read((q) => oneTime.spent<{ outcome: string }>(q, { purpose: 'code', value }))
      assert.deepEqual(spent?.data, { outcome: 'done' })
      clock.pass(60_000)
      assert.notEqual(await store.read((q) => oneTime.spent(q, { purpose: 'code', value })), null)
      clock.pass(1)
      assert.equal(await store.read((q) => oneTime.spent(q, { purpose: 'code', value })), null)
    })

    it('is returned only for its own purpose, provider and browser, before and after its use (IDP-01, IDP-04)', async () => {
      const presented = { purpose: 'state', provider: 'google', browser: 'mine' } as const
      const value = await create(presented)
      const others = [
        { ...presented, purpose: 'ticket' },
        { ...presented, provider: 'github' },
        { ...presented, browser: 'theirs' },
      ] as const
      const peeked = (of: Omit<PresentedRecord, 'value'>): Promise<object | null> =>
        store.read((q) => oneTime.peek(q, { ...of, value }))
      const spent = (of: Omit<PresentedRecord, 'value'>): Promise<object | null> =>
        store.read((q) => oneTime.spent(q, { ...of, value }))
      const repeated = (of: Omit<PresentedRecord, 'value'> & { readonly browser: string }): Promise<object | null> =>
        store.write((tx) => oneTime.consumeOrRepeat(tx, { ...of, value }, 10))
      assert.notEqual(await peeked(presented), null)
      assert.equal(await spent(presented), null)
      for (const other of others) assert.equal(await peeked(other), null)
      assert.notEqual(await repeated(presented), null)
      assert.equal(await peeked(presented), null)
      for (const other of others) assert.deepEqual([await spent(other), await repeated(other)], [null, null])
      assert.notEqual(await spent(presented), null)
      assert.notEqual(await repeated(presented), null)
    })

    it('is not stored with a value that was not used', async () => {
      const value = await create({ purpose: 'code' })
      await remember(value)
      assert.deepEqual(await consume(value, { purpose: 'code' }), givenOut())
    })
  })

  describe('the one-time session id of a single-page application', () => {
    const session = (): object => ({ tokens: {}, redirectUrl: '/app', delivery: 'json' })
    let sessions: SpaSessions
    beforeEach(() => {
      sessions = new SpaSessions(store, oneTime)
    })

    it('is exchanged once, and the same browser receives the same response for 10 s (R-OC-16)', async () => {
      const id = await create({ purpose: 'spa_session', data: session() })
      assert.deepEqual(await sessions.find(id, 'mine'), session())
      assert.deepEqual(await sessions.exchange(id, 'mine'), session())
      assert.equal(await sessions.exchange(id, 'other'), null)
      clock.pass(10_000)
      assert.deepEqual(await sessions.exchange(id, 'mine'), session())
      assert.equal(await sessions.exchange(id, 'other'), null)
      clock.pass(1)
      assert.equal(await sessions.exchange(id, 'mine'), null)
      assert.equal(await sessions.find(id, 'mine'), null)
    })

    it('is exchanged only by the browser that it was created for (R-OC-16)', async () => {
      const id = await create({ purpose: 'spa_session', data: session(), browser: 'mine' })
      assert.equal(await sessions.exchange(id, 'other'), null)
      assert.equal(await sessions.find(id, 'other'), null)
      assert.deepEqual(await sessions.exchange(id, 'mine'), session())
    })

    it('is exchanged by exactly one of fifty browsers in parallel (R-OC-16)', async () => {
      const id = await create({ purpose: 'spa_session', data: session() })
      const all = await Promise.all(Array.from({ length: 50 }, (_, n) => sessions.exchange(id, `browser ${n}`)))
      assert.equal(all.filter((one) => one !== null).length, 1)
    })

    it('gives the same response to fifty parallel requests of one browser (R-OC-16)', async () => {
      const id = await create({ purpose: 'spa_session', data: session() })
      const all = await Promise.all(Array.from({ length: 50 }, () => sessions.exchange(id, 'mine')))
      for (const one of all) assert.deepEqual(one, session())
    })
  })

  describe('the purge', () => {
    let lines: string[]
    let tokens: Tokens
    let purge: Purge
    const log = createLog('trace', { write: (line: string) => void lines.push(line) })
    beforeEach(() => {
      lines = []
      tokens = new Tokens({ store, log, now: clock.now, maxSessionDays: 90 })
      purge = new Purge(store, log, clock.now)
    })
    const begin = () =>
      store.write((tx) =>
        tokens.startSession(tx, { actorId: 'ada', identifier: 'a', beganWith: 'web', device: 'curl' }),
      )
    const count = async (table: string): Promise<number> =>
      (await store.read((q) => q.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`)))?.n ?? Number.NaN

    it('deletes only expired records, and chains that have no token left (R-TOK-06, ORF-16)', async () => {
      const old = await begin()
      clock.pass(day)
      const used = await begin()
      const next = await tokens.refresh(used.refreshToken, { kind: 'session' })
      await create()
      clock.pass(13 * day + 1)
      const fresh = await begin()
      const state = await create()
      purge.occasionally()
      await purge.settled()
      // The second chain keeps its rotated refresh token, which expires tomorrow.
      assert.deepEqual([await count('token_chain'), await count('token'), await count('one_time')], [2, 3, 1])
      assert.equal(await tokens.refresh(old.refreshToken, { kind: 'session' }), null)
      assert.notEqual(await tokens.refresh(next?.refreshToken ?? '', { kind: 'session' }), null)
      assert.notEqual(await tokens.validate(fresh.accessToken), null)
      assert.deepEqual(await consume(state), givenOut())
    })

    it('deletes in one order on a sharded database, so that two processes do not wait for each other', async () => {
      for (let n = 0; n < 5; n += 1) {
        clock.pass(1)
        await create()
        for (const mark of ['A', 'B']) {
          await store.write((tx) => tokens.adopt(tx, 'ada', `${n}${mark}`.padEnd(64, mark), clock.now() - n))
        }
      }
      clock.pass(day)
      const deleted: Record<string, string[]> = { token: [], token_chain: [], one_time: [] }
      const watched = asSharded(store)
      const watch = (tx: Transaction): Transaction => ({
        ...tx,
        run: (sql, ...params) => {
          const [, table = ''] = /^DELETE FROM (\w+)/.exec(sql) ?? []
          deleted[table]?.push(String(params[table === 'token_chain' ? 1 : 0]))
          return tx.run(sql, ...params)
        },
      })
      const ordered = new Purge(
        { ...watched, write: (work, how) => watched.write((tx) => work(watch(tx)), how) },
        log,
        clock.now,
      )
      ordered.occasionally()
      await ordered.settled()
      assert.deepEqual([await count('token_chain'), await count('token'), await count('one_time')], [0, 0, 0])
      for (const [table, length] of [
        ['token', 10],
        ['token_chain', 10],
        ['one_time', 5],
      ] as const) {
        assert.equal(deleted[table]?.length, length)
        assert.deepEqual(deleted[table], deleted[table]?.toSorted())
      }
    })

    it('deletes a chain whose only token expired (R-TOK-06)', async () => {
      await store.write((tx) => tokens.adopt(tx, 'ada', 'A'.repeat(64), clock.now() - 1))
      purge.occasionally()
      await purge.settled()
      assert.deepEqual([await count('token_chain'), await count('token')], [0, 0])
    })

    it('ends with the current batch when the service stops (R-TOK-06)', async () => {
      await store.write(async (tx) => {
        for (let index = 0; index < 501; index += 1) {
          await tokens.adopt(tx, 'ada', String(index).padStart(64, '0'), clock.now() - 1)
        }
      })
      purge.occasionally()
      await purge.stop()
      assert.deepEqual([await count('token_chain'), await count('token')], [1, 1])
    })

    it('keeps a used refresh token for two days, so that its reuse is detected (R-TOK-06)', async () => {
      const used = await begin()
      const next = await tokens.refresh(used.refreshToken, { kind: 'session' })
      clock.pass(2 * day)
      purge.occasionally()
      await purge.settled()
      assert.equal(await tokens.refresh(used.refreshToken, { kind: 'session' }), null)
      assert.equal(await tokens.refresh(next?.refreshToken ?? '', { kind: 'session' }), null)
      assert.equal(await count('token_chain'), 0)
    })

    it('runs at most once an hour, and again after the clock is set back (R-TOK-06, ORF-16, R-LIM-01)', async () => {
      const run = async (): Promise<number> => {
        await create({ lifetimeSeconds: -1 })
        purge.occasionally()
        await purge.settled()
        return count('one_time')
      }
      assert.equal(await run(), 0)
      clock.pass(hour - 1)
      assert.equal(await run(), 1)
      clock.pass(1)
      assert.equal(await run(), 0)
      clock.pass(-hour)
      assert.equal(await run(), 0)
    })

    it('deletes any number of records, in batches (R-TOK-06)', async () => {
      await store.write(async (tx) => {
        for (let n = 0; n < 1001; n++) {
          await tx.run(
            `INSERT INTO one_time (hash, purpose, provider, data, expires_at) VALUES ($1, 'state', '', '', 1)`,
            `h${n}`,
          )
        }
      })
      const kept = await create()
      purge.occasionally()
      await purge.settled()
      assert.equal(await count('one_time'), 1)
      assert.notEqual(await consume(kept), null)
    })

    it('neither fails nor deletes a valid token when refreshes run in parallel (ORF-16)', async () => {
      for (let round = 0; round < 5; round++) {
        const issued = await Promise.all(Array.from({ length: 10 }, begin))
        clock.pass(14 * day)
        const purges = Array.from({ length: 3 }, () => new Purge(store, log, clock.now))
        const refreshing = issued.map(({ refreshToken }) => tokens.refresh(refreshToken, { kind: 'session' }))
        for (const each of purges) each.occasionally()
        const next = await Promise.all(refreshing)
        for (const each of purges) await each.settled()
        for (const one of next) assert.notEqual(await tokens.validate(one?.accessToken ?? ''), null)
        assert.deepEqual(
          lines.filter((line) => line.includes('"warn"')),
          [],
        )
        await store.write((tx) => tx.run('DELETE FROM token_chain'))
      }
    })

    it('runs again an hour after the store failed, and its failure affects no caller (R-TOK-06)', async () => {
      const failing = faulty(store, { matching: /./ })
      const unsure = new Purge(failing, log, clock.now)
      await create({ lifetimeSeconds: -1 })
      unsure.occasionally()
      await unsure.settled()
      assert.equal(await count('one_time'), 1)
      assert.equal(lines.length, 1)
      clock.pass(hour)
      unsure.occasionally()
      await unsure.settled()
      assert.equal(await count('one_time'), 0)
    })
  })
})
