/** `tasks/cancel`: cancels a task and aborts the work of its tool. */
import type { InFlightCall } from '../call/call.ts'
import type { McpDeps } from '../deps.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { requireTaskSupport } from '../tasks/run-as-task.ts'

/** @throws McpFailure */
export async function cancelTask({ tasks }: McpDeps, call: InFlightCall): Promise<McpResult> {
  requireTaskSupport(call)
  await tasks.cancel(call.access, call.params['taskId'])
  return complete({})
}
