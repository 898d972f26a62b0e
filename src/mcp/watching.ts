/**
 * What a client that listens is told: that lists changed, and which resources did. Its rights are asked each time, so
 * that nothing is told of what it may not see (any more).
 */
import type { Live, LiveChange } from '../live/live.ts'
import type { McpAccess, McpCallIn } from './call.ts'
import type { McpParts } from './mcp-parts.ts'
import { listPrompts } from './prompts.ts'
import { listResources, listTemplates, nameIn, uriOf } from './resources.ts'
import type { Result } from './result.ts'
import { listTools } from './tools.ts'

/** What a client wants to hear of. */
export interface Wanted {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
  /** Addresses; one that ends with `/` covers what lies below. */
  readonly uris: readonly string[]
  readonly taskIds: readonly string[]
}

export type Told =
  | { readonly method: 'notifications/tools/list_changed' }
  | { readonly method: 'notifications/prompts/list_changed' }
  | { readonly method: 'notifications/resources/list_changed' }
  | { readonly method: 'notifications/resources/updated'; readonly uri: string }
  | { readonly method: 'notifications/tasks'; readonly taskId: string }

type Lists = Readonly<Record<'tools' | 'prompts' | 'resources', string>>

/**
 * @param listing A call in whose name the lists are read.
 * @param isGood Asked with every batch: false ends it (the token expired, the right was withdrawn).
 */
export async function* watchFor(
  parts: McpParts,
  live: Live,
  listing: McpCallIn,
  wanted: () => Promise<Wanted | null>,
  signal: AbortSignal,
  isGood: () => Promise<boolean>,
): AsyncGenerator<Told> {
  const first = await wanted()
  if (first === null) return
  let known = await listsOf(parts, listing, first)
  for await (const changes of live.watch(listing.access.actor.id, signal)) {
    const now = await wanted()
    if (now === null || !(await isGood())) return
    const lists = await listsOf(parts, listing, now)
    for (const kind of ['tools', 'prompts', 'resources'] as const) {
      // What the application says has changed may look the same in the list.
      const isSaid = changes.some(({ category }) => category === kind)
      if (now[kind] && (isSaid || lists[kind] !== known[kind])) yield { method: `notifications/${kind}/list_changed` }
    }
    known = lists
    for (const uri of new Set(changes.flatMap((change) => uriIn(change)))) {
      if (covers(now.uris, uri) && (await mayRead(parts, listing.access, uri))) {
        yield { method: 'notifications/resources/updated', uri }
      }
    }
    for (const { category, name } of changes) {
      if (category === 'tasks' && now.taskIds.includes(name)) yield { method: 'notifications/tasks', taskId: name }
    }
  }
}

function uriIn({ category, name }: LiveChange): string[] {
  if (category === 'properties') return [uriOf(name)]
  return category === 'resource' ? [name] : []
}

function covers(uris: readonly string[], changed: string): boolean {
  return uris.some((uri) => uri === changed || (uri.endsWith('/') && changed.startsWith(uri)))
}

/** As reading it would: properties by the rights on properties, everything else by those on resources. */
async function mayRead(parts: McpParts, { actor, caller }: McpAccess, uri: string): Promise<boolean> {
  const name = nameIn(uri)
  const wanted =
    name === null
      ? ({ category: 'resources', right: 'read', target: uri } as const)
      : ({ category: 'properties', right: 'read', target: name } as const)
  return (await parts.permission.may(actor.id, caller, wanted)).allowed
}

/** Each list as one text, to be compared; empty for what nobody asked for. */
async function listsOf(parts: McpParts, call: McpCallIn, wanted: Wanted): Promise<Lists> {
  const bare = { ...call, params: {} }
  return {
    tools: wanted.tools ? textOf(await listTools(parts, { ...bare, method: 'tools/list' })) : '',
    prompts: wanted.prompts ? textOf(await listPrompts(parts, { ...bare, method: 'prompts/list' })) : '',
    resources: wanted.resources
      ? textOf(await listResources(parts, { ...bare, method: 'resources/list' })) +
        textOf(await listTemplates(parts, { ...bare, method: 'resources/templates/list' }))
      : '',
  }
}

function textOf(result: Result): string {
  if (result.kind !== 'complete') return ''
  // The cursor is another text each time.
  const { nextCursor: _cursor, ...body } = result.body
  return JSON.stringify(body)
}
