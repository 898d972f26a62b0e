/** Calls to providers: bounded in time and size, without redirects, and only over TLS where the operator asks for it. */
import type { CustomFetch } from 'openid-client'
import type { Agent } from 'undici'
import { HttpCall } from '../../peer/http-call.ts'
import { ProviderError } from '../provider.ts'

/** In seconds: until there is a connection, and from then to the last byte. */
const limits = {
  token: { connectSeconds: 5, answerSeconds: 15 },
  userinfo: { connectSeconds: 5, answerSeconds: 10 },
  discovery: { connectSeconds: 5, answerSeconds: 10 },
  keys: { connectSeconds: 3, answerSeconds: 5 },
} as const

export type CallPurpose = keyof typeof limits

/** 256 KiB. The largest of these answers, a key set with its certificates, has some tens of them. */
const maxAnswerBytes = 262_144

export interface OutboundOptions {
  readonly allowHttp: boolean
  /** Told to every provider as `Troupe/<release>`; GitHub refuses who does not say. */
  readonly release: string
}

export interface ProviderAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class Outbound {
  readonly #options: OutboundOptions
  /** Loaded with the first call. */
  #agent: Promise<Agent> | undefined
  #isClosed = false

  constructor(options: OutboundOptions) {
    this.#options = options
  }

  /** @throws ProviderError `unreachable`, also for a redirect and for what says that it is the server's fault. */
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
      throw new ProviderError('unreachable', `Cannot call ${shown(request.url)}: it is not an https address`)
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
      // Its message may quote a header, and so a credential.
      throw new ProviderError('unreachable', `Cannot call ${where}: the request cannot be sent`)
    }
    const outcome = await exchange.outcome
    if (outcome.kind !== 'answered') throw new ProviderError('unreachable', `${where}: ${outcome.reason}`)
    if (outcome.status >= 500 || (outcome.status >= 300 && outcome.status < 400)) {
      throw new ProviderError('unreachable', `${where} was answered ${outcome.status}`, { status: outcome.status })
    }
    return outcome
  }

  /**
   * The JSON of a successful answer.
   *
   * @throws ProviderError `unreachable`, or `identity` when the provider refuses.
   */
  async json(purpose: CallPurpose, url: string, accessToken?: string): Promise<unknown> {
    const answer = await this.call(purpose, {
      method: 'GET',
      url,
      headers: accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` },
    })
    if (answer.status !== 200) {
      const { status } = answer
      throw new ProviderError('identity', `GET ${shown(url)} was answered ${status}`, { status })
    }
    try {
      return JSON.parse(answer.body) as unknown
    } catch {
      throw new ProviderError('unreachable', `GET ${shown(url)} was answered with what is not JSON`)
    }
  }

  /** The same way out in the form that openid-client takes. */
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
  // The time of an exchange is limited as a whole. Idle connections are short-lived: what is sent while the other side
  // closes one is lost, and a code can be sent only once.
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
  throw new TypeError('Only forms are sent to providers')
}

/** Without query, which may hold what is nobody's business. */
function shown(address: string): string {
  const url = URL.parse(address)
  return url === null ? 'an address that cannot be read' : `${url.origin}${url.pathname}`
}
