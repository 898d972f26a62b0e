/** The adapter for web-standard Request and Response. It runs wherever `fetch` handlers run. */
import { ServiceError } from '../../errors.ts'
import { BodyStream, wholeBody } from './body-stream.ts'
import type { Handle, HttpRequest } from './request.ts'

/** The facts about a connection that a `Request` does not contain. */
export interface Connection {
  /** The address of the client, as the embedding server knows it. Without it, no rate limit counts by client. */
  readonly remoteAddress?: string | null
}

export function toFetch(handle: Handle): (request: Request, connection?: Connection) => Promise<Response> {
  return async (request, connection) => {
    const answer = await handle(new FetchIncoming(request, connection?.remoteAddress))
    const headers = new Headers(answer.headers)
    for (const cookie of answer.cookies ?? []) headers.append('Set-Cookie', cookie)
    const body = answer.stream === undefined ? answer.body : readable(answer.stream, answer.onClose)
    return new Response(body, { status: answer.status, headers })
  }
}

/** Converts an iterable to a stream that requests a piece when the client has received the previous one. */
function readable(stream: AsyncIterable<string | Uint8Array>, onClose?: () => void): ReadableStream<Uint8Array> {
  const pieces = stream[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const next = await pieces.next()
      if (next.done === true) controller.close()
      else controller.enqueue(typeof next.value === 'string' ? encoder.encode(next.value) : next.value)
    },
    cancel() {
      onClose?.()
      void pieces.return?.()
    },
  })
}

class FetchIncoming implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly remoteAddress: string | null
  readonly fault = null
  readonly original: Request
  readonly #request: Request
  #body: Promise<Uint8Array> | undefined
  #stream: BodyStream | undefined

  /** @param remoteAddress Servers pass arbitrary second arguments to a fetch handler. A value that is not a string is ignored. */
  constructor(request: Request, remoteAddress: unknown) {
    const { pathname, search } = new URL(request.url)
    this.#request = request
    this.original = request
    this.remoteAddress = typeof remoteAddress === 'string' ? remoteAddress : null
    this.method = request.method
    this.path = pathname
    this.query = search.slice(1)
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined
  }

  /** `Headers` joins repeated fields with a comma. A field that may occur only once never contains a comma. */
  readonly hasRepeated = (name: string): boolean => this.header(name)?.includes(',') === true

  onGone(then: () => void): () => void {
    const { signal } = this.#request
    if (signal.aborted) then()
    else signal.addEventListener('abort', then, { once: true })
    return () => signal.removeEventListener('abort', then)
  }

  body(maxBytes: number): Promise<Uint8Array> {
    this.#body ??= this.#stream === undefined ? readStream(this.#request, maxBytes) : collected(this.#stream, maxBytes)
    return this.#body
  }

  stream(): BodyStream {
    this.#stream ??= new BodyStream(this.#body === undefined ? requestPieces(this.#request) : wholeBody(this.#body))
    return this.#stream
  }
}

async function* requestPieces({ body }: Request): AsyncGenerator<Uint8Array, undefined> {
  if (body === null) return
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader()
  let isOver = false
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown): never => {
        isOver = true
        throw brokenOff(cause)
      })
      isOver = done
      if (done) return
      yield value
    }
  } finally {
    // The cancellation is not awaited: an unresponsive client must not delay the response.
    if (!isOver) reader.cancel().catch(() => {})
  }
}

async function readStream(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length')
  if (declared !== null && Number(declared) > maxBytes) throw tooLarge(maxBytes)
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let length = 0
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown): never => {
      throw brokenOff(cause)
    })
    if (done) return Buffer.concat(chunks, length)
    length += value.length
    if (length > maxBytes) {
      // The cancellation is not awaited: an unresponsive client must not delay the response.
      reader.cancel().catch(() => {})
      throw tooLarge(maxBytes)
    }
    chunks.push(value)
  }
}

/** Reads a body to its end whose beginning was read as a stream. */
export async function collected(stream: BodyStream, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of stream) {
    size += piece.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, size)
}

/** The error for a body that ended early, because the client disconnected or sent invalid framing. */
export function brokenOff(cause?: unknown): ServiceError {
  return new ServiceError('bad_request', 'Cannot read the body: the connection broke', { cause })
}

export function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `Cannot read the body: it is larger than ${maxBytes} bytes`, {
    headers: { Connection: 'close' },
  })
}
