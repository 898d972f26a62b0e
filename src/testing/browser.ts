/** A browser of a test: it keeps the cookies of one service until they expire, and follows no redirects. */

/** The options of `fetch`. `json` is sent as the JSON body. @public */
export interface TestRequest extends RequestInit {
  readonly json?: unknown
}

export interface BrowserDeps {
  readonly baseUrl: string
  readonly now: () => number
  readonly fetch: (request: Request) => Promise<Response>
}

interface Cookie {
  readonly value: string
  /** Unix milliseconds; null until the browser closes. */
  readonly expiresAt: number | null
}

export class Browser {
  readonly #deps: BrowserDeps
  readonly #jar = new Map<string, Cookie>()

  constructor(deps: BrowserDeps) {
    this.#deps = deps
  }

  /** The values of the cookies that have not expired, by name. */
  get cookies(): ReadonlyMap<string, string> {
    const now = this.#deps.now()
    const alive = [...this.#jar].filter(([, { expiresAt }]) => expiresAt === null || expiresAt > now)
    return new Map(alive.map(([name, { value }]) => [name, value]))
  }

  /** Whether the service set the cookie, and time alone ended it. */
  hasExpired(name: string): boolean {
    return this.#jar.has(name) && !this.cookies.has(name)
  }

  /** @param path A path below the base URL of the service, or a URL of the service. */
  async fetch(path: string, { json, ...init }: TestRequest = {}): Promise<Response> {
    const request = requestTo(path.startsWith('/') ? this.#deps.baseUrl + path : path, { ...init, json })
    const cookies = [...this.cookies].map((pair) => pair.join('=')).join('; ')
    if (cookies !== '' && !request.headers.has('cookie')) request.headers.set('cookie', cookies)
    // A page of the service sends the requests, so the check against cross-site requests accepts them.
    if (!request.headers.has('sec-fetch-site')) request.headers.set('sec-fetch-site', 'same-origin')
    const response = await this.#deps.fetch(request)
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return response
  }

  #keep(line: string): void {
    const { name, value, maxAge } = readSetCookie(line)
    if (value === '' || (maxAge !== null && maxAge <= 0)) this.#jar.delete(name)
    else this.#jar.set(name, { value, expiresAt: maxAge === null ? null : this.#deps.now() + maxAge * 1000 })
  }
}

/** Reads a Set-Cookie header. `maxAge` is in seconds; null for a cookie that ends with the browser. */
export function readSetCookie(line: string): {
  readonly name: string
  readonly value: string
  readonly maxAge: number | null
} {
  const [, name = '', value = ''] = /^([^=;]+)=([^;]*)/.exec(line) ?? []
  const [, maxAge] = /;\s*max-age=(-?\d+)/i.exec(line) ?? []
  return { name, value, maxAge: maxAge === undefined ? null : Number(maxAge) }
}

/** Creates a request that follows no redirects. */
export function requestTo(url: string, { json, ...init }: TestRequest = {}): Request {
  const request = new Request(url, {
    redirect: 'manual',
    ...init,
    ...(json === undefined ? {} : { method: init.method ?? 'POST', body: JSON.stringify(json) }),
  })
  if (json !== undefined && new Headers(init.headers).get('content-type') === null)
    request.headers.set('content-type', 'application/json')
  return request
}
