/** Every table has a place on a sharded database, and every statement names the server that it needs, or has a reason. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { readMigrations } from '../../src/store/migrate.ts'
import { placements } from '../../src/store/placement.ts'
import { planScale, staysInGroup } from '../../src/store/postgres/scale.ts'
import { readSchema } from '../../src/store/schema-text.ts'
import { sourceStatements, unplacedTables } from '../support/statements.ts'

const tables = readSchema(readMigrations())

/** Foreign keys that `troupe scale init` removes. Each row says how its rows end on a sharded database. */
const removedKeys: Readonly<Record<string, string>> = {
  'property_lookup → actor': 'deleted by value, from actor_lookup (actor/remote-rows.ts)',
  'identity → account': 'deleted by name, from the account (actor/remote-rows.ts)',
  'password_access → actor': 'deleted by name, from the creator (actor/remote-rows.ts)',
  'oauth_client → actor': 'deleted behind the response (authorization-server/deleted-owners.ts)',
  'trust → oauth_client': 'deleted before the client (authorization-server/client-ends.ts)',
  'token → token_chain': 'deleted with the actor; otherwise it stays until it expires, not valid without its chain',
  'one_time → actor': 'deleted behind the response (authorization-server/deleted-owners.ts)',
}

const reasons = {
  plain: 'runs on a plain database only; the sharded form is beside it',
  sweep: 'finds due work of all actors in the background',
  purge: 'deletes expired rows in the background or in batches',
  start: 'runs when the service starts with other settings',
  operator: 'runs in a command or for a page of an operator',
  listing: 'reads a page of all actors for work of the application behind the requests',
  client: 'concerns all actors of one client, or all clients of one actor, when one of them ends or is listed',
  deletion: 'deletes rows of a deleted actor behind the response',
  live: 'polls all actors that a process watches',
  fragment: 'the condition on the actor follows in the same function',
} as const

