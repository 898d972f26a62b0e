/** Converts the results of an application's handlers and hooks to JSON. */
import { ServiceError } from '../errors.ts'
import { fromResult, type JsonText, toPlain } from '../json/json.ts'
import { discard, isResponse } from './handler-response.ts'
import type { Schema } from './schema.ts'

/** @throws ServiceError `server_error` for a value that JSON cannot represent: the handler is at fault, not the caller. */
export function handlerResult(value: unknown): JsonText {
  if (isResponse(value)) {
    discard(value)
    throw new ServiceError('server_error', undefined, {
      cause: new Error('A handler returned a Response, which only methods, actions, resources and pages may return'),
    })
  }
  try {
    return fromResult(value)
  } catch (cause) {
    throw new ServiceError('server_error', undefined, { cause })
  }
}

/**
 * Checks a result against the output that its operation declares. Schemas with types check the value of the handler, because
 * the handler has their type. A JSON Schema checks the JSON that is sent.
 *
 * @param what the operation, such as `action "lend"`.
 * @throws ServiceError `server_error` whose reason names the operation and the field.
 */
export async function requireResult(what: string, output: Schema, result: unknown): Promise<void> {
  const given = output.isTyped || result === undefined ? result : toPlain(handlerResult(result))
  try {
    await output.check(given)
  } catch (cause) {
    if (!(cause instanceof ServiceError) || cause.code !== 'invalid_input') throw cause
    throw new ServiceError('server_error', undefined, {
      cause: new Error(`The result of the ${what} does not fit its output: ${outputProblem(cause)}`),
    })
  }
}

/** Returns the message of a schema about an output, without the words that it has for an input. */
export function outputProblem({ message }: ServiceError): string {
  return message.replace(/^Cannot accept (?:the input: )?/, '').replaceAll('Invalid input', 'Invalid output')
}
