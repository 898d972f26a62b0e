/**
 * What scripts of other sites may do (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol): a row of the route table
 * names its family, and preflights are answered from the rows of their path.
 */
import { present } from '../../json/present.ts'
import { type HttpResponse, isPage, json } from './response.ts'
import type { HttpRequest } from './request.ts'

export type CorsFamily =
  /** Sign-in of single-page applications: any site without cookies, or the named ones with them. */
  | 'spa'
  /** As `spa`, for what is read once. */
  | 'session'
  /** Endpoints of clients, which bring their own credentials: any site, never cookies. */
  | 'server'
  /** As `server`, for documents. */
  | 'discovery'
  /** As `server` to preflights alone: the answers themselves are pages. */
  | 'page'
  /** The address of AI clients: sites that are named for it, never cookies. */
  | 'mcp'

interface Family {
  readonly methods: string
  readonly headers: string
  readonly maxAgeSeconds: number | null
  /** Asks who may; else anybody may. */
  readonly isNamed: boolean
  /** What scripts may read of an answer besides its body. */
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
   * @param named Origins that may use cookies; with none of them every origin may ask, without.
   * @param mcp Origins that may speak to `/mcp`.
   */
  constructor(named: readonly string[], mcp: readonly string[]) {
    this.#named = new Set(named)
    this.#mcp = new Set(mcp)
  }

  /** Whether scripts of the origin may use the cookies of the person who looks at them. */
  readonly isNamed = (origin: string): boolean => this.#named.has(origin)

  /** @param family Null where other sites may do nothing. */
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
   * Refusals carry the headers too: a script that may not read why cannot tell its user. HTML pages never do, because they
   * are for people and hold anti-forgery values.
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

/** Fields that a tool declares, and no list can name beforehand (2026-07-28, "x-mcp-header"). */
function mirroredArguments(request: HttpRequest): readonly string[] {
  const asked = request.header('access-control-request-headers') ?? ''
  return asked.split(',').flatMap((name) => (/^\s*mcp-param-[\w-]+\s*$/i.test(name) ? [name.trim()] : []))
}

/** What is sent back has to be one; `null`, which anybody can be, is answered as nobody. */
function isOrigin(text: string): boolean {
  return text.length <= 255 && /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,"\\]+$/.test(text)
}

function withHeaders(answer: HttpResponse, added: Record<string, string>): HttpResponse {
  const vary = [answer.headers['Vary'], added['Vary']].filter((part) => part !== undefined).join(', ')
  return { ...answer, headers: { ...answer.headers, ...added, ...(vary === '' ? {} : { Vary: vary }) } }
}
