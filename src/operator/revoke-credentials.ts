/**
 * Ends the credentials that were issued or changed after a time. A restore brings back what was revoked after the copy, and an
 * attacker may have made some of it before. Each batch is a transaction, so an interrupted run continues with the next one.
 */
import { lockActor } from '../actor/actor-store.ts'
import { replacePassphrase } from '../actor/passphrases.ts'
import { deleteNoticesOf } from '../outbox/notice-store.ts'
import { Notices } from '../outbox/notices.ts'
import { deletePublisherSubscriptions } from '../publication/publisher-store.ts'
import { forgetPeer } from '../replica/facts-store.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import type { Param, Store, Transaction } from '../store/store.ts'
import {
  deleteOperatorLink,
  findStoredOperators,
  lockStoredOperators,
  storeOperators,
} from '../sign-in/operators/operator-store.ts'
import { lifetimes } from '../token/one-time.ts'
import { deletionNotices, receivesNotices } from '../trust/trust-notifications.ts'
import { deleteTrust, findTrust } from '../trust/trust-store.ts'
import type { Table, WithTables } from '../table/table.ts'

export interface RevokeDeps extends WithTables {
  readonly store: Store
  readonly keyRing: KeyRing
  /** Stops a running move of the actor to another service. */
  readonly stopMove: (tx: Transaction, actorId: string, now: number) => Promise<unknown>
}

/** A row with a credential. */
interface Found {
  readonly actorId: string
  readonly id: string
}

interface Credential {
  /** In the report. */
  readonly name: string
  /** FROM and WHERE of the rows. `$1` is the time. */
  readonly rows: string
  readonly actor: string
  readonly id: string
  /** Ends the credential in the transaction that has locked its actor. The row no longer fits `rows` afterwards. */
  readonly end: (deps: RevokeDeps, tx: Transaction, found: Found) => Promise<unknown>
}

const running =
  (sql: string) =>
  (_deps: RevokeDeps, tx: Transaction, { actorId, id }: Found): Promise<number> =>
    tx.run(sql, actorId, id)

const codeLifetimeMs = lifetimes.recovery_code * 1000

