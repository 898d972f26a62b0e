/** `tools/list` and `tools/call`: the application's actions that it offers to AI clients. */
import { handlerResult } from '../app/handler-result.ts'
import type { FormAnswer, McpCall, ToolAudience } from '../app/mcp-declarations.ts'
import { ServiceError } from '../errors.ts'
import { type McpCallIn, clientTypeOf } from './call.ts'
import { dressed, type Tool } from './catalogue.ts'
import { pageOf } from './cursor.ts'
import { McpFailure } from './failure.ts'
import { contradicted } from './header-parameters.ts'
import type { McpParts } from './mcp-parts.ts'
import { isRecord, type Params } from './message.ts'
import { complete, type Result } from './result.ts'
import { modernRevision, since } from './revisions.ts'
import { Unanswered } from './round-trip.ts'
import { errorResult, toolResult, type CallResult } from './tool-result.ts'

const listTtlMs = 5_000

/** Declared, permitted, meant for this kind of client, and not hidden by a predicate; in the order of declaration. */
export async function listTools(parts: McpParts, call: McpCallIn): Promise<Result> {
  const { actor, caller } = call.access
  const all = [...parts.catalogue.tools.values()]
  const usable = await parts.permission.filter(
    actor.id,
    caller,
    { category: 'tools', right: 'write' },
    all.map(({ name }) => name),
  )
  const audience: ToolAudience = {
    actor: parts.handleOf(actor),
    caller,
    clientType: clientTypeOf(call.client.info),
  }
  const permitted = all.filter(({ name }) => usable.has(name))
  const shown = await Promise.all(permitted.map((tool) => view(parts, tool, audience)))
  const listed = shown.filter((tool) => tool !== null)
  const { items, ...page } = pageOf(parts.keyRing, call, listed, ({ name }) => name)
  return complete({ tools: items, ...page }, listTtlMs)
}

interface ToolView extends Params {
  readonly name: string
}

async function view(parts: McpParts, tool: Tool, audience: ToolAudience): Promise<ToolView | null> {
  const { declaration, operation } = tool
  if (declaration.allowedClients?.includes(audience.clientType) === false) return null
  if (declaration.visible !== undefined && !(await holds(parts, tool, audience))) return null
  const annotations = declaration.annotations ?? operation.metadata?.annotations
  return {
    name: tool.name,
    ...dressed(declaration),
    description: await descriptionFor(parts, tool, audience),
    inputSchema: tool.inputSchema,
    ...(tool.outputSchema === null ? {} : { outputSchema: tool.outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
  }
}

/** A predicate that fails hides the tool. */
async function holds(parts: McpParts, tool: Tool, audience: ToolAudience): Promise<boolean> {
  try {
    return (await tool.declaration.visible?.(audience)) === true
  } catch (error) {
    parts.log.warn({ error, tool: tool.name }, 'The visibility of a tool cannot be told, so it is hidden')
    return false
  }
}

async function descriptionFor(parts: McpParts, tool: Tool, audience: ToolAudience): Promise<string> {
  const { describe, clientDescriptions } = tool.declaration
  try {
    const own = await describe?.(audience)
    if (typeof own === 'string') return own
  } catch (error) {
    parts.log.warn({ error, tool: tool.name }, 'The description of a tool cannot be told, so the declared one stands')
  }
  return clientDescriptions?.[audience.clientType] ?? tool.description
}

/** The right comes first: whoever may not use a tool is not told whether there is one. */
export async function callTool(parts: McpParts, call: McpCallIn): Promise<Result> {
  const { name, arguments: given = {} } = call.params
  if (typeof name !== 'string' || name === '') throw new McpFailure('invalid_params', 'The call names no tool')
  await requireRight(parts, call, name)
  const tool = parts.catalogue.tools.get(name)
  if (tool === undefined) throw new McpFailure('unknown_tool', `There is no tool ${JSON.stringify(name.slice(0, 64))}`)
  const args = given ?? {}
  if (!isRecord(args)) throw new McpFailure('invalid_params', 'The arguments of a tool are an object')
  if (call.revision === modernRevision) {
    const differing = contradicted(tool.headers, args, call.header)
    if (differing !== null) {
      throw new McpFailure(
        'headers_differ',
        `The header of the argument ${JSON.stringify(differing)} is not what it says`,
      )
    }
  }
  const input = await checked(tool, args, call)
  if ('refused' in input) return complete({ ...input.refused })
  return complete({ ...(await run(parts, call, tool, input.value)) })
}

async function requireRight(parts: McpParts, call: McpCallIn, name: string): Promise<void> {
  const { actor, caller } = call.access
  const verdict = await parts.permission.may(actor.id, caller, { category: 'tools', right: 'write', target: name })
  if (!verdict.allowed)
    throw new McpFailure('not_permitted', `These credentials may not use the tool ${JSON.stringify(name.slice(0, 64))}`)
}

/** Wrong arguments are for the model to mend (from 2025-11-25 on), so they are a result and not an error of the protocol. */
async function checked(
  tool: Tool,
  args: Params,
  call: McpCallIn,
): Promise<{ value: unknown } | { refused: CallResult }> {
  try {
    return { value: await tool.check.check(args) }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_input') throw error
    if (!since(call.revision, '2025-11-25')) throw new McpFailure('invalid_params', error.message)
    return { refused: errorResult(error.message) }
  }
}

async function run(parts: McpParts, call: McpCallIn, tool: Tool, input: unknown): Promise<CallResult> {
  const { actor, caller } = call.access
  let answer: unknown
  try {
    answer = await tool.operation.handler({
      actor: parts.handleOf(actor),
      caller,
      name: tool.operation.name,
      input,
      mcp: handsOf(call),
    })
  } catch (error) {
    return failed(parts, tool, error)
  }
  const result = toolResult(handlerResult(answer ?? null))
  return tool.checkOutput === null || result.isError ? result : conforming(parts, tool, result)
}

/** What the application refuses is told to the model; what it did not foresee is not. */
function failed(parts: McpParts, tool: Tool, error: unknown): CallResult {
  if (error instanceof Unanswered || error instanceof McpFailure) throw error
  if (error instanceof ServiceError) {
    if (error.status === 503 || error.code === 'too_many_requests') throw error
    if (error.status < 500) return errorResult(error.message)
  }
  parts.log.error({ error, tool: tool.name }, 'A tool failed')
  return errorResult('The tool failed. Nobody but the operator can see why.')
}

async function conforming(parts: McpParts, tool: Tool, result: CallResult): Promise<CallResult> {
  try {
    await tool.checkOutput?.check(result.structuredContent)
    return result
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    parts.log.error({ tool: tool.name, reason: error.message }, 'A tool answered what does not fit its output schema')
    return errorResult('The tool answered something else than it declares.')
  }
}

export function handsOf(call: McpCallIn): McpCall {
  const { access, channel } = call
  return {
    context: {
      client_id: access.caller.clientId,
      trust_relationship: access.caller.relationship,
      peer_id: access.caller.peerId,
      token_data: { scope: access.token.scope, audience: access.token.audience, expires_at: access.token.expiresAt },
      transport_session_id: call.sessionId,
      client_info: call.client.info,
    },
    protocolVersion: call.revision,
    clientType: clientTypeOf(call.client.info),
    signal: channel.signal,
    progress: (done, total, message) => channel.progress(done, total, message),
    log: (level, data, logger) => channel.log(level, data, logger),
    elicit: async (key, question) => (await channel.ask({ [key]: { elicit: question } }))[key] as FormAnswer,
    ask: (questions) => channel.ask(questions),
    background: () => channel.background(),
  }
}
