/** `tools/list`: the tools that the client may use. */
import type { ClientInfo, ToolAudience } from '../../app/mcp-declarations.ts'
import { type McpRequest, type McpAccess, clientTypeOf } from '../call/call.ts'
import { displayMetadata, type Tool } from '../catalogue/catalogue.ts'
import { pageOf } from '../protocol/cursor.ts'
import type { McpDeps } from '../deps.ts'
import type { MessageParams } from '../protocol/message.ts'
import { complete, type McpResult } from '../protocol/result.ts'

export async function listTools(deps: McpDeps, call: McpRequest): Promise<McpResult> {
  const listed = await toolsFor(deps, call.access, call.client.info)
  const { items, ...page } = pageOf(deps.keyRing, call, listed, ({ name }) => name)
  return complete({ tools: items, ...page })
}

/** The declared tools that the client may use and its kind may see, without those hidden by a predicate; in declared order. */
export async function toolsFor(
  deps: McpDeps,
  { actor, caller }: Pick<McpAccess, 'actor' | 'caller'>,
  info: ClientInfo | null,
): Promise<readonly ToolView[]> {
  const all = [...deps.catalogues.of(actor).tools.values()]
  const usable = await deps.permission.filter(
    actor.id,
    caller,
    { category: 'tools', right: 'write' },
    all.map(({ name }) => name),
  )
  const permitted = all.filter(({ name }) => usable.has(name))
  if (permitted.every(isTheSameForAll)) return permitted.map(viewForAll)
  const audience: ToolAudience = {
    actor: deps.handleOf(actor),
    caller,
    clientType: clientTypeOf(info),
  }
  const shown = await Promise.all(permitted.map((tool) => view(deps, tool, audience)))
  return shown.filter((tool) => tool !== null)
}

export interface ToolView extends MessageParams {
  readonly name: string
  readonly description: string
}

function isTheSameForAll({ declaration }: Tool): boolean {
  const { allowedClients, visible, describe, clientDescriptions } = declaration
  return [allowedClients, visible, describe, clientDescriptions].every((each) => each === undefined)
}

const views = new WeakMap<Tool, ToolView>()

/** Cached, because most tools look the same to every client. */
function viewForAll(tool: Tool): ToolView {
  const made = views.get(tool) ?? viewWith(tool, tool.description)
  views.set(tool, made)
  return made
}

async function view(deps: McpDeps, tool: Tool, audience: ToolAudience): Promise<ToolView | null> {
  const { declaration } = tool
  if (declaration.allowedClients?.includes(audience.clientType) === false) return null
  if (declaration.visible !== undefined && !(await holds(deps, tool, audience))) return null
  return viewWith(tool, await descriptionFor(deps, tool, audience))
}

function viewWith(tool: Tool, description: string): ToolView {
  const { declaration, operation } = tool
  const annotations = declaration.annotations ?? operation.metadata?.annotations
  return {
    name: tool.name,
    ...displayMetadata(declaration),
    description,
    inputSchema: tool.inputSchema,
    outputSchema: tool.outputSchema ?? undefined,
    annotations,
  }
}

/** A predicate that fails hides the tool. */
async function holds(deps: McpDeps, tool: Tool, audience: ToolAudience): Promise<boolean> {
  try {
    return (await tool.declaration.visible?.(audience)) === true
  } catch (error) {
    deps.log.warn({ error, tool: tool.name }, 'Cannot determine the visibility of a tool; it is hidden')
    return false
  }
}

async function descriptionFor(deps: McpDeps, tool: Tool, audience: ToolAudience): Promise<string> {
  const { describe, clientDescriptions } = tool.declaration
  try {
    const own = await describe?.(audience)
    if (typeof own === 'string') return own
  } catch (error) {
    deps.log.warn(
      { error, tool: tool.name },
      'Cannot compute the description of a tool; the declared description is used',
    )
  }
  return clientDescriptions?.[audience.clientType] ?? tool.description
}
