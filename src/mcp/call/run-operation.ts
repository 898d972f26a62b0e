/** Runs a handler of the application for a call of an AI client: a tool, a prompt or a resource. */
import { isResponse } from '../../app/handler-response.ts'
import type { DeclaredOperation } from '../../app/registry.ts'
import type { McpDeps } from '../deps.ts'
import type { InFlightCall } from './call.ts'
import { responseValue } from './response-value.ts'
import { toolContextOf } from './tool-context.ts'

export async function runOperation(
  deps: Pick<McpDeps, 'handleOf'>,
  call: InFlightCall,
  { run, name }: DeclaredOperation,
  input: unknown,
): Promise<unknown> {
  const { actor, caller } = call.access
  const result = await run(deps.handleOf(actor), { caller, name, input, mcp: toolContextOf(call) })
  return isResponse(result) ? responseValue(name, result) : result
}
