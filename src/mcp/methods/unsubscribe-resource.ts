/** `resources/unsubscribe`: ends the notifications of one resource. */
import type { MessageParams } from '../protocol/message.ts'
import { requireUri } from '../protocol/resource-uri.ts'
import type { Session } from '../sessions/session.ts'
import type { McpSessions } from '../sessions/sessions.ts'

/** @throws McpFailure `invalid_params` */
export async function unsubscribeResource(
  sessions: McpSessions,
  session: Session | null,
  { uri }: MessageParams,
): Promise<void> {
  const wanted = requireUri(uri)
  if (session !== null) await sessions.unsubscribe(session, wanted)
}
