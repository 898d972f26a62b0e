import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createLog } from '../../src/observe/log.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Store } from '../../src/store/store.ts'
import type { ClientGrant, IssuedTokens } from '../../src/token/chain.ts'
import { countGraceAnswer, markUsed, purgeTokens } from '../../src/token/token-store.ts'
import { makeToken } from '../../src/token/token-text.ts'
import { Tokens } from '../../src/token/tokens.ts'
import { Uses } from '../../src/token/last-used.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { dumpStore } from '../support/store-dump.ts'
import { counting, faulty, forEachStore } from '../support/stores.ts'

const session = { kind: 'session' } as const
const minute = 60_000
const hour = 3_600_000
const day = 86_400_000

forEachStore((_dialect, open) => {
  let clock: ManualClock
  let store: Store
  let tokens: Tokens
  let lines: string[]

  const over = (of: Store): Tokens =>
    new Tokens({
      store: of,
      log: createLog('debug', { write: (line: string) => void lines.push(line) }),
      now: clock.now,
      maxSessionDays: 90,
    })

  beforeEach(async () => {
    clock = new ManualClock(1_900_000_000_500)
    lines = []
    store = await open({ now: clock.now })
    tokens = over(store)
    await addActor('ada')
  })

  async function addActor(id: string): Promise<void> {
    await store.write((tx) =>
      tx.run(
        `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at) VALUES ($1, $2, 'v1.k1.x', NULL, 1)`,
        id,
        `${id}@example.com`,
      ),
    )
  }

  async function addTrust(actorId: string, peerId: string): Promise<void> {
    await store.write((tx) =>
      tx.run(
        `INSERT INTO trust (actor_id, peer_id, baseuri, type, relationship, secret, secret_hash, verification_token,
           description, approved, peer_approved, verified, established_via, facts, created_at, last_accessed,
           last_connected_via)
         VALUES ($1, $2, '', '', 'mcp_client', '', $2, '', '', 1, 1, 1, '', '{}', 1, 1, '')`,
        actorId,
        peerId,
      ),
    )
  }

  /** On a sharded database, invalid tokens stay until they expire. */
  async function assertNoTokens(): Promise<void> {
    if (!store.isSharded) assert.deepEqual(await store.read((q) => q.all('SELECT hash FROM token')), [])
  }

  function begin(actorId = 'ada', of = tokens): Promise<IssuedTokens> {
    return store.write((tx) =>
      of.startSession(tx, {
        actorId,
        identifier: `${actorId}@example.com`,
        beganWith: 'web',
        device: 'Firefox on Linux',
      }),
    )
  }

  const grant = (clientId: string): ClientGrant => ({
    clientId,
    peerId: `oauth2_client:${clientId}`,
    audience: 'https://troupe.test/mcp',
    scope: 'mcp',
  })

  async function beginClient(clientId: string, actorId = 'ada'): Promise<IssuedTokens> {
    await addTrust(actorId, `oauth2_client:${clientId}`)
    return store.writeActor(actorId, (tx) =>
      tokens.startClient(
        tx,
        { actorId, identifier: `${actorId}@example.com`, beganWith: 'mcp', device: 'Assistant' },
        grant(clientId),
      ),
    )
  }

  const lives = async ({ accessToken }: IssuedTokens): Promise<boolean> => (await tokens.validate(accessToken)) !== null

  async function refreshed(of: IssuedTokens): Promise<IssuedTokens> {
    const next = await tokens.refresh(of.refreshToken, session)
    assert.ok(next !== null)
    return next
  }

  const refuses = async (refreshToken: string): Promise<void> =>
    assert.equal(await tokens.refresh(refreshToken, session), null)

  describe('a session', () => {
    it('begins a chain with an access token for one hour and a refresh token for two weeks (R-TOK-01, R-LIM-01)', async () => {
      const issued = await begin()
      assert.match(issued.accessToken, /^[0-9a-f]{40}$/)
      assert.match(issued.refreshToken, /^[A-Za-z0-9_-]{64}$/)
      assert.match(issued.chainId, /^[A-Za-z0-9_-]{22}$/)
      assert.deepEqual(
        { ...issued, accessToken: '', refreshToken: '', chainId: '' },
        {
          accessToken: '',
          refreshToken: '',
          expiresIn: 3600,
          expiresAt: 1_900_003_600,
          refreshExpiresIn: 1_209_600,
          actorId: 'ada',
          chainId: '',
          identifier: 'ada@example.com',
          client: null,
        },
      )
      const found = await tokens.validate(issued.accessToken)
      assert.equal(found?.chain.actorId, 'ada')
      assert.equal(found.chain.chainId, issued.chainId)
      assert.equal(found.chain.kind, 'session')
      assert.equal(found.expiresAt, 1_900_003_600_500)
    })

    it('has an access token and a refresh token that are valid to their last millisecond (R-TOK-01)', async () => {
      const issued = await begin()
      clock.pass(hour)
      assert.equal(await lives(issued), true)
      clock.pass(1)
      assert.equal(await lives(issued), false)
      clock.pass(14 * day - hour - 1)
      assert.equal(await lives(await refreshed(issued)), true)

      const other = await begin()
      clock.pass(14 * day + 1)
      await refuses(other.refreshToken)
    })

    it('is stored without its tokens in clear (R-TOK-08, SEC-01)', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      const dump = JSON.stringify(await dumpStore(store))
      for (const secret of [issued.accessToken, issued.refreshToken, next.accessToken, next.refreshToken]) {
        assert.ok(!dump.includes(secret))
        assert.ok(dump.includes(hashSecret(secret)))
      }
    })

    it('has a refresh token that authenticates no request and an access token that cannot refresh (ORF-09)', async () => {
      const issued = await begin()
      const before = await dumpStore(store)
      assert.equal(await tokens.validate(issued.refreshToken), null)
      await refuses(issued.accessToken)
      for (const text of ['', 'x', 'null', issued.accessToken.toUpperCase(), `${issued.refreshToken}A`]) {
        assert.equal(await tokens.validate(text), null)
        await refuses(text)
      }
      assert.deepEqual(await dumpStore(store), before)
    })
  })

  describe('marking a refresh token as used', () => {
    it('succeeds once, and to the last millisecond of the token (ORF-01, ORF-02)', async () => {
      const marked = async (text: string): Promise<boolean> =>
        store.write((tx) => markUsed(tx, hashSecret(text), clock.now(), clock.now() + 2 * day))
      const { refreshToken } = await begin()
      const other = await begin()
      clock.pass(14 * day)
      assert.equal(await marked(refreshToken), true)
      assert.equal(await marked(refreshToken), false)
      clock.pass(1)
      assert.equal(await marked(other.refreshToken), false)
      assert.equal((await stored(other.refreshToken)).usedAt, null)
    })

    it('counts each grace response once, and none before the first use (ORF-03)', async () => {
      const { refreshToken } = await begin()
      const counted = async (before: number): Promise<boolean> =>
        store.write((tx) => countGraceAnswer(tx, hashSecret(refreshToken), before))
      assert.equal(await counted(0), false)
      await tokens.refresh(refreshToken, session)
      assert.deepEqual([await counted(0), await counted(0), await counted(1)], [true, false, true])
      assert.equal((await stored(refreshToken)).graceAnswers, 2)
    })
  })

  describe('a refresh', () => {
    it('issues two new tokens of the same chain and marks the old refresh token as used (ORF-01, R-TOK-01)', async () => {
      const issued = await begin()
      clock.pass(hour / 2)
      const next = await refreshed(issued)
      assert.equal(next.chainId, issued.chainId)
      assert.equal(next.actorId, 'ada')
      assert.equal(next.identifier, 'ada@example.com')
      assert.equal(next.expiresIn, 3600)
      assert.equal(next.refreshExpiresIn, 1_209_600)
      assert.notEqual(next.accessToken, issued.accessToken)
      assert.notEqual(next.refreshToken, issued.refreshToken)
      assert.equal(await lives(next), true)
      const { usedAt, expiresAt } = await stored(issued.refreshToken)
      assert.equal(usedAt, clock.now())
      assert.equal(expiresAt, clock.now() + 2 * day)
    })

    it('can be repeated in full for 60 s after the first use, to the last millisecond (ORF-03, R-TOK-02)', async () => {
      const issued = await begin()
      const first = await refreshed(issued)
      for (const after of [0, 10_000, 50_000]) {
        clock.pass(after)
        const again = await refreshed(issued)
        assert.equal(again.chainId, issued.chainId)
        assert.equal(await lives(again), true)
        assert.equal(await lives(await refreshed(again)), true)
      }
      assert.equal(await lives(first), true)
      assert.equal((await stored(issued.refreshToken)).graceAnswers, 3)
    })

    it('can be repeated at most 100 times with one token, and a further attempt revokes nothing (ORF-03)', async () => {
      const issued = await begin()
      const first = await refreshed(issued)
      for (let n = 0; n < 100; n++) await refreshed(issued)
      const before = await dumpStore(store)
      await refuses(issued.refreshToken)
      assert.deepEqual(await dumpStore(store), before)
      assert.equal(await lives(first), true)
      assert.equal(await lives(await refreshed(first)), true)
    })

    it('with a used token after 60 s ends its chain, including access tokens, and no other chain (ORF-04, R-TOK-03)', async () => {
      const issued = await begin()
      const elsewhere = await begin()
      const next = await refreshed(issued)
      const last = await refreshed(next)
      clock.pass(minute + 1)
      await refuses(issued.refreshToken)
      for (const dead of [issued, next, last]) {
        assert.equal(await lives(dead), false)
        await refuses(dead.refreshToken)
      }
      assert.equal(await lives(elsewhere), true)
      assert.equal(await lives(await refreshed(elsewhere)), true)
      assert.deepEqual(
        lines
          .filter((line) => line.includes('"level":"warn"'))
          .map((line) => (JSON.parse(line) as { reason: string }).reason),
        ['reused'],
      )
    })

    it('with a used token still ends its chain at the end of the second day (ORF-04, R-TOK-03)', async () => {
      const issued = await begin()
      let next = await refreshed(issued)
      clock.pass(2 * day)
      next = await refreshed(next)
      await refuses(issued.refreshToken)
      assert.equal(await lives(next), false)
    })

    it('with a used token after two days is rejected like an expired token and revokes nothing (ORF-05, R-TOK-04)', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      clock.pass(2 * day + 1)
      const before = await dumpStore(store)
      await refuses(issued.refreshToken)
      assert.deepEqual(await dumpStore(store), before)
      assert.equal(await lives(await refreshed(next)), true)
    })

    it('with a used imported token revokes only that token (ORF-05, R-TOK-05)', async () => {
      const legacy = 'L'.repeat(64)
      await store.write((tx) => tokens.adopt(tx, 'ada', legacy, clock.now() + day))
      const first = await tokens.refresh(legacy, session)
      assert.ok(first !== null)
      const second = await tokens.refresh(legacy, session)
      assert.ok(second !== null)
      clock.pass(minute + 1)
      await refuses(legacy)
      assert.equal(await lives(first), true)
      assert.equal(await lives(second), true)
      assert.equal(await lives(await refreshed(first)), true)
      assert.deepEqual(
        await store.read((q) => q.all('SELECT 1 AS one FROM token WHERE hash = $1', hashSecret(legacy))),
        [],
      )
    })

    it('with an imported token follows the other rules: one use, expiry, two days (ORF-05, R-TOK-05)', async () => {
      const expired = 'E'.repeat(64)
      const used = 'U'.repeat(64)
      await store.write((tx) => tokens.adopt(tx, 'ada', expired, clock.now() + 1000))
      await store.write((tx) => tokens.adopt(tx, 'ada', used, clock.now() + day))
      clock.pass(1001)
      await refuses(expired)
      const next = await tokens.refresh(used, session)
      assert.ok(next !== null)
      clock.pass(2 * day + 1)
      const before = await dumpStore(store)
      await refuses(used)
      assert.deepEqual(await dumpStore(store), before)
      assert.equal(await lives(await refreshed(next)), true)
    })

    it('succeeds with an imported token, which authenticates no request in any format (ORF-09, R-TOK-05)', async () => {
      const legacy = makeToken('session', 'access')
      await store.write((tx) => tokens.adopt(tx, 'ada', legacy, clock.now() + day))
      assert.equal(await tokens.validate(legacy), null)
      assert.notEqual(await tokens.refresh(legacy, session), null)
    })

    it('has the same result for an old token after a restart as before it (ORF-06)', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      clock.pass(minute)
      const again = await over(store).refresh(issued.refreshToken, session)
      assert.equal(again?.chainId, issued.chainId)
      clock.pass(1)
      assert.equal(await over(store).refresh(issued.refreshToken, session), null)
      assert.equal(await lives(next), false)
    })

    it('never extends an access token or a refresh token beyond the 90 days of the chain (ORF-10)', async () => {
      let next = await begin()
      for (let week = 0; week < 12; week++) {
        clock.pass(7 * day)
        next = await refreshed(next)
      }
      assert.deepEqual([next.expiresIn, next.refreshExpiresIn], [3600, 6 * 86_400])
      clock.pass(6 * day - hour / 2)
      next = await refreshed(next)
      assert.deepEqual([next.expiresIn, next.refreshExpiresIn], [1800, 1800])
      clock.pass(hour / 2)
      assert.equal(await lives(next), true)
      clock.pass(1)
      assert.equal(await lives(next), false)
      await refuses(next.refreshToken)
      await refuses(next.refreshToken)
    })

    it('with a token of a client succeeds for that client only, and other callers cannot use or revoke the token (ORF-08)', async () => {
      const mine = await begin()
      const a = await beginClient('mcp_a')
      await beginClient('mcp_b')
      assert.match(a.accessToken, /^aw_[A-Za-z0-9_-]{43}$/)
      assert.match(a.refreshToken, /^rt_[A-Za-z0-9_-]{43}$/)
      assert.equal(a.refreshExpiresIn, 2_592_000)
      assert.deepEqual(a.client, grant('mcp_a'))
      const before = await dumpStore(store)
      assert.equal(await tokens.refresh(a.refreshToken, { kind: 'client', clientId: 'mcp_b' }), null)
      await refuses(a.refreshToken)
      assert.equal(await tokens.refresh(mine.refreshToken, { kind: 'client', clientId: 'mcp_a' }), null)
      assert.deepEqual(await dumpStore(store), before)

      const next = await tokens.refresh(a.refreshToken, { kind: 'client', clientId: 'mcp_a' })
      assert.deepEqual(next?.client, grant('mcp_a'))
      assert.match(next.accessToken, /^aw_/)
      clock.pass(minute + 1)
      const used = await dumpStore(store)
      assert.equal(await tokens.refresh(a.refreshToken, { kind: 'client', clientId: 'mcp_b' }), null)
      await refuses(a.refreshToken)
      assert.deepEqual(await dumpStore(store), used)
      assert.equal(await lives(next), true)
    })

    it('keeps the old token valid and issues no token when any of its statements fails (ORF-15, I2)', async () => {
      const failing = faulty(store)
      const unsure = over(failing)
      for (let at = 1; at <= 3; at++) {
        const issued = await begin()
        const before = await dumpStore(store)
        failing.plan({ at })
        await assert.rejects(unsure.refresh(issued.refreshToken, session), { code: 'store_unavailable' })
        assert.equal(failing.failed, 1)
        failing.plan()
        assert.deepEqual(await dumpStore(store), before)
        assert.equal(await lives(issued), true)
        assert.equal(await lives(await refreshed(issued)), true)
      }
    })

    it('with a reused token ends the chain in full or not at all (ORF-15)', async () => {
      const failing = faulty(store)
      const unsure = over(failing)
      const issued = await begin()
      const next = await refreshed(issued)
      clock.pass(minute + 1)
      for (let at = 1; at <= 2; at++) {
        failing.plan({ at })
        await assert.rejects(unsure.refresh(issued.refreshToken, session), { code: 'store_unavailable' })
        failing.plan()
        assert.equal(await lives(next), true)
      }
      await refuses(issued.refreshToken)
      assert.equal(await lives(next), false)
    })

    it('by fifty parallel requests with one token succeeds for all in one chain, and one of them is the first use (ORF-02, R-TOK-02)', async () => {
      const issued = await begin()
      const all = await Promise.all(Array.from({ length: 50 }, () => tokens.refresh(issued.refreshToken, session)))
      assert.deepEqual([...new Set(all.map((one) => one?.chainId))], [issued.chainId])
      assert.equal(new Set(all.map((one) => one?.refreshToken)).size, 50)
      const { usedAt, graceAnswers } = await stored(issued.refreshToken)
      assert.deepEqual([usedAt, graceAnswers], [clock.now(), 49])
      const chains = await store.read((q) => q.all<{ n: number }>('SELECT COUNT(*) AS n FROM token_chain'))
      assert.equal(chains[0]?.n, 1)
      assert.ok((await Promise.all(all.map(async (one) => one !== null && lives(one)))).every(Boolean))
    })

    it('by fifty parallel requests with a reused token is rejected for all and ends the chain once (ORF-04)', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      clock.pass(minute + 1)
      const all = await Promise.all(Array.from({ length: 50 }, () => tokens.refresh(issued.refreshToken, session)))
      assert.ok(all.every((one) => one === null))
      assert.equal(await lives(next), false)
      assert.equal(lines.filter((line) => line.includes('"level":"warn"')).length, 1)
    })

    it('in parallel with the end of its chain leaves no valid token of the chain (ORF-13, I7)', async () => {
      for (let round = 0; round < 10; round++) {
        const issued = await begin()
        const all = await Promise.all([
          ...Array.from({ length: 5 }, () => tokens.refresh(issued.refreshToken, session)),
          store.write((tx) => tokens.endChain(tx, 'ada', issued.chainId)).then(() => null),
          ...Array.from({ length: 5 }, () => tokens.refresh(issued.refreshToken, session)),
        ])
        for (const one of [issued, ...all.filter((found) => found !== null)]) {
          assert.equal(await lives(one), false)
          await refuses(one.refreshToken)
        }
        await assertNoTokens()
      }
    })

    it('in parallel with the deletion of its actor or relationship leaves no token and causes no deadlock (ORF-14)', async () => {
      for (let round = 0; round < 5; round++) {
        await addActor('eve')
        const issued = await begin('eve')
        const client = await beginClient('mcp_c', 'eve')
        const asClient = { kind: 'client', clientId: 'mcp_c' } as const
        await Promise.all([
          tokens.refresh(issued.refreshToken, session),
          tokens.refresh(client.refreshToken, asClient),
          store.writeActor('eve', (tx) => tx.run('DELETE FROM trust WHERE actor_id = $1', 'eve')),
          tokens.refresh(client.refreshToken, asClient),
          tokens.refresh(issued.refreshToken, session),
        ])
        assert.equal(await lives(client), false)
        assert.equal(await tokens.refresh(client.refreshToken, asClient), null)
        assert.equal(await lives(issued), true)
        await Promise.all([
          tokens.refresh(issued.refreshToken, session),
          store.writeActor('eve', (tx) => tx.run('DELETE FROM actor WHERE id = $1', 'eve')),
          tokens.refresh(issued.refreshToken, session),
        ])
        assert.equal(await lives(issued), false)
        await refuses(issued.refreshToken)
        await assertNoTokens()
      }
    })
  })

  describe('ending chains', () => {
    it('takes effect at once in every process that shares the store, and affects no other chain (ORF-12, I7)', async () => {
      const here = over(store)
      const there = over(store)
      const one = await begin()
      const other = await begin()
      assert.notEqual(await there.validate(one.accessToken), null)
      assert.equal(await store.write((tx) => here.endChain(tx, 'ada', one.chainId)), true)
      assert.equal(await there.validate(one.accessToken), null)
      assert.equal(await there.refresh(one.refreshToken, session), null)
      assert.notEqual(await there.validate(other.accessToken), null)
      assert.equal(await store.write((tx) => here.endChain(tx, 'ada', one.chainId)), false)
    })

    it('never affects the chain of another actor or a chain of another kind', async () => {
      await addActor('bob')
      const ofBob = await begin('bob')
      const client = await beginClient('mcp_a')
      const before = await dumpStore(store)
      assert.equal(await store.write((tx) => tokens.endChain(tx, 'ada', ofBob.chainId)), false)
      assert.equal(await store.write((tx) => tokens.endChain(tx, 'ada', client.chainId, 'session')), false)
      assert.equal(await store.write((tx) => tokens.endOthers(tx, 'ada', 'none')), 0)
      assert.deepEqual(await dumpStore(store), before)
    })

    it('of all other sessions keeps the requesting session and the clients', async () => {
      const kept = await begin()
      const others = [await begin(), await begin()]
      const client = await beginClient('mcp_a')
      assert.equal(await store.write((tx) => tokens.endOthers(tx, 'ada', kept.chainId)), 2)
      assert.deepEqual(await Promise.all(others.map(lives)), [false, false])
      assert.deepEqual(await Promise.all([kept, client].map(lives)), [true, true])
    })

    it('of an actor, a relationship or a client ends every token that depends on it, and no other (ORF-14)', async () => {
      await addActor('bob')
      const mine = await begin()
      const a = await beginClient('mcp_a')
      const b = await beginClient('mcp_b')
      const ofBob = await begin('bob')
      const alsoA = await beginClient('mcp_a', 'bob')
      await store.writeActor('ada', (tx) =>
        tx.run('DELETE FROM trust WHERE actor_id = $1 AND peer_id = $2', 'ada', 'oauth2_client:mcp_b'),
      )
      assert.deepEqual(await Promise.all([mine, a, b, ofBob, alsoA].map(lives)), [true, true, false, true, true])
      assert.equal(await store.write((tx) => tokens.endAllOfClient(tx, 'mcp_a')), 2)
      assert.deepEqual(await Promise.all([mine, a, ofBob, alsoA].map(lives)), [true, false, true, false])
      assert.equal(await store.write((tx) => tokens.endAllOf(tx, 'ada')), 1)
      assert.deepEqual(await Promise.all([mine, ofBob].map(lives)), [false, true])
      await store.writeActor('bob', (tx) => tx.run('DELETE FROM actor WHERE id = $1', 'bob'))
      assert.equal(await lives(ofBob), false)
      await refuses(ofBob.refreshToken)
    })
  })

  describe('the list of sessions', () => {
    it('contains the sessions that can still be used, last used first, with their origin and device', async () => {
      const first = await begin()
      clock.pass(minute)
      const second = await begin()
      await beginClient('mcp_a')
      const ended = await begin()
      await store.write((tx) => tokens.endChain(tx, 'ada', ended.chainId))
      assert.deepEqual(await tokens.sessionsOf('ada'), [
        {
          actorId: 'ada',
          chainId: second.chainId,
          kind: 'session',
          client: null,
          beganWith: 'web',
          device: 'Firefox on Linux',
          createdAt: 1_900_000_060_500,
          authenticatedAt: 1_900_000_060_500,
          lastUsedAt: 1_900_000_060_500,
          endsAt: 1_907_776_060_500,
        },
        {
          actorId: 'ada',
          chainId: first.chainId,
          kind: 'session',
          client: null,
          beganWith: 'web',
          device: 'Firefox on Linux',
          createdAt: 1_900_000_000_500,
          authenticatedAt: 1_900_000_000_500,
          lastUsedAt: 1_900_000_000_500,
          endsAt: 1_907_776_000_500,
        },
      ])
      assert.deepEqual(
        (await tokens.clientsOf('ada')).map(({ client }) => client),
        [grant('mcp_a')],
      )
      assert.deepEqual(await tokens.sessionsOf('absent'), [])
      clock.pass(14 * day)
      assert.deepEqual(
        (await tokens.sessionsOf('ada')).map(({ chainId }) => chainId),
        // A sharded database lists a session until the purge deletes its last token.
        store.isSharded ? [second.chainId, first.chainId] : [second.chainId],
      )
      clock.pass(minute + 1)
      if (store.isSharded) await store.write((tx) => purgeTokens(tx, clock.now(), 100))
      assert.deepEqual(await tokens.sessionsOf('ada'), [])
    })

    it('contains a session to the last millisecond of its lifetime', async () => {
      const short = new Tokens({ store, log: createLog('silent'), now: clock.now, maxSessionDays: 1 })
      const { chainId } = await begin('ada', short)
      clock.pass(day)
      assert.deepEqual(
        (await short.sessionsOf('ada')).map((chain) => chain.chainId),
        [chainId],
      )
      clock.pass(1)
      assert.deepEqual(await short.sessionsOf('ada'), [])
    })

    it('omits a chain after its 90 days, even when an imported token would expire later (ORF-10)', async () => {
      await store.write((tx) => tokens.adopt(tx, 'ada', 'L'.repeat(64), clock.now() + 365 * day))
      clock.pass(90 * day)
      assert.equal((await tokens.sessionsOf('ada')).length, 1)
      clock.pass(1)
      assert.deepEqual(await tokens.sessionsOf('ada'), [])
    })
  })

  describe('recording the last use of a session', () => {
    it('writes once a minute for each session, however many requests read the same record (R-TOK-06)', async () => {
      const { statements, onQuery } = counting()
      const counted = await open({ now: clock.now, onQuery })
      const uses = new Uses(counted, createLog('silent'), clock.now)
      const chains = ['one', 'two'].map((chainId) => ({ actorId: 'ada', chainId, lastUsedAt: clock.now() - minute }))
      for (let round = 0; round < 3; round += 1) for (const chain of chains) uses.note(chain)
      await uses.settled()
      assert.equal(statements.filter((sql) => sql.startsWith('UPDATE token_chain')).length, 2)
    })

    it('changes only the session that was used, and never sets the time back (R-TOK-06)', async () => {
      const used = await begin()
      const other = await begin()
      const uses = new Uses(store, createLog('silent'), clock.now)
      const note = async (): Promise<void> => {
        const chain = (await tokens.validate(used.accessToken))?.chain
        assert.ok(chain !== undefined)
        uses.note(chain)
        await uses.settled()
      }
      const lastUses = async (): Promise<Record<string, number>> =>
        Object.fromEntries((await tokens.sessionsOf('ada')).map(({ chainId, lastUsedAt }) => [chainId, lastUsedAt]))
      clock.pass(minute - 1)
      await note()
      assert.deepEqual(await lastUses(), { [used.chainId]: 1_900_000_000_500, [other.chainId]: 1_900_000_000_500 })
      clock.pass(1)
      await note()
      assert.deepEqual(await lastUses(), { [used.chainId]: 1_900_000_060_500, [other.chainId]: 1_900_000_000_500 })
      // Another process, which read the record earlier, records a use in the same minute.
      const late = new Uses(store, createLog('silent'), () => clock.now() + 1)
      late.note({ actorId: 'ada', chainId: used.chainId, lastUsedAt: 1_900_000_000_500 })
      await late.settled()
      assert.equal((await lastUses())[used.chainId], 1_900_000_060_500)
    })
  })

  async function stored(
    refreshToken: string,
  ): Promise<{ usedAt: number | null; graceAnswers: number; expiresAt: number }> {
    const [row] = await store.read((q) =>
      q.all<{ used_at: number | null; grace_answers: number; expires_at: number }>(
        'SELECT used_at, grace_answers, expires_at FROM token WHERE hash = $1',
        hashSecret(refreshToken),
      ),
    )
    assert.ok(row !== undefined)
    return { usedAt: row.used_at, graceAnswers: row.grace_answers, expiresAt: row.expires_at }
  }
})
