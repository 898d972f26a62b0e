/** `tasks/update`: stores the client's answers to questions of a task. */
import type { InFlightCall } from '../call/call.ts'
import type { McpDeps } from '../deps.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { requireTaskSupport } from '../tasks/run-as-task.ts'

/** @throws McpFailure */
export async function updateTask({ tasks }: McpDeps, call: InFlightCall): Promise<McpResult> {
  requireTaskSupport(call)
  await tasks.update(call.access, call.params['taskId'], call.params['inputResponses'])
  return complete({})
}
