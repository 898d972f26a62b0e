/**
 * What scripts of other sites may do (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol): a row of the route table
 * names its family, and preflights are answered from the rows of their path.
 */
import { type Answer, json } from './answer.ts'
import type { Incoming } from './incoming.ts'

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

interface Family {
  readonly methods: string
  readonly headers: string
  readonly maxAgeSeconds: number | null
  /** Asks who may; else anybody may. */
  readonly isNamed: boolean
}

const spaHeaders = 'Authorization, Content-Type, Accept'
const serverHeaders = 'Authorization, Content-Type, mcp-protocol-version'
const all = 'GET, POST, OPTIONS'
const reading = 'GET, OPTIONS'
const day = 86_400

const families: Readonly<Record<CorsFamily, Family>> = {
  spa: { methods: all, headers: spaHeaders, maxAgeSeconds: day, isNamed: true },
  session: { methods: reading, headers: spaHeaders, maxAgeSeconds: null, isNamed: true },
  server: { methods: all, headers: serverHeaders, maxAgeSeconds: day, isNamed: false },
  discovery: { methods: reading, headers: serverHeaders, maxAgeSeconds: day, isNamed: false },
  page: { methods: all, headers: serverHeaders, maxAgeSeconds: day, isNamed: false },
}

export class Cors {
  readonly #named: ReadonlySet<string>

  /** @param named Origins that may use cookies; with none of them every origin may ask, without. */
  constructor(named: readonly string[]) {
    this.#named = new Set(named)
  }

  /** Whether scripts of the origin may use the cookies of the person who looks at them. */
  readonly isNamed = (origin: string): boolean => this.#named.has(origin)

  /** @param family Null where other sites may do nothing. */
  preflight(request: Incoming, family: CorsFamily | null, allowed: readonly string[]): Answer {
    const ok = json(200, { status: 'ok' }, { Allow: allowed.join(', ') })
    if (family === null) return ok
    const { methods, headers, maxAgeSeconds } = families[family]
    return withHeaders(ok, {
      ...this.#origin(request, family),
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': headers,
      ...(maxAgeSeconds === null ? {} : { 'Access-Control-Max-Age': String(maxAgeSeconds) }),
    })
  }

  /** Refusals carry them too: a script that may not read why cannot tell its user. */
  shared(request: Incoming, family: CorsFamily, answer: Answer): Answer {
    return family === 'page' ? answer : withHeaders(answer, this.#origin(request, family))
  }

  #origin(request: Incoming, family: CorsFamily): Record<string, string> {
    if (!families[family].isNamed) return { 'Access-Control-Allow-Origin': '*' }
    const origin = request.header('origin') ?? ''
    if (this.#named.size === 0) {
      return { 'Access-Control-Allow-Origin': isOrigin(origin) ? origin : '*', Vary: 'Origin' }
    }
    return this.#named.has(origin)
      ? { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', Vary: 'Origin' }
      : { Vary: 'Origin' }
  }
}

/** What is sent back has to be one; `null`, which anybody can be, is answered as nobody. */
function isOrigin(text: string): boolean {
  return text.length <= 255 && /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,"\\]+$/.test(text)
}

function withHeaders(answer: Answer, added: Record<string, string>): Answer {
  const vary = [answer.headers['Vary'], added['Vary']].filter((part) => part !== undefined).join(', ')
  return { ...answer, headers: { ...answer.headers, ...added, ...(vary === '' ? {} : { Vary: vary }) } }
}
