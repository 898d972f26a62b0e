/** The table of invitations. */
import { placedByActor } from '../../table/placement.ts'
import { mayBeAbsent, member } from '../../table/record-kind.ts'
import type { Table } from '../../table/table.ts'
import { deleteInvitation } from './invitation-store.ts'

const { text, time } = member

const end = (tx: Parameters<typeof deleteInvitation>[0], actorId: string, invitationId: string): Promise<boolean> =>
  deleteInvitation(tx, { actorId, invitationId })

export const invitationTable: Table = {
  name: 'invitation',
  place: placedByActor(),
  records: {
    kind: 'invitation',
    table: 'invitation',
    key: ['invitation_id'],
    members: [
      text('invitation_id'),
      text('code_hash'),
      text('relationship'),
      text('nickname'),
      text('role', mayBeAbsent),
      time('created_at'),
      time('ends_at'),
    ],
    isOfMove: true,
  },
  reader: {
    kind: 'invitation',
    isLink: true,
    sql: `SELECT invitation_id AS id, nickname AS name, '' AS address, relationship, 0 AS rules
    FROM invitation WHERE actor_id = $1 ORDER BY invitation_id LIMIT $2`,
    end,
  },
  credential: { name: 'invitations', rows: 'invitation WHERE created_at > $1', id: 'invitation_id', end },
}
