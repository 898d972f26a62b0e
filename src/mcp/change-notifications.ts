/**
 * Notifies clients of changed lists and resources. It checks the rights for each change, so that a client receives
 * nothing about a resource that it may no longer read.
 */
import type { LiveChange } from '../live/live.ts'
import { withHeartbeat } from '../live/with-heartbeat.ts'
import { uriOf } from '../permission/property-address.ts'
import type { McpRequest, McpAccess } from './call/call.ts'
import type { McpDeps } from './deps.ts'
import { listPrompts } from './methods/list-prompts.ts'
import { listResourceTemplates } from './methods/list-resource-templates.ts'
import { listResources } from './methods/list-resources.ts'
import type { McpResult } from './protocol/result.ts'
import { listTools } from './methods/list-tools.ts'
import { isUri } from './protocol/resource-uri.ts'

/** The changes that a client subscribed to. */
export interface SubscriptionFilter {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
  /** An address that ends with `/` covers every resource below it. */
  readonly uris: readonly string[]
  readonly taskIds: readonly string[]
}

export type ChangeNotification =
  | { readonly method: 'notifications/tools/list_changed' }
  | { readonly method: 'notifications/prompts/list_changed' }
  | { readonly method: 'notifications/resources/list_changed' }
  | { readonly method: 'notifications/resources/updated'; readonly uri: string }
  | { readonly method: 'notifications/tasks'; readonly taskId: string }

type Lists = Readonly<Record<'tools' | 'prompts' | 'resources', string>>

/** Checks the token again. Null when it is no longer valid. */
export type Reauthorize = () => Promise<McpAccess | null>

/** How often an idle stream checks its token and its session, in milliseconds. */
const idleCheckMs = 30_000

export interface Watch {
  /** The current filter of the client. Null ends the watch. */
  readonly filter: () => Promise<SubscriptionFilter | null>
  readonly signal: AbortSignal
  readonly reauthorize: Reauthorize
  /** Called when the watch has begun: it misses no later change. */
  readonly onBegun?: (() => void) | undefined
}

/** Yields notifications until the token or the relationship ends, or the filter becomes null. */
export async function* watchChanges(
  deps: McpDeps,
  request: McpRequest,
  { filter, signal, reauthorize, onBegun }: Watch,
): AsyncGenerator<ChangeNotification> {
  const first = await filter()
  if (first === null) return
  let known = await listsOf(deps, request, first)
  for await (const changes of withHeartbeat(
    deps.live.watch(request.access.actor.id, signal, onBegun),
    deps.timers,
    idleCheckMs,
  )) {
    const current = await filter()
    const access = await reauthorize()
    if (current === null || access === null) return
    if (changes === 'tick') continue
    const lists = await listsOf(deps, { ...request, access }, current)
    for (const kind of ['tools', 'prompts', 'resources'] as const) {
      // The application may announce a change that is not visible in the list.
      const isSaid = changes.some(({ category }) => category === kind)
      if (current[kind] && (isSaid || lists[kind] !== known[kind])) {
        yield { method: `notifications/${kind}/list_changed` }
      }
    }
    known = lists
    const uris = [...new Set(changes.flatMap(uriIn))].filter((uri) => covers(current.uris, uri))
    for (const uri of await readable(deps, access, uris)) yield { method: 'notifications/resources/updated', uri }
    for (const { category, name } of changes) {
      if (category === 'tasks' && current.taskIds.includes(name)) yield { method: 'notifications/tasks', taskId: name }
    }
  }
}

function uriIn({ category, name }: LiveChange): string[] {
  if (category === 'properties') return [uriOf(name)]
  return category === 'resource' ? [name] : []
}

function covers(uris: readonly string[], changed: string): boolean {
  return uris.some((uri) => uri === changed || (isArea(uri) && changed.startsWith(uri)))
}

function isArea(uri: string): boolean {
  return uri.endsWith('/')
}

/** The addresses that the client has the right to follow. The result does not reveal whether a resource exists. */
export async function followable(
  deps: McpDeps,
  access: McpAccess,
  uris: readonly string[],
): Promise<readonly string[]> {
  const valid = uris.filter(isUri)
  const areas = valid.filter(isArea)
  const resources = valid.filter((uri) => !isArea(uri))
  const may = new Set([...(await readable(deps, access, resources)), ...(await reachable(deps, access, areas))])
  return valid.filter((uri) => may.has(uri))
}

/** The addresses below which the client may read something, whether or not it exists. */
async function reachable(
  { permission }: McpDeps,
  { actor, caller }: McpAccess,
  areas: readonly string[],
): Promise<readonly string[]> {
  if (areas.length === 0) return []
  const judge = await permission.judge(actor.id, caller, { category: 'resources', right: 'read', isPrefix: true })
  return areas.filter((uri) => judge(uri).allowed)
}

/** The addresses that the client may read. */
async function readable(
  { permission }: McpDeps,
  { actor, caller }: McpAccess,
  uris: readonly string[],
): Promise<readonly string[]> {
  if (uris.length === 0) return []
  const judge = await permission.judge(actor.id, caller, { category: 'resources', right: 'read' })
  return uris.filter((uri) => judge(uri).allowed)
}

/** Each list as a string for comparison. Empty for lists that the client did not subscribe to. */
async function listsOf(deps: McpDeps, call: McpRequest, filter: SubscriptionFilter): Promise<Lists> {
  const bare = { ...call, params: {} }
  return {
    tools: filter.tools ? textOf(await listTools(deps, bare)) : '',
    prompts: filter.prompts ? textOf(await listPrompts(deps, bare)) : '',
    resources: filter.resources
      ? textOf(await listResources(deps, bare)) + textOf(await listResourceTemplates(deps, bare))
      : '',
  }
}

function textOf(result: McpResult): string {
  if (result.kind !== 'complete') return ''
  // A cursor is sealed with a random nonce, so it differs each time.
  const { nextCursor: _cursor, ...body } = result.body
  return JSON.stringify(body)
}
