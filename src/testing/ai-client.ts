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

/** A prompt as the service lists it. */
export interface ListedPrompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[]
}

/** A resource as the service lists it. */
export interface ListedResource {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

/** A part of a result, such as `{ type: 'text', text: '…' }`. */
type Content = { readonly [member: string]: Json }

/** The result of a tool. @public */
export interface ToolCallResult {
  /** The text parts of the content, joined by line breaks. */
  readonly text: string
  /** The structured content; undefined when the tool declares no output. */
  readonly structured: Json | undefined
  /** True when the call was refused, failed, or waits for the owner's approval. `text` has the reason. */
  readonly isError: boolean
  readonly content: readonly Content[]
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

/** An AI client that a person has authorized. @public */
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
  tools(): Promise<readonly ListedTool[]> {
    return this.#list<ListedTool>('tools')
  }

  /** Lists the prompts that the client may use. */
  prompts(): Promise<readonly ListedPrompt[]> {
    return this.#list<ListedPrompt>('prompts')
  }

  /** Lists the resources that the client may read. */
  resources(): Promise<readonly ListedResource[]> {
    return this.#list<ListedResource>('resources')
  }

  async #list<T>(kind: 'tools' | 'prompts' | 'resources'): Promise<readonly T[]> {
    const listed: T[] = []
    let cursor: Json | undefined
    do {
      const page = (await this.request(`${kind}/list`, cursor === undefined ? {} : { cursor })) as {
        readonly [member: string]: Json
      }
      listed.push(...(page[kind] as readonly T[]))
      cursor = page['nextCursor']
    } while (cursor !== undefined)
    return listed
  }

  /** Returns the text of a prompt. @throws ClientRefused for a prompt that the client may not use. */
  async prompt(name: string, input: Readonly<Record<string, string>> = {}): Promise<string> {
    const result = (await this.request('prompts/get', { name, arguments: input })) as unknown as {
      readonly messages: readonly { readonly content: Content }[]
    }
    return textOf(result.messages.map(({ content }) => content))
  }

  /** Returns the text of a resource. @throws ClientRefused for a resource that the client may not read. */
  async read(uri: string): Promise<string> {
    const { contents } = (await this.request('resources/read', { uri })) as unknown as {
      readonly contents: readonly Content[]
    }
    return textOf(contents)
  }

  /** Calls a tool. @throws ClientRefused for a tool that the client may not call. */
  async call(name: string, input: object = {}): Promise<ToolCallResult> {
    const result = (await this.request('tools/call', { name, arguments: input })) as unknown as {
      readonly content: readonly Content[]
      readonly structuredContent?: Json
      readonly isError?: boolean
    }
    return {
      text: textOf(result.content),
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

function textOf(content: readonly Content[]): string {
  return content.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n')
}
