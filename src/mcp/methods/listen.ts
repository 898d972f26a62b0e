/** `subscriptions/listen`: a stream of what changes (2026-07-28). */
import { requireTaskSupport, supportsTasks } from '../tasks/run-as-task.ts'
import type { McpRequest } from '../call/call.ts'
import type { Codec } from '../codecs/codec.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { McpDeps } from '../deps.ts'
import { type Id, isRecord, type Params } from '../protocol/message.ts'
import { rpcResult } from '../protocol/reply.ts'
import { complete } from '../protocol/result.ts'
import { resumeTask } from './call-tool.ts'
import { type Reauthorize, followable, type SubscriptionFilter, watchChanges } from '../change-notifications.ts'

const mostUris = 500

/**
 * What is listened to is read and judged at once, so that a refusal comes before the stream. Only what is granted then is
 * told of: what may be seen later is for another stream.
 *
 * @throws McpFailure `missing_capability` for tasks that the client does not take.
 */
export async function listen(
  deps: McpDeps,
  codec: Codec,
  id: Id,
  asked: McpRequest,
  reauthorize: Reauthorize,
): Promise<(signal: AbortSignal) => AsyncGenerator<object>> {
  const wanted = await mayFollow(deps, asked, wantedIn(deps, asked))
  return async function* stream(signal) {
    const meta = { [metaKeys.subscriptionId]: id }
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const told = watchChanges(deps, asked, {
      filter: () => Promise.resolve(wanted),
      signal,
      reauthorize,
      onBegun: begin,
    })
    const first = told.next()
    first.catch(() => {})
    // A client that is told that it listens changes something at once, and waits to hear of it.
    await Promise.race([begun, first])
    // First of all, whatever happens meanwhile: what is granted.
    yield {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: grantedOf(wanted), _meta: meta },
    }
    for (let next = await first; next.done !== true; next = await told.next()) {
      const { method, ...params } = next.value
      const body =
        next.value.method === 'notifications/tasks' ? await taskOf(deps, asked, reauthorize, next.value.taskId) : params
      if (body !== null) yield { jsonrpc: '2.0', method, params: { ...body, _meta: meta } }
    }
    yield rpcResult(id, codec.result(asked.method, complete({ _meta: meta })))
  }
}

function wantedIn(deps: McpDeps, call: McpRequest): SubscriptionFilter {
  const asked = isRecord(call.params['notifications']) ? call.params['notifications'] : {}
  const texts = (value: unknown): readonly string[] =>
    Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string').slice(0, mostUris) : []
  const taskIds = texts(asked['taskIds'])
  if (taskIds.length > 0) requireTaskSupport(call)
  return {
    tools: asked['toolsListChanged'] === true && deps.catalogue.tools.size > 0,
    prompts: asked['promptsListChanged'] === true && deps.catalogue.prompts.size > 0,
    resources: asked['resourcesListChanged'] === true,
    uris: texts(asked['resourceSubscriptions']),
    taskIds: supportsTasks(call) ? taskIds : [],
  }
}

async function mayFollow(
  deps: McpDeps,
  { access }: McpRequest,
  wanted: SubscriptionFilter,
): Promise<SubscriptionFilter> {
  const own = await deps.tasks.own(access, wanted.taskIds)
  return {
    ...wanted,
    uris: await followable(deps, access, wanted.uris),
    taskIds: wanted.taskIds.filter((taskId) => own.has(taskId)),
  }
}

function grantedOf({ tools, prompts, resources, uris, taskIds }: SubscriptionFilter): object {
  return {
    ...(tools ? { toolsListChanged: true } : {}),
    ...(prompts ? { promptsListChanged: true } : {}),
    ...(resources ? { resourcesListChanged: true } : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    ...(taskIds.length > 0 ? { taskIds } : {}),
  }
}

/** With the rights of this moment. Null for one that is gone meanwhile. */
async function taskOf(
  deps: McpDeps,
  asked: McpRequest,
  reauthorize: Reauthorize,
  taskId: string,
): Promise<Params | null> {
  const access = await reauthorize()
  if (access === null) return null
  const call = { ...asked, access }
  return deps.tasks
    .get(access, taskId, (tool, args, running) => resumeTask(deps, call, tool, args, running))
    .catch(() => null)
}
