/** The SQL of the kinds of messages that owners do not want. */
import type { Queries, Transaction } from '../../store/store.ts'
import { placedByActor } from '../../table/placement.ts'
import { member } from '../../table/record-kind.ts'
import { choice } from '../../table/shapes.ts'
import type { Table } from '../../table/table.ts'

/** The kinds that an owner can turn off. The others concern the security of the actor. */
export const optionalKinds = ['application', 'approval', 'invitation', 'failing', 'export', 'quota'] as const
export type OptionalKind = (typeof optionalKinds)[number]

export const mailChoiceTable: Table = {
  name: 'mail_choice',
  place: placedByActor(),
  // Archives contain the rows: an owner who has moved wants no more messages than before.
  records: {
    kind: 'mail_choice',
    table: 'mail_choice',
    key: ['kind'],
    members: [member.text('declined', { column: 'kind', check: choice(...optionalKinds) }), member.time('declined_at')],
  },
}

export async function findDeclined(q: Queries, actorId: string): Promise<ReadonlySet<string>> {
  const rows = await q.all<{ kind: string }>('SELECT kind FROM mail_choice WHERE actor_id = $1', actorId)
  return new Set(rows.map(({ kind }) => kind))
}

export async function putChoice(
  tx: Transaction,
  actorId: string,
  kind: OptionalKind,
  { isWanted, now }: { readonly isWanted: boolean; readonly now: number },
): Promise<void> {
  if (isWanted) await tx.run('DELETE FROM mail_choice WHERE actor_id = $1 AND kind = $2', actorId, kind)
  else
    await tx.run(
      `INSERT INTO mail_choice (actor_id, kind, declined_at) VALUES ($1, $2, $3)
       ON CONFLICT (actor_id, kind) DO NOTHING`,
      actorId,
      kind,
      now,
    )
}
