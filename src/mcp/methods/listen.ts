/** `subscriptions/listen`: a stream of change notifications (2026-07-28). */
import { requireTaskSupport, supportsTasks } from '../tasks/run-as-task.ts'
import type { McpRequest } from '../call/call.ts'
import type { Codec } from '../codecs/codec.ts'
import { metaKeys } from '../protocol/meta.ts'
import type { McpDeps } from '../deps.ts'
import { type Id, isRecord, type MessageParams } from '../protocol/message.ts'
import { rpcResult } from '../protocol/reply.ts'
import { complete } from '../protocol/result.ts'
import { resumeTask } from './call-tool.ts'
import { type Reauthorize, followable, type SubscriptionFilter, watchChanges } from '../change-notifications.ts'

const maxUris = 500

/**
 * The rights are checked before the stream begins, so that a refusal is a plain response. The stream covers only
 * resources that are granted at that time. Later grants need another stream.
 *
 * @throws McpFailure `missing_capability` for a client without the tasks extension.
 */
export async function listen(
  deps: McpDeps,
  codec: Codec,
  id: Id,
  request: McpRequest,
  reauthorize: Reauthorize,
): Promise<(signal: AbortSignal) => AsyncGenerator<object>> {
  const filter = await grantedFilter(deps, request, requestedFilter(deps, request))
  return async function* stream(signal) {
    const meta = { [metaKeys.subscriptionId]: id }
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const changes = watchChanges(deps, request, {
      filter: () => Promise.resolve(filter),
      signal,
      reauthorize,
      onBegun: begin,
    })
    const first = changes.next()
    first.catch(() => {})
    // A client may cause a change right after the acknowledgement and expect its notification.
    await Promise.race([begun, first])
    // The acknowledgement precedes every notification.
    yield {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: acknowledgementOf(filter), _meta: meta },
    }
    for (let next = await first; next.done !== true; next = await changes.next()) {
      const { method, ...params } = next.value
      const body =
        next.value.method === 'notifications/tasks'
          ? await taskNotification(deps, request, reauthorize, next.value.taskId)
          : params
      if (body !== null) yield { jsonrpc: '2.0', method, params: { ...body, _meta: meta } }
    }
    yield rpcResult(id, codec.result(request.method, complete({ _meta: meta })))
  }
}

function requestedFilter(deps: McpDeps, call: McpRequest): SubscriptionFilter {
  const notifications = isRecord(call.params['notifications']) ? call.params['notifications'] : {}
  const texts = (value: unknown): readonly string[] =>
    Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string').slice(0, maxUris) : []
  const taskIds = texts(notifications['taskIds'])
  if (taskIds.length > 0) requireTaskSupport(call)
  return {
    tools: notifications['toolsListChanged'] === true && deps.catalogues.of(call.access.actor).tools.size > 0,
    prompts: notifications['promptsListChanged'] === true && deps.catalogues.of(call.access.actor).prompts.size > 0,
    resources: notifications['resourcesListChanged'] === true,
    uris: texts(notifications['resourceSubscriptions']),
    taskIds: supportsTasks(call) ? taskIds : [],
  }
}

async function grantedFilter(
  deps: McpDeps,
  { access }: McpRequest,
  filter: SubscriptionFilter,
): Promise<SubscriptionFilter> {
  const own = await deps.tasks.own(access, filter.taskIds)
  return {
    ...filter,
    uris: await followable(deps, access, filter.uris),
    taskIds: filter.taskIds.filter((taskId) => own.has(taskId)),
  }
}

function acknowledgementOf({ tools, prompts, resources, uris, taskIds }: SubscriptionFilter): object {
  return {
    ...(tools ? { toolsListChanged: true } : {}),
    ...(prompts ? { promptsListChanged: true } : {}),
    ...(resources ? { resourcesListChanged: true } : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    ...(taskIds.length > 0 ? { taskIds } : {}),
  }
}

/** The state of a task, read with the current rights. Null for a task that no longer exists. */
async function taskNotification(
  deps: McpDeps,
  request: McpRequest,
  reauthorize: Reauthorize,
  taskId: string,
): Promise<MessageParams | null> {
  const access = await reauthorize()
  if (access === null) return null
  const call = { ...request, access }
  return deps.tasks
    .get(access, taskId, (tool, args, running) => resumeTask(deps, call, tool, args, running))
    .catch(() => null)
}
