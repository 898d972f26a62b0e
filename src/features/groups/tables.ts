/** The table of members. The permission override of a relationship has the rules of the role. */
import { findActorKind } from '../../actor/actor-store.ts'
import { insertRows } from '../../archive/record-rows.ts'
import { canonical } from '../../json/canonical.ts'
import { placedByActor } from '../../table/placement.ts'
import { member, type RecordKind, type RecordRow } from '../../table/record-kind.ts'
import type { Table } from '../../table/table.ts'
import type { Transaction } from '../../store/store.ts'
import { findOverride, putOverride } from '../../trust/override-store.ts'
import { findRoleRules, nameOfRole } from './member-store.ts'
import { membersQuota } from './quotas.ts'

const { text, time } = member

const records: RecordKind = {
  kind: 'member',
  table: 'group_member',
  key: ['peer_id'],
  members: [text('peer_id'), text('role'), time('since'), text('given_by')],
  insert: insertMembers,
}

/** The rights in an archive may be those of an earlier declaration of the role. The members get those of the last start. */
async function insertMembers(tx: Transaction, actorId: string, rows: readonly RecordRow[]): Promise<void> {
  await insertRows(tx, records, actorId, rows)
  const declared = (await findRoleRules(tx)) ?? {}
  const kind = await findActorKind(tx, actorId)
  for (const row of rows) {
    const peerId = String(row['peer_id'])
    const rules = declared[nameOfRole(kind, String(row['role']))] ?? {}
    const before = await findOverride(tx, actorId, peerId)
    if (before === null || canonical(before.rules) !== canonical(rules))
      await putOverride(tx, actorId, peerId, {
        rules,
        createdBy: String(row['given_by']),
        notes: '',
        updatedAt: Number(row['since']),
      })
  }
}

export const memberTable: Table = {
  name: 'group_member',
  place: placedByActor(),
  records,
  quotas: [membersQuota],
}
