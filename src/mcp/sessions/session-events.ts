/** The GET stream of a session: changes of lists, and of resources that the session subscribed to. */
import type { McpRequest } from '../call/call.ts'
import {
  type ChangeNotification,
  type Reauthorize,
  type SubscriptionFilter,
  watchChanges,
} from '../change-notifications.ts'
import type { McpDeps } from '../deps.ts'
import type { Session } from './session.ts'

/** Yields notifications. It reloads the subscriptions with every change, because the client may subscribe meanwhile. */
export async function* sessionEvents(
  deps: McpDeps,
  session: Session,
  request: McpRequest,
  reauthorize: Reauthorize,
  signal: AbortSignal,
): AsyncGenerator<object> {
  const filter = async (): Promise<SubscriptionFilter | null> => {
    const fresh = await deps.sessions.reload(session)
    return fresh === null
      ? null
      : { tools: true, prompts: true, resources: true, uris: fresh.subscriptions, taskIds: [] }
  }
  for await (const each of watchChanges(deps, request, { filter, signal, reauthorize })) yield messageOf(each)
}

function messageOf({ method, ...params }: ChangeNotification): object {
  return { jsonrpc: '2.0', method, ...(Object.keys(params).length === 0 ? {} : { params }) }
}
