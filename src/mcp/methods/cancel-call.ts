/** `notifications/cancelled`: cancels a call of the same session. */
import type { RunningCalls } from '../call/running-calls.ts'
import type { MessageParams } from '../protocol/message.ts'
import type { Session } from '../sessions/session.ts'

export function cancelCall(running: RunningCalls, session: Session, { requestId }: MessageParams): void {
  running.cancel(session, requestId)
}
