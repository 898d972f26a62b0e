/** HTTP calls to providers: limited in time and size, without redirects, and over TLS unless the operator allows http. */
import type { CustomFetch } from 'openid-client'
import type { Agent } from 'undici'
import { HttpCall } from '../../peer/http-call.ts'
import { ProviderError } from '../provider.ts'

/** Timeouts in seconds: for the connection, and from then to the last byte. */
const limits = {
  token: { connectSeconds: 5, answerSeconds: 15 },
  userinfo: { connectSeconds: 5, answerSeconds: 10 },
  discovery: { connectSeconds: 5, answerSeconds: 10 },
  keys: { connectSeconds: 3, answerSeconds: 5 },
} as const

export type CallPurpose = keyof typeof limits

/** 256 KiB. The largest expected response, a key set with certificates, has some tens of KiB. */
const maxAnswerBytes = 262_144

export interface OutboundOptions {
  readonly allowHttp: boolean
  /** Version in `User-Agent: Troupe/<release>`. GitHub refuses requests without this header. */
  readonly release: string
}

export interface ProviderAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class Outbound {
  readonly #options: OutboundOptions
  /** Created by the first call, which loads undici. */
  #agent: Promise<Agent> | undefined
  #isClosed = false

  constructor(options: OutboundOptions) {
    this.#options = options
  }

  /** Calls a provider. @throws ProviderError `unreachable`, also for a redirect or a 5xx status. */
  async call(
    purpose: CallPurpose,
    request: {
      readonly method: string
      readonly url: string
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string | undefined
    },
  ): Promise<ProviderAnswer> {
    const url = URL.parse(request.url)
    if (url === null || (url.protocol !== 'https:' && !(url.protocol === 'http:' && this.#options.allowHttp))) {
      throw new ProviderError('unreachable', `Cannot call ${shown(request.url)}: it is not an https URL`)
    }
    const where = `${request.method} ${url.origin}${url.pathname}`
    this.#agent ??= createAgent()
    const agent = await this.#agent
    if (this.#isClosed) throw new ProviderError('unreachable', `Cannot call ${where}: the service is stopping`)
    const { connectSeconds, answerSeconds } = limits[purpose]
    const exchange = new HttpCall({ connectMs: connectSeconds * 1000, readMs: answerSeconds * 1000, maxAnswerBytes })
    try {
      agent.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: request.method,
          headers: {
            accept: 'application/json',
            ...request.headers,
            'accept-encoding': 'identity',
            'user-agent': `Troupe/${this.#options.release}`,
          },
          body: request.body ?? null,
        },
        exchange,
      )
    } catch {
      // The original error may quote a header with a credential, so it is dropped.
      throw new ProviderError('unreachable', `Cannot call ${where}: the request cannot be sent`)
    }
    const outcome = await exchange.outcome
    if (outcome.kind !== 'answered') throw new ProviderError('unreachable', `${where}: ${outcome.reason}`)
    if (outcome.status >= 500 || (outcome.status >= 300 && outcome.status < 400)) {
      throw new ProviderError('unreachable', `${where} returned ${outcome.status}`, { status: outcome.status })
    }
    return outcome
  }

  /**
   * Returns the JSON of a response with status 200.
   *
   * @throws ProviderError `unreachable`, or `identity` for any other status.
   */
  async json(purpose: CallPurpose, url: string, accessToken?: string): Promise<unknown> {
    const answer = await this.call(purpose, {
      method: 'GET',
      url,
      headers: accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` },
    })
    if (answer.status !== 200) {
      const { status } = answer
      throw new ProviderError('identity', `GET ${shown(url)} returned ${status}`, { status })
    }
    try {
      return JSON.parse(answer.body) as unknown
    } catch {
      throw new ProviderError('unreachable', `GET ${shown(url)} returned invalid JSON`)
    }
  }

  /** Returns `call` as a fetch function for openid-client. */
  fetchFor(purpose: CallPurpose): CustomFetch {
    return async (url, { method, headers, body }) => {
      const answer = await this.call(purpose, {
        method,
        url,
        headers,
        body: body === null || body === undefined ? undefined : textOf(body),
      })
      const hasBody = answer.status !== 204 && answer.status !== 205
      return new Response(hasBody ? answer.body : null, { status: answer.status, headers: answer.headers })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#agent)?.destroy()
  }
}

async function createAgent(): Promise<Agent> {
  const { Agent } = await import('undici')
  // `HttpCall` limits the total time. Idle connections are short-lived: a request is lost if the provider closes its
  // connection at that moment, and a code can be sent only once.
  return new Agent({
    connections: 64,
    keepAliveTimeout: 1500,
    keepAliveMaxTimeout: 10_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function textOf(body: NonNullable<Parameters<CustomFetch>[1]['body']>): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString()
  throw new TypeError('Cannot send the body: providers accept forms only')
}

/** Returns a URL for logs, without its query, which may contain secrets. */
function shown(address: string): string {
  const url = URL.parse(address)
  return url === null ? 'an invalid URL' : `${url.origin}${url.pathname}`
}
