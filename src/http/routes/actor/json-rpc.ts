/** JSON-RPC 2.0 on `/<actor>/methods`: always 200, with the result or the error in the body. */
import { discard } from '../../../app/handler-response.ts'
import type { ErrorCode } from '../../../errors.ts'
import { isNull, isObject, type Json, type JsonText, known, members, stringValue, toPlain } from '../../../json/json.ts'
import { type HttpResponse, jsonText } from '../../edge/response.ts'
import { logError, toServiceError } from '../../edge/error-response.ts'
import type { ActorExchange } from '../../dispatch/route.ts'
import type { Log } from '../../../observe/log.ts'
import type { Operations } from '../../../operation/operations.ts'

/** Errors before the method runs. They fail the whole request with their HTTP status, as in every other form of a call. */
const refusesRequest: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'unauthorized',
  'approval_required',
  'approval_denied',
  'too_many_requests',
])

export function isJsonRpc(body: JsonText): boolean {
  return isObject(body) && members(body)?.get('jsonrpc') === '"2.0"'
}

export interface JsonRpcDeps {
  readonly operations: Operations
  readonly log: Log
}

export async function answerJsonRpc(
  deps: JsonRpcDeps,
  exchange: ActorExchange,
  nameInPath: string,
  body: JsonText,
): Promise<HttpResponse> {
  const request = members(body) ?? new Map<string, JsonText>()
  const id = request.get('id')
  const named = request.get('method')
  const method = named === undefined ? null : stringValue(named)
  if (method === null || method === '') return failure(id, -32600, 'Invalid Request', 'Missing method')
  if (nameInPath !== '' && nameInPath !== method) return failure(id, -32600, 'Invalid Request', 'Method name mismatch')
  const data = inputOf(request.get('params'))
  try {
    const { actor, caller } = exchange
    const result = await deps.operations.call({ actor, caller }, 'methods', method, data)
    if (typeof result !== 'object') return success(id, result ?? known('null'))
    return result === null ? failure(id, -32601, 'Method not found') : refusedResponse(id, actor.id, method, result)
  } catch (error) {
    const refused = toServiceError(error)
    if (refusesRequest.has(refused.code)) throw refused
    if (refused.code === 'invalid_input') return failure(id, -32602, 'Invalid params', refused.message)
    logError(deps.log, refused)
    return failure(id, -32603, 'Internal error', refused.message)
  }
}

function inputOf(params: JsonText | undefined): Json {
  return params === undefined || isNull(params) ? {} : toPlain(params)
}

function refusedResponse(id: JsonText | undefined, actorId: string, method: string, response: Response): HttpResponse {
  discard(response)
  const where = `POST /${actorId}/methods/${method}`
  return failure(id, -32603, 'Internal error', `The method answers with an HTTP response: call it by ${where}`)
}

/** Makes the response. A request without an id gets a response without an id. */
function success(id: JsonText | undefined, result: JsonText): HttpResponse {
  return jsonText(200, known(`{"jsonrpc":"2.0","result":${result}${id === undefined ? '' : `,"id":${id}`}}`))
}

function failure(id: JsonText | undefined, code: number, message: string, data?: string): HttpResponse {
  const error = JSON.stringify({ code, message, data })
  return jsonText(200, known(`{"jsonrpc":"2.0","error":${error},"id":${id ?? 'null'}}`))
}
