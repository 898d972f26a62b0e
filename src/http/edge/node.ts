/** The node:http edge: translates bytes, nothing else. Works for plain servers and inside Express or Fastify. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ServiceError } from '../../errors.ts'
import type { HttpResponse } from './response.ts'
import { brokenOff, tooLarge } from './fetch.ts'
import { bodyOfFramework, type Framework } from './framework-body.ts'
import type { Handle, HttpRequest } from './request.ts'

/** How long a receiver may take nothing of an answer before the connection is closed. */
const stalledMs = 30_000

/** How long a connection stays open after an answer to a body that was refused unread. */
const lingerMs = 500

/**
 * Requests that were sent one behind the other on a connection are served in that order, each after the answer to the
 * one before it: node:http hands them out all at once, and a read would not see the write before it (RFC 9112 §9.3.2).
 */
export function toNodeListener(handle: Handle, { stallMs = stalledMs } = {}): RequestListener {
  const turns = new WeakMap<object, Promise<void>>()
  return (request, response) => {
    const { socket } = request
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

/** Never rejects: nobody could answer that. */
async function serve(
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
  stallMs: number,
): Promise<void> {
  try {
    send(request, response, await handle(new NodeIncoming(request, response)), stallMs)
  } catch {
    // `handle` answers its own failures; what fails here is the connection.
    response.destroy()
  }
}

class NodeIncoming implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #message: IncomingMessage & Framework
  readonly #response: ServerResponse
  #body: Promise<Uint8Array> | undefined

  constructor(message: IncomingMessage & Framework, response: ServerResponse) {
    // Express cuts the mount path off `url` and keeps the whole in `originalUrl`.
    this.#message = message
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
    for (let index = 0; index < rawHeaders.length; index += 2) if (rawHeaders[index]?.toLowerCase() === name) seen += 1
    return seen > 1
  }

  /** Host is not believed; but none or two of them mean that somebody on the way read this request in another way. */
  get fault(): string | null {
    const { httpVersionMajor, httpVersionMinor, headers } = this.#message
    if (httpVersionMajor < 1) return 'it is older than HTTP/1.0'
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
    this.#body ??= readMessage(this.#message, maxBytes)
    return this.#body
  }
}

/**
 * Path and query. A request meant for a proxy has scheme and host before them, which say nothing here, and `OPTIONS *`
 * asks about the service as a whole (RFC 9112 §3.2).
 */
function originForm(target: string, method: string): string {
  if (target.startsWith('/')) return target
  if (target === '*' && method === 'OPTIONS') return '/'
  const rest = /^https?:\/\/[^/?]+(.*)$/i.exec(target)?.[1]
  if (rest === undefined) return target
  return rest.startsWith('/') ? rest : `/${rest}`
}

const none = new Uint8Array()

async function readMessage(message: IncomingMessage & Framework, maxBytes: number): Promise<Uint8Array> {
  const length = message.headers['content-length']
  const coding = message.headers['transfer-encoding']
  if (length !== undefined && Number(length) > maxBytes) throw tooLarge(maxBytes)
  if (message.readableEnded || message.readableDidRead) return bodyOfFramework(message)
  if (length === undefined && coding === undefined) return none
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') {
    throw new ServiceError('not_implemented', 'Cannot read the body: this transfer coding is not known', {
      headers: { Connection: 'close' },
    })
  }
  // Of a connection that is gone already no event tells.
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
    // It comes after every request; an error that nobody gets would cost its stack each time.
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
    // Long streams give a sign of life before this has passed, so what is over is a receiver that takes nothing.
    response.setTimeout(stallMs)
    void sendStream(response, answer.stream)
    return
  }
  if (!request.complete && answer.headers['Connection'] === 'close') {
    sendAndLinger(response, answer)
    return
  }
  response.end(answer.body ?? undefined)
  // Nearly every answer is with the system by then, and a timer for each would cost more than the rest of this function.
  setImmediate(watchStalled, response, stallMs)
}

/** Waits for a slow receiver before the next piece; one that went away ends the stream. */
async function sendStream(response: ServerResponse, stream: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(stream, { highWaterMark: 1 }), response)
  } catch {
    // The receiver went away, or the stream failed. HTTP/1.0 takes the end of a connection for the end of the answer, so
    // the connection is reset.
    response.socket?.resetAndDestroy()
    response.destroy()
  }
}

function watchStalled(response: ServerResponse, stallMs: number): void {
  if (response.writableLength > 0 && !response.destroyed) response.setTimeout(stallMs)
}

/**
 * The answer to a body that is not wanted. The rest of the body is not read; closing a connection with unread bytes
 * resets it, and the sender could lose the answer, so it gets a moment to take it and close by itself.
 */
function sendAndLinger(response: ServerResponse, answer: HttpResponse): void {
  response.write(answer.body ?? '')
  const linger = setTimeout(() => response.end(), lingerMs)
  response.once('close', () => clearTimeout(linger))
}