/** Statements that name no key, by the start of their text. */
const exceptions: readonly (readonly [reason: keyof typeof reasons, file: string, start: string])[] = [
  ['purge', 'actor/actor-store.ts', 'DELETE FROM deleted_actor WHERE deleted_at'],
  [
    'plain',
    'actor/actor-store.ts',
    'INSERT INTO actor (id, creator, passphrase, trustee_root, created_at, guarded_until) SELECT',
  ],
  ['plain', 'actor/creator-store.ts', 'INSERT INTO creator (name, actor_id, created_at) SELECT'],
  ['listing', 'actor/actor-store.ts', 'SELECT id, creator, created_at'],
  ['start', 'actor/lookup-rebuild.ts', 'DELETE FROM property_lookup WHERE name NOT IN'],
  ['start', 'actor/lookup-rebuild.ts', 'SELECT property.actor_id, property.name'],
  ['start', 'actor/lookup-rebuild.ts', 'DELETE FROM actor_lookup'],
  ['start', 'actor/lookup-rebuild.ts', 'INSERT INTO actor_lookup'],
  ['start', 'actor/lookup-rebuild.ts', 'INSERT INTO property_lookup'],
  ['plain', 'actor/lookup.ts', 'DELETE FROM property_lookup WHERE actor_id'],
  ['plain', 'actor/lookup.ts', 'INSERT INTO property_lookup (name, value, actor_id) SELECT'],
  ['purge', 'audit-log/audit-log-store.ts', '/* audit log */ DELETE FROM activity WHERE at <'],
  ['plain', 'authorization-server/access-store.ts', 'SELECT t.expires_at'],
  ['client', 'authorization-server/client-store.ts', 'SELECT client_id, actor_id, name'],
  ['plain', 'authorization-server/client-store.ts', 'SELECT trust_type, COUNT(*)'],
  ['client', 'authorization-server/client-store.ts', 'SELECT DISTINCT client_id'],
  [
    'purge',
    'authorization-server/client-store.ts',
    'SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client WHERE expires_at',
  ],
  [
    'client',
    'authorization-server/client-store.ts',
    'SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client WHERE actor_id IN',
  ],
  ['deletion', 'token/token-store.ts', 'DELETE FROM token WHERE actor_id'],
  ['deletion', 'token/one-time-store.ts', 'DELETE FROM one_time WHERE actor_id'],
  ['purge', 'actor/actor-store.ts', 'SELECT id FROM deleted_actor WHERE deleted_at'],
  ['operator', 'cli/doctor.ts', 'SELECT count(*) AS actors'],
  ['sweep', 'file/file-store.ts', '/* files */ SELECT (SELECT MIN(due_at)'],
  ['sweep', 'file/file-store.ts', '/* files */ SELECT actor_id AS "actorId", MAX(due_at)'],
  ['sweep', 'file/file-store.ts', '/* files */ UPDATE file_object SET due_at = $2 WHERE due_at >'],
  ['sweep', 'file/file-store.ts', '/* files */ UPDATE file_object SET state'],
  ['sweep', 'file/file-store.ts', '/* files */ DELETE FROM file_object WHERE (actor_id'],
  ['sweep', 'file/file-store.ts', '/* files */ UPDATE file_object SET due_at = $2 WHERE (actor_id'],
  [
    'plain',
    'history/history-store.ts',
    'INSERT INTO history (actor_id, seq, at, name, kind, operation, existed, content, characters, version, checksum, caller_kind, caller, request, origin) ${select}',
  ],
  ['purge', 'history/history-store.ts', '/* history */ DELETE FROM history WHERE at <'],
  ['plain', 'history/history-store.ts', '/* history */ DELETE FROM history WHERE (actor_id'],
  ['sweep', 'job/entry-store.ts', '/* jobs */ DELETE FROM job_entry WHERE (actor_id'],
  ['sweep', 'job/entry-store.ts', '/* jobs */ UPDATE job_entry SET data = CASE'],
  ['purge', 'job/entry-store.ts', '/* jobs */ DELETE FROM job_entry WHERE created_at'],
  ['sweep', 'job/job-store.ts', '/* jobs */ UPDATE job SET due_at = $2, lease = $3'],
  ['sweep', 'job/job-store.ts', '/* jobs */ UPDATE job SET due_at = $2 FROM rows'],
  ['sweep', 'job/job-store.ts', '/* jobs */ DELETE FROM job WHERE (actor_id'],
  ['sweep', 'job/job-store.ts', '/* jobs */ UPDATE job SET done = r.finished'],
  ['sweep', 'job/job-store.ts', '/* jobs */ SELECT (SELECT MIN(due_at)'],
  ['sweep', 'job/job-store.ts', '/* jobs */ SELECT actor_id AS "actorId"'],
  ['sweep', 'job/job-store.ts', '/* jobs */ UPDATE job SET due_at = $3 WHERE kind'],
  ['sweep', 'job/job-store.ts', '/* jobs */ SELECT kind, CAST(SUM(due)'],
  ['purge', 'job/job-store.ts', "/* jobs */ DELETE FROM job WHERE kind = 'alarm'"],
  ['operator', 'job/redrive-store.ts', '/* jobs */ UPDATE job_entry SET outcome'],
  ['operator', 'job/redrive-store.ts', "/* jobs */ UPDATE job SET state = 'live'"],
  ['operator', 'job/schedule-store.ts', '/* schedules */ UPDATE schedule SET due_at = $1, scheduled_at'],
  ['operator', 'operator/actor-list.ts', 'SELECT id, creator, created_at'],
  ['operator', 'operator/actor-list.ts', 'SELECT actor_id AS id, name AS creator'],
  ['operator', 'operator/app-list.ts', '/* operator */ SELECT DISTINCT client_id'],
  ['operator', 'operator/app-list.ts', '/* operator */ SELECT client_id AS id, count(*)'],
  ['operator', 'operator/app-list.ts', '/* operator */ SELECT client_id AS id, name'],
  ['operator', 'operator/delivery-list.ts', 'SELECT publisher_subscription.actor_id'],
  ['operator', 'operator/delivery-list.ts', '/* operator */ SELECT actor_id AS "actorId", kind'],
  ['sweep', 'list/removed-lists.ts', '/* removed lists */ SELECT DISTINCT'],
  ['live', 'live/change-store.ts', 'UPDATE actor SET version = CASE WHEN watched_until'],
  ['live', 'live/change-store.ts', 'SELECT c.actor_id, c.number'],
  ['purge', 'live/change-store.ts', 'DELETE FROM recent_change WHERE at'],
  ['fragment', 'outbox/notice-store.ts', 'INSERT INTO notice (id'],
  ['purge', 'outbox/notice-store.ts', '/* delivery */ DELETE FROM notice WHERE due_at IS NULL'],
  ['operator', 'outbox/notice-store.ts', '/* delivery */ UPDATE notice SET due_at = $1, created_at = $1'],
  ['operator', 'property/maintenance/damaged-values.ts', 'SELECT actor_id, name, value, checksum FROM property'],
  ['operator', 'property/maintenance/damaged-values.ts', 'SELECT actor_id, list AS name'],
  ['operator', 'property/property-store.ts', 'SELECT actor_id AS "actorId", name, kind'],
  ['fragment', 'publication/diff-store.ts', 'DELETE FROM diff ${upToThat}'],
  [
    'fragment',
    'publication/diff-store.ts',
    'UPDATE delivery SET acknowledged_at = COALESCE(acknowledged_at, $5), outcome',
  ],
  ['sweep', 'publication/queue-store.ts', '/* delivery */ SELECT (SELECT MIN(due_at)'],
  [
    'sweep',
    'publication/queue-store.ts',
    '/* delivery */ UPDATE publisher_subscription SET due_at = $2 WHERE due_at >',
  ],
  ['sweep', 'publication/queue-store.ts', '/* delivery */ UPDATE notice SET due_at = $2 WHERE due_at >'],
  ['sweep', 'publication/queue-store.ts', '/* delivery */ SELECT actor AS "actorId"'],
  ['fragment', 'publication/queue-store.ts', '/* delivery */ INSERT INTO delivery_run'],
  [
    'purge',
    'moving/arrival-store.ts',
    '/* moves */ SELECT actor_id AS "actorId" FROM arrival WHERE state = \'announced\'',
  ],
  ['purge', 'moving/departure-store.ts', '/* moves */ DELETE FROM departure WHERE ends_at'],
  ['purge', 'moving/departure-store.ts', "/* moves */ DELETE FROM departure WHERE state <> 'moved'"],
  ['purge', 'moving/departure-store.ts', "/* moves */ DELETE FROM arrival WHERE state = 'here'"],
  ['operator', 'publication/queue-store.ts', "/* delivery */ UPDATE delivery SET outcome = 'delivered'"],
  ['operator', 'publication/queue-store.ts', "/* delivery */ UPDATE delivery SET outcome = 'waiting'"],
  ['operator', 'publication/queue-store.ts', "/* delivery */ UPDATE publisher_subscription SET state = 'live'"],
  ['operator', 'publication/queue-store.ts', '/* delivery */ UPDATE trust SET open_until = $${ofPeer'],
  ['sweep', 'publication/queue-store.ts', '/* delivery */ SELECT COUNT(*) AS queues'],
  [
    'purge',
    'publication/queue-store.ts',
    '/* delivery */ SELECT actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId", MAX',
  ],
  ['purge', 'publication/queue-store.ts', '/* delivery */ DELETE FROM delivery WHERE written_at'],
  ['purge', 'publication/queue-store.ts', '/* delivery */ DELETE FROM delivery_run WHERE ended_at'],
  ['sweep', 'publication/waiting-store.ts', '/* changes */ SELECT (SELECT MIN(due_at)'],
  ['sweep', 'publication/waiting-store.ts', '/* changes */ SELECT actor_id AS "actorId", MAX(due_at)'],
  ['sweep', 'publication/waiting-store.ts', '/* changes */ UPDATE waiting_change SET due_at = $2 WHERE due_at >'],
  ['purge', 'rate-limit/limit-store.ts', 'DELETE FROM rate_limit WHERE key IN'],
  ['sweep', 'replica/subscriber-store.ts', '/* receiving */ SELECT (SELECT MIN(gap_due_at)'],
  [
    'sweep',
    'replica/subscriber-store.ts',
    '/* receiving */ UPDATE subscriber_subscription SET gap_due_at = $2 WHERE gap_due_at >',
  ],
  ['sweep', 'replica/subscriber-store.ts', '/* receiving */ SELECT actor_id AS "actorId", MAX(gap_due_at)'],
  ['fragment', 'sign-in/account-store.ts', 'SELECT account.actor_id AS "actorId", actor.creator'],
  ['fragment', 'sign-in/account-store.ts', 'INSERT INTO creator (name, actor_id, created_at) SELECT'],
  ['purge', 'token/one-time-store.ts', 'SELECT hash FROM one_time WHERE expires_at'],
  ['plain', 'token/one-time-store.ts', 'DELETE FROM one_time WHERE hash IN'],
  ['plain', 'token/token-store.ts', 'SELECT c.actor_id AS "actorId", c.chain_id AS "chainId"'],
  ['client', 'token/token-store.ts', 'DELETE FROM token_chain WHERE client_id'],
  ['plain', 'token/token-store.ts', 'DELETE FROM token WHERE hash IN'],
  ['plain', 'token/token-store.ts', 'DELETE FROM token_chain WHERE (actor_id, chain_id) IN'],
  ['purge', 'token/token-store.ts', 'SELECT hash, actor_id AS "actorId"'],
  ['purge', 'token/token-store.ts', 'SELECT 1 AS found FROM token WHERE actor_id'],
  ['client', 'trust/trust-store.ts', 'DELETE FROM trust WHERE client_id IN'],
  ['sweep', 'trust/expiry-store.ts', '/* expiry */ SELECT (SELECT MIN(due_at)'],
  ['sweep', 'trust/expiry-store.ts', '/* expiry */ SELECT actor_id AS "actorId", MAX(due_at)'],
]

