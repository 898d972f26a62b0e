/** `tools/call`: rights, arguments, the owner's approval, the handler, and its answer in the protocol's words. */
import { handlerResult } from '../../app/handler-result.ts'
import { ServiceError } from '../../errors.ts'
import { behind, settle } from '../tasks/run-as-task.ts'
import type { Asked, Channel, McpCallIn } from '../call/call.ts'
import type { Tool } from '../catalogue/catalogue.ts'
import { McpFailure } from '../protocol/failure.ts'
import { handsOf } from '../call/tool-context.ts'
import { contradicted } from '../catalogue/header-parameters.ts'
import type { McpParts } from '../mcp-deps.ts'
import { isRecord, type Params } from '../protocol/message.ts'
import { whenApproved } from '../call/owner-approval.ts'
import { complete, type Result } from '../protocol/result.ts'
import { modernRevision, since } from '../protocol/revisions.ts'
import { Unanswered } from '../call/input-required.ts'
import type { RunningTask } from '../tasks/running-task.ts'
import { type CallResult, errorResult, toolResult } from '../call/tool-result.ts'

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
  const run = (): Promise<Result> =>
    behind(parts, call, tool, args, (channel) => runTool(parts, { ...call, channel }, tool, input.value))
  if (!tool.needsApproval) return run()
  const refused = (text: string): Result => complete({ ...errorResult(text) })
  return whenApproved(parts, call, { kind: 'tools', name, args, refused }, run)
}

async function requireRight(parts: McpParts, call: Asked, name: string): Promise<void> {
  const { actor, caller } = call.access
  const verdict = await parts.permission.may(actor.id, caller, { category: 'tools', right: 'write', target: name })
  if (!verdict.allowed)
    throw new McpFailure('not_permitted', `These credentials may not use the tool ${JSON.stringify(name.slice(0, 64))}`)
  parts.permission.decided(caller, verdict)
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

/** @throws McpFailure, Unanswered, and what is answered by status; everything else is a result. */
export async function runTool(parts: McpParts, call: McpCallIn, tool: Tool, input: unknown): Promise<CallResult> {
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

/** Takes up a task that another process left; false for a tool that must not be repeated. */
export function takeUp(parts: McpParts, call: Asked, name: string, args: Params, running: RunningTask): boolean {
  const tool = parts.catalogue.tools.get(name)
  const annotations = tool?.declaration.annotations ?? tool?.operation.metadata?.annotations
  if (tool === undefined || annotations?.idempotentHint !== true) return false
  const channel: Channel = {
    signal: () => running.signal,
    progress: () => {},
    log: () => {},
    ask: (questions) => running.ask(questions),
    background: () => {},
  }
  // The owner may have withdrawn the right meanwhile.
  const done = requireRight(parts, call, name)
    .then(() => tool.check.check(args))
    .then((input) => runTool(parts, { ...call, channel, held: { as: null } }, tool, input))
  void settle(parts, tool, running, done)
  return true
}
