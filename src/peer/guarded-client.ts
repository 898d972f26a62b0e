/** The only client for addresses that users choose. It refuses every address that cannot belong to a peer (SSRF). */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Agent } from 'undici'
import { currentContext } from '../observe/context.ts'
import { HttpCall } from './http-call.ts'
import { guardedConnector, type Resolve, resolveBySystem } from './guarded-connector.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from './peer-client.ts'
import { judgeUrl, liesBelow, type PeerPolicy } from './url-rules.ts'

export interface GuardedClientOptions extends PeerPolicy {
  readonly connectSeconds: number
  readonly readSeconds: number
  /** Sent to every peer as `Troupe/<release>`. */
  readonly release: string
  readonly resolve?: Resolve
  /** PEM certificates that replace the system's authorities. Certificate verification cannot be turned off. */
  readonly authorities?: readonly string[] | undefined
  /** Limit of origins with open connections. */
  readonly maxOrigins?: number
}

/** 1 MiB. Only a full synchronization needs more, and it sets a higher limit. */
export const maxAnswerBytes = 1_048_576

export const connectionsPerOrigin = 32

/** Headers that only the client sets. */
const ownHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'x-parent-request-id',
  'x-request-id',
])

export class GuardedClient implements PeerClient {
  readonly #options: GuardedClientOptions
  /** Loaded with the first call, so a service without peers starts without it. */
  #agent: Promise<Agent> | undefined
  #isClosed = false

  constructor(options: GuardedClientOptions) {
    this.#options = options
  }

  async call(request: PeerRequest): Promise<PeerOutcome> {
    const judged = judgeUrl(request.url, this.#options)
    if ('refused' in judged) return { kind: 'unreached', reason: `The URL ${judged.refused}` }
    const { url } = judged
    const headers = peerHeaders(request, url, `Troupe/${this.#options.release}`)
    if ('refused' in headers) return { kind: 'unreached', reason: headers.refused }

    this.#agent ??= this.#createAgent()
    const agent = await this.#agent
    if (this.#isClosed) return { kind: 'unreached', reason: 'The service is stopping' }
    const { connectSeconds, readSeconds } = request.timeouts ?? this.#options
    const silenceSeconds = request.timeouts?.silenceSeconds
    const exchange = new HttpCall({
      connectMs: connectSeconds * 1000,
      readMs: readSeconds * 1000,
      silenceMs: silenceSeconds === undefined ? undefined : silenceSeconds * 1000,
      maxAnswerBytes: request.maxAnswerBytes ?? maxAnswerBytes,
    })
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: headers.headers,
        body:
          request.stream === undefined
            ? (request.body ?? null)
            : Readable.from(exchange.watched(request.stream), { objectMode: false }),
      },
      exchange,
    )
    return exchange.outcome
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#agent)?.destroy()
  }

  async #createAgent(): Promise<Agent> {
    const { allowPrivatePeers, authorities, connectSeconds, resolve = resolveBySystem } = this.#options
    const { Agent, buildConnector } = await import('undici')
    return new Agent({
      connect: guardedConnector(buildConnector, {
        allowPrivatePeers,
        resolve,
        timeoutMs: connectSeconds * 1000,
        authorities,
      }),
      connections: connectionsPerOrigin,
      maxOrigins: this.#options.maxOrigins ?? 2000,
      // Some servers close an idle connection after two seconds without notice, and a request sent at that moment is
      // lost. A peer may announce a longer time, up to the maximum.
      keepAliveTimeout: 1500,
      keepAliveMaxTimeout: 10_000,
      // `HttpCall` limits the duration of the whole call.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }
}

/** Returns the headers of a call. `refused` is the reason why the call must not be sent. */
export function peerHeaders(
  request: PeerRequest,
  url: URL,
  userAgent: string,
): { readonly headers: Record<string, string> } | { readonly refused: string } {
  const { bearer, basic, body } = request
  const headers: Record<string, string> = { accept: 'application/json' }
  if (body !== undefined) headers['content-type'] = 'application/json'
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    const lower = name.toLowerCase()
    if (ownHeaders.has(lower)) return { refused: `The header ${lower} is set by the client alone` }
    headers[lower] = value
  }
  const credential = bearer ?? basic
  if (credential !== undefined && !liesBelow(url, credential.baseuri)) {
    return { refused: 'The URL lies outside the base address of the peer whose credential it would carry' }
  }
  headers['accept-encoding'] = 'identity'
  headers['user-agent'] = userAgent
  headers['x-request-id'] = randomUUID()
  const parent = currentContext()?.requestId
  if (parent !== undefined) headers['x-parent-request-id'] = parent
  if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer.secret}`
  else if (basic !== undefined) headers['authorization'] = basicOf(basic.user, basic.password)
  return { headers }
}

function basicOf(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}
