/** Pending callbacks of subscriptions in a read-only attribute bucket, in which test clients look for them. */
import type { Attribute, AttributeView } from '../actor/attributes.ts'
import { known } from '../json/json.ts'
import { readKept } from './processor.ts'

interface StateRow {
  readonly peer_id: string
  readonly subscription_id: string
  readonly last: number
  readonly resync_pending: number
  readonly created_at: number
  readonly sequence: number | null
  readonly body: string | null
  readonly received_at: number | null
}

export const callbackState: AttributeView = {
  bucket: '_callback_state',
  async read(q, actorId) {
    const rows = await q.all<StateRow>(
      `SELECT s.peer_id, s.subscription_id, s.sequence AS last, s.resync_pending, s.created_at, p.sequence, p.body,
         p.received_at
       FROM subscriber_subscription s LEFT JOIN pending_callback p ON p.actor_id = s.actor_id AND p.peer_id = s.peer_id
         AND p.subscription_id = s.subscription_id
       WHERE s.actor_id = $1 ORDER BY s.peer_id, s.subscription_id, p.sequence`,
      actorId,
    )
    const shown = new Map<string, Attribute>()
    const waiting = Map.groupBy(rows, ({ peer_id, subscription_id }) => `${peer_id}:${subscription_id}`)
    for (const [key, of] of waiting) {
      const [first] = of
      if (first === undefined) continue
      const timestamp = Math.max(...of.map(({ received_at, created_at }) => received_at ?? created_at))
      const state = { version: first.last, resync_pending: first.resync_pending !== 0 }
      shown.set(`state:${key}`, { data: known(JSON.stringify(state)), timestamp })
      shown.set(`pending:${key}`, { data: known(`{"callbacks":[${of.flatMap(entryOf).join(',')}]}`), timestamp })
    }
    return shown
  },
}

function entryOf({ sequence, body, received_at }: StateRow): string[] {
  if (sequence === null || body === null || received_at === null) return []
  const { data } = readKept(body)
  const seconds = received_at / 1000
  return [`{"sequence":${sequence},"data":${data},"callback_type":"diff","_received_at":${seconds}}`]
}