describe('the tables of a sharded database', () => {
  it('have a place each', () => {
    assert.deepEqual(
      Object.keys(placements).toSorted(),
      [...tables.map(({ name }) => name), 'schema_migrations'].toSorted(),
    )
  })

  it('are all placed by troupe scale init', async () => {
    const client = {
      database: 'notes',
      escapeIdentifier: (name: string) => name,
      escapeLiteral: (text: string) => text,
      // A database with the extension, whose tables are on one server.
      query: async (sql: string) => ({ rows: [], rowCount: sql.includes('pg_extension') ? 1 : 0 }),
    } as unknown as pg.Client
    const steps = await planScale(client, { migrations: readMigrations(), schema: 'troupe', shards: 4 })
    const placed = steps.flatMap(({ title }) => /^(?:Distribute|Copy) (\w+) (?:by|to) /.exec(title)?.[1] ?? [])
    assert.deepEqual(placed.toSorted(), Object.keys(placements).toSorted())
  })

  for (const { name, columns, primaryKey, uniqueIndexes } of tables) {
    it(`contain the column of their place in each key: ${name}`, () => {
      const place = placements[name]
      if (place?.kind !== 'distributed') return
      assert.ok(columns.includes(place.column))
      assert.ok(primaryKey.includes(place.column), `the primary key is ${primaryKey.join(', ')}`)
      for (const index of uniqueIndexes)
        assert.ok(index.includes(place.column), `a unique index is ${index.join(', ')}`)
    })
  }

  it('have foreign keys within one place, besides seven that troupe scale init removes', () => {
    const crossing = tables.flatMap(({ name, foreignKeys }) =>
      foreignKeys.filter((key) => !staysInGroup(name, key)).map((key) => `${name} → ${key.table}`),
    )
    assert.deepEqual(crossing.toSorted(), Object.keys(removedKeys).toSorted())
  })
})

