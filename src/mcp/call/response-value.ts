/** The value of a handler's own HTTP response for an AI client, which receives text and JSON only. */
import { discard } from '../../app/handler-response.ts'
import { codeOfStatus, quoted, ServiceError } from '../../errors.ts'

/** The longest text that a model receives, in bytes. */
const maxBytes = 1_048_576

const isText = /^(?:text\/|application\/(?:[^;]+\+)?(?:json|xml|x-ndjson)\b)/i
const isJson = /^application\/(?:[^;]+\+)?json\b/i

/**
 * Returns the text of the response, or its JSON.
 *
 * @throws ServiceError `bad_request` for other content and for a long text, and the code of a status that says failure. A
 *   model receives the message and the code.
 */
export async function responseValue(name: string, response: Response): Promise<unknown> {
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
