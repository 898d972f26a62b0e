/** Runs calls that can become tasks: after `mcp.background()` the client receives a task, and the work continues. */
import type { McpRequest, Channel, InFlightCall } from '../call/call.ts'
import type { Tool } from '../catalogue/catalogue.ts'
import { modernError } from '../codecs/modern.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { McpDeps } from '../deps.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { textForModel } from '../protocol/service-error.ts'
import { modernRevision } from '../protocol/revisions.ts'
import type { RunningTask } from './running-task.ts'
import { tasksExtension } from './tasks.ts'
import type { CallResult } from '../call/tool-result.ts'

type Work = (channel: Channel) => Promise<CallResult>

export async function runAsTask(
  deps: McpDeps,
  call: InFlightCall,
  tool: Tool,
  args: MessageParams,
  work: Work,
): Promise<McpResult> {
  if (!supportsTasks(call)) {
    if (tool.declaration.task === 'required' && call.revision === modernRevision) requireTaskSupport(call)
    return complete({ ...(await work(call.channel)) })
  }
  const begun = Promise.withResolvers<RunningTask>()
  let task: Promise<RunningTask | null> | null = null
  // A disconnect cancels the work until it becomes a task. After that, only `tasks/cancel` does.
  const controller = new AbortController()
  call.channel.signal().addEventListener('abort', () => {
    if (task === null) controller.abort()
  })
  /** Begins a task. Null on failure; the client then waits for the result of the call. */
  const begin = async (): Promise<RunningTask | null> => {
    try {
      const running = await deps.tasks.begin(call.access, tool.name, args)
      running.signal.addEventListener('abort', () => controller.abort())
      begun.resolve(running)
      return running
    } catch (error) {
      deps.log.warn({ error, tool: tool.name }, 'Cannot begin a task; its client waits for the result')
      return null
    }
  }
  const done = work({
    signal: () => controller.signal,
    progress: (...values) => {
      if (task === null) call.channel.progress(...values)
    },
    log: (...values) => {
      if (task === null) call.channel.log(...values)
    },
    ask: async (questions) => ((await task) ?? call.channel).ask(questions),
    background: () => {
      task ??= begin()
    },
  })
  const ended = done.then(
    () => 'ended' as const,
    () => 'ended' as const,
  )
  const first = await Promise.race([ended, begun.promise])
  const running = first === 'ended' ? await (task as Promise<RunningTask | null> | null) : first
  if (running === null) return complete({ ...(await done) })
  const stored = storeOutcome(deps, tool, running, done)
  // A client that receives the task can read its outcome at once.
  if (first === 'ended') await stored
  return { kind: 'task', body: running.view }
}

/** Stores the outcome of the work. On failure the heartbeat ends, and a later `tasks/get` resumes or fails the task. */
export async function storeOutcome(
  deps: McpDeps,
  tool: Tool,
  running: RunningTask,
  done: Promise<CallResult>,
): Promise<void> {
  const outcome = await done.then(
    (result) => ({ result }),
    (error: unknown) => {
      if (error instanceof McpFailure) return { error: modernError(error) }
      if (!running.signal.aborted) deps.log.error({ error, tool: tool.name }, 'A task failed')
      return { error: { code: -32603, message: textForModel(error) ?? 'Internal error' } }
    },
  )
  try {
    await running.finish(outcome)
  } catch (error) {
    deps.log.error({ error, tool: tool.name }, 'Cannot store the outcome of a task')
  }
}

export function supportsTasks({ revision, client }: McpRequest): boolean {
  const { extensions } = client.capabilities
  return revision === modernRevision && isRecord(extensions) && isRecord(extensions[tasksExtension])
}

/** @throws McpFailure `missing_capability` */
export function requireTaskSupport(call: McpRequest): void {
  if (supportsTasks(call)) return
  throw new McpFailure('missing_capability', 'This call requires the tasks extension', {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })
}