/** Relationships come early, because other rows are deleted with them. */
const credentials: readonly Credential[] = [
  {
    // The running service, or its next start, would send all data with the link that takes the actor.
    name: 'moves to other services',
    rows: `departure WHERE state = 'moving' AND begun_at > $1 AND EXISTS (SELECT 1 FROM actor AS a
      WHERE a.id = departure.actor_id AND a.residence = 'moving')`,
    actor: 'actor_id',
    id: 'url',
    end: ({ store, stopMove }, tx, { actorId }) => stopMove(tx, actorId, store.now()),
  },
  {
    name: 'relationships',
    rows: `trust WHERE baseuri <> '' AND (created_at > $1 OR access_changed_at > $1)`,
    actor: 'actor_id',
    id: 'peer_id',
    end: endRelationship,
  },
  {
    name: 'API keys',
    rows: `trust WHERE established_via = 'api_key' AND (created_at > $1 OR access_changed_at > $1 OR EXISTS (SELECT 1 FROM permission_override AS o
      WHERE o.actor_id = trust.actor_id AND o.peer_id = trust.peer_id AND o.updated_at > $1))`,
    actor: 'actor_id',
    id: 'peer_id',
    end: endRelationship,
  },
  {
    name: 'connected apps',
    rows: `trust WHERE baseuri = '' AND (created_at > $1 OR access_changed_at > $1)`,
    actor: 'actor_id',
    id: 'peer_id',
    end: endRelationship,
  },
  {
    name: 'clients',
    rows: 'oauth_client WHERE created_at > $1',
    actor: 'actor_id',
    id: 'client_id',
    end: running('DELETE FROM oauth_client WHERE actor_id = $1 AND client_id = $2'),
  },
  {
    // Each use may issue new tokens. The one token of an API key stays the same.
    name: 'sessions and tokens of apps',
    rows: `token_chain WHERE created_at > $1 OR authenticated_at > $1 OR (began_with <> 'key' AND last_used_at > $1)`,
    actor: 'actor_id',
    id: 'chain_id',
    end: running('DELETE FROM token_chain WHERE actor_id = $1 AND chain_id = $2'),
  },
  {
    name: 'passkeys',
    rows: 'passkey WHERE created_at > $1',
    actor: 'actor_id',
    id: 'passkey_id',
    end: running('DELETE FROM passkey WHERE actor_id = $1 AND passkey_id = $2'),
  },
  {
    name: 'recovery codes',
    rows: `one_time WHERE purpose = 'recovery_code' AND used_at IS NULL AND expires_at - ${codeLifetimeMs} > $1`,
    actor: `COALESCE(actor_id, '')`,
    id: 'hash',
    end: async (_deps, tx, { actorId, id }) => {
      await tx.run('DELETE FROM recovery_code WHERE actor_id = $1 AND hash = $2', actorId, id)
      await tx.run('DELETE FROM one_time WHERE hash = $1', id)
    },
  },
  {
    // They live for a day at most, and their begin is not stored.
    name: 'open sign-ins, links and codes',
    rows: `one_time WHERE purpose <> 'recovery_code' AND used_at IS NULL AND expires_at > $1`,
    actor: `COALESCE(actor_id, '')`,
    id: 'hash',
    end: (_deps, tx, { id }) => tx.run('DELETE FROM one_time WHERE hash = $1', id),
  },
  {
    // They live for 15 minutes, and the time of the decision is not stored.
    name: 'approvals of calls',
    rows: `approval WHERE state IN ('waiting', 'approved') AND expires_at > $1`,
    actor: 'actor_id',
    id: 'approval_id',
    end: running('DELETE FROM approval WHERE actor_id = $1 AND approval_id = $2'),
  },
  {
    // The owner decides again. Until then, the password stays valid, as before the decision.
    name: 'decisions to keep passwords of programs',
    rows: `password_access WHERE decision = 'kept' AND decided_at > $1`,
    actor: 'actor_id',
    id: 'creator',
    end: running(
      `UPDATE password_access SET decision = 'pending', decided_at = NULL WHERE actor_id = $1 AND creator = $2`,
    ),
  },
  {
    name: 'accounts at other services',
    rows: 'service_connection WHERE connected_at > $1',
    actor: 'actor_id',
    id: 'service',
    end: running('DELETE FROM service_connection WHERE actor_id = $1 AND service = $2'),
  },
]

/** The credentials of the core and of these tables of features. */
function credentialsWith(tables: readonly Table[]): readonly Credential[] {
  return [
    ...credentials,
    ...tables.flatMap(({ credential }) => {
      if (credential === undefined) return []
      const end: Credential['end'] = (_deps, tx, { actorId, id }) => credential.end(tx, actorId, id)
      return [{ ...credential, actor: 'actor_id', end }]
    }),
  ]
}

/**
 * Actors whose passphrase was made after `$1`: with the actor, by its owner, or with its arrival from another service. A changed
 * address of this service makes none.
 */
const newPassphrases = `actor WHERE created_at > $1
  OR EXISTS (SELECT 1 FROM password_access AS p WHERE p.actor_id = actor.id AND p.decision = 'revoked' AND p.decided_at > $1)
  OR EXISTS (SELECT 1 FROM arrival AS a WHERE a.actor_id = actor.id AND a.here_at > $1 AND a.moved_at IS NOT NULL)`

/** Relationships and apps whose approval is older, but whose rights changed after `$1`. They stay. */
const changedRights = `permission_override AS o JOIN trust AS t ON t.actor_id = o.actor_id AND t.peer_id = o.peer_id
  WHERE o.updated_at > $1 AND t.created_at <= $1 AND t.access_changed_at <= $1 AND t.established_via <> 'api_key'`

export interface RevokedCredentials {
  /** The number of ended credentials of each kind. */
  readonly ended: Readonly<Record<string, number>>
  /** Relationships and apps that stay, although their rights changed after the time. */
  readonly rightsChanged: readonly { readonly actor: string; readonly peer: string }[]
}

