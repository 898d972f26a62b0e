/** Calls whose work goes on behind their answer: from `mcp.background()` on, the client follows a task. */
import { ServiceError } from '../../errors.ts'
import type { Asked, Channel, McpCallIn } from '../call/call.ts'
import type { Tool } from '../catalogue/catalogue.ts'
import { modernError } from '../codecs/modern.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { McpParts } from '../mcp-deps.ts'
import { isRecord, type Params } from '../protocol/message.ts'
import { complete, type Result } from '../protocol/result.ts'
import { modernRevision } from '../protocol/revisions.ts'
import type { RunningTask } from './running-task.ts'
import { tasksExtension } from './tasks.ts'
import type { CallResult } from '../call/tool-result.ts'

type Work = (channel: Channel) => Promise<CallResult>

export async function behind(parts: McpParts, call: McpCallIn, tool: Tool, args: Params, work: Work): Promise<Result> {
  if (!takesTasks(call)) {
    if (tool.declaration.task === 'required' && call.revision === modernRevision) requireTasks(call)
    return complete({ ...(await work(call.channel)) })
  }
  const begun = Promise.withResolvers<RunningTask>()
  let task: Promise<RunningTask | null> | null = null
  // Until the work goes behind, the client ends it by going away; after that, only by cancelling the task.
  const controller = new AbortController()
  call.channel.signal().addEventListener('abort', () => {
    if (task === null) controller.abort()
  })
  /** Null where none can begin: the call then goes on as one that is waited for. */
  const begin = async (): Promise<RunningTask | null> => {
    try {
      const running = await parts.tasks.begin(call.access, tool.name, args)
      running.signal.addEventListener('abort', () => controller.abort())
      begun.resolve(running)
      return running
    } catch (error) {
      parts.log.warn({ error, tool: tool.name }, 'A task cannot begin, so its client waits for the answer')
      return null
    }
  }
  const done = work({
    signal: () => controller.signal,
    progress: (...told) => {
      if (task === null) call.channel.progress(...told)
    },
    log: (...told) => {
      if (task === null) call.channel.log(...told)
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
  const settled = settle(parts, tool, running, done)
  // What is over already is kept before the client can ask for it.
  if (first === 'ended') await settled
  return { kind: 'task', body: running.view }
}

/** What became of the work is kept; a failure to keep it leaves the task to whoever finds it dead. */
export async function settle(
  parts: McpParts,
  tool: Tool,
  running: RunningTask,
  done: Promise<CallResult>,
): Promise<void> {
  const outcome = await done.then(
    (result) => ({ result }),
    (error: unknown) => {
      if (error instanceof McpFailure) return { error: modernError(error) }
      const message = error instanceof ServiceError && error.status < 500 ? error.message : 'Internal error'
      if (!running.signal.aborted) parts.log.error({ error, tool: tool.name }, 'A task failed')
      return { error: { code: -32603, message } }
    },
  )
  try {
    await running.finish(outcome)
  } catch (error) {
    parts.log.error({ error, tool: tool.name }, 'What became of a task could not be kept')
  }
}

export function takesTasks({ revision, client }: Asked): boolean {
  const { extensions } = client.capabilities
  return revision === modernRevision && isRecord(extensions) && isRecord(extensions[tasksExtension])
}

/** @throws McpFailure `missing_capability` */
export function requireTasks(call: Asked): void {
  if (takesTasks(call)) return
  throw new McpFailure('missing_capability', 'The client has to take tasks for this', {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })
}
