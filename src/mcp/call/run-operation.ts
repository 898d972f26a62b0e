/** Runs a handler of the application for a call of an AI client: a tool, a prompt or a resource. */
import { isResponse } from '../../app/handler-response.ts'
import { needsOperator } from '../../errors.ts'
import type { DeclaredOperation } from '../../app/registry.ts'
import type { McpDeps } from '../deps.ts'
import { McpFailure } from '../protocol/failure.ts'
import { handlerFailure } from '../protocol/service-error.ts'
import type { InFlightCall } from './call.ts'
import { InputRequiredError } from './input-required.ts'
import { responseValue } from './response-value.ts'
import { toolContextOf } from './tool-context.ts'

/** @throws ServiceError for an error that the handler threw deliberately. */
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

/**
 * Runs a handler of a prompt, a resource or a completion. The client receives the text and code of an error that the
 * handler threw, also of the errors by which the service itself would refuse the HTTP request.
 *
 * @throws McpFailure
 */
export async function reportingErrors<T>(deps: Pick<McpDeps, 'log'>, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof InputRequiredError || error instanceof McpFailure) throw error
    const failure = handlerFailure(error)
    if (failure.kind === 'failed' && needsOperator(error))
      deps.log.error({ error }, 'A handler of the application failed')
    throw failure
  }
}