/** Counts what `revokeCredentials` ends. @param after Unix milliseconds. */
export async function countCredentials(
  { store, tables }: Pick<RevokeDeps, 'store' | 'tables'>,
  after: number,
): Promise<RevokedCredentials> {
  const ended: Record<string, number> = {}
  const count = async (name: string, rows: string): Promise<void> => {
    const found = await store.readAllServers<{ number: number }>(
      `/* revoke */ SELECT COUNT(*) AS number FROM ${rows}`,
      after,
    )
    ended[name] = found.reduce((sum, { number }) => sum + number, 0)
  }
  for (const { name, rows } of credentialsWith(tables)) await count(name, rows)
  await count('passphrases', newPassphrases)
  ended['operators'] = (await store.read(findStoredOperators)).filter(({ addedAt }) => addedAt > after).length
  return { ended, rightsChanged: await rightsChangedAfter(store, after) }
}

function rightsChangedAfter(store: Store, after: number): Promise<{ readonly actor: string; readonly peer: string }[]> {
  return store.readAllServers(
    `/* revoke */ SELECT o.actor_id AS actor, o.peer_id AS peer FROM ${changedRights} ORDER BY o.actor_id, o.peer_id LIMIT 1000`,
    after,
  )
}

const batch = 100

/** @param after Unix milliseconds. */
export async function revokeCredentials(deps: RevokeDeps, after: number): Promise<RevokedCredentials> {
  const { store } = deps
  const rightsChanged = await rightsChangedAfter(store, after)
  const ended: Record<string, number> = {}
  for (const credential of credentialsWith(deps.tables)) {
    let number = 0
    for (let found = await findBatch(store, credential, after); found.length > 0; ) {
      for (const [actorId, rows] of Map.groupBy(found, (row) => row.actorId))
        await store.write(async (tx) => {
          await lockActor(tx, actorId)
          for (const row of rows) await credential.end(deps, tx, row)
        })
      number += found.length
      found = await findBatch(store, credential, after)
    }
    ended[credential.name] = number
  }
  ended['passphrases'] = await replacePassphrases(deps, after)
  ended['operators'] = await removeOperators(store, after)
  return { ended, rightsChanged }
}

function findBatch(store: Store, { rows, actor, id }: Credential, after: number): Promise<Found[]> {
  return store.readAllServers<{ actorId: string; id: string }>(
    `/* revoke */ SELECT ${actor} AS "actorId", ${id} AS id FROM ${rows} LIMIT ${batch}`,
    after,
  )
}

/** The next start prints a link when no operator is left. Its code was read by those who saw the earlier start. */
function removeOperators(store: Store, after: number): Promise<number> {
  return store.write(async (tx) => {
    const stored = await lockStoredOperators(tx)
    const older = stored.filter(({ addedAt }) => addedAt <= after)
    await storeOperators(tx, older)
    await deleteOperatorLink(tx)
    return stored.length - older.length
  })
}

async function replacePassphrases({ store, keyRing }: RevokeDeps, after: number): Promise<number> {
  let number = 0
  let last = ''
  for (;;) {
    const params: Param[] = [after, last]
    const found = await store.readAllServers<{ id: string }>(
      `/* revoke */ SELECT id FROM (SELECT id FROM ${newPassphrases}) AS found WHERE id > $2 ORDER BY id LIMIT ${batch}`,
      ...params,
    )
    for (const { id } of found)
      await store.write(async (tx) => {
        await lockActor(tx, id)
        await replacePassphrase(tx, keyRing, id)
      })
    number += found.length
    const next = found.at(-1)?.id
    if (next === undefined) return number
    last = next
  }
}

/** Ends a relationship as its owner can, and notifies the peer. The running service, or its next start, sends the notice. */
async function endRelationship({ keyRing, store }: RevokeDeps, tx: Transaction, { actorId, id }: Found): Promise<void> {
  const { now } = store
  const trust = await findTrust(tx, actorId, id)
  if (trust === null) return
  const queue = new Notices({ keyRing, now, afterCommit: () => {}, wake: () => {}, firstAttempts: async () => {} })
  if (receivesNotices(trust)) await queue.enqueueAll(tx, await deletionNotices(tx, keyRing, [trust]))
  await deletePublisherSubscriptions(tx, actorId, id)
  await deleteNoticesOf(tx, actorId, id)
  await forgetPeer(tx, actorId, id)
  await deleteTrust(tx, actorId, id)
}
