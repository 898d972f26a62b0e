/** `tasks/get`: the state of a task, and its result when it has finished. */
import type { InFlightCall } from '../call/call.ts'
import type { McpDeps } from '../deps.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { requireTaskSupport } from '../tasks/run-as-task.ts'
import { resumeTask } from './call-tool.ts'

/** @throws McpFailure */
export async function getTask(deps: McpDeps, call: InFlightCall): Promise<McpResult> {
  requireTaskSupport(call)
  const task = await deps.tasks.get(call.access, call.params['taskId'], (tool, args, running) =>
    resumeTask(deps, call, tool, args, running),
  )
  return complete(task)
}
