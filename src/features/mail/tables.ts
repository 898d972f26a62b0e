/**
 * The table of messages. The row in `job` with the same id is the attempt that is due. Rate limits bound the rows, so there is no
 * quota. A message belongs to the service that sends it, so archives do not have it. Rows without content stay for a week, so that
 * a key is used once.
 */
import type { KeyRing } from '../../secret/key-ring.ts'
import { open, seal, type Sealed } from '../../secret/sealed.ts'
import { bindingOf, type SealedColumn } from '../../secret/sealed-columns.ts'
import { placedByActor } from '../../table/placement.ts'
import type { Table } from '../../table/table.ts'
import type { MailContent } from './message.ts'

const mailContent: SealedColumn = {
  table: 'mail',
  key: ['actor_id', 'mail_id'],
  column: 'content',
  meaning: 'messages that wait to be sent: they are not sent',
}

export const mailTable: Table = { name: 'mail', place: placedByActor(), sealed: [mailContent] }

export function sealContent(ring: KeyRing, actorId: string, id: string, content: MailContent): Sealed {
  return seal(ring, JSON.stringify(content), bindingOf(mailContent, actorId, id))
}

export function openContent(ring: KeyRing, actorId: string, id: string, sealed: Sealed): MailContent {
  return JSON.parse(open(ring, sealed, bindingOf(mailContent, actorId, id))) as MailContent
}
