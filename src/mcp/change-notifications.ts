/**
 * What a client that listens is told: that lists changed, and which resources did. Its rights are asked each time, so
 * that nothing is told of what it may not see (any more).
 */
import type { LiveChange } from '../live/live.ts'
import { paced } from '../live/with-heartbeat.ts'
import { uriOf } from '../permission/property-address.ts'
import type { McpRequest, McpAccess } from './call/call.ts'
import type { McpDeps } from './deps.ts'
import { listPrompts } from './methods/list-prompts.ts'
import { listResourceTemplates } from './methods/list-resource-templates.ts'
import { listResources } from './methods/list-resources.ts'
import type { Result } from './protocol/result.ts'
import { listTools } from './methods/list-tools.ts'
import { isUri } from './protocol/resource-uri.ts'

/** What a client wants to hear of. */
export interface SubscriptionFilter {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
  /** Addresses; one that ends with `/` covers what lies below. */
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

/** Who listens, as it is now; null when the token is no longer good. */
export type Reauthorize = () => Promise<McpAccess | null>

/** A stream on which nothing happens is looked at so often: its token may have expired, its session may have ended. */
const lookMs = 30_000

export interface Watch {
  /** What the client listens to now. Null ends the watch. */
  readonly filter: () => Promise<SubscriptionFilter | null>
  readonly signal: AbortSignal
  readonly reauthorize: Reauthorize
  /** Called once no change can be missed. */
  readonly onBegun?: (() => void) | undefined
}

/** Ends with the token, with the relationship, and with the filter. */
export async function* watchChanges(
  deps: McpDeps,
  asked: McpRequest,
  { filter, signal, reauthorize, onBegun }: Watch,
): AsyncGenerator<ChangeNotification> {
  const first = await filter()
  if (first === null) return
  let known = await listsOf(deps, asked, first)
  for await (const changes of paced(deps.live.watch(asked.access.actor.id, signal, onBegun), deps.timers, lookMs)) {
    const wanted = await filter()
    const access = await reauthorize()
    if (wanted === null || access === null) return
    if (changes === 'tick') continue
    const lists = await listsOf(deps, { ...asked, access }, wanted)
    for (const kind of ['tools', 'prompts', 'resources'] as const) {
      // What the application says has changed may look the same in the list.
      const isSaid = changes.some(({ category }) => category === kind)
      if (wanted[kind] && (isSaid || lists[kind] !== known[kind])) {
        yield { method: `notifications/${kind}/list_changed` }
      }
    }
    known = lists
    const uris = [...new Set(changes.flatMap(uriIn))].filter((uri) => covers(wanted.uris, uri))
    for (const uri of await readable(deps, access, uris)) yield { method: 'notifications/resources/updated', uri }
    for (const { category, name } of changes) {
      if (category === 'tasks' && wanted.taskIds.includes(name)) yield { method: 'notifications/tasks', taskId: name }
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

/** It covers what lies below. */
function isArea(uri: string): boolean {
  return uri.endsWith('/')
}

/** Those that the client may follow, by its rights alone: whether there is such a resource is not told. */
export async function followable(
  deps: McpDeps,
  access: McpAccess,
  uris: readonly string[],
): Promise<readonly string[]> {
  const asked = uris.filter(isUri)
  const areas = asked.filter(isArea)
  const resources = asked.filter((uri) => !isArea(uri))
  const may = new Set([...(await readable(deps, access, resources)), ...(await reachable(deps, access, areas))])
  return asked.filter((uri) => may.has(uri))
}

/** Those below which something may be read, there or not. */
async function reachable(
  { permission }: McpDeps,
  { actor, caller }: McpAccess,
  areas: readonly string[],
): Promise<readonly string[]> {
  if (areas.length === 0) return []
  const judge = await permission.judge(actor.id, caller, { category: 'resources', right: 'read', isPrefix: true })
  return areas.filter((uri) => judge(uri).allowed)
}

/** As reading each of them would be judged. */
async function readable(
  { permission }: McpDeps,
  { actor, caller }: McpAccess,
  uris: readonly string[],
): Promise<readonly string[]> {
  if (uris.length === 0) return []
  const judge = await permission.judge(actor.id, caller, { category: 'resources', right: 'read' })
  return uris.filter((uri) => judge(uri).allowed)
}

/** Each list as one text, to be compared; empty for what nobody asked for. */
async function listsOf(deps: McpDeps, call: McpRequest, wanted: SubscriptionFilter): Promise<Lists> {
  const bare = { ...call, params: {} }
  return {
    tools: wanted.tools ? textOf(await listTools(deps, bare)) : '',
    prompts: wanted.prompts ? textOf(await listPrompts(deps, bare)) : '',
    resources: wanted.resources
      ? textOf(await listResources(deps, bare)) + textOf(await listResourceTemplates(deps, bare))
      : '',
  }
}

function textOf(result: Result): string {
  if (result.kind !== 'complete') return ''
  // The cursor is another text each time.
  const { nextCursor: _cursor, ...body } = result.body
  return JSON.stringify(body)
}
