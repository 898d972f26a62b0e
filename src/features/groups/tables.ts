/** The table of members. The permission override of a relationship has the rules of the role. */
import { placedByActor } from '../../table/placement.ts'
import { member } from '../../table/record-kind.ts'
import type { Table } from '../../table/table.ts'
import { membersQuota } from './quotas.ts'

const { text, time } = member

export const memberTable: Table = {
  name: 'group_member',
  place: placedByActor(),
  records: {
    kind: 'member',
    table: 'group_member',
    key: ['peer_id'],
    members: [text('peer_id'), text('role'), time('since'), text('given_by')],
  },
  quotas: [membersQuota],
}
