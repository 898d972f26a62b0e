import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createLog } from '../../src/observe/log.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Store } from '../../src/store/store.ts'
import type { ClientGrant, IssuedTokens } from '../../src/token/chain.ts'
import { countGraceAnswer, markUsed } from '../../src/token/token-store.ts'
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
    it('R-TOK-01 begins a chain with an access token of an hour and a refresh token of two weeks', async () => {
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

    it('R-TOK-01 its access token opens until its last millisecond, its refresh token as long', async () => {
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

    it('R-TOK-08 SEC-01 is kept without any of its tokens', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      const dump = JSON.stringify(await dumpStore(store))
      for (const secret of [issued.accessToken, issued.refreshToken, next.accessToken, next.refreshToken]) {
        assert.ok(!dump.includes(secret))
        assert.ok(dump.includes(hashSecret(secret)))
      }
    })

    it('ORF-09 its refresh token opens nothing, and its access token refreshes nothing', async () => {
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

  describe('the mark of a use', () => {
    it('ORF-01 ORF-02 of a refresh token is made once, and in its last moment for the last time', async () => {
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

    it('ORF-03 counts an answer within the grace window once, and none before the first use', async () => {
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
    it('ORF-01 R-TOK-01 gives two new tokens of the same chain and marks the old refresh token used', async () => {
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

    it('ORF-03 R-TOK-02 is repeated in full within 60 s of the first use, its last moment included', async () => {
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

    it('ORF-03 is repeated at most 100 times for one token, and the 101st revokes nothing', async () => {
      const issued = await begin()
      const first = await refreshed(issued)
      for (let n = 0; n < 100; n++) await refreshed(issued)
      const before = await dumpStore(store)
      await refuses(issued.refreshToken)
      assert.deepEqual(await dumpStore(store), before)
      assert.equal(await lives(first), true)
      assert.equal(await lives(await refreshed(first)), true)
    })

    it('ORF-04 R-TOK-03 of a used token after 60 s ends its chain, access tokens included, and no other', async () => {
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

    it('ORF-04 R-TOK-03 of a used token still ends its chain at the end of the second day', async () => {
      const issued = await begin()
      let next = await refreshed(issued)
      clock.pass(2 * day)
      next = await refreshed(next)
      await refuses(issued.refreshToken)
      assert.equal(await lives(next), false)
    })

    it('ORF-05 R-TOK-04 of a used token after two days is refused like an expired one and revokes nothing', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      clock.pass(2 * day + 1)
      const before = await dumpStore(store)
      await refuses(issued.refreshToken)
      assert.deepEqual(await dumpStore(store), before)
      assert.equal(await lives(await refreshed(next)), true)
    })

    it('ORF-05 R-TOK-05 of a used token that came without a family revokes that token alone', async () => {
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

    it('ORF-05 R-TOK-05 of a token that came without a family follows the other rules: once, expired, two days', async () => {
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

    it('ORF-09 R-TOK-05 of a token that came without a family opens nothing, whatever it looks like', async () => {
      const legacy = makeToken('session', 'access')
      await store.write((tx) => tokens.adopt(tx, 'ada', legacy, clock.now() + day))
      assert.equal(await tokens.validate(legacy), null)
      assert.notEqual(await tokens.refresh(legacy, session), null)
    })

    it('ORF-06 judges an old token after a restart as it would have before', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      clock.pass(minute)
      const again = await over(store).refresh(issued.refreshToken, session)
      assert.equal(again?.chainId, issued.chainId)
      clock.pass(1)
      assert.equal(await over(store).refresh(issued.refreshToken, session), null)
      assert.equal(await lives(next), false)
    })

    it('ORF-10 never outlives the 90 days of its chain, neither with the access token nor with the refresh token', async () => {
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

    it('ORF-08 of a token of a client counts for that client alone, and is neither spent nor revoked by others', async () => {
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

    it('ORF-15 I2 that the store breaks off at any of its statements leaves the old token as good as it was, and no other', async () => {
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

    it('ORF-15 that ends a chain does so in full or not at all', async () => {
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

    it('ORF-02 R-TOK-02 fifty at once with one token are all answered in one chain, and one of them is the first', async () => {
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

    it('ORF-04 fifty at once with a reused token are all refused and end the chain once', async () => {
      const issued = await begin()
      const next = await refreshed(issued)
      clock.pass(minute + 1)
      const all = await Promise.all(Array.from({ length: 50 }, () => tokens.refresh(issued.refreshToken, session)))
      assert.ok(all.every((one) => one === null))
      assert.equal(await lives(next), false)
      assert.equal(lines.filter((line) => line.includes('"level":"warn"')).length, 1)
    })

    it('ORF-13 I7 beside the end of its chain leaves no token of it alive, whichever comes first', async () => {
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
        assert.deepEqual(await store.read((q) => q.all('SELECT hash FROM token')), [])
      }
    })

    it('ORF-14 beside the deletion of its actor or its relationship leaves nothing of it, and none waits for the other', async () => {
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
        assert.deepEqual(await store.read((q) => q.all('SELECT hash FROM token')), [])
      }
    })
  })

  describe('the end of tokens', () => {
    it('ORF-12 I7 of one chain counts at once for whoever shares the store, and for no other chain', async () => {
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

    it('never reaches the chain of another actor, or a chain of another kind', async () => {
      await addActor('bob')
      const ofBob = await begin('bob')
      const client = await beginClient('mcp_a')
      const before = await dumpStore(store)
      assert.equal(await store.write((tx) => tokens.endChain(tx, 'ada', ofBob.chainId)), false)
      assert.equal(await store.write((tx) => tokens.endChain(tx, 'ada', client.chainId, 'session')), false)
      assert.equal(await store.write((tx) => tokens.endOthers(tx, 'ada', 'none')), 0)
      assert.deepEqual(await dumpStore(store), before)
    })

    it('of all others leaves the session that asks and the clients', async () => {
      const kept = await begin()
      const others = [await begin(), await begin()]
      const client = await beginClient('mcp_a')
      assert.equal(await store.write((tx) => tokens.endOthers(tx, 'ada', kept.chainId)), 2)
      assert.deepEqual(await Promise.all(others.map(lives)), [false, false])
      assert.deepEqual(await Promise.all([kept, client].map(lives)), [true, true])
    })

    it('ORF-14 of an actor, of a relationship and of a client takes everything that rests on it, and nothing else', async () => {
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
    it('names what can still be used, the last used first, with how it began and on which device', async () => {
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
          lastUsedAt: 1_900_000_000_500,
          endsAt: 1_907_776_000_500,
        },
      ])
      assert.deepEqual(
        (await tokens.clientsOf('ada')).map(({ client }) => client),
        [grant('mcp_a')],
      )
      assert.deepEqual(await tokens.sessionsOf('nobody'), [])
      clock.pass(14 * day)
      assert.deepEqual(
        (await tokens.sessionsOf('ada')).map(({ chainId }) => chainId),
        [second.chainId],
      )
      clock.pass(minute + 1)
      assert.deepEqual(await tokens.sessionsOf('ada'), [])
    })

    it('are there until the last moment of their days, and not after it', async () => {
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

    it('ORF-10 name none after the end of its days, even with a token from elsewhere that would live longer', async () => {
      await store.write((tx) => tokens.adopt(tx, 'ada', 'L'.repeat(64), clock.now() + 365 * day))
      clock.pass(90 * day)
      assert.equal((await tokens.sessionsOf('ada')).length, 1)
      clock.pass(1)
      assert.deepEqual(await tokens.sessionsOf('ada'), [])
    })
  })

  describe('the note of a use', () => {
    it('R-TOK-06 is written once a minute for each session, however many requests read the same record', async () => {
      const { statements, onQuery } = counting()
      const counted = await open({ now: clock.now, onQuery })
      const uses = new Uses(counted, createLog('silent'), clock.now)
      const chains = ['one', 'two'].map((chainId) => ({ actorId: 'ada', chainId, lastUsedAt: clock.now() - minute }))
      for (let round = 0; round < 3; round += 1) for (const chain of chains) uses.note(chain)
      await uses.settled()
      assert.equal(statements.filter((sql) => sql.startsWith('UPDATE token_chain')).length, 2)
    })

    it('R-TOK-06 is of the session that was used and of no other, and never goes back', async () => {
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
      // Another process, which read the record before, notes the same minute.
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
