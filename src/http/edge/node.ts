/** The adapter for node:http. It works for plain servers and inside Express or Fastify. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../../errors.ts'
import type { HttpResponse } from './response.ts'
import { noteProgress } from './body-deadlines.ts'
import { BodyStream, wholeBody } from './body-stream.ts'
import { brokenOff, collected, tooLarge } from './fetch.ts'
import { bodyOfFramework, type Framework } from './framework-body.ts'
import type { Handle, HttpRequest } from './request.ts'

/** Maximum time without progress in sending a response before the connection is closed, in milliseconds. */
const stalledMs = 30_000

/** How long a connection stays open after the response to an unread body, in milliseconds. */
const lingerMs = 500

/**
 * Makes a request listener that serves pipelined requests of a connection one after another (RFC 9112 §9.3.2). node:http
 * emits them all at once, and a read might not see the previous write.
 */
export function toNodeListener(handle: Handle, { stallMs = stalledMs } = {}): RequestListener {
  const turns = new WeakMap<object, Promise<void>>()
  const ended = new WeakSet<object>()
  return (request, response) => {
    const { socket } = request
    if (ended.has(socket)) return
    if (isFaultilyFramed(request)) {
      ended.add(socket)
      response.shouldKeepAlive = false
    }
    const before = turns.get(socket)
    const turn =
      before === undefined
        ? serve(handle, request, response, stallMs)
        : before.then(() => (response.destroyed ? undefined : serve(handle, request, response, stallMs)))
    turns.set(socket, turn)
    void turn.then(() => {
      if (turns.get(socket) === turn) turns.delete(socket)
    })
  }
}

/**
 * True for HTTP/1.0 with Transfer-Encoding. A proxy that does not know the field sees other requests on the connection, so
 * nothing after this message is a request, and the connection is closed (RFC 9112 §6.1).
 */
function isFaultilyFramed({ httpVersionMajor, httpVersionMinor, headers }: IncomingMessage): boolean {
  return httpVersionMajor === 1 && httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined
}

/** Serves one request. Never rejects, because no caller could send a response. */
async function serve(
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
  stallMs: number,
): Promise<void> {
  try {
    send(request, response, await handle(new NodeIncoming(request, response)), stallMs)
  } catch {
    // `handle` converts its own errors to responses, so this is a failure of the connection.
    response.destroy()
  }
}

class NodeIncoming implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly original: IncomingMessage
  readonly #message: IncomingMessage & Framework
  readonly #response: ServerResponse
  #body: Promise<Uint8Array> | undefined
  #stream: BodyStream | undefined

  constructor(message: IncomingMessage & Framework, response: ServerResponse) {
    // Express cuts the mount path off `url` and keeps the full URL in `originalUrl`.
    this.#message = message
    this.original = message
    this.#response = response
    this.method = message.method ?? 'GET'
    const url = originForm(message.originalUrl ?? message.url ?? '/', this.method)
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark + 1)
  }

  header(name: string): string | undefined {
    const value = this.#message.headers[name]
    return typeof value === 'string' ? value : value?.join(', ')
  }

  readonly hasRepeated = (name: string): boolean => {
    const { rawHeaders } = this.#message
    let seen = 0
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const header = rawHeaders[index] ?? ''
      if (header.length === name.length && header.toLowerCase() === name) seen += 1
    }
    return seen > 1
  }

  /** A missing or repeated Host shows that a proxy may have parsed the request differently. Its value is not trusted. */
  get fault(): string | null {
    const { httpVersionMajor, httpVersionMinor, headers } = this.#message
    if (httpVersionMajor < 1) return 'it is older than HTTP/1.0'
    if (isFaultilyFramed(this.#message)) return 'HTTP/1.0 has no Transfer-Encoding'
    if (this.hasRepeated('host')) return 'it has two Host fields'
    return httpVersionMinor > 0 && headers.host === undefined ? 'it has no Host field' : null
  }

  get remoteAddress(): string | null {
    return this.#message.socket.remoteAddress ?? null
  }

  onGone(then: () => void): () => void {
    const response = this.#response
    const closed = (): void => {
      if (!response.writableFinished) then()
    }
    if (response.destroyed) closed()
    else response.once('close', closed)
    return () => void response.off('close', closed)
  }

  body(maxBytes: number): Promise<Uint8Array> {
    this.#body ??= this.#stream === undefined ? readMessage(this.#message, maxBytes) : collected(this.#stream, maxBytes)
    return this.#body
  }

  stream(): BodyStream {
    this.#stream ??= new BodyStream(this.#body === undefined ? messagePieces(this.#message) : wholeBody(this.#body))
    return this.#stream
  }
}

/**
 * Returns path and query. The absolute form for proxies also has a scheme and host, which are ignored, and `OPTIONS *`
 * addresses the whole service (RFC 9112 §3.2).
 */
function originForm(target: string, method: string): string {
  if (target.startsWith('/')) return target
  if (target === '*' && method === 'OPTIONS') return '/'
  const rest = /^https?:\/\/[^/?]+(.*)/is.exec(target)?.[1]
  if (rest === undefined) return target
  return rest.startsWith('/') ? rest : `/${rest}`
}

const none = new Uint8Array()

/** Reads the body piece by piece. The connection stays open when the reader ends early, so that it gets the response. */
async function* messagePieces(message: IncomingMessage & Framework): AsyncGenerator<Uint8Array, undefined> {
  if (message.readableEnded || message.readableDidRead) {
    yield bodyOfFramework(message)
    return
  }
  requireCoding(message)
  if (message.destroyed) throw brokenOff()
  try {
    for await (const piece of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      noteProgress(message)
      yield piece
    }
  } catch (cause) {
    throw brokenOff(cause)
  }
  if (!message.complete) throw brokenOff()
}

/** @throws ServiceError `not_implemented` */
function requireCoding({ headers }: IncomingMessage): void {
  const coding = headers['transfer-encoding']
  if (coding === undefined || coding.trim().toLowerCase() === 'chunked') return
  throw new ServiceError('not_implemented', 'Cannot read the body: the transfer coding is not supported', {
    headers: { Connection: 'close' },
  })
}

async function readMessage(message: IncomingMessage & Framework, maxBytes: number): Promise<Uint8Array> {
  const length = message.headers['content-length']
  const coding = message.headers['transfer-encoding']
  if (length !== undefined && Number(length) > maxBytes) throw tooLarge(maxBytes)
  if (message.readableEnded || message.readableDidRead) return bodyOfFramework(message)
  if (length === undefined && coding === undefined) return none
  requireCoding(message)
  // A closed connection emits no further event.
  if (message.destroyed) throw brokenOff()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    message.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) {
        message.removeAllListeners('data')
        message.pause()
        reject(tooLarge(maxBytes))
      } else {
        chunks.push(chunk)
      }
    })
    message.on('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? none) : Buffer.concat(chunks, size)))
    message.on('error', (cause) => reject(brokenOff(cause)))
    // `close` follows every request. Creating an error each time would cost a stack trace.
    message.on('close', () => {
      if (!message.readableEnded) reject(brokenOff())
    })
  })
}

