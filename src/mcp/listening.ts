/** Streams that go on: `subscriptions/listen` of the modern revision, and the GET stream of a legacy session. */
import { requireTasks, takesTasks } from './background.ts'
import type { McpAccess, McpCallIn } from './call.ts'
import type { Codec } from './codecs/codec.ts'
import { metaKeys } from './era.ts'
import type { McpParts } from './mcp-parts.ts'
import { type Id, isRecord, type Params } from './message.ts'
import { rpcResult } from './reply.ts'
import { complete } from './result.ts'
import type { Session } from './sessions.ts'
import { takeUp } from './tool-call.ts'
import { type Told, type Wanted, watchFor } from './watching.ts'

interface Listener {
  readonly access: McpAccess
  readonly isGood: () => Promise<boolean>
}

const mostUris = 500

/** @throws McpFailure `missing_capability` for tasks that the client does not take. */
export function listen(
  parts: McpParts,
  codec: Codec,
  id: Id,
  call: McpCallIn,
  { isGood }: Listener,
  signal: AbortSignal,
): AsyncGenerator<object> {
  const wanted = wantedIn(parts, call)
  return stream()

  async function* stream(): AsyncGenerator<object> {
    const meta = { [metaKeys.subscriptionId]: id }
    // First of all, whatever happens meanwhile: what is granted.
    yield {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: grantedOf(wanted), _meta: meta },
    }
    for await (const each of watchFor(parts, parts.live, call, () => Promise.resolve(wanted), signal, isGood)) {
      const { method, ...params } = each
      const body = each.method === 'notifications/tasks' ? await taskOf(parts, call, each.taskId) : params
      if (body !== null) yield { jsonrpc: '2.0', method, params: { ...body, _meta: meta } }
    }
    yield rpcResult(id, codec.result('subscriptions/listen', complete({ _meta: meta })))
  }
}

function wantedIn(parts: McpParts, call: McpCallIn): Wanted {
  const asked = isRecord(call.params['notifications']) ? call.params['notifications'] : {}
  const texts = (value: unknown): readonly string[] =>
    Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string').slice(0, mostUris) : []
  const taskIds = texts(asked['taskIds'])
  if (taskIds.length > 0) requireTasks(call)
  return {
    tools: asked['toolsListChanged'] === true && parts.catalogue.tools.size > 0,
    prompts: asked['promptsListChanged'] === true && parts.catalogue.prompts.size > 0,
    resources: asked['resourcesListChanged'] === true,
    uris: texts(asked['resourceSubscriptions']),
    taskIds: takesTasks(call) ? taskIds : [],
  }
}

function grantedOf({ tools, prompts, resources, uris, taskIds }: Wanted): object {
  return {
    ...(tools ? { toolsListChanged: true } : {}),
    ...(prompts ? { promptsListChanged: true } : {}),
    ...(resources ? { resourcesListChanged: true } : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
    ...(taskIds.length > 0 ? { taskIds } : {}),
  }
}

/** Null for one that is gone meanwhile. */
async function taskOf(parts: McpParts, call: McpCallIn, taskId: string): Promise<Params | null> {
  return parts.tasks
    .get(call.access, taskId, (tool, args, running) => takeUp(parts, call, tool, args, running))
    .catch(() => null)
}

/** What the session subscribed to is read anew with every change: a subscription may come while the stream is open. */
export async function* legacyEvents(
  parts: McpParts,
  session: Session,
  call: McpCallIn,
  { isGood }: Listener,
  signal: AbortSignal,
): AsyncGenerator<object> {
  const wanted = async (): Promise<Wanted | null> => {
    const fresh = await parts.sessions.again(session)
    return fresh === null
      ? null
      : { tools: true, prompts: true, resources: true, uris: fresh.subscriptions, taskIds: [] }
  }
  for await (const each of watchFor(parts, parts.live, call, wanted, signal, isGood)) yield messageOf(each)
}

function messageOf({ method, ...params }: Told): object {
  return { jsonrpc: '2.0', method, ...(Object.keys(params).length === 0 ? {} : { params }) }
}
