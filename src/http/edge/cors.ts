/**
 * CORS: the access of scripts of other sites (https://fetch.spec.whatwg.org/#http-cors-protocol). Each route names its
 * family, and preflights are answered from the routes of their path.
 */
import { present } from '../../json/present.ts'
import { type HttpResponse, isPage, json } from './response.ts'
import type { HttpRequest } from './request.ts'

export type CorsFamily =
  /** Sign-in of single-page applications: every site without cookies, or the configured sites with cookies. */
  | 'spa'
  /** Like `spa`, for GET only. */
  | 'session'
  /** Endpoints of clients with their own credentials: every site, never cookies. */
  | 'server'
  /** Like `server`, for GET only. */
  | 'discovery'
  /** Like `server`, but only for preflights: the responses are pages. */
  | 'page'
  /** The endpoint of AI clients: sites of `TROUPE_MCP_ORIGINS`, never cookies. */
  | 'mcp'

interface Family {
  readonly methods: string
  readonly headers: string
  readonly maxAgeSeconds: number | null
  /** True when only configured origins have access; false when every origin has. */
  readonly isNamed: boolean
  /** The response headers that scripts may read. */
  readonly exposed?: string
}

const spaHeaders = 'Authorization, Content-Type, Accept'
const serverHeaders = 'Authorization, Content-Type, mcp-protocol-version'
const mcpHeaders =
  'Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID'
const all = 'GET, POST, OPTIONS'
const reading = 'GET, OPTIONS'
const day = 86_400

const families: Readonly<Record<CorsFamily, Family>> = {
  spa: { methods: all, headers: spaHeaders, maxAgeSeconds: day, isNamed: true },
  session: { methods: reading, headers: spaHeaders, maxAgeSeconds: null, isNamed: true },
  server: { methods: all, headers: serverHeaders, maxAgeSeconds: day, isNamed: false },
  discovery: { methods: reading, headers: serverHeaders, maxAgeSeconds: day, isNamed: false },
  page: { methods: all, headers: serverHeaders, maxAgeSeconds: day, isNamed: false },
  mcp: {
    methods: 'GET, POST, DELETE, OPTIONS',
    headers: mcpHeaders,
    maxAgeSeconds: day,
    isNamed: true,
    exposed: 'Mcp-Session-Id, WWW-Authenticate, Retry-After',
  },
}

export class Cors {
  readonly #named: ReadonlySet<string>
  readonly #mcp: ReadonlySet<string>

  /**
   * @param named Origins that may use cookies. When empty, every origin has access without cookies.
   * @param mcp Origins that may call `/mcp`.
   */
  constructor(named: readonly string[], mcp: readonly string[]) {
    this.#named = new Set(named)
    this.#mcp = new Set(mcp)
  }

  /** Returns true when scripts of the origin may use the cookies of the user. */
  readonly isNamed = (origin: string): boolean => this.#named.has(origin)

  /** @param family Null when other sites have no access. */
  preflight(request: HttpRequest, family: CorsFamily | null, allowed: readonly string[]): HttpResponse {
    const ok = json(200, { status: 'ok' }, { Allow: allowed.join(', ') })
    if (family === null) return ok
    const { methods, headers, maxAgeSeconds } = families[family]
    const allows = present({
      ...this.#origin(request, family),
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': [headers, ...(family === 'mcp' ? mirroredArguments(request) : [])].join(', '),
      'Access-Control-Max-Age': maxAgeSeconds?.toString(),
    })
    return withHeaders(ok, allows)
  }

  /**
   * Adds the CORS headers to a response. Errors have them too, so that a script can show the reason to its user. HTML pages
   * never have them, because they contain CSRF tokens.
   */
  shared(request: HttpRequest, family: CorsFamily, answer: HttpResponse): HttpResponse {
    return family === 'page' || isPage(answer) ? answer : withHeaders(answer, this.#origin(request, family))
  }

  #origin(request: HttpRequest, family: CorsFamily): Record<string, string> {
    if (!families[family].isNamed) return { 'Access-Control-Allow-Origin': '*' }
    const origin = request.header('origin') ?? ''
    if (family === 'mcp') return this.#mcpOrigin(origin)
    if (this.#named.size === 0) {
      return { 'Access-Control-Allow-Origin': isOrigin(origin) ? origin : '*', Vary: 'Origin' }
    }
    return this.#named.has(origin)
      ? { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' }
      : { Vary: 'Origin' }
  }
  #mcpOrigin(origin: string): Record<string, string> {
    if (!this.#mcp.has(origin)) return { Vary: 'Origin' }
    const { exposed = '' } = families.mcp
    return { 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposed, Vary: 'Origin' }
  }
}

/** Returns the requested headers of tool arguments. Tools declare them, so no fixed list can name them ("x-mcp-header", 2026-07-28). */
function mirroredArguments(request: HttpRequest): readonly string[] {
  const asked = request.header('access-control-request-headers') ?? ''
  return asked.split(',').flatMap((name) => (/^\s*mcp-param-[\w-]+\s*$/i.test(name) ? [name.trim()] : []))
}

/** Returns true for a real origin that may be echoed. `null`, which a page of any site can send, is not one. */
function isOrigin(text: string): boolean {
  return text.length <= 255 && /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,"\\]+$/.test(text)
}

function withHeaders(answer: HttpResponse, added: Record<string, string>): HttpResponse {
  const vary = [answer.headers['Vary'], added['Vary']].filter((part) => part !== undefined).join(', ')
  return { ...answer, headers: { ...answer.headers, ...added, ...(vary === '' ? {} : { Vary: vary }) } }
}
