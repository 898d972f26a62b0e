/** Responses for connections that the HTTP parser rejects, and for CONNECT. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ErrorCode, ServiceError } from '../../errors.ts'
import { errorResponse } from './error-response.ts'
import { nodeHttp } from './node-http.ts'

/** How long the client may take to receive the response before the connection is closed, in milliseconds. */
const lingerMs = 500

/** Sends a normal error response to input that never becomes a request, and closes the connection. */
export function refuseBadConnections(server: Server): void {
  const unanswered = new WeakMap<Duplex, Set<ServerResponse>>()
  function forget(this: ServerResponse): void {
    unanswered.get(this.req.socket)?.delete(this)
  }
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const open = unanswered.get(socket)
    if (open === undefined) unanswered.set(socket, new Set([response]))
    else open.add(response)
    response.on('close', forget)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const open = [...(unanswered.get(socket) ?? [])]
    const whole = open.findLast((response) => response.req.complete)
    const broken = open.at(-1)
    if (whole !== undefined) {
      // The client would read an error now as the response to the request that is still running.
      whole.shouldKeepAlive = false
      whole.once('close', () => socket.destroy())
    } else if (broken?.headersSent === true) {
      socket.destroy()
    } else {
      const code = codeOf(error.code)
      refuse(socket, new ServiceError(code, code === 'bad_request' ? 'The request is not valid HTTP' : undefined))
    }
  })
  server.on('connect', (_request, socket) => {
    refuse(
      socket,
      new ServiceError('method_not_allowed', 'Cannot open a tunnel: CONNECT is not supported', {
        headers: { Allow: 'GET, HEAD' },
      }),
    )
  })
}

function codeOf(parserCode: string | undefined): ErrorCode {
  switch (parserCode) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large'
    case 'HPE_INVALID_METHOD':
      return 'not_implemented'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    default:
      return 'bad_request'
  }
}

/** Sends the error and closes the connection after `lingerMs` at the latest. Input after the error is ignored. */
function refuse(socket: Duplex, error: ServiceError): void {
  const { status, headers, body } = errorResponse(error)
  const lines = Object.entries({
    ...headers,
    'X-Content-Type-Options': 'nosniff',
    'X-Request-ID': randomUUID(),
    'Content-Length': String(Buffer.byteLength(body ?? '')),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  // node:http removes the error listener for CONNECT, and an unhandled error would end the process.
  socket.on('error', () => socket.destroy())
  const linger = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(linger))
  socket.end(
    `HTTP/1.1 ${status} ${nodeHttp.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${typeof body === 'string' ? body : ''}`,
  )
}
