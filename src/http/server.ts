/** A server of the service's own: limits, start and an orderly end. */
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../config/options.ts'
import type { Handle } from './dispatch.ts'
import { toNodeListener } from './node.ts'
import { refuseBadConnections } from './refused-connection.ts'

/** In bytes, all header fields together with the address. */
const maxHeaderBytes = 16_384

/** The address cannot be listened on. The message is one sentence for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

interface Served {
  readonly handle: Handle
  stopping(): void
  close(): Promise<void>
}

export interface Listening {
  /** Where a browser on this machine reaches it. */
  readonly url: string
  /** Takes no new request, lets running ones end within the configured time, closes the store. */
  stop(): Promise<void>
}

interface Address {
  readonly url: string
  /** Requests that came before this wait for it. */
  serve(service: Served): Listening
}

export function createServer(config: Config): Server {
  const server = createHttpServer({
    maxHeaderSize: maxHeaderBytes,
    // Slow senders are cut: headers and body each have to be there in time.
    headersTimeout: Math.min(config.requestTimeoutSeconds, 20) * 1000,
    requestTimeout: config.requestTimeoutSeconds * 1000,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: 72_000,
    // Asked for where every request is answered (`node.ts`), so that the refusal is an answer like the others.
    requireHostHeader: false,
    insecureHTTPParser: false,
    rejectNonStandardBodyWrites: true,
  })
  server.maxRequestsPerSocket = 0
  refuseBadConnections(server)
  // An expectation that is not known may be passed over (RFC 9110 §10.1.1); the answer is then like any other.
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response))
  return server
}

/** @throws ListenError */
export async function listen(server: Server, config: Config): Promise<Address> {
  const { promise: ready, resolve: setListener } = Promise.withResolvers<RequestListener>()
  let listener: RequestListener | undefined
  server.on('request', (request, response) => {
    if (listener !== undefined) listener(request, response)
    else void ready.then((late) => late(request, response))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new ListenError(complaint(error, config), { cause: error })),
    )
    server.listen({ port: config.port, ...(config.host === null ? {} : { host: config.host }) }, resolve)
  })
  const { port } = server.address() as AddressInfo
  const url = `http://${config.host === null || config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : bracketed(config.host)}:${port}`
  return {
    url,
    serve(service) {
      listener = toNodeListener(service.handle, { stallMs: config.requestTimeoutSeconds * 1000 })
      setListener(listener)
      return { url, stop: () => stop(server, service, config.shutdownSeconds * 1000) }
    },
  }
}

async function stop(server: Server, service: Served, graceMs: number): Promise<void> {
  service.stopping()
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(cut)
  await service.close()
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function complaint(error: NodeJS.ErrnoException, config: Config): string {
  const where = `port ${config.port}${config.host === null ? '' : ` of ${config.host}`}`
  switch (error.code) {
    case 'EADDRINUSE':
      return `Cannot listen on ${where}: another program uses it; choose another with PORT.`
    case 'EACCES':
      return `Cannot listen on ${where}: this user may not; choose a port above 1023 with PORT.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `Cannot listen on ${where}: HOST is not an address of this machine.`
    default:
      return `Cannot listen on ${where}: ${error.message}.`
  }
}