describe('the statements of src', () => {
  it('name the key of one server, besides the listed ones', async () => {
    const statements = await sourceStatements()
    assert.ok(statements.length > 300, `found only ${statements.length} statements`)
    const isListed = (file: string, text: string): boolean =>
      exceptions.some(([, listed, start]) => listed === file && text.startsWith(start))
    const others = statements.filter(({ file, text }) => unplacedTables(text).length > 0 && !isListed(file, text))
    assert.deepEqual(
      others.map(({ file, text }) => `${file}: ${text.slice(0, 120)}`),
      [],
    )
  })

  it('are listed only while they exist and name no key', async () => {
    const statements = (await sourceStatements()).filter(({ text }) => unplacedTables(text).length > 0)
    const unused = exceptions.filter(
      ([, file, start]) => !statements.some((one) => one.file === file && one.text.startsWith(start)),
    )
    assert.deepEqual(unused, [])
    assert.deepEqual([...new Set(exceptions.map(([reason]) => reason))].toSorted(), Object.keys(reasons).toSorted())
  })

  for (const [sql, unplaced] of [
    ['SELECT name FROM property WHERE actor_id = $1', []],
    ['SELECT name FROM property WHERE name = $1', ['property']],
    ['SELECT p.name FROM property p JOIN trust t ON t.actor_id = p.actor_id WHERE t.actor_id = $1', []],
    ['SELECT t.hash FROM token t JOIN token_chain c ON c.chain_id = t.chain_id WHERE t.hash = $1', ['token_chain']],
    ['INSERT INTO property (actor_id, name) VALUES ($1, $2)', []],
    ['INSERT INTO property (actor_id, name) SELECT $1, r.name FROM rows($2, name TEXT) AS r', []],
    [
      'INSERT INTO property (actor_id, name) SELECT r.actor, r.name FROM rows($1, actor TEXT, name TEXT) AS r',
      ['property'],
    ],
    ['UPDATE notice SET due_at = $1 WHERE sender = $2', []],
    ['SELECT client_id FROM oauth_client WHERE client_id = ANY($1::text[])', []],
    ["SELECT client_id FROM oauth_client WHERE ${named('client_id')}", []],
    ["SELECT b.key FROM rate_limit AS b WHERE ${named('b.key')}", []],
    ["SELECT client_id FROM token_chain WHERE ${named('client_id')}", ['token_chain']],
    ['DELETE FROM notice WHERE id = $1', ['notice']],
    ['SELECT value FROM setting WHERE name = $1', []],
  ] as const) {
    it(`are judged by their keys: ${sql}`, () => {
      assert.deepEqual(unplacedTables(sql), unplaced)
    })
  }
})
