/** `logging/setLevel`: the lowest level of the log messages that the session receives. */
import { isLogLevel } from '../call/channel.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { MessageParams } from '../protocol/message.ts'
import type { Session } from '../sessions/session.ts'
import type { McpSessions } from '../sessions/sessions.ts'

/** @throws McpFailure `invalid_params` */
export async function setLogLevel(
  sessions: McpSessions,
  session: Session | null,
  { level }: MessageParams,
): Promise<void> {
  if (!isLogLevel(level)) throw new McpFailure('invalid_params', 'Unknown log level')
  if (session !== null) await sessions.setLogLevel(session, level)
}
