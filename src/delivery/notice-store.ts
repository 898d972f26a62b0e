/** The SQL of notices. */
import type { Transaction } from '../store/store.ts'
import type { Notice } from './notice.ts'

/** At the end of their lanes, in the order given. */
export async function insertNotices(
  tx: Transaction,
  notices: readonly (Notice & { readonly id: string })[],
  now: number,
): Promise<void> {
  const rows = notices.map((notice, index) => [
    notice.id,
    notice.actorId,
    notice.peerId,
    index + 1,
    notice.kind,
    notice.method,
    notice.url,
    notice.baseuri,
    notice.secret,
    notice.body ?? '',
  ])
  await tx.run(
    `INSERT INTO notice (id, sender, recipient, position, kind, method, url, baseuri, secret, body, due_at, created_at)
     SELECT added.id, added.sender, added.recipient,
       added.place + COALESCE((SELECT MAX(n.position) FROM notice n
         WHERE n.sender = added.sender AND n.recipient = added.recipient), 0),
       added.kind, added.method, added.url, added.baseuri, added.secret, added.body,
       CAST($2 AS BIGINT), CAST($2 AS BIGINT)
     FROM rows($1, id TEXT, sender TEXT, recipient TEXT, place BIGINT, kind TEXT, method TEXT, url TEXT, baseuri TEXT,
       secret TEXT, body TEXT) AS added`,
    JSON.stringify(rows),
    now,
  )
}
