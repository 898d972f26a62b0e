/** A server of the service's own: limits, start and an orderly end. */
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import type { Config } from '../../config/options.ts'
import type { Handle } from './request.ts'
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
  /** Gives the address up without having served anything. */
  close(): void
}

/** A program's `localhost` may be either of these. */
const loopback = ['127.0.0.1', '::1']

/** @throws ListenError */
export async function listen(config: Config): Promise<Address> {
  // Everything lives as long as a request; V8 would take some of it for old when the first requests come (record 016).
  setFlagsFromString('--no-allocation-site-pretenuring')
  const { promise: ready, resolve: setListener } = Promise.withResolvers<RequestListener>()
  let listener: RequestListener | undefined
  const onRequest: RequestListener = (request, response) => {
    if (listener !== undefined) listener(request, response)
    else void ready.then((late) => late(request, response))
  }
  const servers = await open(config, onRequest)
  const [{ port }] = servers
  const url = `http://${config.host === null || config.host === '0.0.0.0' || config.host === '::' ? 'localhost' : bracketed(config.host)}:${port}`
  return {
    url,
    serve(service) {
      listener = toNodeListener(service.handle, { stallMs: config.requestTimeoutSeconds * 1000 })
      setListener(listener)
      return { url, stop: () => stop(servers, service, config.shutdownSeconds * 1000) }
    },
    close: () => servers.forEach((server) => server.close()),
  }
}

/** One listening server. */
interface OpenServer {
  readonly port: number
  close(): void
  /** Resolves when the last request is answered, or cut after the time. */
  drain(graceMs: number): Promise<void>
}

/** `localhost` is both loopback addresses, so that no other program can answer on the second one in our name. */
async function open(config: Config, onRequest: RequestListener): Promise<[OpenServer, ...OpenServer[]]> {
  if (config.host !== 'localhost') return [await listenOn(config, config.port, config.host, onRequest)]
  // A port that is free on the first address may be taken on the second one; chosen by the system, another will do.
  for (let attempt = 1; ; attempt += 1) {
    const servers: OpenServer[] = []
    try {
      for (const host of loopback) {
        const port = servers[0]?.port ?? config.port
        const server = await listenOn(config, port, host, onRequest).catch((error: unknown) => {
          if (isAbsent(error)) return null
          throw error
        })
        if (server !== null) servers.push(server)
      }
    } catch (error) {
      for (const server of servers) server.close()
      if (config.port === 0 && attempt < 5) continue
      throw error
    }
    const [first, ...others] = servers
    if (first !== undefined) return [first, ...others]
    throw new ListenError(`Cannot listen on port ${config.port} of localhost: this machine has no loopback address.`)
  }
}

/** A machine may do without IPv6, or without IPv4. */
function isAbsent(error: unknown): boolean {
  const cause = error instanceof ListenError ? (error.cause as NodeJS.ErrnoException) : undefined
  return cause?.code === 'EADDRNOTAVAIL' || cause?.code === 'EAFNOSUPPORT'
}

/** @param host Null for every address of the machine. */
async function listenOn(
  config: Config,
  port: number,
  host: string | null,
  onRequest: RequestListener,
): Promise<OpenServer> {
  const server = createServer(config, onRequest)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new ListenError(complaint(error, config), { cause: error })),
    )
    server.listen({ port, host: host ?? undefined }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      server.closeAllConnections()
    },
    async drain(graceMs) {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      // A connection whose last request was still running is idle only later.
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(cut)
      clearInterval(idle)
    },
  }
}

function createServer(config: Config, onRequest: RequestListener): Server {
  const server = createHttpServer(
    {
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
    },
    onRequest,
  )
  server.maxRequestsPerSocket = 0
  refuseBadConnections(server)
  // An expectation that is not known may be passed over (RFC 9110 §10.1.1); the answer is then like any other.
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response))
  return server
}

async function stop(servers: readonly OpenServer[], service: Served, graceMs: number): Promise<void> {
  service.stopping()
  await Promise.all(servers.map((server) => server.drain(graceMs)))
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
