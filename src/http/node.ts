/** The node:http edge: translates bytes, nothing else. Works for plain servers and inside Express or Fastify. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { ServiceError } from '../errors.ts'
import type { Answer } from './answer.ts'
import type { Handle } from './dispatch.ts'
import { tooLarge } from './fetch.ts'
import type { Incoming } from './incoming.ts'

export function toNodeListener(handle: Handle): RequestListener {
  return (request, response) => {
    handle(new NodeIncoming(request)).then(
      (answer) => send(request, response, answer),
      // `handle` answers its own failures; what fails here is the connection.
      () => response.destroy(),
    )
  }
}

/** A body that a framework parsed before the request came here. */
interface Framework {
  readonly originalUrl?: string
  readonly body?: unknown
}

class NodeIncoming implements Incoming {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly #message: IncomingMessage & Framework
  #body: Promise<Uint8Array> | undefined

  constructor(message: IncomingMessage & Framework) {
    // Express cuts the mount path off `url` and keeps the whole in `originalUrl`.
    const url = message.originalUrl ?? message.url ?? '/'
    const mark = url.indexOf('?')
    this.#message = message
    this.method = message.method ?? 'GET'
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

  get remoteAddress(): string | null {
    return this.#message.socket.remoteAddress ?? null
  }

  body(maxBytes: number): Promise<Uint8Array> {
    this.#body ??= readMessage(this.#message, maxBytes)
    return this.#body
  }
}

const none = new Uint8Array()

function readMessage(message: IncomingMessage & Framework, maxBytes: number): Promise<Uint8Array> {
  const length = message.headers['content-length']
  if (length !== undefined && Number(length) > maxBytes) return Promise.reject(tooLarge(maxBytes))
  if (message.readableEnded || message.readableDidRead) return parsedByFramework(message)
  if (length === undefined && message.headers['transfer-encoding'] === undefined) return Promise.resolve(none)
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
    message.on('error', (cause) =>
      reject(new ServiceError('bad_request', 'Cannot read the body: the connection broke', { cause })),
    )
    message.on('aborted', () => reject(new ServiceError('bad_request', 'Cannot read the body: the connection broke')))
  })
}

/** `express.json()` and the like leave the bytes read and their reading in `body`. */
async function parsedByFramework(message: IncomingMessage & Framework): Promise<Uint8Array> {
  const { body } = message
  if (body === undefined || body === null) return none
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') return Buffer.from(body)
  const isForm = message.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true
  return Buffer.from(isForm ? new URLSearchParams(body as Record<string, string>).toString() : JSON.stringify(body))
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(answer.status, answer.headers)
  response.end(answer.body ?? undefined)
  // A body that was refused unread is not read now either: the connection ends with the answer.
  if (!request.complete && answer.headers['Connection'] === 'close') response.once('finish', () => request.destroy())
}

/** Answers what the parser refuses, as the request would have been answered. */
export function onClientError(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const [status, code] = parserStatus(error.code)
    const body = JSON.stringify({ error: code, message: 'The request is not valid HTTP or exceeds a limit' })
    const reason = {
      400: 'Bad Request',
      408: 'Request Timeout',
      431: 'Request Header Fields Too Large',
      501: 'Not Implemented',
    }[status]
    socket.end(
      `HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  })
}

function parserStatus(code: string | undefined): [400 | 408 | 431 | 501, string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'headers_too_large']
    case 'HPE_INVALID_METHOD':
      return [501, 'not_implemented']
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'request_timeout']
    default:
      return [400, 'bad_request']
  }
}
