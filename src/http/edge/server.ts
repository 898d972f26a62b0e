/** The built-in HTTP server: limits, start and graceful shutdown. */
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import type { Config } from '../../config/options.ts'
import type { Handle } from './request.ts'
import { isEveryAddress } from '../../config/every-address.ts'
import { limitBodyTime } from './body-deadlines.ts'
import { nodeHttp } from './node-http.ts'
import { toNodeListener } from './node.ts'
import { refuseBadConnections } from './refused-connection.ts'
import { limitYoungGeneration } from './young-generation.ts'

/** Maximum size of all header fields with the request line, in bytes. */
const maxHeaderBytes = 16_384

/** An upload that makes progress may take an hour. */
const longestUploadSeconds = 3600

/** The error when the server cannot listen on its address. The message is one sentence for the operator. @public */
export class ListenError extends Error {
  override readonly name = 'ListenError'
}

interface Served {
  readonly handle: Handle
  stopping(): void
  close(): Promise<void>
}

/** A server that accepts connections. @public */
export interface Listening {
  /** The URL of the server for a browser on this machine. */
  readonly url: string
  /**
   * Serves for the configured time of draining, then accepts no connection, waits for running requests within their configured
   * time, and closes the store.
   */
  stop(): Promise<void>
}

interface Address {
  readonly url: string
  /** Starts serving. Earlier requests have waited for this call. */
  serve(service: Served): Listening
  /** Closes the listeners when the service could not start. */
  close(): void
}

/** The addresses of `localhost`. Programs use either one. */
const loopback = ['127.0.0.1', '::1']

/** @throws ListenError */
export async function listen(config: Config): Promise<Address> {
  // Most objects live only as long as a request. Without this flag, V8 allocates some of them in old space (record 016).
  setFlagsFromString('--no-allocation-site-pretenuring')
  limitYoungGeneration()
  const { promise: ready, resolve: setListener } = Promise.withResolvers<RequestListener>()
  let listener: RequestListener | undefined
  const onRequest: RequestListener = (request, response) => {
    if (listener !== undefined) listener(request, response)
    else void ready.then((late) => late(request, response))
  }
  const servers = await open(config, onRequest)
  const [{ port }] = servers
  const url = `http://${isEveryAddress(config.host) ? 'localhost' : bracketed(config.host)}:${port}`
  return {
    url,
    serve(service) {
      listener = toNodeListener(service.handle, { stallMs: config.requestTimeoutSeconds * 1000 })
      setListener(listener)
      return { url, stop: () => stop(servers, service, config) }
    },
    close: () => servers.forEach((server) => server.close()),
  }
}

/** One listening server. */
interface OpenServer {
  readonly port: number
  close(): void
  /** Ends each connection with its next answer, so that a proxy holds none when the server ends. */
  endConnections(): void
  /** Resolves when the last request has ended. Closes remaining connections after `graceMs`. */
  end(graceMs: number): Promise<void>
}

/** Listens on both loopback addresses for `localhost`, so that no other program can respond on the second address. */
async function open(config: Config, onRequest: RequestListener): Promise<[OpenServer, ...OpenServer[]]> {
  if (config.host !== 'localhost') return [await listenOn(config, config.port, config.host, onRequest)]
  // A free port on the first address may be in use on the second. If the system chose the port, try another one.
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

/** Returns true when the machine has no such address, because IPv6 or IPv4 is turned off. */
function isAbsent(error: unknown): boolean {
  const cause = error instanceof ListenError ? (error.cause as NodeJS.ErrnoException) : undefined
  return cause?.code === 'EADDRNOTAVAIL' || cause?.code === 'EAFNOSUPPORT'
}

/** Listens on one address, or on every address of the machine. */
async function listenOn(config: Config, port: number, host: string, onRequest: RequestListener): Promise<OpenServer> {
  let isEnding = false
  const server = createServer(config, (request, response) => {
    if (isEnding) response.shouldKeepAlive = false
    onRequest(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new ListenError(complaint(error, config), { cause: error })),
    )
    server.listen({ port, host }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close()
      server.closeAllConnections()
    },
    endConnections() {
      isEnding = true
    },
    async end(graceMs) {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
      // A connection becomes idle only after its running request has ended.
      const idle = setInterval(() => server.closeIdleConnections(), 50)
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(cut)
      clearInterval(idle)
    },
  }
}

function createServer(config: Config, onRequest: RequestListener): Server {
  const server = nodeHttp.createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      // Headers and body have separate deadlines, so that slow clients cannot hold connections. `limitBodyTime` has the one of
      // most bodies. This one is for an upload that makes progress.
      headersTimeout: Math.min(config.requestTimeoutSeconds, 20) * 1000,
      requestTimeout: Math.max(config.requestTimeoutSeconds, longestUploadSeconds) * 1000,
      connectionsCheckingInterval: 1000,
      keepAliveTimeout: 72_000,
      // `node.ts` checks Host instead, so that the error is a normal response.
      requireHostHeader: false,
      insecureHTTPParser: false,
      rejectNonStandardBodyWrites: true,
    },
    onRequest,
  )
  server.maxRequestsPerSocket = 0
  refuseBadConnections(server)
  limitBodyTime(server, config.requestTimeoutSeconds * 1000)
  // An unknown expectation may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response))
  return server
}

/** Time of draining behind a proxy, in seconds. A proxy needs it to notice that the service is no longer ready. */
const drainSecondsBehindProxy = 5

export function drainSecondsOf({
  drainSeconds,
  trustedProxies,
}: Pick<Config, 'drainSeconds' | 'trustedProxies'>): number {
  return drainSeconds ?? (trustedProxies > 0 ? drainSecondsBehindProxy : 0)
}

async function stop(servers: readonly OpenServer[], service: Served, config: Config): Promise<void> {
  service.stopping()
  for (const server of servers) server.endConnections()
  const seconds = drainSecondsOf(config)
  if (seconds > 0) await sleep(seconds * 1000)
  await Promise.all(servers.map((server) => server.end(config.shutdownSeconds * 1000)))
  await service.close()
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function complaint(error: NodeJS.ErrnoException, config: Config): string {
  const where = `port ${config.port} of ${config.host}`
  switch (error.code) {
    case 'EADDRINUSE':
      return `Cannot listen on ${where}: another program uses it; choose another with PORT.`
    case 'EACCES':
      return `Cannot listen on ${where}: this user lacks the permission; choose a port above 1023 with PORT.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `Cannot listen on ${where}: HOST is not an address of this machine.`
    default:
      return `Cannot listen on ${where}: ${error.message}.`
  }
}
