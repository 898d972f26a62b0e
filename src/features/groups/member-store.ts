/** The SQL of members. */
import type { OverrideRules } from '../../permission/rules.ts'
import type { Queries, Transaction } from '../../store/store.ts'

/** A member as it is stored. */
export interface StoredMember {
  readonly peerId: string
  readonly role: string
  /** Unix milliseconds. */
  readonly since: number
  readonly givenBy: string
}

/** A member with facts of its relationship. */
export interface ShownMember extends StoredMember {
  readonly baseuri: string
  readonly nickname: string
}

const columns = 'm.peer_id AS "peerId", m.role, m.since, m.given_by AS "givenBy"'

/** Returns the members by id. */
export function findMembers(q: Queries, groupId: string): Promise<ShownMember[]> {
  return q.all<ShownMember>(
    `SELECT ${columns}, t.baseuri, t.nickname FROM group_member m
     JOIN trust t ON t.actor_id = m.actor_id AND t.peer_id = m.peer_id
     WHERE m.actor_id = $1 ORDER BY m.peer_id`,
    groupId,
  )
}

export async function findMember(q: Queries, groupId: string, peerId: string): Promise<ShownMember | null> {
  const found = await q.get<ShownMember>(
    `SELECT ${columns}, t.baseuri, t.nickname FROM group_member m
     JOIN trust t ON t.actor_id = m.actor_id AND t.peer_id = m.peer_id
     WHERE m.actor_id = $1 AND m.peer_id = $2`,
    groupId,
    peerId,
  )
  return found ?? null
}

export async function putMember(tx: Transaction, groupId: string, member: StoredMember): Promise<void> {
  await tx.run(
    `INSERT INTO group_member (actor_id, peer_id, role, since, given_by) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (actor_id, peer_id) DO UPDATE SET role = excluded.role, since = excluded.since,
       given_by = excluded.given_by`,
    groupId,
    member.peerId,
    member.role,
    member.since,
    member.givenBy,
  )
}

export async function findRole(q: Queries, groupId: string, peerId: string): Promise<string | null> {
  const found = await q.get<{ role: string }>(
    'SELECT role FROM group_member WHERE actor_id = $1 AND peer_id = $2',
    groupId,
    peerId,
  )
  return found?.role ?? null
}

/** Whether another member has one of these roles. */
export async function hasOther(
  q: Queries,
  groupId: string,
  peerId: string,
  roles: readonly string[],
): Promise<boolean> {
  const found = await q.get<{ found: number }>(
    `SELECT 1 AS found FROM group_member WHERE actor_id = $1 AND peer_id <> $2
       AND role IN (SELECT name FROM rows($3, name TEXT) AS wanted) LIMIT 1`,
    groupId,
    peerId,
    JSON.stringify(roles.map((role) => [role])),
  )
  return found !== undefined
}

/** The rules of roles, by the kind, a slash and the role. */
export type RoleRules = Readonly<Record<string, OverrideRules>>

export function nameOfRole(kind: string, role: string): string {
  return `${kind}/${role}`
}

const setting = 'group_roles'

/** Returns the rules that the members received last. Null: a database without groups. */
export async function findRoleRules(q: Queries): Promise<RoleRules | null> {
  const row = await q.get<{ value: string }>('/* groups */ SELECT value FROM setting WHERE name = $1', setting)
  return row === undefined ? null : (JSON.parse(row.value) as RoleRules)
}

export async function putRoleRules(tx: Transaction, rules: RoleRules): Promise<void> {
  await tx.run(
    '/* groups */ INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    setting,
    JSON.stringify(rules),
  )
}

/** Returns the ids of the next groups that have members with one of these roles. */
export async function findGroupsWith(q: Queries, roles: readonly string[], after: string): Promise<readonly string[]> {
  const rows = await q.all<{ actorId: string }>(
    `/* groups */ SELECT DISTINCT actor_id AS "actorId" FROM group_member
     WHERE role IN (SELECT name FROM rows($1, name TEXT) AS wanted) AND actor_id > $2 ORDER BY actor_id LIMIT 200`,
    JSON.stringify(roles.map((role) => [role])),
    after,
  )
  return rows.map(({ actorId }) => actorId)
}
