/**
 * The statements that name no server of a sharded database, each with its reason. A statement that names none asks all servers.
 * The entries are beginnings of statements, or patterns.
 */
import { placements } from './placements.ts'

export interface Exceptions {
  readonly reason: string
  readonly statements: readonly (string | RegExp)[]
}

export const unplacedStatements: readonly Exceptions[] = [
  {
    reason: 'a command of the operator that refuses a sharded database, or asks all servers once',
    statements: [
      '/* address */',
      '/* kinds */',
      '/* backup */',
      '/* restore */',
      '/* revoke */',
      'SELECT name FROM setting UNION ALL SELECT id FROM actor LIMIT',
      'SELECT id FROM actor WHERE id > $ ORDER BY id LIMIT',
      '/* files */ SELECT actor_id AS "actorId", name, object, size, hash FROM file',
      '/* files */ SELECT object FROM file_object WHERE object',
    ],
  },
  {
    reason: 'counts one actor on a plain database; a sharded one gets a statement for each table',
    statements: [
      'SELECT (SELECT COUNT(*) AS used FROM',
      'SELECT used_bytes AS q0',
      'SELECT COUNT(*) AS used FROM oauth_client WHERE actor_id',
      'SELECT t.actor_id AS "actorId", t.peer_id AS "peerId", t.established_via AS "establishedVia", t.description, t.facts, a.data AS profile',
    ],
  },
  {
    reason: 'runs on a plain database only; the sharded form is beside it',
    statements: [
      'INSERT INTO actor (id, creator, passphrase, trustee_root, created_at, guarded_until, kind) SELECT',
      'INSERT INTO creator (name, actor_id, created_at) SELECT made.name',
      'DELETE FROM property_lookup WHERE actor_id',
      'INSERT INTO property_lookup (name, value, actor_id) SELECT entry.name, entry.value, $',
      // The forms of store/by-key.ts for several keys or actors. A sharded database gets an array, or one statement for each.
      /IN \(SELECT key FROM rows\(\$, key TEXT\) AS named\)/,
      '/* audit log */ INSERT INTO activity',
      '/* removed lists */ SELECT actor_id AS "actorId", list, next_item',
      '/* removed lists */ SELECT list FROM removed_list WHERE true LIMIT',
      /^INSERT INTO missed_deletion .* FROM rows\(\$, actor TEXT/,
      /^DELETE FROM (?:diff|delivery|delivery_run) WHERE \(actor_id, peer_id, subscription_id, sequence\) IN/,
      'SELECT c.actor_id AS "actorId", c.chain_id AS "chainId"',
      '/* audit log */ DELETE FROM activity WHERE (actor_id',
      '/* delivery */ INSERT INTO delivery_run',
      '/* delivery */ SELECT queue.place',
      '/* delivery */ SELECT t.actor_id AS "actorId", t.peer_id AS "peerId", t.failures',
      '/* delivery */ UPDATE delivery SET attempts = attempts + 1',
      "/* delivery */ UPDATE delivery SET outcome = 'superseded'",
      '/* delivery */ UPDATE publisher_subscription SET committed = CASE WHEN committed < r.done',
      '/* delivery */ UPDATE publisher_subscription SET due_at = $ FROM rows',
      '/* delivery */ UPDATE publisher_subscription SET leased_until = 0',
      '/* delivery */ UPDATE trust SET failures = r.fails',
      '/* delivery */ WITH queue AS MATERIALIZED',
      '/* expiry */ SELECT actor_id AS "actorId", peer_id',
      'INSERT INTO creator (name, actor_id, created_at) SELECT r.name',
      /^INSERT INTO notice \(.*\) SELECT added\.id/,
      'INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at) SELECT queue.actor_id',
      'SELECT o.actor_id AS "actorId", o.peer_id AS "peerId", o.rules',
      'UPDATE publisher_subscription SET sequence = made.sequence',
      'SELECT t.expires_at',
      'SELECT trust_type, COUNT(*)',
      '/* history */ DELETE FROM history WHERE (actor_id',
      'DELETE FROM one_time WHERE hash IN',
      'DELETE FROM token WHERE hash IN',
      'DELETE FROM token_chain WHERE (actor_id, chain_id) IN',
    ],
  },
  {
    reason: 'finds due work of all actors in the background',
    statements: [
      '/* files */ SELECT (SELECT MIN(due_at)',
      '/* files */ SELECT actor_id AS "actorId", MIN(due_at) AS next',
      '/* files */ UPDATE file_object SET state',
      '/* files */ DELETE FROM file_object WHERE (actor_id',
      '/* files */ UPDATE file_object SET due_at = $ WHERE (actor_id',
      '/* jobs */ DELETE FROM job_entry WHERE (actor_id',
      '/* jobs */ UPDATE job_entry SET data = CASE',
      '/* jobs */ UPDATE job SET due_at = $, lease = $',
      '/* jobs */ UPDATE job SET due_at = $ FROM rows',
      '/* jobs */ DELETE FROM job WHERE (actor_id',
      '/* jobs */ UPDATE job SET done = r.finished',
      '/* jobs */ SELECT (SELECT MIN(due_at)',
      '/* jobs */ SELECT actor_id AS "actorId"',
      '/* jobs */ SELECT kind, CAST(SUM(due)',
      '/* removed lists */ SELECT DISTINCT',
      '/* delivery */ SELECT (SELECT MIN(due_at)',
      '/* delivery */ UPDATE publisher_subscription SET due_at = $ WHERE due_at >',
      '/* delivery */ UPDATE notice SET due_at = $ WHERE due_at >',
      '/* delivery */ SELECT actor AS "actorId"',
      '/* delivery */ SELECT COUNT(*) AS queues',
      '/* changes */ SELECT (SELECT MIN(due_at)',
      '/* changes */ SELECT actor_id AS "actorId", MIN(due_at) AS next',
      '/* delivery */ UPDATE notice SET due_at = $, leased_until',
      '/* delivery */ UPDATE publisher_subscription SET due_at = $, leased_until',
      '/* receiving */ UPDATE subscriber_subscription SET gap_due_at = $, leased_until',
      '/* receiving */ SELECT (SELECT MIN(gap_due_at)',
      '/* receiving */ UPDATE subscriber_subscription SET gap_due_at = $ WHERE gap_due_at >',
      '/* receiving */ SELECT actor_id AS "actorId", MAX(COALESCE(gap_due_at',
      '/* expiry */ SELECT (SELECT MIN(due_at)',
      '/* expiry */ SELECT actor_id AS "actorId", MIN(due_at) AS next',
    ],
  },
  {
    reason: 'deletes expired rows in the background or in batches',
    statements: [
      'DELETE FROM approval WHERE expires_at',
      'DELETE FROM idempotent_request WHERE created_at',
      'DELETE FROM mcp_session WHERE expires_at',
      'DELETE FROM mcp_task WHERE expires_at',
      'DELETE FROM deleted_actor WHERE deleted_at',
      'INSERT INTO former_actor (actor_id) SELECT id FROM deleted_actor',
      '/* audit log */ DELETE FROM activity WHERE at <',
      'SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client WHERE expires_at',
      'SELECT id FROM deleted_actor WHERE deleted_at',
      '/* history */ DELETE FROM history WHERE at <',
      '/* jobs */ DELETE FROM job_entry WHERE created_at',
      '/* mail */ DELETE FROM mail WHERE created_at',
      '/* mail */ SELECT actor_id AS "actorId", subject FROM mail_note',
      '/* mail */ SELECT MIN(created_at) AS oldest FROM mail',
      "/* jobs */ DELETE FROM job WHERE kind = 'alarm'",
      'DELETE FROM recent_change WHERE at',
      '/* delivery */ DELETE FROM notice WHERE due_at IS NULL',
      '/* moves */ SELECT actor_id AS "actorId", token_hash AS "tokenHash" FROM arrival WHERE state',
      '/* moves */ SELECT actor_id AS "actorId", token_hash AS "tokenHash", created_at AS "createdAt" FROM arrival WHERE state',
      "/* moves */ DELETE FROM departure WHERE state <> 'moved'",
      "/* moves */ DELETE FROM arrival WHERE state = 'here'",
      '/* delivery */ SELECT actor_id AS "actorId", peer_id AS "peerId", subscription_id AS "subscriptionId", MAX',
      '/* delivery */ DELETE FROM delivery WHERE written_at',
      '/* delivery */ DELETE FROM delivery_run WHERE ended_at',
      'DELETE FROM rate_limit WHERE key IN',
      'SELECT hash FROM one_time WHERE expires_at',
      'SELECT hash, actor_id AS "actorId"',
      'SELECT 1 AS found FROM token WHERE actor_id',
    ],
  },
  {
    reason: 'runs when the service starts with other settings',
    statements: [
      '/* rights */',
      '/* groups */',
      'DELETE FROM property_lookup WHERE name NOT IN',
      'SELECT property.actor_id, property.name',
      'DELETE FROM actor_lookup',
      'INSERT INTO actor_lookup',
      'INSERT INTO property_lookup',
    ],
  },
  {
    reason: 'runs in a command or for a page of an operator',
    statements: [
      "/* delivery */ UPDATE delivery SET outcome = 'delivered' WHERE outcome = 'waiting' AND sequence <=",
      "/* delivery */ UPDATE delivery SET outcome = 'waiting' WHERE outcome = 'failed' AND EXISTS",
      "/* delivery */ UPDATE publisher_subscription SET state = 'live', attempts = 0",
      'SELECT count(*) AS actors',
      '/* jobs */ UPDATE job_entry SET outcome',
      "/* jobs */ UPDATE job SET state = 'live'",
      '/* schedules */ UPDATE schedule SET due_at = $, scheduled_at',
      'SELECT id, creator, created_at',
      'SELECT actor_id AS id, name AS creator',
      '/* operator */ SELECT DISTINCT client_id',
      '/* operator */ SELECT client_id AS id, count(*)',
      '/* operator */ SELECT client_id AS id, name',
      '/* operator */ SELECT actor_id AS "actorId", kind',
      '/* operator */ SELECT id, used_bytes AS amount',
      '/* operator */ SELECT actor_id AS id',
      '/* operator */ SELECT MIN(created_at)',
      /^\/\* operator \*\/ SELECT a\.id, a\.creator/,
      'SELECT actor_id, name, value, checksum FROM property',
      'SELECT actor_id, list AS name',
      'SELECT actor_id AS "actorId", name, kind',
    ],
  },
  {
    reason: 'reads a page of all actors for work of the application behind the requests',
    statements: ['SELECT id, creator, created_at'],
  },
  {
    reason: 'concerns all actors of one client, or all clients of one actor, when one of them ends or is listed',
    statements: [
      'SELECT DISTINCT client_id',
      /^SELECT client_id, actor_id, name, .* FROM oauth_client WHERE actor_id = \$/,
      'SELECT client_id AS "clientId", actor_id AS "ownerId" FROM oauth_client WHERE actor_id IN',
      'DELETE FROM token_chain WHERE client_id',
      'DELETE FROM trust WHERE client_id IN',
    ],
  },
  {
    reason: 'deletes rows of a deleted actor behind the response',
    statements: ['DELETE FROM token WHERE actor_id', 'DELETE FROM one_time WHERE actor_id'],
  },
  {
    reason: 'polls all actors that a process watches',
    statements: ['UPDATE actor SET version = CASE WHEN watched_until', 'SELECT c.actor_id, c.number'],
  },
  {
    reason: 'belongs to a test, and fits a statement that the service makes from parts',
    statements: [
      'SELECT (SELECT COUNT(*) FROM publisher_subscription WHERE due_at IS NOT NULL) + (SELECT COUNT(*) FROM notice',
      'SELECT COUNT(*) AS n FROM subscriber_subscription WHERE sequence < 2',
      'SELECT check_at FROM subscriber_subscription WHERE check_at >',
    ],
  },
]

/** The tables that a statement names. */
function tablesOf(sql: string): string[] {
  const found = [...sql.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE) (\w+)/g)].map(([, table = '']) => table)
  return [...new Set(found)].filter((table) => table in placements)
}

/** The distributed tables of a statement, or of its shape, that no parameter of the statement places on one server. */
export function unplacedTables(shape: string): string[] {
  const tables = tablesOf(shape).flatMap((table) => {
    const place = placements[table]
    return place?.kind === 'distributed' ? [{ table, ...place }] : []
  })
  // Tables of one group are joined by their key, so the key of one table places the others.
  const placed = new Set(tables.filter((one) => places(shape, one.table, one.column)).map(({ group }) => group))
  return tables.filter(({ group }) => !placed.has(group)).map(({ table }) => table)
}

function places(shape: string, table: string, column: string): boolean {
  if (new RegExp(`\\b${column} = (?:ANY\\()?\\$`).test(shape)) return true
  return new RegExp(
    `\\bINSERT INTO ${table} (?:AS \\w+ )?\\((?:[^)]*\\b${column}\\b[^)]*\\) VALUES|${column}\\b[^)]*\\) SELECT \\$\\d*,)`,
  ).test(shape)
}
