/** Calls that a service in this process answers. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { release } from '../release.ts'
import { BoundedBody } from './bounded-body.ts'
import { maxAnswerBytes, peerHeaders } from './guarded-client.ts'
import { answerTooLarge } from './http-call.ts'
import type { PeerOutcome, PeerRequest } from './peer-client.ts'

export type Answers = (
  request: Request,
  connection?: { readonly remoteAddress: string },
) => Response | Promise<Response>

/**
 * Runs a request outside of the call that caused it, as if it came from a connection. Otherwise the called actor would run
 * inside the transaction or the request of the caller.
 */
const asOwnRequest = AsyncLocalStorage.snapshot()

/** Passes a call to a service in this process. The limits of size and the headers are those of a call over the network. */
export async function callInProcess(
  answer: Answers,
  request: PeerRequest,
  url: URL,
  signal: AbortSignal | null = null,
): Promise<PeerOutcome> {
  const made = peerHeaders(request, url, `Troupe/${release}`)
  if ('refused' in made) return { kind: 'unreached', reason: made.refused }
  const { method, body = null, stream, maxAnswerBytes: most = maxAnswerBytes } = request
  // The bytes of a body are not shared memory, which the type of a request requires. Node.js takes any async iterable.
  const sent = new Request(url, {
    method,
    headers: made.headers,
    body: (stream ?? body) as string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>> | null,
    signal,
    ...(stream === undefined ? {} : { duplex: 'half' }),
  })
  try {
    const response = await asOwnRequest(() => answer(sent, { remoteAddress: '127.0.0.1' }))
    const { status } = response
    const text = await boundedText(response, most)
    if (text === null) return { kind: 'unknown', reason: answerTooLarge, oversizedStatus: status }
    return { kind: 'answered', status, headers: Object.fromEntries(response.headers), body: text }
  } catch (error) {
    return { kind: 'unknown', reason: error instanceof Error ? error.message : String(error) }
  }
}

/** Null for a body of more than `most` bytes. */
async function boundedText(response: Response, most: number): Promise<string | null> {
  if (response.body === null) return ''
  const body = new BoundedBody(most)
  const chunks: AsyncIterable<Uint8Array> = response.body
  for await (const chunk of chunks) if (!body.append(Buffer.from(chunk))) return null
  return body.text()
}