function send(request: IncomingMessage, response: ServerResponse, answer: HttpResponse, stallMs: number): void {
  if (response.headersSent || response.destroyed) {
    answer.onClose?.()
    return
  }
  if (answer.cookies !== undefined) response.setHeader('Set-Cookie', answer.cookies)
  response.writeHead(answer.status, answer.headers)
  if (answer.stream !== undefined) {
    if (answer.onClose !== undefined) response.once('close', answer.onClose)
    // Long streams send a heartbeat within this time, so the timeout only hits a client that stopped reading.
    response.setTimeout(stallMs)
    // The first piece may take long, and clients wait for the head: Go's HTTP client returns only then.
    response.flushHeaders()
    void sendStream(response, answer.stream)
    return
  }
  if (!request.complete && answer.headers['Connection'] === 'close') {
    sendAndLinger(response, answer)
    return
  }
  response.end(answer.body ?? undefined)
  // By then the system has accepted nearly every response. A timer for each would cost more than the rest of this function.
  if (sent.push({ response, stallMs }) === 1) setImmediate(watchSent)
}

/** The responses of this turn of the event loop. */
let sent: { readonly response: ServerResponse; readonly stallMs: number }[] = []

function watchSent(): void {
  const last = sent
  sent = []
  for (const { response, stallMs } of last) watchStalled(response, stallMs)
}

/** Sends a stream with backpressure. A disconnected client ends the stream. */
async function sendStream(response: ServerResponse, stream: AsyncIterable<string | Uint8Array>): Promise<void> {
  try {
    await pipeline(Readable.from(stream, { highWaterMark: 1 }), response)
  } catch {
    // The client disconnected, or the stream failed. The reset shows HTTP/1.0 clients that the response is incomplete,
    // because a normal close would mark its end.
    response.socket?.resetAndDestroy()
    response.destroy()
  }
}

function watchStalled(response: ServerResponse, stallMs: number): void {
  if (response.writableLength > 0 && !response.destroyed) response.setTimeout(stallMs)
}

/**
 * Sends the response to a refused body without reading the rest. Closing a connection with unread bytes resets it, and the
 * client could lose the response. The client therefore gets a moment to read it and close.
 */
function sendAndLinger(response: ServerResponse, answer: HttpResponse): void {
  response.write(answer.body ?? '')
  const linger = setTimeout(() => response.end(), lingerMs)
  response.once('close', () => clearTimeout(linger))
}
