/** Runs a handler of the application for a call of an AI client: a tool, a prompt or a resource. */
import { discard, isResponse } from '../../app/handler-response.ts'
import { codeOfStatus, needsOperator, quoted, ServiceError } from '../../errors.ts'
import type { DeclaredOperation } from '../../app/registry.ts'
import { callLog } from '../../observe/call-log.ts'
import type { McpDeps } from '../deps.ts'
import { McpFailure } from '../protocol/failure.ts'
import { handlerFailure } from '../protocol/service-error.ts'
import type { InFlightCall } from './call.ts'
import { InputRequiredError } from './input-required.ts'
import { toolContextOf } from './tool-context.ts'

/** The longest text that a model receives, in bytes. */
const maxBytes = 1_048_576

const isText = /^(?:text\/|application\/(?:[^;]+\+)?(?:json|xml|x-ndjson)\b)/i
const isJson = /^application\/(?:[^;]+\+)?json\b/i

/** @throws ServiceError for an error that the handler threw deliberately. */
export async function runOperation(
  deps: Pick<McpDeps, 'handleOf' | 'log'>,
  call: InFlightCall,
  { run, name }: DeclaredOperation,
  input: unknown,
): Promise<unknown> {
  const { actor, caller } = call.access
  const result = await run(deps.handleOf(actor), {
    caller,
    name,
    input,
    ...callLog(deps.log, `mcp/${name}`, actor.id),
    mcp: toolContextOf(call),
  })
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

/**
 * Returns the text of the response, or its JSON.
 *
 * @throws ServiceError `bad_request` for other content and for a long text, and the code of a status that says failure. A
 *   model receives the message and the code.
 */
async function responseValue(name: string, response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? ''
  if (response.body !== null && !isText.test(type)) {
    discard(response)
    throw new ServiceError(
      'bad_request',
      `Cannot show the answer of ${quoted(name)}: it is ${type === '' ? 'binary' : quoted(type)}, and AI clients receive text and JSON only`,
    )
  }
  const text = await boundedText(name, response)
  if (!response.ok)
    throw new ServiceError(
      codeOfStatus(response.status),
      `${quoted(name)} answered with status ${response.status}: ${text}`,
    )
  return isJson.test(type) ? (JSON.parse(text) as unknown) : text
}

async function boundedText(name: string, { body }: Response): Promise<string> {
  if (body === null) return ''
  const chunks: Uint8Array[] = []
  let length = 0
  const stream: AsyncIterable<Uint8Array> = body
  for await (const chunk of stream) {
    length += chunk.byteLength
    if (length > maxBytes)
      throw new ServiceError(
        'bad_request',
        `Cannot show the answer of ${quoted(name)}: it is longer than ${maxBytes} bytes`,
      )
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length).toString('utf8')
}
