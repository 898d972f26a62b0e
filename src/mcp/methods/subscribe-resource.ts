/** `resources/subscribe`: notifies the session of changes of one resource. */
import type { MessageParams } from '../protocol/message.ts'
import { requireUri } from '../protocol/resource-uri.ts'
import type { Session } from '../sessions/session.ts'
import type { McpSessions } from '../sessions/sessions.ts'

/** @throws McpFailure `invalid_params` */
export async function subscribeResource(
  sessions: McpSessions,
  session: Session | null,
  { uri }: MessageParams,
): Promise<void> {
  const wanted = requireUri(uri)
  if (session !== null) await sessions.subscribe(session, wanted)
}
