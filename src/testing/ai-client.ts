/** An AI client of a test. It speaks the Model Context Protocol without a session and without a stream. */
import type { Json } from '../json/json.ts'
import { requestTo, type TestRequest } from './browser.ts'
import { bodyOf, ClientRefused, RequestRefused } from './refused.ts'

/** A tool as the service lists it. */
export interface ListedTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: { readonly [keyword: string]: Json }
  readonly outputSchema?: { readonly [keyword: string]: Json }
  readonly annotations?: { readonly [name: string]: Json }
}

/** The result of a tool. */
export interface ToolCallResult {
  /** The text parts of the content, joined by line breaks. */
  readonly text: string
  /** The structured content; undefined when the tool declares no output. */
  readonly structured: Json | undefined
  /** True when the call was refused, failed, or waits for the owner's approval. `text` has the reason. */
  readonly isError: boolean
  readonly content: readonly { readonly type: string; readonly [member: string]: Json }[]
}

/** A response of the token endpoint. */
export interface ClientTokens {
  readonly access_token: string
  readonly refresh_token: string
  /** Seconds. */
  readonly expires_in: number
}

export interface AiClientDeps {
  readonly url: string
  readonly clientId: string
  readonly fetch: (request: Request) => Promise<Response>
  readonly now: () => number
  /** Exchanges a grant for tokens. @throws RequestRefused */
  readonly tokens: (grant: Readonly<Record<string, string>>) => Promise<ClientTokens>
}

const protocolVersion = '2025-11-25'

export class AiClient {
  /** The endpoint of the protocol. */
  readonly url: string
  readonly clientId: string
  readonly #deps: AiClientDeps
  #tokens: ClientTokens
  #expiresAt: number
  #id = 0

  constructor(deps: AiClientDeps, tokens: ClientTokens) {
    this.url = deps.url
    this.clientId = deps.clientId
    this.#deps = deps
    this.#tokens = tokens
    this.#expiresAt = deps.now() + tokens.expires_in * 1000
  }

  /** The access token. The client replaces it when it expires by the clock. */
  get token(): string {
    return this.#tokens.access_token
  }

  /** Sends an HTTP request with the token of the client, for the transport of another client library. */
  readonly fetch = async (url: string | URL, init: TestRequest = {}): Promise<Response> => {
    if (this.#deps.now() >= this.#expiresAt) await this.#refresh()
    const request = requestTo(String(url), init)
    if (!request.headers.has('authorization')) request.headers.set('authorization', `Bearer ${this.token}`)
    return this.#deps.fetch(request)
  }

  async #refresh(): Promise<void> {
    const { tokens, now } = this.#deps
    try {
      this.#tokens = await tokens({ grant_type: 'refresh_token', refresh_token: this.#tokens.refresh_token })
      this.#expiresAt = now() + this.#tokens.expires_in * 1000
    } catch (error) {
      // The owner disconnected the client. The request itself receives 401.
      if (!(error instanceof RequestRefused)) throw error
    }
  }

  /** Lists the tools that the client may call. */
  async tools(): Promise<readonly ListedTool[]> {
    const tools: ListedTool[] = []
    let cursor: string | undefined
    do {
      const page = (await this.request('tools/list', cursor === undefined ? {} : { cursor })) as unknown as {
        readonly tools: readonly ListedTool[]
        readonly nextCursor?: string
      }
      tools.push(...page.tools)
      cursor = page.nextCursor
    } while (cursor !== undefined)
    return tools
  }

  /** Calls a tool. @throws ClientRefused for a tool that the client may not call. */
  async call(name: string, input: object = {}): Promise<ToolCallResult> {
    const result = (await this.request('tools/call', { name, arguments: input })) as unknown as {
      readonly content: ToolCallResult['content']
      readonly structuredContent?: Json
      readonly isError?: boolean
    }
    const texts = result.content.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    return {
      text: texts.join('\n'),
      structured: result.structuredContent,
      isError: result.isError === true,
      content: result.content,
    }
  }

  /**
   * Sends a request of the protocol, such as `prompts/get`, and returns its result.
   *
   * @throws ClientRefused for an error of the protocol; RequestRefused for a refused HTTP request, such as after a revocation.
   */
  async request(method: string, params: object = {}): Promise<Json> {
    const response = await this.fetch(this.url, {
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': protocolVersion },
      json: { jsonrpc: '2.0', id: ++this.#id, method, params },
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    const body = isStream ? lastMessage(await response.text()) : await bodyOf(response)
    const { result, error } = (body ?? {}) as {
      readonly result?: Json
      readonly error?: ConstructorParameters<typeof ClientRefused>[1]
    }
    if (result !== undefined) return result
    if (typeof error === 'object') throw new ClientRefused(method, error)
    throw new RequestRefused(method, response.status, body ?? null)
  }
}

/** Returns the message of the last event, which is the response. */
function lastMessage(stream: string): Json {
  const data = [...stream.matchAll(/^data: (.+)$/gm)].at(-1)?.[1]
  return data === undefined ? null : (JSON.parse(data) as Json)
}
