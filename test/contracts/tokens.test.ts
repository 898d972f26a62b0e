import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { createLog } from '../../src/observe/log.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import type { Store } from '../../src/store/store.ts'
import type { ClientGrant, IssuedTokens } from '../../src/token/chain.ts'
import { Tokens } from '../../src/token/tokens.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { dumpStore } from '../support/store-dump.ts'
import { faulty, forEachStore } from '../support/stores.ts'

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
  })
})
