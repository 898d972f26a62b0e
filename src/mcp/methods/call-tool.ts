/** `tools/call`: checks rights and arguments, awaits the owner's approval, and runs the handler of the tool. */
import { handlerResult, outputProblem } from '../../app/handler-result.ts'
import { needsOperator, quoted, ServiceError } from '../../errors.ts'
import { runAsTask, storeOutcome } from '../tasks/run-as-task.ts'
import type { McpRequest, Channel, InFlightCall } from '../call/call.ts'
import type { Tool } from '../catalogue/catalogue.ts'
import { McpFailure } from '../protocol/failure.ts'
import { runOperation } from '../call/run-operation.ts'
import { contradicted } from '../catalogue/header-parameters.ts'
import type { McpDeps } from '../deps.ts'
import { requireDeclared } from '../../operation/declared-members.ts'
import { isRecord, type MessageParams } from '../protocol/message.ts'
import { whenApproved } from '../call/owner-approval.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { textForModel } from '../protocol/service-error.ts'
import { modernRevision, since } from '../protocol/revisions.ts'
import { InputRequiredError } from '../call/input-required.ts'
import type { RunningTask } from '../tasks/running-task.ts'
import { type CallResult, errorResult, toolResult } from '../call/tool-result.ts'

/** The right is checked first, so that a client without it does not learn whether the tool exists. */
export async function callTool(deps: McpDeps, call: InFlightCall): Promise<McpResult> {
  const { name, arguments: given = {} } = call.params
  if (typeof name !== 'string' || name === '')
    throw new McpFailure('invalid_params', 'Cannot call a tool: "name" is missing')
  await requireRight(deps, call, name)
  const tool = deps.catalogues.of(call.access.actor).tools.get(name)
  if (tool === undefined) throw new McpFailure('unknown_tool', `Unknown tool ${quoted(name)}`)
  const args = given ?? {}
  if (!isRecord(args)) throw new McpFailure('invalid_params', 'Cannot call a tool: "arguments" must be an object')
  if (call.revision === modernRevision) {
    const differing = contradicted(tool.headers, args, call.header)
    if (differing !== null) {
      throw new McpFailure(
        'headers_differ',
        `The header of the argument ${JSON.stringify(differing)} does not match its value`,
      )
    }
  }
  const input = await checked(tool, args, call)
  if ('refused' in input) return complete({ ...input.refused })
  const run = (): Promise<McpResult> =>
    runAsTask(deps, call, tool, args, (channel) => runTool(deps, { ...call, channel }, tool, input.value))
  if (!tool.needsApproval) return run()
  const refused = (text: string): McpResult => complete({ ...errorResult(text) })
  return whenApproved(deps, call, { kind: 'tools', name, given: args, input: input.value, refused }, run)
}

async function requireRight(deps: McpDeps, call: McpRequest, name: string): Promise<void> {
  const { actor, caller } = call.access
  const verdict = await deps.permission.may(actor.id, caller, { category: 'tools', right: 'write', target: name })
  if (!verdict.allowed) throw new McpFailure('not_permitted', `These credentials may not use the tool ${quoted(name)}`)
  deps.permission.decided(caller, verdict)
}

/** Since 2025-11-25, invalid arguments lead to a result, not a protocol error, because the model can correct them. */
async function checked(
  tool: Tool,
  args: MessageParams,
  call: InFlightCall,
): Promise<{ value: unknown } | { refused: CallResult }> {
  try {
    const value = await tool.check.check(args)
    if (tool.needsApproval) requireDeclared(tool.inputSchema, args)
    return { value }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_input') throw error
    if (!since(call.revision, '2025-11-25')) throw new McpFailure('invalid_params', error.message)
    return { refused: errorResult(error.message) }
  }
}

/** @throws McpFailure, InputRequiredError. Every other error is a result. */
async function runTool(deps: McpDeps, call: InFlightCall, tool: Tool, input: unknown): Promise<CallResult> {
  let result: CallResult
  try {
    const answer = await runOperation(deps, call, tool.operation, input)
    if (answer === undefined && tool.checkOutput === null) return done
    result = toolResult(handlerResult(answer ?? null))
  } catch (error) {
    return failed(deps, tool, error)
  }
  return tool.checkOutput === null || result.isError ? result : conforming(deps, tool, result)
}

/** The result of a tool that returns nothing. Some clients and models refuse a result without content. */
const done: CallResult = { content: [{ type: 'text', text: 'Done.' }], isError: false }

/** The model receives the text and code of an error that the handler threw, but no details of an unexpected error. */
function failed(deps: McpDeps, tool: Tool, error: unknown): CallResult {
  if (error instanceof InputRequiredError || error instanceof McpFailure) throw error
  if (needsOperator(error)) deps.log.error({ error, tool: tool.name }, 'A tool failed')
  return errorResult(textForModel(error) ?? 'The tool failed. Only the log of the service has the details.')
}

async function conforming(deps: McpDeps, tool: Tool, result: CallResult): Promise<CallResult> {
  try {
    await tool.checkOutput?.check(result.structuredContent)
    return result
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    deps.log.error({ tool: tool.name, reason: outputProblem(error) }, 'A tool returned output that violates its schema')
    return errorResult('The tool returned output that violates its schema.')
  }
}

/** Resumes a task of a process that crashed. False for a tool that must not be repeated. */
export function resumeTask(
  deps: McpDeps,
  call: McpRequest,
  name: string,
  args: MessageParams,
  running: RunningTask,
): boolean {
  const tool = deps.catalogues.of(call.access.actor).tools.get(name)
  const annotations = tool?.declaration.annotations ?? tool?.operation.metadata?.annotations
  if (tool === undefined || annotations?.idempotentHint !== true) return false
  const channel: Channel = {
    signal: () => running.signal,
    progress: () => {},
    log: () => {},
    ask: (questions) => running.ask(questions),
    background: () => {},
  }
  // The owner may have revoked the right since the call.
  const done = requireRight(deps, call, name)
    .then(() => tool.check.check(args))
    .then((input) => runTool(deps, { ...call, channel, held: { as: null } }, tool, input))
  void storeOutcome(deps, tool, running, done)
  return true
}
