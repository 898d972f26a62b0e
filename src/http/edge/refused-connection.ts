/** What happens to a connection whose bytes the HTTP parser refuses, or that asks for a tunnel. */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ErrorCode, ServiceError } from '../../errors.ts'
import { errorResponse } from './error-response.ts'

/** How long the other side may take to receive the refusal before the connection is cut. */
const lingerMs = 500

/** Answers what never becomes a request as requests are answered, and ends the connection. */
export function refuseBadConnections(server: Server): void {
  const unanswered = new WeakMap<Duplex, Set<ServerResponse>>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const open = unanswered.get(request.socket) ?? new Set()
    unanswered.set(request.socket, open.add(response))
    response.once('close', () => open.delete(response))
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
      // A refusal now would be taken for the answer to the request that is still being served.
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
    refuse(socket, new ServiceError('method_not_allowed', 'Cannot make a tunnel', { headers: { Allow: 'GET, HEAD' } }))
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

/** Whoever does not close its half within the time is cut; what it sends meanwhile is nobody's. */
function refuse(socket: Duplex, error: ServiceError): void {
  const { status, headers, body } = errorResponse(error)
  const lines = Object.entries({
    ...headers,
    'X-Content-Type-Options': 'nosniff',
    'X-Request-ID': randomUUID(),
    'Content-Length': String(Buffer.byteLength(body ?? '')),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  // A tunnel's connection has lost its listener for errors, and an error that nobody hears ends the process.
  socket.on('error', () => socket.destroy())
  const linger = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(linger))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${typeof body === 'string' ? body : ''}`,
  )
}
