/** The methods of the protocol, each one function from a call to a result; framing and eras lie outside. */
import { McpFailure } from './protocol/failure.ts'
import type { Channel, InFlightCall } from './call/call.ts'
import { complete, type Result } from './protocol/result.ts'
import { RoundTrip, InputRequiredError } from './call/input-required.ts'
import { completion } from './methods/complete.ts'
import { getPrompt, listPrompts } from './methods/get-prompt.ts'
import { listResources, listTemplates, readResource } from './methods/read-resource.ts'
import type { McpDeps } from './deps.ts'
import { requireTaskSupport } from './tasks/run-as-task.ts'
import { tasksExtension } from './tasks/tasks.ts'
import { callTool, resumeTask } from './methods/call-tool.ts'
import { listTools } from './methods/list-tools.ts'
import { modernRevision, supportedRevisions } from './protocol/revisions.ts'
import { toServiceError } from './protocol/service-error.ts'

type Method = (deps: McpDeps, call: InFlightCall) => Promise<Result> | Result

/** Lists may change with the application's rules at any moment, so they are kept briefly and for one caller. */
const discoverTtlMs = 60_000

/** Those that every revision has. */
const methods: Readonly<Record<string, Method>> = {
  'tools/list': listTools,
  'tools/call': callTool,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'resources/list': listResources,
  'resources/templates/list': listTemplates,
  'resources/read': readResource,
  'completion/complete': completion,
}

/** Those of the modern revision alone. */
const modernMethods: Readonly<Record<string, Method>> = {
  'server/discover': (deps) =>
    complete(
      {
        supportedVersions: supportedRevisions,
        capabilities: { ...capabilities(deps), extensions: { [tasksExtension]: {} } },
        ...(deps.instructions === '' ? {} : { instructions: deps.instructions }),
      },
      discoverTtlMs,
    ),
  'tasks/get': async (deps, call) => {
    requireTaskSupport(call)
    return complete(
      await deps.tasks.get(call.access, call.params['taskId'], (tool, args, running) =>
        resumeTask(deps, call, tool, args, running),
      ),
    )
  },
  'tasks/update': async (deps, call) => {
    requireTaskSupport(call)
    await deps.tasks.update(call.access, call.params['taskId'], call.params['inputResponses'])
    return complete({})
  },
  'tasks/cancel': async (deps, call) => {
    requireTaskSupport(call)
    await deps.tasks.cancel(call.access, call.params['taskId'])
    return complete({})
  },
}

/** Those whose answer may be a question. */
const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

export function capabilities({ catalogue }: McpDeps): Record<string, object> {
  return {
    ...(catalogue.tools.size === 0 ? {} : { tools: { listChanged: true } }),
    ...(catalogue.prompts.size === 0 ? {} : { prompts: { listChanged: true } }),
    // The actor's own properties are resources of every application.
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  }
}

/**
 * @throws McpFailure; ServiceError `store_unavailable`, `shutting_down`, `too_many_requests`, which are answered by status.
 */
export async function answer(deps: McpDeps, call: InFlightCall): Promise<Result> {
  const method = methodOf(call)
  if (method === undefined) throw new McpFailure('unknown_method', 'The method is not known')
  const asks = call.revision === modernRevision && mayAsk.has(call.method)
  try {
    return asks ? await inRounds(deps, call, method) : await method(deps, call)
  } catch (error) {
    throw error instanceof McpFailure ? error : toServiceError(error)
  }
}

export function isKnown(call: Pick<InFlightCall, 'method' | 'revision'>): boolean {
  return methodOf(call) !== undefined
}

function methodOf({ method, revision }: Pick<InFlightCall, 'method' | 'revision'>): Method | undefined {
  if (revision === modernRevision && Object.hasOwn(modernMethods, method)) return modernMethods[method]
  return Object.hasOwn(methods, method) ? methods[method] : undefined
}

async function inRounds(deps: McpDeps, call: InFlightCall, method: Method): Promise<Result> {
  const trip = new RoundTrip(deps.keyRing, call, deps.now())
  const { channel: outer } = call
  const channel: Channel = {
    signal: () => outer.signal(),
    progress: (...told) => outer.progress(...told),
    log: (...told) => outer.log(...told),
    ask: async (questions) => trip.ask(questions),
    background: () => outer.background(),
  }
  try {
    return await method(deps, { ...call, channel })
  } catch (error) {
    if (error instanceof InputRequiredError) return trip.toResult(error)
    throw error
  }
}
