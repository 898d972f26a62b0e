/**
 * The time that a request body may take to arrive. The limit of node:http is the same for all requests of a server. Here, a
 * body that is read as a stream may take longer while it makes progress, because a file is larger than other bodies.
 */
import type { IncomingMessage, Server } from 'node:http'

const checkMs = 1000
/** When bodies that are read as a stream last made progress. */
const progress = new WeakMap<IncomingMessage, number>()

/** Notes that a piece of the body was read. */
export function noteProgress(message: IncomingMessage): void {
  progress.set(message, performance.now())
}

/** Refuses bodies that take longer, or make no progress for so long, with 408. */
export function limitBodyTime(server: Server, timeoutMs: number): void {
  const arriving = new Map<IncomingMessage, number>()
  server.on('request', (message: IncomingMessage) => {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = message.headers
    if (length === '0' && coding === undefined) return
    arriving.set(message, performance.now())
    message.once('close', () => arriving.delete(message))
  })
  const check = setInterval(() => {
    const now = performance.now()
    for (const [message, begunAt] of arriving) {
      if (message.complete) arriving.delete(message)
      if (message.complete || now - (progress.get(message) ?? begunAt) < timeoutMs) continue
      arriving.delete(message)
      const late = Object.assign(new Error('The body took too long to arrive'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      server.emit('clientError', late, message.socket)
    }
  }, checkMs)
  check.unref()
  server.once('close', () => clearInterval(check))
}
